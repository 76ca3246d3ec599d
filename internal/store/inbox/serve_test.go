package inbox

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/presigned"
	"storagebench.io/storagebench/internal/trial"
)

func testIdentity(t *testing.T) Identity {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return Identity{
		Key:         []byte("of a test, which is long enough."),
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		PrivateKey:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}
}

// served runs an inbox on a port of its own.
func served(t *testing.T, in *Inbox) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in.URL = "https://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- in.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

var plan = &trial.Plan{
	Benchmark: trial.Benchmark{Namespace: "lab", Name: "b"}, Run: "g1",
	Workers: []trial.Worker{{Name: "w.n"}}, Trials: []trial.Trial{{ID: "t1"}},
}

// grant signs a worker's grant, which the worker gets as JSON.
func grant(t *testing.T, in *Inbox, valid time.Duration) trial.Grant {
	t.Helper()
	g, err := store.NewGrant(t.Context(), in, plan, "w.n", valid, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if g.CABundle, err = in.Certificate(t.Context()); err != nil {
		t.Fatal(err)
	}
	document, digest, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := trial.DecodeGrant(document, digest)
	if err != nil {
		t.Fatal(err)
	}
	return *read
}

func worker(t *testing.T, g trial.Grant) *presigned.Objects {
	t.Helper()
	objects, err := presigned.New(g)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func begun(t *testing.T, in *Inbox) {
	t.Helper()
	if err := in.Put(t.Context(), planOf, []byte("{}")); err != nil {
		t.Fatal(err)
	}
}

func TestAWorkerUploadsAndReads(t *testing.T) {
	in := newInbox(t, &shelf{})
	served(t, in)
	begun(t, in)
	w := worker(t, grant(t, in, time.Hour))
	if _, err := w.Get(t.Context(), summaryOf); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before the upload: %v, want %v", err, store.ErrNotFound)
	}
	for _, key := range []string{summaryOf, trialsOf + "t1.json", rawOf, samplesOf} {
		if err := w.Put(t.Context(), key, []byte("of "+key)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, key := range []string{summaryOf, trialsOf + "t1.json"} {
		got, err := w.Get(t.Context(), key)
		if err != nil || string(got) != "of "+key {
			t.Errorf("%s is %q (%v)", key, got, err)
		}
	}
}

func TestWhatAWorkerIsRefused(t *testing.T) {
	change := func(f func(*trial.Grant)) func(*testing.T, *Inbox) error {
		return func(t *testing.T, in *Inbox) error {
			t.Helper()
			g := grant(t, in, time.Hour)
			f(&g)
			return worker(t, g).Put(t.Context(), summaryOf, []byte("x"))
		}
	}
	for name, tt := range map[string]struct {
		do   func(*testing.T, *Inbox) error
		want error
	}{
		"another object than the form's": {change(func(g *trial.Grant) {
			g.Uploads.Post.Objects[summaryOf] = g.Uploads.Post.Objects[trialsOf+"t1.json"]
		}), store.ErrDenied},
		"a higher limit than was signed": {change(func(g *trial.Grant) {
			o := g.Uploads.Post.Objects[summaryOf]
			o.Limit++
			g.Uploads.Post.Objects[summaryOf] = o
		}), store.ErrDenied},
		"a later end than was signed": {change(func(g *trial.Grant) {
			g.Uploads.Post.Expiration = time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
		}), store.ErrDenied},
		"a form of another operator": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			other := newInbox(t, &shelf{})
			other.Identity = func(context.Context) (Identity, error) {
				identity := testIdentity(t)
				identity.Key = []byte("another key")
				return identity, nil
			}
			g := grant(t, other, time.Hour)
			mine := grant(t, in, time.Hour)
			g.CABundle, g.Uploads.Post.URL = mine.CABundle, mine.Uploads.Post.URL
			return worker(t, g).Put(t.Context(), summaryOf, []byte("x"))
		}, store.ErrDenied},
		"a form that has expired": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			return worker(t, grant(t, in, -time.Minute)).Put(t.Context(), summaryOf, []byte("x"))
		}, store.ErrExpired},
		"a URL that has expired": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			_, err := worker(t, grant(t, in, -time.Minute)).Get(t.Context(), summaryOf)
			return err
		}, store.ErrExpired},
		"reading another object than the URL's": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			g := grant(t, in, time.Hour)
			g.Get[summaryOf] = strings.Replace(g.Get[summaryOf], "summary.json", "other.json", 1)
			_, err := worker(t, g).Get(t.Context(), summaryOf)
			return err
		}, store.ErrDenied},
		"an object of a run that has ended": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			g := grant(t, in, time.Hour)
			if err := in.Drop(t.Context(), "lab", "b", Keep{}); err != nil {
				t.Fatal(err)
			}
			return worker(t, g).Put(t.Context(), trialsOf+"t1.json", []byte("x"))
		}, store.ErrDenied},
		"a summary again within a second": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			w := worker(t, grant(t, in, time.Hour))
			for _, body := range []string{"a", "b", "c"} {
				if err := w.Put(t.Context(), summaryOf, []byte(body)); err != nil {
					return err
				}
			}
			return nil
		}, store.ErrUnreachable},
		"an upload beside many": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			for range maxUploads {
				in.uploads.Take("lab", func() {})
			}
			return worker(t, grant(t, in, time.Hour)).Put(t.Context(), summaryOf, []byte("x"))
		}, store.ErrUnreachable},
		"more than can be held": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			return worker(t, grant(t, in, time.Hour)).Put(t.Context(), summaryOf, noise(MaxObject+1))
		}, store.ErrTooLarge},
		"a server that it does not know": {func(t *testing.T, in *Inbox) error {
			t.Helper()
			g := grant(t, in, time.Hour)
			g.CABundle = testIdentity(t).Certificate
			return worker(t, g).Put(t.Context(), summaryOf, []byte("x"))
		}, store.ErrTLS},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInbox(t, &shelf{})
			served(t, in)
			begun(t, in)
			if err := tt.do(t, in); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// A form's limit is the server's to enforce: whoever has the form need not be our worker.
