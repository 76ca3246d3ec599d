package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"

	"storagebench.io/storagebench/internal/trial"
)

// NewForm builds the request that uploads an object with its signed form. The
// server verifies the body's SHA-256.
func NewForm(ctx context.Context, post *trial.Post, key string, body []byte, more map[string]string) (*http.Request, error) {
	policy, err := post.Policy(key)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	fields := maps.Clone(post.Fields)
	maps.Copy(fields, more)
	fields["key"], fields["policy"] = post.Prefix+key, policy
	fields["x-amz-signature"] = post.Objects[key].Signature
	fields[trial.ChecksumField] = base64.StdEncoding.EncodeToString(sum[:])
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := w.WriteField(name, fields[name]); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
	}
	file, err := w.CreateFormFile("file", "object") // which comes last
	if err == nil {
		_, err = file.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, post.URL, bytes.NewReader(form.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("store: put %s: cannot parse the form's URL", key)
	}
	request.Header.Set("Content-Type", w.FormDataContentType())
	return request, nil
}
