package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
)

// Config is a bucket and how to access it.
type Config struct {
	// Endpoint is a URL such as https://s3.example.com or http://minio:9000.
	// Buckets are addressed by path unless the endpoint is Amazon's.
	Endpoint string
	Bucket   string
	// Prefix of every key, without leading or trailing slash; may be empty.
	Prefix string
	// Region; empty: us-east-1, which servers without regions expect.
	Region               string
	AccessKey, SecretKey string
	// SessionToken of temporary credentials; empty: they are not temporary.
	SessionToken string
	// CABundle holds the PEM certificates of the server's authority; empty: the
	// system's authorities.
	CABundle []byte
	// Timeout of each operation, with its retries and the whole body: a server that sends a byte now
	// and then would else hold its caller for days. Zero: DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is enough for a body of result.MaxDocument at half a MiB a second.
const DefaultTimeout = time.Minute

// Store is a prefix of a bucket.
type Store struct {
	client *minio.Client
	config Config
	http   *http.Client // for signed forms, which the SDK cannot send
	forms  forms
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Signer = (*Store)(nil)
)

const (
	connectTimeout  = 10 * time.Second
	responseTimeout = 30 * time.Second
)

// New checks the configuration. It does not connect.
func New(c Config) (*Store, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, fmt.Errorf("store: the endpoint %q is not a URL like https://s3.example.com", redact(c.Endpoint))
	}
	if strings.Trim(endpoint.Path, "/") != "" || endpoint.RawQuery != "" || endpoint.User != nil {
		return nil, fmt.Errorf("store: the endpoint %q must consist of scheme, host and port only", redact(c.Endpoint))
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	c.Prefix = strings.Trim(c.Prefix, "/")
	if c.Prefix != "" {
		if err := store.CheckKey(c.Prefix); err != nil {
			return nil, err
		}
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	transport, err := newTransport(c.CABundle)
	if err != nil {
		return nil, err
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:     credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken),
		Secure:    endpoint.Scheme == "https",
		Transport: shortAnswers{transport},
		Region:    c.Region,
		// The caller retries: it knows how long it can wait.
		MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", endpoint.Host, err)
	}
	return &Store{client: client, config: c, http: &http.Client{
		Transport:     transport,
		Timeout:       responseTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// redact removes a password from a URL for messages.
func redact(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil {
		u.RawQuery = ""
		return u.Redacted()
	}
	return "(unreadable)"
}

func newTransport(caBundle []byte) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(caBundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(caBundle) {
			return nil, errors.New("store: caBundle contains no PEM certificate")
		}
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: responseTimeout,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   4,
	}, nil
}

func (s *Store) key(key string) (string, error) {
	if err := store.CheckKey(key); err != nil {
		return "", err
	}
	if s.config.Prefix == "" {
		return key, nil
	}
	return s.config.Prefix + "/" + key, nil
}

// Put uploads body. The server verifies its MD5.
func (s *Store) Put(ctx context.Context, key string, body []byte) error {
	name, err := s.key(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	_, err = s.client.PutObject(ctx, s.config.Bucket, name, bytes.NewReader(body), int64(len(body)),
		minio.PutObjectOptions{SendContentMd5: true, DisableMultipart: true})
	return s.wrap("put", key, err)
}

// Get downloads an object of at most result.MaxDocument bytes.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	return s.GetLimited(ctx, key, result.MaxDocument)
}

// GetLimited downloads an object of at most limit bytes.
func (s *Store) GetLimited(ctx context.Context, key string, limit int) ([]byte, error) {
	name, err := s.key(key)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	object, err := s.client.GetObject(ctx, s.config.Bucket, name, minio.GetObjectOptions{})
	if err != nil {
		return nil, s.wrap("get", key, err)
	}
	defer func() { _ = object.Close() }() // the needed part was read
	body, err := store.ReadLimited(object, limit)
	if errors.Is(err, store.ErrTooLarge) {
		return nil, fmt.Errorf("store: get %s: %w", key, err)
	}
	return body, s.wrap("get", key, err)
}

// List returns the keys below prefix, which ends with a slash. Of more than most it reads one page more,
// and returns an error that wraps store.ErrTooLarge.
func (s *Store) List(ctx context.Context, prefix string, most int) ([]string, error) {
	name, err := s.key(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return nil, err
	}
	// Without the cancel, the SDK's goroutine would outlive an early return.
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	var keys []string
	for object := range s.client.ListObjects(ctx, s.config.Bucket, minio.ListObjectsOptions{Prefix: name + "/", Recursive: true, MaxKeys: pageKeys}) {
		if object.Err != nil {
			return nil, s.wrap("list", prefix, object.Err)
		}
		if len(keys) == most {
			return nil, fmt.Errorf("store: list %s: %w", prefix, store.TooMany(most))
		}
		key := object.Key
		if s.config.Prefix != "" {
			key = strings.TrimPrefix(key, s.config.Prefix+"/")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// SignGet returns a URL that allows downloading one object.
func (s *Store) SignGet(ctx context.Context, key string, valid time.Duration) (string, error) {
	name, err := s.key(key)
	if err != nil {
		return "", err
	}
	u, err := s.client.PresignedGetObject(ctx, s.config.Bucket, name, valid, nil)
	if err != nil {
		return "", s.wrap("sign", key, err)
	}
	return u.String(), nil
}

// Check writes an object under the prefix, reads it back and removes it, to
// prove before a run that everything the run needs works.
func (s *Store) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	content := []byte("storagebench checks that it can write here\n")
	key := ".storagebench-check/" + hex.EncodeToString(random)
	if err := s.Put(ctx, key, content); err != nil {
		return err
	}
	back, err := s.Get(ctx, key)
	if err == nil && !bytes.Equal(back, content) {
		err = errors.New("store: an object read back differs from what was written")
	}
	name, _ := s.key(key) // it was valid for Put
	removed := s.wrap("remove", key, s.client.RemoveObject(ctx, s.config.Bucket, name, minio.RemoveObjectOptions{}))
	return errors.Join(err, removed)
}
