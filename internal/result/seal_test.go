package result

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestASealIsOfOneKeyAndOneDocument(t *testing.T) {
	key, other := SealingKey(strings.Repeat("k", 32)), SealingKey(strings.Repeat("o", 32))
	for name, document := range map[string][]byte{
		"compact":  []byte(`{"schema":"storagebench.io/trial.v1","run":"r"}`),
		"indented": []byte("{\n \"schema\": \"storagebench.io/trial.v1\",\n \"run\": \"r\"\n}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			sealed := key.Seal(document)
			if len(sealed) != len(document)+SealBytes || !key.Sealed(sealed) || other.Sealed(sealed) || key.Sealed(document) {
				t.Fatalf("%d bytes became %d, sealed %v; by another %v; unsealed %v", len(document), len(sealed), key.Sealed(sealed), other.Sealed(sealed), key.Sealed(document))
			}
			d := Trial{}
			if err := json.Unmarshal(sealed, &d); err != nil || d.Run != "r" || len(d.Seal) != 64 {
				t.Errorf("%v, %+v", err, d)
			}
			// Whatever byte somebody changes, adds or leaves out.
			for i := range sealed {
				for kind, forged := range map[string][]byte{
					"changed":  append(append(bytes.Clone(sealed[:i]), sealed[i]^1), sealed[i+1:]...),
					"left out": append(bytes.Clone(sealed[:i]), sealed[i+1:]...),
					"doubled":  append(bytes.Clone(sealed[:i+1]), sealed[i:]...),
					"cut":      sealed[:i],
				} {
					if key.Sealed(forged) && !bytes.Equal(forged, sealed) {
						t.Errorf("byte %d %s: %q is taken for sealed", i, kind, forged)
					}
				}
			}
		})
	}
}

func TestWithoutAKeyNothingIsSealedAndEverythingIsTaken(t *testing.T) {
	document := []byte(`{"a":1}`)
	if got := SealingKey(nil).Seal(document); !bytes.Equal(got, document) || !SealingKey(nil).Sealed(got) {
		t.Errorf("%s", got)
	}
}

// What is made of a document has no seal: it would be that of other bytes.
func TestADecodedDocumentHasNoSeal(t *testing.T) {
	key := SealingKey("k")
	d, err := DecodeTrial(key.Seal([]byte(`{"schema":"`+TrialSchema+`","outcome":"Measured"}`)), "")
	if err != nil || d.Seal != "" {
		t.Errorf("%v, %+v", err, d)
	}
	s, err := DecodeWorkerSummary(key.Seal([]byte(`{"schema":"`+WorkerSchema+`"}`)), "")
	if err != nil || s.Seal != "" {
		t.Errorf("%v, %+v", err, s)
	}
}
