package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/store"
)

func hostile(t *testing.T, handler http.HandlerFunc) *Store {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.CloseClientConnections)
	s, err := New(Config{Endpoint: server.URL, Bucket: "bucket", Region: "us-east-1", AccessKey: "k", SecretKey: "s", Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The controller reads eight benchmarks at a time, with a context that has no deadline: eight objects
// that never end would hold all tenants' benchmarks.
func TestAnObjectThatTricklesDoesNotHoldTheOperator(t *testing.T) {
	t.Parallel()
	s := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		w.Header().Set("ETag", `"x"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		if r.Method == http.MethodHead {
			return
		}
		for {
			if _, err := w.Write([]byte("x")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context()) // as the controller's: no deadline
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := s.Get(ctx, "lab/b/run/plan.json")
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, store.ErrUnreachable) || !store.Temporary(err) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a read of an object of 1 MB goes on long after its deadline")
	}
}

// A list that never ends takes the operator's memory.
func TestAListThatNeverEndsIsNotReadForEver(t *testing.T) {
	t.Parallel()
	var pages atomic.Int64
	s := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		n := pages.Add(1)
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><IsTruncated>true</IsTruncated><NextContinuationToken>%d</NextContinuationToken>`, n)
		for i := range 1000 {
			fmt.Fprintf(w, `<Contents><Key>lab/b/run/workers/w/trials/%d-%d.json</Key><Size>1</Size></Contents>`, n, i)
		}
		fmt.Fprint(w, `</ListBucketResult>`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := s.List(ctx, "lab/b/run/workers/w/trials/", 1500)
	if !errors.Is(err, store.ErrTooLarge) || pages.Load() > 4 {
		t.Errorf("%v after %d pages of 1000 keys", err, pages.Load())
	}
}

// The SDK decodes a page of a list as a whole.
func TestAPageOfAListThatNeverEndsIsCutOff(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		page := []byte(strings.Repeat(`<Contents><Key>lab/b/run/workers/w/trials/1.json</Key></Contents>`, 1000))
		fmt.Fprint(w, `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
		for r.Context().Err() == nil {
			n, err := w.Write(page)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	if _, err := s.List(t.Context(), "lab/b/run/workers/w/trials/", 1500); err == nil || sent.Load() > 64<<20 {
		t.Errorf("%v after %d MiB", err, sent.Load()>>20)
	}
}
