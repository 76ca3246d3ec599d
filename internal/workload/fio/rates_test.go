package fio

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
)

func TestFioNotesItsRatesAsOftenAsDisksAreSampled(t *testing.T) {
	for _, c := range []struct{ expected, want time.Duration }{
		{0, time.Second},
		{9 * time.Second, 100 * time.Millisecond},
		{10 * time.Second, time.Second},
		{1000 * time.Second, time.Second},
		{100 * time.Hour, 360 * time.Second},
	} {
		if got := rateInterval(c.expected); got != c.want {
			t.Errorf("%s: every %s, want %s", c.expected, got, c.want)
		}
	}
}

// The rates of clones that ran together are added, and those of jobs one after the other are not.
func TestRatesOfClonesAreAdded(t *testing.T) {
	env := workload.Env{Scratch: t.TempDir()}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(env.Scratch, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := readRates(env, time.Second); got != nil {
		t.Errorf("without logs: %v", got)
	}
	put("rate_iops.log", "1001000, 10, 0, 0, 0\n1001000, 5, 1, 0, 0\n1002001, 20, 0, 0, 0\nnonsense\n1, x, 0\n0, 1, 0\n1003000, 1, 7, 0, 0\n"+
		"1001002, 100, 0, 0, 0\n1002002, 200, 0, 0, 0\n"+
		"1005000, 7, 0, 0, 0\n")
	put("rate_bw.log", "1001000, 1, 0, 0, 0\n1001000, 2, 1, 0, 0\n1002001, 3, 0, 0, 0\n1001002, 4, 0, 0, 0\n")
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	want := []result.Rate{
		{Operation: "read", End: at(1001000), Seconds: 1, Count: 110, Bytes: 5 * 1024},
		{Operation: "write", End: at(1001000), Seconds: 1, Count: 5, Bytes: 2 * 1024},
		{Operation: "read", End: at(1002001), Seconds: 1.001, Count: 20*1.001 + 200, Bytes: 3 * 1024 * 1.001},
		{Operation: "read", End: at(1005000), Seconds: 1, Count: 7},
	}
	if diff := cmp.Diff(want, readRates(env, time.Second), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
}
