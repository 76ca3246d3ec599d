package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// failing is a bucket of which every request ends with that error.
type failing struct{ err error }

func (f failing) Check(context.Context) error                                    { return f.err }
func (f failing) Put(context.Context, string, []byte) error                      { return f.err }
func (f failing) Get(context.Context, string) ([]byte, error)                    { return nil, f.err }
func (f failing) GetLimited(context.Context, string, int) ([]byte, error)        { return nil, f.err }
func (f failing) List(context.Context, string, int) ([]string, error)            { return nil, f.err }
func (f failing) SignGet(context.Context, string, time.Duration) (string, error) { return "", f.err }
func (f failing) SignUploads(context.Context, map[string]int, time.Duration) (trial.Uploads, error) {
	return trial.Uploads{}, f.err
}

// every makes each request once.
func every(b Bucket) []error {
	var all []error
	note := func(err error) { all = append(all, err) }
	note(b.Check(context.Background()))
	note(b.Put(context.Background(), "k", nil))
	_, err := b.Get(context.Background(), "k")
	note(err)
	_, err = b.GetLimited(context.Background(), "k", 1)
	note(err)
	_, err = b.List(context.Background(), "k/", 1)
	note(err)
	_, err = b.SignGet(context.Background(), "k", time.Minute)
	note(err)
	_, err = b.SignUploads(context.Background(), nil, time.Minute)
	note(err)
	return all
}

func TestFailuresOfAStoreAreCounted(t *testing.T) {
	failures.Reset()
	away := errors.New("connection refused")
	for _, err := range every(counted{failing{away}, "away"}) {
		if !errors.Is(err, away) {
			t.Errorf("the error became %v", err)
		}
	}
	for _, harmless := range []error{nil, fmt.Errorf("k: %w", store.ErrNotFound), store.ErrTooLarge, context.Canceled} {
		every(counted{failing{harmless}, "good"})
	}
	want := `
# HELP storagebench_store_errors_total Requests of the operator to a ResultStore that failed, by operation: check, put, get, list or sign. An object that is not there is no failure.
# TYPE storagebench_store_errors_total counter
storagebench_store_errors_total{operation="check",store="away"} 1
storagebench_store_errors_total{operation="get",store="away"} 2
storagebench_store_errors_total{operation="list",store="away"} 1
storagebench_store_errors_total{operation="put",store="away"} 1
storagebench_store_errors_total{operation="sign",store="away"} 2
`
	if err := testutil.CollectAndCompare(failures, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// A store that is deleted leaves no series behind.
func TestADeletedStoreIsReportedNoLonger(t *testing.T) {
	failures.Reset()
	every(counted{failing{errors.New("no")}, "gone"})
	(&Buckets{}).Gone("gone")
	if n := testutil.CollectAndCount(failures); n != 0 {
		t.Errorf("%d series of a store that is gone", n)
	}
}
