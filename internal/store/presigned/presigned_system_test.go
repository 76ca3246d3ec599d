//go:build system

package presigned

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/store/s3/miniotest"
	"storagebench.io/storagebench/internal/trial"
)

// limit of every object here.
const limit = 2 << 20

// bounded is a server on which the credentials may do no more than they need, so that
// uploads are signed as forms.
func bounded(t *testing.T, options ...miniotest.Option) *miniotest.Server {
	t.Helper()
	return miniotest.Start(t, append(options, miniotest.WithPolicy(func(action, _ string) bool { return action != "s3:PutObjectFanOut" }))...)
}

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
	g := trial.Grant{CABundle: server.CABundle, Get: map[string]string{}}
	limits := map[string]int{}
	for _, key := range keys {
		limits[key] = limit
	}
	if g.Uploads, err = signer.SignUploads(t.Context(), limits, valid); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
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
	for name, server := range map[string]*miniotest.Server{"by URLs": miniotest.Start(t, miniotest.WithTLS()), "by forms": bounded(t, miniotest.WithTLS())} {
		t.Run(name, func(t *testing.T) {
			server.Bucket("results")
			g := grant(t, server, "results", time.Minute, "a.json", "b.json")
			if (g.Uploads.Post != nil) != (name == "by forms") {
				t.Fatalf("uploads are signed as %+v", g.Uploads)
			}
			putAndGet(t, open(t, g))
		})
	}
}

func putAndGet(t *testing.T, o *Objects) {
	t.Helper()
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
	server := bounded(t)
	server.Bucket("results")
	var lenient atomic.Bool // while it is signed
	lenient.Store(true)
	strict := miniotest.Start(t, miniotest.WithPolicy(func(action, _ string) bool {
		return action != "s3:PutObjectFanOut" && (lenient.Load() || action != "s3:PutObject" && action != "s3:GetObject")
	}))
	strict.Bucket("results")
	ofStrict := grant(t, strict, "results", time.Minute, "a.json")
	lenient.Store(false)
	encrypted := miniotest.Start(t, miniotest.WithTLS())
	encrypted.Bucket("results")
	down := bounded(t)
	down.Bucket("results")
	ofDown := grant(t, down, "results", time.Minute, "a.json")
	down.Stop()

	server.Bucket("none")
	ofNone := grant(t, server, "none", time.Minute, "a.json")
	if err := server.Client().RemoveBucket(t.Context(), "none"); err != nil {
		t.Fatal(err)
	}
	good := grant(t, server, "results", time.Minute, "a.json")
	withoutCA := grant(t, encrypted, "results", time.Minute, "a.json")
	withoutCA.CABundle = nil
	forged := trial.Grant{
		Uploads: forge(good.Uploads, func(p *trial.Post) {
			object := p.Objects["a.json"]
			object.Signature = strings.Repeat("0", 64)
			p.Objects["a.json"] = object
		}),
		Get: map[string]string{"a.json": strings.Replace(good.Get["a.json"], "X-Amz-Signature=", "X-Amz-Signature=0", 1)},
	}
	for name, c := range map[string]struct {
		grant     trial.Grant
		want      error
		temporary bool
	}{
		"expired":              {grant: expired(t, server), want: store.ErrExpired},
		"no such bucket":       {grant: ofNone, want: store.ErrNoBucket},
		"denied by policy":     {grant: ofStrict, want: store.ErrDenied},
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
		// A URL's time is counted from a whole second, and ends before a form's.
		if errors.Is(err, store.ErrExpired) && errors.Is(o.Put(t.Context(), "a.json", nil), store.ErrExpired) {
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

// forge changes a copy of signed forms.
func forge(u trial.Uploads, change func(*trial.Post)) trial.Uploads {
	post := *u.Post
	post.Objects, post.Fields = maps.Clone(post.Objects), maps.Clone(post.Fields)
	change(&post)
	return trial.Uploads{Post: &post}
}

func TestTheStoreItselfRefusesWhatWasNotSigned(t *testing.T) {
	server := bounded(t)
	server.Bucket("results")
	g := grant(t, server, "results", time.Minute, "a.json")
	small := []byte("small")
	for name, c := range map[string]struct {
		change func(*trial.Post)
		more   map[string]string
		body   []byte
		key    string
		want   string
	}{
		"as it was signed":  {key: "a.json", body: make([]byte, limit)},
		"one byte too many": {key: "a.json", body: make([]byte, limit+1), want: "EntityTooLarge"},
		"far too many":      {key: "a.json", body: make([]byte, 16*limit), want: "EntityTooLarge"},
		"another limit": {key: "a.json", body: small, change: func(p *trial.Post) {
			p.Objects["a.json"] = trial.PostObject{Limit: 1 << 30, Signature: p.Objects["a.json"].Signature}
		}, want: "SignatureDoesNotMatch"},
		"another key":            {key: "b.json", body: small, change: func(p *trial.Post) { p.Objects["b.json"] = p.Objects["a.json"] }, want: "SignatureDoesNotMatch"},
		"another key, as signed": {key: "a.json", body: small, more: map[string]string{"key": "lab/b.json"}, want: "AccessDenied"},
		"another prefix":         {key: "a.json", body: small, change: func(p *trial.Post) { p.Prefix = "other/" }, want: "SignatureDoesNotMatch"},
		"a later end":            {key: "a.json", body: small, change: func(p *trial.Post) { p.Expiration = "2099-01-01T00:00:00.000Z" }, want: "SignatureDoesNotMatch"},
		"keys fanned out":        {key: "a.json", body: small, more: map[string]string{"x-minio-fanout-list": `{"key":"lab/b.json"}`}, want: "AccessDenied"},
		"another metadata":       {key: "a.json", body: small, more: map[string]string{"x-amz-meta-a": "b"}, want: "AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			post := g.Uploads.Post
			if c.change != nil {
				post = forge(g.Uploads, c.change).Post
			}
			// As an attacker does it: without our own checks.
			request, err := store.NewForm(t.Context(), post, c.key, c.body, c.more)
			if err != nil {
				t.Fatal(err)
			}
			if key := c.more["key"]; key != "" {
				request = withKey(t, post, c.body, key)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || (response.StatusCode < 300) != (c.want == "") || !strings.Contains(string(answer), c.want) {
				t.Errorf("%s, %s, %v; want %q", response.Status, answer, err, c.want)
			}
		})
	}
	for object := range server.Client().ListObjects(t.Context(), "results", minio.ListObjectsOptions{Recursive: true}) {
		if object.Err != nil || object.Key != "lab/a.json" || object.Size > limit {
			t.Errorf("the bucket holds %s with %d bytes, %v", object.Key, object.Size, object.Err)
		}
	}
	if err := open(t, g).Put(t.Context(), "a.json", make([]byte, limit+1)); !errors.Is(err, store.ErrTooLarge) || store.Temporary(err) {
		t.Errorf("our own client: %v", err)
	}
}

// withKey is the signed form of a.json, policy and all, with another key in its field.
func withKey(t *testing.T, post *trial.Post, body []byte, key string) *http.Request {
	t.Helper()
	request, err := store.NewForm(t.Context(), post, "a.json", body, nil)
	if err != nil {
		t.Fatal(err)
	}
	form, err := io.ReadAll(request.Body)
	if err != nil {
		t.Fatal(err)
	}
	form = bytes.Replace(form, []byte("name=\"key\"\r\n\r\nlab/a.json"), []byte("name=\"key\"\r\n\r\n"+key), 1)
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(form)), int64(len(form))
	return request
}

func TestACorruptUploadIsRefused(t *testing.T) {
	server := bounded(t)
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
		if at := bytes.Index(body, []byte("every bit")); at >= 0 {
			body[at] ^= 1
		}
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
	}}
	bad := httptest.NewServer(proxy)
	defer bad.Close()
	through := open(t, trial.Grant{Uploads: forge(g.Uploads, func(p *trial.Post) { p.URL = strings.Replace(p.URL, server.Endpoint, bad.URL, 1) })})
	err = through.Put(t.Context(), "a.json", []byte("every bit counts"))
	if err == nil || !strings.Contains(err.Error(), "Checksum") {
		t.Errorf("the upload gave %v", err)
	}
	noSecrets(t, err)
	if _, err := open(t, g).Get(t.Context(), "a.json"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the corrupt object was stored: %v", err)
	}
}

