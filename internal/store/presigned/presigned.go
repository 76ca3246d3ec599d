package presigned

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // S3 requires it as a checksum, not against forgery
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// Timeouts of a request. A body of result.MaxDocument needs 30 s at 1 MiB/s.
const (
	connectTimeout  = 10 * time.Second
	responseTimeout = 30 * time.Second
	requestTimeout  = 2 * time.Minute
)

// maxAnswer bounds an error document.
const maxAnswer = 64 << 10

// Objects reads and writes the objects of one worker.
type Objects struct {
	grant  trial.Grant
	client *http.Client
}

var _ store.Objects = (*Objects)(nil)

// New returns access to the objects of a grant.
func New(grant trial.Grant) (*Objects, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(grant.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(grant.CABundle) {
			return nil, errors.New("store: the grant's caBundle contains no PEM certificate")
		}
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer{dial: (&net.Dialer{}).DialContext, timeout: connectTimeout, silence: silence, last: lastAttempt}.connect,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: responseTimeout,
		// Most servers close a connection that is idle during a trial, and
		// closing it here would disturb the trial.
		DisableKeepAlives: true,
	}
	client := &http.Client{
		Transport: transport,
		Timeout:   requestTimeout,
		// A signature is valid for one host. Following a redirect would send it to
		// another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Objects{grant: grant, client: client}, nil
}

// Put uploads body with the object's form or its URL. The server verifies a
// checksum.
func (o *Objects) Put(ctx context.Context, key string, body []byte) error {
	request, err := o.upload(ctx, key, body)
	if err != nil {
		return err
	}
	_, err = o.do(request, maxAnswer)
	return wrap("put", key, err)
}

func (o *Objects) upload(ctx context.Context, key string, body []byte) (*http.Request, error) {
	if post := o.grant.Uploads.Post; post != nil {
		object, ok := post.Objects[key]
		if !ok {
			return nil, denied(key)
		}
		if len(body) > object.Limit {
			return nil, fmt.Errorf("store: put %s: %w: %d bytes, the limit is %d", key, store.ErrTooLarge, len(body), object.Limit)
		}
		return store.NewForm(ctx, post, key, body, nil)
	}
	signed, ok := o.grant.Uploads.Put[key]
	if !ok {
		return nil, denied(key)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, signed, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("store: put %s: cannot parse the grant's URL", key)
	}
	sum := md5.Sum(body) //nolint:gosec // see the import
	request.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	return request, nil
}

func denied(key string) error {
	return fmt.Errorf("store: put %s: %w: the worker's grant has no signed upload for this object", key, store.ErrDenied)
}

// Get downloads an object of at most result.MaxDocument bytes.
func (o *Objects) Get(ctx context.Context, key string) ([]byte, error) {
	return o.GetLimited(ctx, key, result.MaxDocument)
}

// GetLimited downloads an object of at most limit bytes.
func (o *Objects) GetLimited(ctx context.Context, key string, limit int) ([]byte, error) {
	signed, ok := o.grant.Get[key]
	if !ok {
		return nil, fmt.Errorf("store: get %s: %w: the worker's grant has no signed download for this object", key, store.ErrDenied)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, signed, nil)
	if err != nil {
		return nil, fmt.Errorf("store: get %s: cannot parse the grant's URL", key)
	}
	body, err := o.do(request, max(limit, maxAnswer))
	if err == nil && len(body) > limit {
		err = store.ErrTooLarge
	}
	return body, wrap("get", key, err)
}

func wrap(verb, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: %s %s: %w", verb, key, err)
}

func (o *Objects) do(request *http.Request, limit int) ([]byte, error) {
	response, err := o.client.Do(request)
	if err != nil {
		return nil, transportError(request, err)
	}
	defer func() { _ = response.Body.Close() }() // the needed part was read
	body, err := store.ReadLimited(response.Body, limit)
	if errors.Is(err, store.ErrTooLarge) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnreachable, withoutURL(err))
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return body, nil
	}
	return nil, statusError(response.StatusCode, body)
}

// transportError classifies an error that occurred before the server answered,
// and removes the URL from it.
func transportError(request *http.Request, err error) error {
	if ctxErr := request.Context().Err(); ctxErr != nil {
		return ctxErr
	}
	cause := withoutURL(err)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%w: %s: %w", store.ErrTLS, request.URL.Host, cause)
	}
	return fmt.Errorf("%w: %s: %w", store.ErrUnreachable, request.URL.Host, cause)
}

// withoutURL unwraps a url.Error, whose text begins with the signed URL.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// hasExpired reports whether S3's message for AccessDenied means that a signature or
// policy has expired.
func hasExpired(message string) bool {
	return message == "Request has expired" || strings.Contains(strings.ToLower(message), "policy expired")
}

// statusError reads S3's error document.
func statusError(status int, body []byte) error {
	var document struct {
		Code    string
		Message string
	}
	// A proxy's error page is not XML: then only the status decides.
	_ = xml.Unmarshal(body, &document)
	detail := fmt.Sprintf("HTTP %d %s", status, http.StatusText(status))
	if document.Code != "" {
		detail = fmt.Sprintf("%s: %s", document.Code, document.Message)
	}
	switch {
	case document.Code == "ExpiredToken" || document.Code == "AccessDenied" && hasExpired(document.Message):
		return fmt.Errorf("%w (%s)", store.ErrExpired, detail)
	case document.Code == "EntityTooLarge":
		return fmt.Errorf("%w (%s)", store.ErrTooLarge, detail)
	case document.Code == "NoSuchBucket":
		return fmt.Errorf("%w (%s)", store.ErrNoBucket, detail)
	case document.Code == "InvalidAccessKeyId" || document.Code == "SignatureDoesNotMatch":
		return fmt.Errorf("%w (%s)", store.ErrCredentials, detail)
	case status == http.StatusNotFound:
		return fmt.Errorf("%w (%s)", store.ErrNotFound, detail)
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Errorf("%w (%s)", store.ErrDenied, detail)
	case status >= 500 || status == http.StatusTooManyRequests:
		return fmt.Errorf("%w (%s)", store.ErrUnreachable, detail)
	default:
		return errors.New(detail)
	}
}
