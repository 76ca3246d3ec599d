package s3

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/signer"

	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// forms remembers whether the server's signed forms can be used.
type forms struct {
	mu    sync.Mutex
	known bool
	use   bool
}

// probeLifetime is how long a form is valid that is signed only to find out how the
// server treats it. The server's clock decides.
const (
	probeValid = 5 * time.Minute
	probeLimit = 1024
)

// SignUploads signs a form for each object, in which the server itself enforces key and
// size. Some servers do not accept forms, and others let a form write other keys (see
// unbound). For those it signs PUTs, which have no size limit.
func (s *Store) SignUploads(ctx context.Context, limits map[string]int, valid time.Duration) (trial.Uploads, error) {
	use, err := s.useForms(ctx)
	if err != nil {
		return trial.Uploads{}, err
	}
	if use {
		post, err := s.signForms(ctx, limits, valid)
		return trial.Uploads{Post: post}, err
	}
	uploads := trial.Uploads{Put: make(map[string]string, len(limits))}
	for key := range limits {
		name, err := s.key(key)
		if err != nil {
			return trial.Uploads{}, err
		}
		u, err := s.client.PresignedPutObject(ctx, s.config.Bucket, name, valid)
		if err != nil {
			return trial.Uploads{}, s.wrap("sign", key, err)
		}
		uploads.Put[key] = u.String()
	}
	return uploads, nil
}

const (
	dateLayout       = "20060102T150405Z"
	expirationLayout = "2006-01-02T15:04:05.000Z"
)

// signForms signs a form for each object.
func (s *Store) signForms(ctx context.Context, limits map[string]int, valid time.Duration) (*trial.Post, error) {
	now := time.Now().UTC()
	url, err := s.formURL(ctx, now.Add(valid))
	if err != nil {
		return nil, err
	}
	post := &trial.Post{
		URL: url, Bucket: s.config.Bucket, Expiration: now.Add(valid).Format(expirationLayout),
		Fields: map[string]string{
			"x-amz-algorithm":          "AWS4-HMAC-SHA256",
			"x-amz-checksum-algorithm": "SHA256",
			"x-amz-credential":         signer.GetCredential(s.config.AccessKey, s.config.Region, now, signer.ServiceTypeS3),
			"x-amz-date":               now.Format(dateLayout),
		},
		Objects: make(map[string]trial.PostObject, len(limits)),
	}
	if s.config.Prefix != "" {
		post.Prefix = s.config.Prefix + "/"
	}
	for key, limit := range limits {
		if err := store.CheckKey(key); err != nil {
			return nil, err
		}
		// S3 would replace that with the name of the file.
		if strings.Contains(post.Prefix+key, "${filename}") {
			return nil, fmt.Errorf("store: %q is not a valid object key", key)
		}
		post.Objects[key] = trial.PostObject{Limit: limit}
		policy, err := post.Policy(key)
		if err != nil {
			return nil, err
		}
		post.Objects[key] = trial.PostObject{Limit: limit, Signature: signer.PostPresignSignatureV4(policy, now, s.config.SecretKey, s.config.Region)}
	}
	return post, nil
}

// formURL returns the URL that accepts the bucket's forms, as the SDK builds
// it.
func (s *Store) formURL(ctx context.Context, expires time.Time) (string, error) {
	policy := minio.NewPostPolicy()
	err := errors.Join(policy.SetBucket(s.config.Bucket), policy.SetKey("x"), policy.SetExpires(expires))
	if err != nil {
		return "", fmt.Errorf("store: %w", err)
	}
	u, _, err := s.client.PresignedPostPolicy(ctx, policy)
	if err != nil {
		return "", s.wrap("sign", "a form", err)
	}
	return u.String(), nil
}

// useForms reports whether the server accepts signed forms. It tries that once.
func (s *Store) useForms(ctx context.Context) (bool, error) {
	s.forms.mu.Lock()
	defer s.forms.mu.Unlock()
	if s.forms.known {
		return s.forms.use, nil
	}
	use, err := s.tryForms(ctx)
	if err == nil {
		s.forms.known, s.forms.use = true, use
	}
	return use, err
}

// tryForms uploads a test object with a form and removes it.
func (s *Store) tryForms(ctx context.Context) (bool, error) {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	base := ".storagebench-check/" + hex.EncodeToString(random)
	own, other := base+"-own", base+"-other"
	post, err := s.signForms(ctx, map[string]int{own: probeLimit}, probeValid)
	if err != nil {
		return false, err
	}
	defer s.remove(context.WithoutCancel(ctx), own, other)
	content := []byte("storagebench checks how it can write here\n")
	taken, err := s.postForm(ctx, post, own, content, nil)
	if err == nil && !taken {
		if err = s.Put(ctx, own, content); err == nil { // if this fails as well, the form is not the reason
			// What is found out holds for long, and a server that is busy may refuse once.
			taken, err = s.postForm(ctx, post, own, content, nil)
		}
	}
	if err != nil || !taken {
		return false, err
	}
	unbound, err := s.unbound(ctx, post, own, other, content)
	return !unbound, err
}

// unbound reports whether a form that is signed for one key can write another one. MinIO's
// "fan-out" accepts a list of keys that the policy does not restrict if the signing
// credentials may do everything: a worker's form could then write any object of the bucket.
func (s *Store) unbound(ctx context.Context, post *trial.Post, own, other string, content []byte) (bool, error) {
	list, err := json.Marshal(minio.PutObjectFanOutEntry{Key: post.Prefix + other})
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	if _, err := s.postForm(ctx, post, own, content, map[string]string{"x-minio-fanout-list": string(list)}); err != nil {
		return false, err
	}
	switch _, err := s.GetLimited(ctx, other, probeLimit); {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case errors.Is(err, store.ErrDenied):
		return false, nil // without the right to list, S3 answers so for a missing object
	default:
		return false, err
	}
}

// postForm sends a form and reports whether the server accepted it.
func (s *Store) postForm(ctx context.Context, post *trial.Post, key string, body []byte, more map[string]string) (taken bool, err error) {
	request, err := store.NewForm(ctx, post, key, body, more)
	if err != nil {
		return false, err
	}
	response, err := s.http.Do(request)
	if err != nil {
		return false, s.wrap("post", key, err)
	}
	defer func() { _ = response.Body.Close() }() // only the status counts
	switch {
	case response.StatusCode >= 200 && response.StatusCode < 300:
		return true, nil
	case response.StatusCode == http.StatusNotImplemented || response.StatusCode < 500 && response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusRequestTimeout:
		return false, nil
	default:
		return false, fmt.Errorf("store: post %s: %w (HTTP %d)", key, store.ErrUnreachable, response.StatusCode)
	}
}

// remove deletes a check's object. If that fails, an object of about 40 bytes
// stays.
func (s *Store) remove(ctx context.Context, keys ...string) {
	ctx, cancel := context.WithTimeout(ctx, min(responseTimeout, s.config.Timeout))
	defer cancel()
	for _, key := range keys {
		if name, err := s.key(key); err == nil {
			_ = s.client.RemoveObject(ctx, s.config.Bucket, name, minio.RemoveObjectOptions{})
		}
	}
}