func TestAFileIsReadUpToItsLimit(t *testing.T) {
	in := newInbox(t, &shelf{})
	served(t, in)
	begun(t, in)
	uploads, err := in.SignUploads(t.Context(), map[string]int{summaryOf: 10}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]int{"0123456789": http.StatusNoContent, "0123456789a": http.StatusRequestEntityTooLarge} {
		request, err := store.NewForm(t.Context(), uploads.Post, summaryOf, []byte(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := &recorder{header: http.Header{}}
		in.ServeHTTP(answer, request)
		if answer.status != want {
			t.Errorf("%d bytes: HTTP %d (%s), want %d", len(body), answer.status, answer.body.String(), want)
		}
	}
}

func TestRequestsThatAreNoForms(t *testing.T) {
	in := newInbox(t, &shelf{})
	begun(t, in)
	uploads, err := in.SignUploads(t.Context(), map[string]int{summaryOf: 1 << 10}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	many := map[string]string{}
	for i := range maxFields {
		many["x"+strings.Repeat("y", i)] = ""
	}
	for name, more := range map[string]map[string]string{
		"too many fields":           many,
		"a field that is long":      {"x": strings.Repeat("y", maxField+1)},
		"a policy that is not JSON": {"policy": "bm8="},
	} {
		request, err := store.NewForm(t.Context(), uploads.Post, summaryOf, []byte("x"), more)
		if err != nil {
			t.Fatal(err)
		}
		if name == "a policy that is not JSON" { // NewForm sets its own
			body, _ := io.ReadAll(request.Body)
			policy, _ := uploads.Post.Policy(summaryOf)
			request.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), policy, "bm8=", 1)))
		}
		answer := &recorder{header: http.Header{}}
		in.ServeHTTP(answer, request)
		if answer.status != http.StatusForbidden {
			t.Errorf("%s: HTTP %d (%s), want 403", name, answer.status, answer.body.String())
		}
	}
	for method, want := range map[string]int{http.MethodPost: http.StatusForbidden, http.MethodGet: http.StatusForbidden, http.MethodPut: http.StatusMethodNotAllowed} {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://127.0.0.1/?key=a", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		answer := &recorder{header: http.Header{}}
		in.ServeHTTP(answer, request)
		if answer.status != want {
			t.Errorf("%s without anything signed: HTTP %d, want %d", method, answer.status, want)
		}
	}
}

func TestADamagedUploadIsSentAgain(t *testing.T) {
	in := newInbox(t, &shelf{})
	begun(t, in)
	uploads, err := in.SignUploads(t.Context(), map[string]int{summaryOf: result.MaxWorkerSummary}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	request, err := store.NewForm(t.Context(), uploads.Post, summaryOf, []byte("what was meant"), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), "was meant", "arrived..", 1)))
	answer := &recorder{header: http.Header{}}
	in.ServeHTTP(answer, request)
	if answer.status != http.StatusServiceUnavailable {
		t.Errorf("HTTP %d, want 503", answer.status)
	}
	if _, err := in.Get(t.Context(), summaryOf); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it was stored: %v", err)
	}
}

type recorder struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// Headers of a part are read before anything of the form can be checked.
func TestAFormOfNobodyIsReadNoFurtherThanItsFields(t *testing.T) {
	in := newInbox(t, &shelf{})
	body := &endless{head: "--b\r\nContent-Disposition: form-data; name=\"x\"\r\nX-Long: "}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	w := httptest.NewRecorder()
	in.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if body.read > maxFields*maxField {
		t.Errorf("%d bytes were read of a request that nobody has signed", body.read)
	}
}

// endless is a head and then one letter for ever.
type endless struct {
	head string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

// A file takes a while to be read, and the run can end meanwhile.
func TestAnUploadThatEndsAfterItsRunStaysNowhere(t *testing.T) {
	s := &shelf{}
	in := newInbox(t, s)
	begun(t, in)
	if err := in.Drop(t.Context(), "lab", "b", Keep{}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"lab/b/g1/workers/w.n/summary.json", "lab/b/g1/workers/w.n/trials/t1.json"} {
		if err := in.put(t.Context(), key, []byte("x"), "", false); !errors.Is(err, store.ErrDenied) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if keys, err := in.List(t.Context(), "", 1000); err != nil || len(keys) > 0 {
		t.Errorf("%v are left: %v", keys, err)
	}
}
