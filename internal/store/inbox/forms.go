package inbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// bucket is what the forms call the inbox.
const bucket = "inbox"

// sign returns the signature of a text; what keeps a form's from being that of a URL.
func (i *Identity) sign(what, text string) string {
	mac := hmac.New(sha256.New, i.Key)
	mac.Write([]byte(what + "\n" + text))
	return hex.EncodeToString(mac.Sum(nil))
}

func (i *Identity) signed(what, text, signature string) bool {
	return hmac.Equal([]byte(i.sign(what, text)), []byte(signature))
}

// SignUploads signs a form for each object.
func (in *Inbox) SignUploads(ctx context.Context, limits map[string]int, valid time.Duration) (trial.Uploads, error) {
	identity, err := in.opened(ctx)
	if err != nil {
		return trial.Uploads{}, err
	}
	post := &trial.Post{
		URL: in.URL + "/", Bucket: bucket, Expiration: in.Now().Add(valid).UTC().Format(time.RFC3339),
		Fields: map[string]string{}, Objects: make(map[string]trial.PostObject, len(limits)),
	}
	for key, limit := range limits {
		if err := store.CheckKey(key); err != nil {
			return trial.Uploads{}, err
		}
		post.Objects[key] = trial.PostObject{Limit: limit}
		policy, err := post.Policy(key)
		if err != nil {
			return trial.Uploads{}, err
		}
		post.Objects[key] = trial.PostObject{Limit: limit, Signature: identity.sign("form", policy)}
	}
	return trial.Uploads{Post: post}, nil
}

// SignGet returns a URL that allows reading one object.
func (in *Inbox) SignGet(ctx context.Context, key string, valid time.Duration) (string, error) {
	identity, err := in.opened(ctx)
	if err != nil {
		return "", err
	}
	if err := store.CheckKey(key); err != nil {
		return "", err
	}
	expires := strconv.FormatInt(in.Now().Add(valid).Unix(), 10)
	query := url.Values{"key": {key}, "expires": {expires}, "signature": {identity.sign("get", expires+"\n"+key)}}
	return in.URL + "/?" + query.Encode(), nil
}

// checkGet returns the key that a signed URL is for.
func (in *Inbox) checkGet(i *Identity, query url.Values) (key string, err error) {
	key, expires := query.Get("key"), query.Get("expires")
	if !i.signed("get", expires+"\n"+key, query.Get("signature")) {
		return "", fmt.Errorf("%w: the signature does not match", store.ErrDenied)
	}
	seconds, err := strconv.ParseInt(expires, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%w: the signed time cannot be read", store.ErrDenied)
	}
	if in.Now().Unix() > seconds {
		return "", store.ErrExpired
	}
	return key, nil
}

// checkForm returns the key and the limit of size that a form is signed for.
func (in *Inbox) checkForm(i *Identity, fields map[string]string) (key string, limit int, err error) {
	if !i.signed("form", fields["policy"], fields["x-amz-signature"]) {
		return "", 0, fmt.Errorf("%w: the signature does not match", store.ErrDenied)
	}
	expires, key, limit, err := readPolicy(fields["policy"])
	switch {
	case err != nil:
		return "", 0, err
	case in.Now().After(expires):
		return "", 0, store.ErrExpired
	case fields["key"] != key:
		return "", 0, fmt.Errorf("%w: the form is signed for another key", store.ErrDenied)
	}
	return key, limit, nil
}

// errPolicy reports that a policy that we signed does not have the form that we give it.
var errPolicy = errors.New("the form's policy cannot be read")

// readPolicy reads a policy whose signature was checked: see trial.Post.Policy.
func readPolicy(text string) (expires time.Time, key string, limit int, err error) {
	document, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return expires, "", 0, errPolicy
	}
	var policy struct {
		Expiration time.Time
		Conditions [][]any
	}
	if err := json.Unmarshal(document, &policy); err != nil {
		return expires, "", 0, errPolicy
	}
	for _, c := range policy.Conditions {
		if len(c) != 3 {
			return expires, "", 0, errPolicy
		}
		text, isText := c[2].(string)
		number, isNumber := c[2].(float64)
		switch {
		case c[0] == "eq" && c[1] == "$key" && isText:
			key = text
		case c[0] == "content-length-range" && isNumber:
			limit = int(number)
		}
	}
	if key == "" || limit <= 0 {
		return expires, "", 0, errPolicy
	}
	return policy.Expiration, key, limit, nil
}
