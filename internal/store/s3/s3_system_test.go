//go:build system

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/s3/miniotest"
	"storagebench.io/storagebench/internal/trial"
)

func open(t *testing.T, server *miniotest.Server, change func(*Config)) *Store {
	t.Helper()
	c := Config{Endpoint: server.Endpoint, Bucket: "results", Prefix: "lab/a", AccessKey: miniotest.AccessKey, SecretKey: miniotest.SecretKey}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestObjectsAreKeptUnderThePrefix(t *testing.T) {
	server := miniotest.Start(t)
	server.Bucket("results")
	s, ctx := open(t, server, nil), t.Context()

	for _, key := range []string{"ns/b/run/plan.json", "ns/b/run/workers/w/trials/a.r001.json", "ns/other/x.json"} {
		if err := s.Put(ctx, key, []byte("first "+key)); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(ctx, key, []byte(key)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(ctx, key); err != nil || string(got) != key {
			t.Errorf("%s: got %q, %v", key, got, err)
		}
	}
	if _, err := server.Client().StatObject(ctx, "results", "lab/a/ns/b/run/plan.json", minio.StatObjectOptions{}); err != nil {
		t.Errorf("the object is not under the prefix: %v", err)
	}
	keys, err := s.List(ctx, "ns/b/run/", 10)
	slices.Sort(keys)
	if want := []string{"ns/b/run/plan.json", "ns/b/run/workers/w/trials/a.r001.json"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("listed %v, %v", keys, err)
	}
	if _, err := s.Get(ctx, "ns/b/run/none.json"); !errors.Is(err, store.ErrNotFound) || store.Temporary(err) {
		t.Errorf("a missing object: %v", err)
	}
	if err := s.Put(ctx, "ns/../escape", nil); err == nil {
		t.Error("a key with .. was accepted")
	}
}

func TestCheckLeavesNothingBehind(t *testing.T) {
	server := miniotest.Start(t)
	server.Bucket("results")
	if err := open(t, server, nil).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for object := range server.Client().ListObjects(t.Context(), "results", minio.ListObjectsOptions{Recursive: true}) {
		t.Errorf("it left %s (%v)", object.Key, object.Err)
	}
}

func TestEachMistakeHasItsError(t *testing.T) {
	plain := miniotest.Start(t)
	plain.Bucket("results")
	strict := miniotest.Start(t, miniotest.WithPolicy(func(action, object string) bool {
		return action != "s3:PutObject" || strings.HasPrefix(object, "lab/allowed/")
	}))
	strict.Bucket("results")
	encrypted := miniotest.Start(t, miniotest.WithTLS())
	encrypted.Bucket("results")
	down := miniotest.Start(t)
	down.Stop()

	for name, c := range map[string]struct {
		server    *miniotest.Server
		change    func(*Config)
		want      error
		temporary bool
	}{
		"everything right":           {server: plain},
		"no such bucket":             {server: plain, change: func(c *Config) { c.Bucket = "none" }, want: store.ErrNoBucket},
		"an unknown access key":      {server: plain, change: func(c *Config) { c.AccessKey = "nobody" }, want: store.ErrCredentials},
		"a wrong secret":             {server: plain, change: func(c *Config) { c.SecretKey = "hunter2" }, want: store.ErrCredentials},
		"denied by policy":           {server: strict, want: store.ErrDenied},
		"allowed by policy":          {server: strict, change: func(c *Config) { c.Prefix = "lab/allowed" }},
		"an unknown authority":       {server: encrypted, want: store.ErrTLS},
		"the authority is known":     {server: encrypted, change: func(c *Config) { c.CABundle = encrypted.CABundle }},
		"another authority":          {server: encrypted, change: func(c *Config) { c.CABundle = otherCA(t) }, want: store.ErrTLS},
		"the server is down":         {server: down, want: store.ErrUnreachable, temporary: true},
		"plain text to TLS":          {server: encrypted, change: func(c *Config) { c.Endpoint = "http" + strings.TrimPrefix(c.Endpoint, "https") }, want: store.ErrUnreachable, temporary: true},
		"TLS to plain text":          {server: plain, change: func(c *Config) { c.Endpoint = "https" + strings.TrimPrefix(c.Endpoint, "http") }, want: store.ErrUnreachable, temporary: true},
		"a name that has no address": {server: plain, change: func(c *Config) { c.Endpoint = "http://none.invalid:9000" }, want: store.ErrUnreachable, temporary: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := open(t, c.server, c.change).Check(ctx)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil {
				return
			}
			if store.Temporary(err) != c.temporary {
				t.Errorf("temporary is %t: %v", store.Temporary(err), err)
			}
			for _, secret := range []string{"hunter2", miniotest.SecretKey, "X-Amz", "Signature="} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error holds %q: %v", secret, err)
				}
			}
			t.Log(err)
		})
	}
}

