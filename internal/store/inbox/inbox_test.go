package inbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/store"
)

// shelf is a Backing in memory.
type shelf struct {
	mu    sync.Mutex
	all   map[string][]byte
	saves int
	err   error
}

func (s *shelf) Load(context.Context) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.all), s.err
}

func (s *shelf) Save(_ context.Context, key string, compressed []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.all == nil {
		s.all = map[string][]byte{}
	}
	s.saves++
	s.all[key] = compressed
	return nil
}

func (s *shelf) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
	return s.err
}

func newInbox(t *testing.T, s *shelf) *Inbox {
	t.Helper()
	identity := testIdentity(t)
	return &Inbox{
		URL: "https://127.0.0.1", Backing: s, Now: time.Now,
		Identity: func(context.Context) (Identity, error) { return identity, nil },
	}
}

// noise does not get smaller when it is compressed.
func noise(size int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(size)))
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

const (
	planOf    = "lab/b/g1/plan.json"
	summaryOf = "lab/b/g1/workers/w.n/summary.json"
	trialsOf  = "lab/b/g1/workers/w.n/trials/"
	rawOf     = "lab/b/g1/workers/w.n/raw/t1/output.zst"
	samplesOf = "lab/b/g1/workers/w.n/samples/t1.parquet"
)

func TestARestartLosesOnlyTrials(t *testing.T) {
	kept := &shelf{}
	before := newInbox(t, kept)
	for key, body := range map[string]string{planOf: "the plan", summaryOf: "the summary", trialsOf + "t1.json": "a trial", rawOf: "raw", samplesOf: "samples"} {
		if err := before.Put(t.Context(), key, []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	after := newInbox(t, kept)
	for key, want := range map[string]string{planOf: "the plan", summaryOf: "the summary"} {
		got, err := after.Get(t.Context(), key)
		if err != nil || string(got) != want {
			t.Errorf("after a restart, %s is %q (%v), want %q", key, got, err, want)
		}
	}
	for _, key := range []string{trialsOf + "t1.json", rawOf, samplesOf} {
		if _, err := after.Get(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after a restart, %s: %v, want %v", key, err, store.ErrNotFound)
		}
	}
	for key := range kept.all {
		if strings.Contains(key, "/raw/") || strings.Contains(key, "/samples/") {
			t.Errorf("%s is in the Backing", key)
		}
	}
	if got, err := before.Get(t.Context(), trialsOf+"t1.json"); err != nil || string(got) != "a trial" {
		t.Errorf("before the restart, the trial is %q (%v)", got, err)
	}
}

func TestAnObjectMayHaveHalfAMiB(t *testing.T) {
	in := newInbox(t, &shelf{})
	if err := in.Put(t.Context(), summaryOf, bytes.Repeat([]byte("a"), 8<<20)); err != nil {
		t.Errorf("8 MiB that become small: %v", err)
	}
	err := in.Put(t.Context(), summaryOf, noise(MaxObject+1))
	if !errors.Is(err, store.ErrTooLarge) || !strings.Contains(err.Error(), "spec.results.storeRef") {
		t.Errorf("too large: %v, want %v and what to do", err, store.ErrTooLarge)
	}
	if _, err := in.GetLimited(t.Context(), summaryOf, 1<<20); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("reading 8 MiB with a limit of 1 MiB: %v, want %v", err, store.ErrTooLarge)
	}
}

// A namespace that fills its share keeps nobody else from storing.
func TestANamespaceHasItsShare(t *testing.T) {
	in := newInbox(t, &shelf{})
	body := noise(MaxObject * 3 / 4)
	full := 0
	for i := range 100 {
		err := in.Put(t.Context(), fmt.Sprintf("greedy/b%d/g1/workers/w.n/summary.json", i), body)
		if err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		if err != nil {
			full++
		}
	}
	if stored := 100 - full; stored == 0 || stored*len(body) > maxKeptEach {
		t.Errorf("%d objects of %d bytes are stored for one namespace; its share has %d", stored, len(body), maxKeptEach)
	}
	if !store.Temporary(ErrFull) {
		t.Error("a run may wait until others have ended")
	}
	if err := in.Put(t.Context(), planOf, []byte("the plan")); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	err := in.Put(t.Context(), "greedy/next/g1/plan.json", []byte("the plan"))
	if !errors.Is(err, ErrFull) {
		t.Errorf("a namespace that is full begins another run: %v", err)
	}
}

func TestRunsThatHaveBegunCanEnd(t *testing.T) {
	in := newInbox(t, &shelf{})
	begun := 0
	for i := range maxBackedEach {
		if err := in.Put(t.Context(), fmt.Sprintf("lab/b%d/g1/plan.json", i), []byte("p")); err != nil {
			break
		}
		begun++
	}
	if begun != maxBackedEach/2 {
		t.Errorf("%d runs begin, want %d", begun, maxBackedEach/2)
	}
	for i := range begun {
		if err := in.Put(t.Context(), fmt.Sprintf("lab/b%d/g1/accepted/w.n.json", i), []byte("a")); err != nil {
			t.Fatalf("run %d of %d cannot end: %v", i, begun, err)
		}
	}
}

func TestTheOldestTrialsAreDroppedFirst(t *testing.T) {
	in := newInbox(t, &shelf{})
	body := noise(MaxObject * 3 / 4)
	fits := maxTrialsEach / len(body)
	if err := in.Put(t.Context(), "other/b/g1/workers/w.n/trials/t.json", body); err != nil {
		t.Fatal(err)
	}
	for i := range fits + 2 {
		if err := in.Put(t.Context(), fmt.Sprintf("%st%02d.json", trialsOf, i), body); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := in.List(t.Context(), trialsOf, fits+2)
	if err != nil || len(keys) != fits+2 {
		t.Errorf("%d trials are counted (%v), want %d", len(keys), err, fits+2)
	}
	if _, err := in.List(t.Context(), trialsOf, fits+1); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("more than were asked for are listed: %v", err)
	}
	var dropped []string
	slices.Sort(keys)
	for _, key := range keys {
		if _, err := in.Get(t.Context(), key); errors.Is(err, store.ErrNotFound) {
			dropped = append(dropped, key)
		}
	}
	want := keys[:len(dropped)]
	if diff := cmp.Diff(want, dropped); diff != "" || len(dropped) < 1 || len(dropped) > 3 {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if _, err := in.Get(t.Context(), "other/b/g1/workers/w.n/trials/t.json"); err != nil {
		t.Errorf("the trial of another namespace: %v", err)
	}
}

func TestDropKeepsOneRun(t *testing.T) {
	kept := &shelf{}
	in := newInbox(t, kept)
	for _, key := range []string{planOf, summaryOf, trialsOf + "t1.json", "lab/b/g2/plan.json", "lab/bb/g1/plan.json"} {
		if err := in.Put(t.Context(), key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Drop(t.Context(), "lab", "b", Keep{Run: "g2"}); err != nil {
		t.Fatal(err)
	}
	keys, _ := in.List(t.Context(), "", 1000)
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"lab/b/g2/plan.json", "lab/bb/g1/plan.json"}, keys); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"lab/b/g2/plan.json", "lab/bb/g1/plan.json"}, slices.Sorted(maps.Keys(kept.all))); diff != "" {
		t.Errorf("left in the backing (-want +got):\n%s", diff)
	}
	held, err := in.Benchmarks(t.Context())
	slices.SortFunc(held, func(a, b [2]string) int { return strings.Compare(a[1], b[1]) })
	if diff := cmp.Diff([][2]string{{"lab", "b"}, {"lab", "bb"}}, held); diff != "" || err != nil {
		t.Errorf("benchmarks (-want +got):\n%s%v", diff, err)
	}
}

