package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/trial"
)

// Errors that implementations wrap, so that a caller can distinguish them.
var (
	ErrNotFound    = errors.New("no such object")
	ErrNoBucket    = errors.New("no such bucket")
	ErrDenied      = errors.New("access denied")
	ErrCredentials = errors.New("the credentials are wrong")
	ErrTLS         = errors.New("the server's certificate is not trusted")
	ErrUnreachable = errors.New("the store cannot be reached")
	ErrExpired     = errors.New("the signed URL has expired")
	ErrTooLarge    = errors.New("the object is too large")
)

// Temporary reports whether trying again later can help.
func Temporary(err error) bool {
	if err == nil {
		return false
	}
	for _, final := range []error{ErrNotFound, ErrNoBucket, ErrDenied, ErrCredentials, ErrTLS, ErrExpired, ErrTooLarge} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// Objects reads and writes single objects.
type Objects interface {
	// Put stores body under key, completely or not at all. The store verifies
	// its checksum. Putting the same key again replaces the object.
	Put(ctx context.Context, key string, body []byte) error
	// Get returns the object's content, or an error that wraps ErrNotFound. It is
	// GetLimited with result.MaxDocument.
	Get(ctx context.Context, key string) ([]byte, error)
	// GetLimited returns the content of an object of at most limit bytes. Of a larger one
	// it reads limit+1 bytes, whatever size the store reports, and returns an error that
	// wraps ErrTooLarge.
	GetLimited(ctx context.Context, key string, limit int) ([]byte, error)
}

// Store is Objects that can also be listed.
type Store interface {
	Objects
	// List returns the keys below prefix, which ends with a slash, in any order. If there are more than
	// most, it returns an error that wraps ErrTooLarge.
	List(ctx context.Context, prefix string, most int) ([]string, error)
}

// TooMany is the error of a list of more keys than the caller can use.
func TooMany(most int) error {
	return fmt.Errorf("%w: there are more than %d objects", ErrTooLarge, most)
}

// ReadLimited reads at most limit bytes. If there is more, it returns an error that wraps
// ErrTooLarge. It allocates only as much as it reads.
func ReadLimited(r io.Reader, limit int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(body) > limit {
		return nil, fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, limit)
	}
	return body, err
}

// Signer signs requests that let others access single objects.
type Signer interface {
	// SignUploads allows uploading these objects; limits maps each key to the
	// largest size in bytes.
	SignUploads(ctx context.Context, limits map[string]int, valid time.Duration) (trial.Uploads, error)
	SignGet(ctx context.Context, key string, valid time.Duration) (string, error)
}

// CheckKey returns an error unless key is a relative path of plain segments.
func CheckKey(key string) error {
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "\\\x00") {
			return fmt.Errorf("store: %q is not a valid object key", key)
		}
	}
	return nil
}
