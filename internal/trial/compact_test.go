package trial

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A grant is the same after it was written and read, however it is signed, and what its keys and
// URLs have in common is written once.
func TestAGrantIsWrittenInShort(t *testing.T) {
	long := "namespace/" + strings.Repeat("ü", 40) + "/run/workers/w/"
	for name, g := range map[string]Grant{
		"nothing": {},
		"forms": {
			Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Uploads: Uploads{Post: &Post{URL: "https://s3/bucket", Bucket: "bucket", Fields: map[string]string{"a": "b"}, Objects: map[string]PostObject{
				long + "trials/a.json": {Limit: 1, Signature: "x"}, long + "raw/a/output.zst": {Limit: 2, Signature: "y"},
			}}},
			Get: map[string]string{long + "trials/a.json": "https://s3/" + long + "trials/a.json?x", long + "summary.json": "https://s3/" + long + "summary.json?y"},
		},
		"URLs": {
			Uploads: Uploads{Put: map[string]string{long + "trials/a.json": "https://s3/" + long + "a?1", long + "samples/a.parquet": "https://s3/" + long + "b?1"}},
			Get:     map[string]string{long + "summary.json": "https://s3/" + long + "c?2"},
		},
		"one key":           {Get: map[string]string{"a": "https://s3/a"}},
		"keys that differ":  {Get: map[string]string{"a": "https://s3/a", "b": "http://s4/b"}},
		"half a character":  {Get: map[string]string{"aü": "https://s3/ü", "aö": "https://s3/ö"}},
		"one begins others": {Get: map[string]string{"a": "u", "ab": "uv"}},
	} {
		t.Run(name, func(t *testing.T) {
			document, digest, err := g.Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeGrant(document, digest)
			if err != nil || !reflect.DeepEqual(*got, g) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, g)
			}
			if strings.Count(string(document), strings.Repeat("ü", 40)) > 2 { // the keys', and the URLs'
				t.Errorf("it is long: %s", document)
			}
		})
	}
}

func TestAGrantOfAnOlderReleaseIsRead(t *testing.T) {
	const old = `{"expires":"2026-01-02T03:04:05Z","uploads":{"put":{"a/b":"https://s3/a/b"}},"get":{"a/c":"https://s3/a/c"}}`
	var g Grant
	if err := json.Unmarshal([]byte(old), &g); err != nil || g.Uploads.Put["a/b"] != "https://s3/a/b" || g.Get["a/c"] != "https://s3/a/c" {
		t.Errorf("got %+v, %v", g, err)
	}
	if err := json.Unmarshal([]byte(`{"get":1}`), &g); err == nil {
		t.Error("a grant that is none was read")
	}
}
