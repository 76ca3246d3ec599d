package fio

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	one := make([]job, 1)
	if got, _ := readRates(env, time.Second, one); got != nil {
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
	got, ran := readRates(env, time.Second, one)
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
	if want := (span{at(1000000), at(1005000)}); ran[0] != want {
		t.Errorf("it ran %v, want %v", ran[0], want)
	}
}

// Each of several jobs has its own log, which tells when it ran. A job that was too short for one has none.
func TestRatesTellWhenEachJobRan(t *testing.T) {
	env, jobs := workload.Env{Scratch: t.TempDir()}, []job{{name: "a"}, {name: "b"}, {name: "c"}}
	for name, text := range map[string]string{
		"rate-0_iops.log": "1001000, 10, 0, 0, 0\n1002000, 20, 0, 0, 0\n", "rate-0_bw.log": "1001000, 1, 0, 0, 0\n1002000, 1, 0, 0, 0\n",
		"rate-2_iops.log": "1003000, 30, 1, 0, 0\n1003000, 5, 1, 0, 0\n", "rate-2_bw.log": "1003000, 3, 1, 0, 0\n",
	} {
		if err := os.WriteFile(filepath.Join(env.Scratch, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rates, ran := readRates(env, time.Second, jobs)
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	if diff := cmp.Diff([]result.Rate{
		{Job: "a", Operation: "read", End: at(1001000), Seconds: 1, Count: 10, Bytes: 1024},
		{Job: "a", Operation: "read", End: at(1002000), Seconds: 1, Count: 20, Bytes: 1024},
		{Job: "c", Operation: "write", End: at(1003000), Seconds: 1, Count: 35, Bytes: 3 * 1024},
	}, rates); diff != "" {
		t.Error(diff)
	}
	one := span{at(1000000), at(1002000)}
	if want := []span{one, {at(1000000), at(1003000)}, {at(1002000), at(1003000)}}; !slices.Equal(ran, want) {
		t.Errorf("they ran %v, want %v: the second together with the others, nobody knows when", ran, want)
	}
	jobs[1].options, jobs[2].options = map[string]string{"stonewall": "1"}, map[string]string{"stonewall": "1"}
	_, ran = readRates(env, time.Second, jobs)
	if want := []span{one, {}, {at(1002000), at(1003000)}}; !slices.Equal(ran, want) {
		t.Errorf("they ran %v, want %v: one after the other", ran, want)
	}
}

// Rates of so many jobs, or over so long a time, that a result has no room for them are those of all jobs together.
func TestRatesOfManyJobsAreThoseOfAllTogether(t *testing.T) {
	const intervals, jobs = 1000, 25
	for n, want := range map[int]result.Rate{
		1:    {Job: "a", Operation: "read", Count: 2, Bytes: 3 * 1024},
		jobs: {Operation: "read", Count: 2 * jobs, Bytes: 3 * jobs * 1024},
	} {
		sums := rateSums{interval: time.Second, at: map[rateKey]*result.Rate{}}
		for i := range n {
			sums.job = string(rune('a' + i))
			for _, log := range []struct {
				rate int
				add  func(r *result.Rate, n float64)
			}{
				{2, func(r *result.Rate, n float64) { r.Count += n }},
				{3, func(r *result.Rate, n float64) { r.Bytes += 1024 * n }},
			} {
				var text strings.Builder
				for k := range intervals {
					fmt.Fprintf(&text, "%d, %d, 0, 0, 0\n", 1000*(k+1), log.rate)
				}
				sums.read(text.String(), func(r *result.Rate, perSecond, seconds float64) { log.add(r, perSecond*seconds) })
			}
		}
		rates := sums.sorted()
		if len(rates) != intervals {
			t.Fatalf("%d jobs: %d rates", n, len(rates))
		}
		for k, got := range rates {
			want.End, want.Seconds = time.UnixMilli(1000*int64(k+1)).UTC(), 1
			if got != want {
				t.Fatalf("%d jobs: %+v, want %+v", n, got, want)
			}
		}
	}
}
