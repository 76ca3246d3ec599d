package result

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// SealingKey is what the operator and one worker's Pod know, and whoever has the bucket's access key does not.
// Each document that the worker stores begins with its seal: HMAC-SHA256 of what follows. So the worker's next Pod, and
// the operator if the last one left no receipt, can tell its documents from those of others. An empty key seals nothing
// and takes everything: `storagebench run` stores its documents in a directory of its own.
type SealingKey []byte

// What stands before and after a seal of 64 hexadecimal digits. A sealed document is JSON like any other.
const (
	sealHead = "{\n \"seal\": \""
	sealTail = "\","
)

// SealBytes is how many bytes longer a document is when it is sealed.
const SealBytes = len(sealHead) - 1 + 2*sha256.Size + len(sealTail)

// Seal returns the document, which is a JSON object with at least one field and without a seal, with its seal.
func (k SealingKey) Seal(document []byte) []byte {
	if len(k) == 0 {
		return document
	}
	rest := document[1:] // after the brace
	sealed := make([]byte, 0, len(document)+SealBytes)
	sealed = append(sealed, sealHead...)
	sealed = hex.AppendEncode(sealed, k.sum(rest))
	sealed = append(sealed, sealTail...)
	return append(sealed, rest...)
}

// Sealed reports whether a document has the seal of this key.
func (k SealingKey) Sealed(document []byte) bool {
	if len(k) == 0 {
		return true
	}
	rest, ok := bytes.CutPrefix(document, []byte(sealHead))
	if !ok || len(rest) < 2*sha256.Size {
		return false
	}
	seal, err := hex.DecodeString(string(rest[:2*sha256.Size]))
	rest, ok = bytes.CutPrefix(rest[2*sha256.Size:], []byte(sealTail))
	return err == nil && ok && hmac.Equal(seal, k.sum(rest))
}

func (k SealingKey) sum(rest []byte) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write(rest) // never fails
	return mac.Sum(nil)
}
