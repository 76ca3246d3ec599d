package inbox

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"sync"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// Bounds of a request.
const (
	maxFields = 16
	maxField  = 8 << 10
	// maxUploads and maxUploadsEach are how many uploads are read at a time, of all namespaces
	// and of each.
	maxUploads, maxUploadsEach = 8, 2
	// maxConnections at a time.
	maxConnections = 256
)

// uploads counts those that are being read.
type uploads struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

func (u *uploads) begin(namespace string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all >= maxUploads || u.of[namespace] >= maxUploadsEach {
		return false
	}
	if u.of == nil {
		u.of = map[string]int{}
	}
	u.all++
	u.of[namespace]++
	return true
}

func (u *uploads) end(namespace string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all--
	if u.of[namespace]--; u.of[namespace] == 0 {
		delete(u.of, namespace)
	}
}

// Serve answers requests until ctx ends.
func (in *Inbox) Serve(ctx context.Context, listener net.Listener) error {
	identity, err := in.opened(ctx)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(identity.Certificate, identity.PrivateKey)
	if err != nil {
		return fmt.Errorf("store: the certificate of the operator's own store: %w", err)
	}
	server := &http.Server{
		Handler:           in,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       2 * time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
	// In a local variable, so that the goroutine ends with Serve.
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
			_ = server.Close()
		case <-ended:
		}
	}()
	err = server.ServeTLS(&limited{Listener: listener, free: make(chan struct{}, maxConnections)}, "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// limited is a listener with at most so many connections as free has room for.
type limited struct {
	net.Listener
	free chan struct{}
}

func (l *limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, done: sync.OnceFunc(func() { <-l.free })}, nil
}

type counted struct {
	net.Conn
	done func()
}

func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}

// ServeHTTP answers a POST of a signed form, and a GET of a signed URL.
func (in *Inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	identity, err := in.opened(r.Context())
	if err == nil {
		switch r.Method {
		case http.MethodPost:
			if err = in.receive(identity, w, r); err == nil {
				w.WriteHeader(http.StatusNoContent)
			}
		case http.MethodGet:
			err = in.send(identity, w, r)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}
	if err != nil {
		refuse(w, err)
	}
}

func (in *Inbox) send(identity *Identity, w http.ResponseWriter, r *http.Request) error {
	key, err := in.checkGet(identity, r.URL.Query())
	if err != nil {
		return err
	}
	body, err := in.GetLimited(r.Context(), key, result.MaxDocument)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(body) // if the worker has gone, it asks again
	return nil
}

// receive reads a form: its fields first, which are checked, and then its file.
func (in *Inbox) receive(identity *Identity, w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, result.MaxDocument+maxFields*maxField)
	reader, err := r.MultipartReader()
	if err != nil {
		return fmt.Errorf("%w: the request is not a form", store.ErrDenied)
	}
	fields := map[string]string{}
	for range maxFields {
		part, err := reader.NextPart()
		if err != nil {
			return fmt.Errorf("%w: the form cannot be read, or has no file", store.ErrDenied)
		}
		if part.FormName() == "file" {
			return in.take(r.Context(), identity, fields, part)
		}
		value, err := store.ReadLimited(part, maxField)
		if err != nil {
			return fmt.Errorf("%w: a field of the form cannot be read, or is too long", store.ErrDenied)
		}
		fields[part.FormName()] = string(value)
	}
	return fmt.Errorf("%w: the form has too many fields", store.ErrDenied)
}

// take reads and stores the file of a form.
func (in *Inbox) take(ctx context.Context, identity *Identity, fields map[string]string, file *multipart.Part) error {
	key, limit, err := in.checkForm(identity, fields)
	if err != nil {
		return err
	}
	in.mu.Lock()
	_, current := in.objects[planKey(key)]
	in.mu.Unlock()
	if !current {
		return fmt.Errorf("%w: the run has ended", store.ErrDenied)
	}
	if !in.uploads.begin(namespaceOf(key)) {
		return fmt.Errorf("%w: too many uploads at a time", store.ErrUnreachable)
	}
	defer in.uploads.end(namespaceOf(key))
	counter := &counting{r: file, limit: limit, hash: sha256.New()}
	var small []byte
	if classOf(key) == unkept {
		_, err = io.Copy(io.Discard, counter)
	} else {
		small, err = compress(counter)
	}
	if err != nil {
		return err
	}
	sum := base64.StdEncoding.EncodeToString(counter.hash.Sum(nil))
	if sum != fields[trial.ChecksumField] {
		return fmt.Errorf("%w: the checksum does not match", store.ErrUnreachable) // on its way: again
	}
	return in.put(ctx, key, small, sum, false)
}

// counting reads at most limit bytes, and hashes them.
type counting struct {
	r     io.Reader
	limit int
	hash  hash.Hash
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.limit -= n; c.limit < 0 {
		return 0, fmt.Errorf("%w: it has more bytes than its form allows", store.ErrTooLarge)
	}
	_, _ = c.hash.Write(p[:n]) // never fails
	return n, err
}

// refuse answers with an error as S3 does, which package presigned reads.
func refuse(w http.ResponseWriter, err error) {
	status, code, message := http.StatusServiceUnavailable, "ServiceUnavailable", err.Error()
	switch {
	case errors.Is(err, store.ErrExpired):
		status, code, message = http.StatusForbidden, "AccessDenied", "Request has expired"
	case errors.Is(err, store.ErrDenied), errors.Is(err, errPolicy):
		status, code = http.StatusForbidden, "AccessDenied"
	case errors.Is(err, store.ErrTooLarge):
		status, code = http.StatusRequestEntityTooLarge, "EntityTooLarge"
	case errors.Is(err, store.ErrNotFound):
		status, code = http.StatusNotFound, "NoSuchKey"
	}
	document, _ := xml.Marshal(struct { // strings cannot fail
		XMLName struct{} `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(document) // nobody may be there any more
}