func otherCA(t *testing.T) []byte {
	t.Helper()
	return miniotest.Start(t, miniotest.WithTLS()).CABundle
}

func TestAnObjectThatIsTooLargeIsNotRead(t *testing.T) {
	server := miniotest.Start(t)
	server.Bucket("results")
	s := open(t, server, nil)
	_, err := server.Client().PutObject(t.Context(), "results", "lab/a/big", io.LimitReader(zeros{}, result.MaxDocument+1), result.MaxDocument+1, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "big"); !errors.Is(err, store.ErrTooLarge) || store.Temporary(err) {
		t.Errorf("got %v", err)
	}
	if _, err := s.GetLimited(t.Context(), "big", 100); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("with a limit of 100: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSignedURLsAllowOneRequestOnOneObject(t *testing.T) {
	server := miniotest.Start(t)
	server.Bucket("results")
	s, ctx := open(t, server, func(*Config) {}), t.Context()
	uploads, err := s.SignUploads(ctx, map[string]int{"ns/a.json": 100}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	// The root of MinIO may fan a form out, so that a form would write any key.
	put := uploads.Put["ns/a.json"]
	if put == "" || uploads.Post != nil {
		t.Fatalf("got %+v", uploads)
	}
	get, err := s.SignGet(ctx, "ns/a.json", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if code := request(t, http.MethodPut, put, "hello"); code != http.StatusOK {
		t.Errorf("put: %d", code)
	}
	if code := request(t, http.MethodGet, get, ""); code != http.StatusOK {
		t.Errorf("get: %d", code)
	}
	for name, code := range map[string]int{
		"delete with the put's": request(t, http.MethodDelete, put, ""),
		"put with the get's":    request(t, http.MethodPut, get, "x"),
		"put of another object": request(t, http.MethodPut, strings.Replace(put, "a.json", "b.json", 1), "x"),
		"get of another object": request(t, http.MethodGet, strings.Replace(get, "a.json", "b.json", 1), ""),
	} {
		if code != http.StatusForbidden {
			t.Errorf("%s: %d", name, code)
		}
	}
	if keys, err := s.List(ctx, ".storagebench-check/", 10); err != nil || len(keys) != 0 {
		t.Errorf("left behind: %q, %v", keys, err)
	}
}

// 500 trials of a benchmark whose every name is as long as it can be.
func TestTheGrantOfAHugeWorkerFitsASecret(t *testing.T) {
	server := miniotest.Start(t, miniotest.WithPolicy(func(action, _ string) bool { return action != "s3:PutObjectFanOut" }))
	server.Bucket("results")
	s := open(t, server, func(c *Config) { c.Prefix = strings.Repeat("p", 64) })
	p := &trial.Plan{Benchmark: trial.Benchmark{Namespace: strings.Repeat("n", 63), Name: strings.Repeat("b", 52)}, Run: strings.Repeat("r", 40)}
	for i := range 500 {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("%s.%s.r%03d", strings.Repeat("w", 40), strings.Repeat("v", 40), i)})
	}
	g, err := store.NewGrant(t.Context(), s, p, strings.Repeat("t", 40)+"."+strings.Repeat("n", 63), time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := g.Encode()
	if err != nil || g.Uploads.Post == nil || len(document) > 1<<20 {
		t.Errorf("the grant has %d bytes, %v", len(document), err)
	}
	t.Logf("%d bytes", len(document))
}

func request(t *testing.T, method, url, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