// A server that is busy refuses a form once, as MinIO does whose policies come from a program that does not answer in
// time. What is found out holds as long as the operator, and without forms nothing bounds uploads.
func TestAFormThatIsRefusedOnceIsTriedAgain(t *testing.T) {
	server := bounded(t)
	server.Bucket("results")
	backend, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for refused, want := range map[int32]bool{0: true, 1: true, 100: false} {
		var posts atomic.Int32
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(backend)
			r.Out.Host = r.In.Host // which is signed
		}}
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") && posts.Add(1) <= refused {
				http.Error(w, "AccessDenied", http.StatusForbidden)
				return
			}
			proxy.ServeHTTP(w, r)
		}))
		signer, err := s3.New(s3.Config{Endpoint: front.URL, Bucket: "results", Prefix: "lab", AccessKey: miniotest.AccessKey, SecretKey: miniotest.SecretKey})
		if err != nil {
			t.Fatal(err)
		}
		uploads, err := signer.SignUploads(t.Context(), map[string]int{"a.json": limit}, time.Minute)
		if err != nil || (uploads.Post != nil) != want {
			t.Errorf("after %d refusals of a form: forms are used: %v (%v), expected %v", refused, uploads.Post != nil, err, want)
		}
		front.Close()
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
	o := open(t, trial.Grant{Uploads: trial.Uploads{Put: map[string]string{"a.json": "http://" + l.Addr().String() + "/a?X-Amz-Signature=1"}}})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := o.Put(ctx, "a.json", []byte("x")); !errors.Is(err, context.DeadlineExceeded) || !store.Temporary(err) {
		t.Errorf("got %v", err)
	}
}
