package trial

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"storagebench.io/storagebench/api/reason"
)

// Grant is what a worker may do with the result store, and until when.
type Grant struct {
	Expires time.Time `json:"expires"`
	// CABundle holds the PEM certificates of the authority that signed the
	// store's certificate; empty: the system's authorities.
	CABundle []byte  `json:"caBundle,omitempty"`
	Uploads  Uploads `json:"uploads"`
	// SealingKey is what the worker seals its documents with (result.SealingKey).
	SealingKey []byte `json:"sealingKey,omitempty"`
	// Get maps an object key to a URL that is signed for reading it.
	Get map[string]string `json:"get"`
}

// Uploads are the objects that the worker may upload. With Post, the store refuses any
// other key and any object above its limit. With a store that does not accept signed
// forms, Put maps an object key to a URL that is signed for a PUT of any size.
type Uploads struct {
	Post *Post             `json:"post,omitempty"`
	Put  map[string]string `json:"put,omitempty"`
}

// Keys returns the keys that may be uploaded, sorted.
func (u Uploads) Keys() []string {
	keys := slices.Collect(maps.Keys(u.Put))
	if u.Post != nil {
		keys = slices.AppendSeq(keys, maps.Keys(u.Post.Objects))
	}
	slices.Sort(keys)
	return keys
}

// Post holds signed forms that upload one object each (S3: POST Object). What the forms
// have in common stands here once, so that those of 500 trials fit in a Secret; Policy
// builds the signed text of a form again.
type Post struct {
	// URL of the bucket.
	URL string `json:"url"`
	// Prefix is put in front of each key.
	Prefix     string `json:"prefix,omitempty"`
	Bucket     string `json:"bucket"`
	Expiration string `json:"expiration"`
	// Fields that every form has, x-amz-…
	Fields map[string]string `json:"fields"`
	// Objects by key.
	Objects map[string]PostObject `json:"objects"`
}

// PostObject is one object that may be uploaded.
type PostObject struct {
	// Limit of its size in bytes.
	Limit int `json:"limit"`
	// Signature of the Policy.
	Signature string `json:"signature"`
}

// ChecksumField is the field of a form that holds the object's SHA-256, in base64.
const ChecksumField = "x-amz-checksum-sha256"

// Policy returns the policy of an object's form in base64, which is the text
// that is signed.
func (p *Post) Policy(key string) (string, error) {
	conditions := []any{
		[]any{"eq", "$bucket", p.Bucket},
		[]any{"eq", "$key", p.Prefix + key},
		[]any{"content-length-range", 0, p.Objects[key].Limit},
		[]any{"starts-with", "$" + ChecksumField, ""},
	}
	for _, name := range slices.Sorted(maps.Keys(p.Fields)) {
		conditions = append(conditions, []any{"eq", "$" + name, p.Fields[name]})
	}
	document, err := json.Marshal(struct {
		Expiration string `json:"expiration"`
		Conditions []any  `json:"conditions"`
	}{p.Expiration, conditions})
	if err != nil {
		return "", fmt.Errorf("grant: %w", err)
	}
	return base64.StdEncoding.EncodeToString(document), nil
}

// Encode returns the grant's document and its digest, "sha256:…". The digest goes into
// the Job's arguments, like the plan's, so that a worker never connects to a URL that
// somebody else put into its Secret.
func (g *Grant) Encode() (document []byte, digest string, err error) {
	document, err = json.Marshal(g)
	if err != nil {
		return nil, "", fmt.Errorf("grant: %w", err)
	}
	return document, Digest(document), nil
}

// DecodeGrant reads a grant document and checks its digest.
func DecodeGrant(document []byte, digest string) (*Grant, error) {
	if got := Digest(document); got != digest {
		return nil, &Failure{
			Class:   reason.GrantTampered,
			Message: fmt.Sprintf("the grant has digest %s, but the Job expects %s: somebody replaced the Secret", got, digest),
			Remedy:  "find out who can write Secrets in this namespace, then change spec.runID to run again",
		}
	}
	g := &Grant{}
	if err := json.Unmarshal(document, g); err != nil {
		return nil, fmt.Errorf("grant: %w", err)
	}
	return g, nil
}