func TestWhatCannotBeSavedIsNotThere(t *testing.T) {
	kept := &shelf{}
	in := newInbox(t, kept)
	if err := in.Put(t.Context(), planOf, []byte("old")); err != nil {
		t.Fatal(err)
	}
	kept.err = errors.New("the API server is away")
	err := in.Put(t.Context(), planOf, []byte("new"))
	if !errors.Is(err, store.ErrUnreachable) {
		t.Errorf("%v, want %v", err, store.ErrUnreachable)
	}
	if got, err := in.Get(t.Context(), planOf); string(got) != "old" {
		t.Errorf("it is %q (%v), want what was saved", got, err)
	}
	if err := newInbox(t, kept).Check(t.Context()); err == nil {
		t.Error("an inbox whose backing cannot be read is of no use")
	}
}

func TestKeys(t *testing.T) {
	in := newInbox(t, &shelf{})
	for _, key := range []string{"", "a/../b", "/a", "a//b"} {
		if err := in.Put(t.Context(), key, nil); err == nil {
			t.Errorf("the key %q is taken", key)
		}
	}
}

func TestABaselineStaysWhenItsRunHasEnded(t *testing.T) {
	kept := &shelf{}
	in := newInbox(t, kept)
	for _, run := range []string{"g1", "g2", "g3"} {
		for _, name := range []string{"plan.json", "baseline.json", "summary.json"} {
			if err := in.Put(t.Context(), "lab/b/"+run+"/"+name, []byte(run)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := in.Drop(t.Context(), "lab", "b", Keep{Run: "g3", Baselines: []string{"g1"}}); err != nil {
		t.Fatal(err)
	}
	after := newInbox(t, kept) // also after a restart
	for key, want := range map[string]bool{
		"lab/b/g1/baseline.json": true, "lab/b/g1/plan.json": false, "lab/b/g2/baseline.json": false,
		"lab/b/g3/baseline.json": true, "lab/b/g3/plan.json": true,
	} {
		if _, err := after.Get(t.Context(), key); (err == nil) != want {
			t.Errorf("%s: %v, want it kept: %t", key, err, want)
		}
	}
	if err := after.Drop(t.Context(), "lab", "b", Keep{}); err != nil || len(kept.all) != 0 {
		t.Errorf("of a benchmark that is gone, %d objects stay: %v", len(kept.all), err)
	}
	if err := in.Put(t.Context(), "lab/b/g4/baseline.json", noise(MaxBaseline+1)); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
}

// What stays must not keep runs from beginning.
func TestBaselinesHaveRoomOfTheirOwn(t *testing.T) {
	in := newInbox(t, &shelf{})
	body, held := noise(MaxBaseline-1024), 0
	for i := range 300 {
		err := in.Put(t.Context(), fmt.Sprintf("lab/b%d/g1/baseline.json", i), body)
		if err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
		if err == nil {
			held++
		}
	}
	if held == 0 || held*len(body) > maxBaselineEach {
		t.Errorf("%d are held", held)
	}
	if err := in.Put(t.Context(), planOf, noise(MaxObject/2)); err != nil {
		t.Errorf("a run cannot begin: %v", err)
	}
}

// Whoever fills several namespaces leaves the last quarter to the others.
func TestNobodyTakesTheLastQuarter(t *testing.T) {
	in := newInbox(t, &shelf{})
	body := noise(MaxObject * 3 / 4)
	for n := range 6 {
		for i := range 100 {
			err := in.Put(t.Context(), fmt.Sprintf("greedy%d/b%d/g1/accepted/w.json", n, i), body)
			if err != nil && !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			if n == 0 && i == 0 && err != nil {
				t.Fatal("nothing fits")
			}
		}
	}
	begun := 0
	for i := range 10 {
		if in.Put(t.Context(), fmt.Sprintf("modest%d/b/g1/accepted/w.json", i), noise(100<<10)) == nil {
			begun++
		}
	}
	if all, _ := in.used("", kept); all.bytes > maxKept || begun != 10 {
		t.Errorf("%d of 10 others have room beside 6 that are greedy; %d of %d bytes are held", begun, all.bytes, maxKept)
	}
}

func TestTrialsOfTheLargestNamespaceAreDropped(t *testing.T) {
	in := newInbox(t, &shelf{})
	body := noise(MaxObject * 3 / 4)
	const small = "small/b/g1/workers/w.n/trials/t.json"
	if err := in.Put(t.Context(), small, body); err != nil { // the oldest of all
		t.Fatal(err)
	}
	for n := range 6 {
		for i := range 2 * maxTrialsEach / len(body) {
			if err := in.Put(t.Context(), fmt.Sprintf("large%d/b/g1/workers/w.n/trials/t%02d.json", n, i), body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := in.Get(t.Context(), small); err != nil {
		t.Errorf("others have used all the room: %v", err)
	}
	if all, _ := in.used("", trialOf); all.bytes > maxTrials {
		t.Errorf("%d bytes of %d are held", all.bytes, maxTrials)
	}
}
