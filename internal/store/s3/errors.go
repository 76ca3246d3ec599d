package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"

	"storagebench.io/storagebench/internal/store"
)

// wrap turns an error of the SDK into one of package store. The text of the SDK's
// errors is the server's message. A url.Error begins with the request's URL, which
// may be signed and is left out.
func (s *Store) wrap(verb, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: %s %s in bucket %s: %w", verb, key, s.config.Bucket, classify(err))
}

func classify(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", store.ErrUnreachable, withoutURL(err))
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w: %w", store.ErrTLS, withoutURL(err))
	}
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return classifyResponse(response)
	}
	return fmt.Errorf("%w: %w", store.ErrUnreachable, withoutURL(err))
}

func classifyResponse(r minio.ErrorResponse) error {
	detail := fmt.Sprintf("%s: %s", r.Code, r.Message)
	kind := store.ErrUnreachable
	if r.StatusCode == http.StatusBadRequest && speaksTLS(r.Message) {
		return fmt.Errorf("%w (%s): the endpoint must begin with https://", kind, detail)
	}
	switch r.Code {
	case "NoSuchBucket":
		kind = store.ErrNoBucket
	case "NoSuchKey":
		kind = store.ErrNotFound
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidTokenId":
		kind = store.ErrCredentials
	case "AccessDenied", "AllAccessDisabled":
		kind = store.ErrDenied
	default:
		switch {
		case r.StatusCode == http.StatusForbidden || r.StatusCode == http.StatusUnauthorized:
			kind = store.ErrDenied
		case r.StatusCode == http.StatusNotFound:
			kind = store.ErrNotFound
		case r.StatusCode >= 400 && r.StatusCode < 500 && r.StatusCode != http.StatusTooManyRequests && r.StatusCode != http.StatusRequestTimeout:
			return errors.New(detail)
		}
	}
	return fmt.Errorf("%w (%s)", kind, detail)
}

// speaksTLS reports whether a server says that it was asked in plain text, and speaks TLS: in the words of
// Go's, which MinIO has, and of nginx. Others end the connection.
func speaksTLS(message string) bool {
	return strings.Contains(message, "HTTP request to an HTTPS server") || strings.Contains(message, "plain HTTP request was sent to HTTPS port")
}

// withoutURL unwraps url.Error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
