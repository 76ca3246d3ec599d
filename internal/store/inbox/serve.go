package inbox

import (
	"bytes"
	"compress/gzip"
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
	"time"

	"storagebench.io/storagebench/internal/fair"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// Bounds of a request.
const (
	maxFields = 16
	maxField  = 8 << 10
	// maxConnections at a time, of all addresses.
	maxConnections = 256
	// unknownTime and knownTime are how long a form may take before and after it was checked.
	unknownTime, knownTime = 10 * time.Second, 2 * time.Minute
)

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
		ConnContext:       fair.ConnContext,
		ReadHeaderTimeout: 5 * time.Second, // and for the handshake
		ReadTimeout:       2 * time.Minute,
		WriteTimeout:      2 * time.Minute,
		IdleTimeout:       10 * time.Second,
		MaxHeaderBytes:    16 << 10,
		// No HTTP/2, in which one connection is many requests.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
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
	err = server.ServeTLS(fair.Listen(listener, maxConnections), "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
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
	small := in.compressed(key)
	if small == nil {
		return fmt.Errorf("store: get %s: %w", key, store.ErrNotFound)
	}
	body, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		return fmt.Errorf("store: get %s: %w", key, err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	// Never whole in memory: a few bytes can be many, and whoever reads can be slow.
	if _, err := io.Copy(w, io.LimitReader(body, result.MaxDocument)); err != nil {
		panic(http.ErrAbortHandler) // what is cut off must not look whole; the worker asks again
	}
	return nil
}

// allowance lets no more than left bytes be read. More is allowed when a form has been checked.
type allowance struct {
	io.ReadCloser
	left int
	// came is told how many bytes have been read.
	came func(n int)
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 && len(p) > 0 {
		return 0, store.ErrTooLarge
	}
	n, err := a.ReadCloser.Read(p[:min(len(p), a.left)])
	a.left -= n
	a.came(n)
	return n, err
}

// receive reads a form: its fields first, which are checked, and then its file.
func (in *Inbox) receive(identity *Identity, w http.ResponseWriter, r *http.Request) error {
	// Before its fields are checked, a request may be anybody's: it gets little room and time.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(unknownTime)) // a test's recorder has none
	body := &allowance{r.Body, maxFields * maxField, func(int) {}}
	r.Body = body
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
			timed := &pace{set: control.SetReadDeadline, begun: time.Now()}
			return in.take(r.Context(), identity, fields, part, timed.end, func(limit int) {
				body.left, body.came = limit+maxFields*maxField, timed.came
				timed.came(0)
			})
		}
		value, err := store.ReadLimited(part, maxField)
		if err != nil {
			return fmt.Errorf("%w: a field of the form cannot be read, or is too long", store.ErrDenied)
		}
		fields[part.FormName()] = string(value)
	}
	return fmt.Errorf("%w: the form has too many fields", store.ErrDenied)
}

// take reads and stores the file of a form. It allows as much to be read as the form does. It calls end when the
// upload has to make place for another namespace's.
func (in *Inbox) take(ctx context.Context, identity *Identity, fields map[string]string, file *multipart.Part, end func(), allow func(limit int)) error {
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
	place := in.uploads.Take(namespaceOf(key), end)
	if place == nil {
		return fmt.Errorf("%w: too many uploads at a time", store.ErrUnreachable)
	}
	defer place.Leave()
	defer fair.Keep(ctx)()
	allow(limit)
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
