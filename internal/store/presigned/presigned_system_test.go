//go:build system

package presigned

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/store/s3/miniotest"
	"storagebench.io/storagebench/internal/trial"
)

// grant signs URLs for the given keys with the operator's own code.
func grant(t *testing.T, server *miniotest.Server, bucket string, valid time.Duration, keys ...string) trial.Grant {
	t.Helper()
	signer, err := s3.New(s3.Config{
		Endpoint: server.Endpoint, Bucket: bucket, Prefix: "lab", CABundle: server.CABundle,
		AccessKey: miniotest.AccessKey, SecretKey: miniotest.SecretKey,
	})
	if err != nil {
		t.Fatal(err)
	}
	g := trial.Grant{CABundle: server.CABundle, Put: map[string]string{}, Get: map[string]string{}}
	for _, key := range keys {
		if g.Put[key], err = signer.SignPut(t.Context(), key, valid); err != nil {
			t.Fatal(err)
		}
		if g.Get[key], err = signer.SignGet(t.Context(), key, valid); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func open(t *testing.T, g trial.Grant) *Objects {
	t.Helper()
	o, err := New(g)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWhatIsPutCanBeGot(t *testing.T) {
	server := miniotest.Start(t, miniotest.WithTLS())
	server.Bucket("results")
	o := open(t, grant(t, server, "results", time.Minute, "a.json", "b.json"))
	body := bytes.Repeat([]byte("storagebench"), 100_000)
	for range 2 { // the second replaces the first
		if err := o.Put(t.Context(), "a.json", body); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := o.Get(t.Context(), "a.json"); err != nil || !bytes.Equal(got, body) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if _, err := o.Get(t.Context(), "b.json"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an object that is not there: %v", err)
	}
	if err := o.Put(t.Context(), "c.json", body); !errors.Is(err, store.ErrDenied) {
		t.Errorf("an object that was not granted: %v", err)
	}
}

func TestEachMistakeHasItsError(t *testing.T) {
	server := miniotest.Start(t)
	server.Bucket("results")
	strict := miniotest.Start(t, miniotest.WithPolicy(func(action, _ string) bool {
		return action != "s3:PutObject" && action != "s3:GetObject"
	}))
	strict.Bucket("results")
	encrypted := miniotest.Start(t, miniotest.WithTLS())
	encrypted.Bucket("results")
	down := miniotest.Start(t)
	down.Bucket("results")
	ofDown := grant(t, down, "results", time.Minute, "a.json")
	down.Stop()

	good := grant(t, server, "results", time.Minute, "a.json")
	withoutCA := grant(t, encrypted, "results", time.Minute, "a.json")
	withoutCA.CABundle = nil
	forged := trial.Grant{
		Put: map[string]string{"a.json": strings.Replace(good.Put["a.json"], "X-Amz-Signature=", "X-Amz-Signature=0", 1)},
		Get: map[string]string{"a.json": strings.Replace(good.Get["a.json"], "X-Amz-Signature=", "X-Amz-Signature=0", 1)},
	}
	for name, c := range map[string]struct {
		grant     trial.Grant
		want      error
		temporary bool
	}{
		"expired":              {grant: expired(t, server), want: store.ErrExpired},
		"no such bucket":       {grant: grant(t, server, "none", time.Minute, "a.json"), want: store.ErrNoBucket},
		"denied by policy":     {grant: grant(t, strict, "results", time.Minute, "a.json"), want: store.ErrDenied},
		"a forged signature":   {grant: forged, want: store.ErrCredentials},
		"an unknown authority": {grant: withoutCA, want: store.ErrTLS},
		"the server is down":   {grant: ofDown, want: store.ErrUnreachable, temporary: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t, c.grant)
			_, getErr := o.Get(t.Context(), "a.json")
			for verb, err := range map[string]error{"put": o.Put(t.Context(), "a.json", []byte("x")), "get": getErr} {
				if !errors.Is(err, c.want) || store.Temporary(err) != c.temporary {
					t.Errorf("%s: got %v, want %v", verb, err, c.want)
				}
				noSecrets(t, err)
			}
		})
	}
}

// expired returns a grant whose time has passed, by the server's own clock.
func expired(t *testing.T, server *miniotest.Server) trial.Grant {
	t.Helper()
	g := grant(t, server, "results", time.Second, "a.json")
	o := open(t, g)
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := o.Get(t.Context(), "a.json")
		if errors.Is(err, store.ErrExpired) {
			return g
		}
		if time.Now().After(deadline) {
			t.Fatalf("the URL does not expire: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func noSecrets(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, secret := range []string{"X-Amz-Signature", "X-Amz-Credential", miniotest.SecretKey} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error holds %s: %v", secret, err)
		}
	}
}

func TestACorruptUploadIsRefused(t *testing.T) {
	server := miniotest.Start(t)
	server.Bucket("results")
	g := grant(t, server, "results", time.Minute, "a.json")
	backend, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	// A proxy on the way flips a bit of every upload.
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(backend)
		r.Out.Host = backend.Host // which is signed
		body, _ := io.ReadAll(r.In.Body)
		if len(body) > 0 {
			body[len(body)/2] ^= 1
		}
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
	}}
	bad := httptest.NewServer(proxy)
	defer bad.Close()
	through := open(t, trial.Grant{Put: map[string]string{"a.json": strings.Replace(g.Put["a.json"], server.Endpoint, bad.URL, 1)}})
	err = through.Put(t.Context(), "a.json", []byte("every bit counts"))
	if err == nil || !strings.Contains(err.Error(), "BadDigest") {
		t.Errorf("the upload gave %v", err)
	}
	noSecrets(t, err)
	if _, err := open(t, g).Get(t.Context(), "a.json"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the corrupt object was stored: %v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	o := open(t, trial.Grant{Get: map[string]string{"a.json": first.URL + "/?X-Amz-Signature=1"}})
	if _, err := o.Get(t.Context(), "a.json"); err == nil || asked {
		t.Errorf("the redirect was followed: %t, %v", asked, err)
	}
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	o := open(t, trial.Grant{Put: map[string]string{"a.json": "http://" + l.Addr().String() + "/a?X-Amz-Signature=1"}})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := o.Put(ctx, "a.json", []byte("x")); !errors.Is(err, context.DeadlineExceeded) || !store.Temporary(err) {
		t.Errorf("got %v", err)
	}
}
