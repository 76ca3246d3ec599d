package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/dir"
	"storagebench.io/storagebench/internal/trial"
)

// bucket is a directory; nothing is signed in these tests.
type bucket struct {
	*dir.Store
	store.Signer
	// broken is what a key's reads return, in place of its content.
	broken map[string]error
}

func (b *bucket) Check(context.Context) error { return nil }

func (b *bucket) GetLimited(ctx context.Context, key string, limit int) ([]byte, error) {
	if err := b.broken[key]; err != nil {
		return nil, err
	}
	return b.Store.GetLimited(ctx, key, limit)
}

var _ stores.Bucket = (*bucket)(nil)

func newBucket(t *testing.T) *bucket {
	t.Helper()
	d, err := dir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bucket{Store: d, broken: map[string]error{}}
}

func (b *bucket) put(t *testing.T, key string, document any) []byte {
	t.Helper()
	encoded, ok := document.([]byte)
	if !ok {
		var err error
		if encoded, err = json.Marshal(document); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Put(t.Context(), key, encoded); err != nil {
		t.Fatal(err)
	}
	return encoded
}

var (
	self  = trial.Worker{Name: "t.n1", Target: "t", Node: "n1"}
	other = trial.Worker{Name: "t.n2", Target: "t", Node: "n2"}
	plan  = &trial.Plan{
		Benchmark: trial.Benchmark{Namespace: "lab", Name: "b", UID: "u"}, Run: "r1",
		Workloads: []trial.Workload{{Name: "w"}},
		Trials:    []trial.Trial{{ID: "w-1", Workload: "w", Repeat: 1}, {ID: "w-2", Workload: "w", Repeat: 2}},
		Workers:   []trial.Worker{self, other},
	}
)

// summaryOf is what a worker stores that has measured these trials.
func summaryOf(w trial.Worker, trials ...trial.Trial) *result.WorkerSummary {
	s := result.NewWorkerSummary(plan, w)
	for _, t := range trials {
		s.Trials = append(s.Trials, result.TrialSummary{Trial: t, Outcome: result.Measured})
	}
	return s
}

func documentOf(w trial.Worker, t trial.Trial) result.Trial {
	return result.Trial{Schema: result.TrialSchema, Benchmark: plan.Benchmark, Run: plan.Run, Worker: w, Trial: t, Attempt: 1, Outcome: result.Measured}
}

// What a worker stored is taken for what it is: missing, its own, or not accepted; and only a
// store that fails is worth another try.
func TestCollect(t *testing.T) {
	keys := plan.Keys()
	summaryKey, unreachable := keys.WorkerSummary(self.Name), fmt.Errorf("get: %w", store.ErrUnreachable)
	stored := func(document any) func(*testing.T, *bucket) string {
		return func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, summaryKey, document)
			return ""
		}
	}
	for name, c := range map[string]struct {
		prepare  func(*testing.T, *bucket) (digest string)
		want     int // trials; -1: nothing was stored
		rejected bool
		fails    error
	}{
		"nothing":   {func(*testing.T, *bucket) string { return "" }, -1, false, nil},
		"a summary": {stored(summaryOf(self, plan.Trials...)), 2, false, nil},
		"a summary with the receipt's digest": {func(t *testing.T, b *bucket) string {
			t.Helper()
			return trial.Digest(b.put(t, summaryKey, summaryOf(self, plan.Trials...)))
		}, 2, false, nil},
		"one with another digest": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, summaryKey, summaryOf(self, plan.Trials...))
			return trial.Digest([]byte("what the worker stored"))
		}, 0, true, nil},
		"bytes that are no JSON":      {stored([]byte("\x00\xff not JSON")), 0, true, nil},
		"JSON that is no summary":     {stored([]byte(`[1,2,3]`)), 0, true, nil},
		"a summary of another schema": {stored([]byte(`{"schema":"storagebench.io/worker.v9"}`)), 0, true, nil},
		"JSON that is very deep":      {stored([]byte(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000))), 0, true, nil},
		"a summary that is too large": {stored([]byte(strings.Repeat(" ", result.MaxWorkerSummary+1))), 0, true, nil},
		"that of another worker":      {stored(summaryOf(other, plan.Trials...)), 0, true, nil},
		"trials that nobody planned":  {stored(summaryOf(self, trial.Trial{ID: "x-1", Workload: "x", Repeat: 1})), 0, true, nil},
		"a trial of a killed worker": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-2"), documentOf(self, plan.Trials[1]))
			return ""
		}, 1, false, nil},
		"one more than the worker's last summary has": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-2"), documentOf(self, plan.Trials[1]))
			return trial.Digest(b.put(t, summaryKey, summaryOf(self, plan.Trials[0])))
		}, 1, false, nil},
		"one more than the summary has": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, summaryKey, summaryOf(self, plan.Trials[0]))
			b.put(t, keys.Trial(self.Name, "w-1"), documentOf(self, plan.Trials[0]))
			b.put(t, keys.Trial(self.Name, "w-2"), documentOf(self, plan.Trials[1]))
			return ""
		}, 2, false, nil},
		"a trial of another worker": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-1"), documentOf(other, plan.Trials[0]))
			return ""
		}, -1, false, nil},
		"a trial under another's key": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-1"), documentOf(self, plan.Trials[1]))
			return ""
		}, -1, false, nil},
		"a trial that is too large": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-1"), []byte(strings.Repeat(" ", result.MaxTrial+1)))
			return ""
		}, -1, false, nil},
		"a trial that is no JSON": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-1"), []byte("{"))
			return ""
		}, -1, false, nil},
		"a key that nobody planned": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-9"), documentOf(self, trial.Trial{ID: "w-9", Workload: "w", Repeat: 9}))
			return ""
		}, -1, false, nil},
		"a store that is away": {func(_ *testing.T, b *bucket) string { b.broken[summaryKey] = unreachable; return "" }, 0, false, store.ErrUnreachable},
		"a store that goes away": {func(t *testing.T, b *bucket) string {
			t.Helper()
			b.put(t, keys.Trial(self.Name, "w-1"), documentOf(self, plan.Trials[0]))
			b.broken[keys.Trial(self.Name, "w-1")] = unreachable
			return ""
		}, 0, false, store.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			digest := c.prepare(t, b)
			summary, err := collect(t.Context(), b, plan, self, proof{digest: digest})
			_, rejected := errors.AsType[*rejectedError](err)
			if rejected != c.rejected || !rejected && !errors.Is(err, c.fails) {
				t.Fatalf("rejected %v, error %v; want %v, %v", rejected, err, c.rejected, c.fails)
			}
			if err != nil {
				return
			}
			got := -1
			if summary != nil {
				got = len(summary.Trials)
			}
			if got != c.want {
				t.Errorf("%d trials, want %d", got, c.want)
			}
		})
	}
}

// folded returns how many trials the run's summary has of what was accepted.
func folded(t *testing.T, b *bucket, a *Accepted) (int, error) {
	t.Helper()
	c := &conclusion{plan: plan, fold: stats.NewFold(plan)}
	if err := c.addAll(t.Context(), b, a); err != nil {
		return 0, err
	}
	return c.fold.Finish(time.Unix(0, 0)).Stored, nil
}

// At the end only what was accepted is read, not what has been put in its place since.
func TestWhatIsUploadedAfterAWorkersEndDoesNotCount(t *testing.T) {
	b := newBucket(t)
	document := b.put(t, plan.Keys().Accepted(self.Name), summaryOf(self, plan.Trials[0]))
	b.put(t, plan.Keys().WorkerSummary(self.Name), summaryOf(self, plan.Trials...))
	b.put(t, plan.Keys().WorkerSummary(other.Name), summaryOf(other, plan.Trials...))
	if n, err := folded(t, b, &Accepted{Positions: []int{0}, Digest: trial.Chain("", 0, trial.Digest(document))}); err != nil || n != 1 {
		t.Errorf("got %d, %v; want the one trial that was accepted", n, err)
	}
	if n, err := folded(t, b, &Accepted{}); err != nil || n != 0 {
		t.Errorf("of workers that ended without a document, got %d, %v", n, err)
	}
	if n, err := folded(t, b, nil); err != nil || n != 3 {
		t.Errorf("of release 0.1, which accepted nothing of the other, got %d, %v", n, err)
	}
}

// Whatever is done to the documents that were accepted, the run has no summary of them.
func TestWhatWasAcceptedMustBeTheSameAtTheEnd(t *testing.T) {
	key := func(w trial.Worker) string { return plan.Keys().Accepted(w.Name) }
	for name, c := range map[string]struct {
		change func(*testing.T, *bucket)
		want   string
	}{
		"nothing is done":      {func(*testing.T, *bucket) {}, ""},
		"one has fewer trials": {func(t *testing.T, b *bucket) { t.Helper(); b.put(t, key(self), summaryOf(self, plan.Trials[0])) }, "SHA-256"},
		"one is empty":         {func(t *testing.T, b *bucket) { t.Helper(); b.put(t, key(other), []byte{}) }, "t.n2"},
		"one is the other's":   {func(t *testing.T, b *bucket) { t.Helper(); b.put(t, key(other), summaryOf(self, plan.Trials...)) }, "t.n2"},
		"one is gone":          {func(t *testing.T, b *bucket) { t.Helper(); b.remove(t, key(self)) }, "t.n1: it is gone"},
		"a worker wrote another": {func(t *testing.T, b *bucket) {
			t.Helper()
			b.remove(t, key(self))
			b.put(t, plan.Keys().WorkerSummary(self.Name), summaryOf(self, plan.Trials...))
		}, "t.n1: it is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			a := &Accepted{Positions: []int{1, 0}}
			for _, i := range a.Positions { // in the order in which they ended
				settled, err := settle(t.Context(), stored(t, b, plan.Workers[i]), plan, plan.Workers[i], nil, nil, proof{})
				if err != nil || settled.Digest == "" {
					t.Fatalf("%+v, %v", settled, err)
				}
				a.Digest = trial.Chain(a.Digest, i, settled.Digest)
			}
			c.change(t, b)
			n, err := folded(t, b, a)
			if c.want == "" {
				if err != nil || n != 4 {
					t.Errorf("got %d, %v", n, err)
				}
				return
			}
			failure, ok := errors.AsType[*trial.Failure](err)
			if !ok || failure.Class != reason.ResultsRejected || !strings.Contains(failure.Message, c.want) || failure.Remedy == "" {
				t.Errorf("got %d, %v", n, err)
			}
		})
	}
}

// stored puts a worker's summary of all trials into the bucket.
func stored(t *testing.T, b *bucket, w trial.Worker) *bucket {
	t.Helper()
	b.put(t, plan.Keys().WorkerSummary(w.Name), summaryOf(w, plan.Trials...))
	return b
}

func (b *bucket) remove(t *testing.T, key string) {
	t.Helper()
	if err := b.Delete(key); err != nil {
		t.Fatal(err)
	}
}

func TestAWorkerThatEndedWithoutAWordIsLost(t *testing.T) {
	if f := lost(self, nil); f.Class != reason.WorkerLost || !strings.Contains(f.Message, "n1") || f.Remedy == "" {
		t.Errorf("got %+v", f)
	}
	said := &trial.Failure{Class: reason.NoSpace, Message: "it is full"}
	if f := lost(self, &trial.Receipt{Failure: said}); f != said {
		t.Errorf("what it said is not taken: %+v", f)
	}
}

func TestThePlansInMemoryAreBounded(t *testing.T) {
	c := &planCache{}
	sized := func(n int) Plan { return Plan{Plan: plan, Document: make([]byte, n)} }
	c.add("huge", sized(maxPlans/4+1))
	if _, ok := c.get("huge"); ok {
		t.Error("one that would take a quarter of the memory is kept")
	}
	c.add("used", sized(1<<20))
	for i := range 100 {
		c.add(fmt.Sprint(i), sized(1<<20))
		c.add(fmt.Sprint(i), sized(1<<20)) // twice is once
		if _, ok := c.get("used"); !ok {
			t.Fatalf("the one that is used all the time is gone after %d others", i)
		}
		held := 0
		for e := c.order.Front(); e != nil; e = e.Next() {
			held += len(e.Value.(cachedPlan).plan.Document)
		}
		if held != c.bytes || held > maxPlans || len(c.all) != c.order.Len() {
			t.Fatalf("%d bytes are held, %d counted, at most %d allowed; %d plans by digest, %d in order", held, c.bytes, maxPlans, len(c.all), c.order.Len())
		}
	}
	if _, ok := c.get("99"); !ok {
		t.Error("the newest is gone")
	}
	if _, ok := c.get("0"); ok {
		t.Error("the oldest is there")
	}
}

func TestTheStoreIsAskedNowAndThenHowFarAWorkerIs(t *testing.T) {
	c, noon := &counts{}, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	got := []bool{c.due("a", noon), c.due("b", noon), c.due("a", noon.Add(countEvery-1)), c.due("a", noon.Add(countEvery))}
	if want := []bool{true, true, false, true}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for i := range 30_000 {
		c.due(fmt.Sprint(i), noon)
	}
	if len(c.of) > 10_001 {
		t.Errorf("%d are remembered", len(c.of))
	}
}

func TestAnOperatorCountsOnWhereTheOneBeforeItWas(t *testing.T) {
	c, at := &counts{}, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	// Seven documents went with the memory of the operator before; the worker goes on storing.
	for _, step := range []struct{ found, known, want int }{{0, 7, 7}, {1, 7, 8}, {6, 8, 13}} {
		at = at.Add(countEvery)
		c.due("t.n1", at)
		if got := c.counted("t.n1", step.found, step.known); got != step.want {
			t.Errorf("%d found, %d known: got %d, want %d", step.found, step.known, got, step.want)
		}
	}
	for _, step := range []struct{ found, known, want int }{{3, 2, 3}, {4, 3, 4}} {
		c.due("t.n2", at)
		if got := c.counted("t.n2", step.found, step.known); got != step.want {
			t.Errorf("nothing was lost, %d found: got %d", step.found, got)
		}
	}
}

// A worker with fewer trials than planned has ended well only if the rule of the plan asks for no
// more, by what is stored, whatever the worker says.
func TestAWorkerNeedsNoMoreTrialsOnlyIfThePlanSaysSo(t *testing.T) {
	stopping := *plan
	stopping.Stop = &trial.Stop{Min: 6, Max: 12, HalfWidth: 0.05}
	stopping.Trials = nil
	for i := 1; i <= 12; i++ {
		stopping.Trials = append(stopping.Trials, trial.Trial{ID: fmt.Sprintf("w-%d", i), Workload: "w", Repeat: i})
	}
	for name, c := range map[string]struct {
		spread float64
		spared int32
		lost   bool
	}{"narrow": {0, 6, false}, "wide": {0.5, 0, true}} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			s := result.NewWorkerSummary(&stopping, self)
			s.Stopped = []result.Stopped{{Cell: trial.Cell{Workload: "w"}, Repeats: 6, Reason: result.StopHalfWidth}}
			for i, x := range stopping.Trials[:6] {
				s.Trials = append(s.Trials, result.TrialSummary{
					Trial: x, Outcome: result.Measured, Operations: []string{"read"},
					Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 100 * (1 + c.spread*float64(i%2))}},
				})
			}
			b.put(t, stopping.Keys().WorkerSummary(self.Name), s)
			settled, err := settle(t.Context(), b, &stopping, self, nil, nil, proof{})
			if err != nil || settled.Stored != 6 || settled.Spared != c.spared || (settled.Failure != nil) != c.lost {
				t.Errorf("got %+v, %v", settled, err)
			}
		})
	}
}

// Of a plan with a budget, the share that the worker was started with decides whether it had more to do.
func TestAWorkerNeedsNoMoreTrialsOnlyIfItsShareIsSpent(t *testing.T) {
	budgeted := *plan
	budgeted.Stop = &trial.Stop{Min: 6, Max: 12, HalfWidth: 0.05, BudgetSeconds: 60}
	budgeted.Trials = nil
	for i := 1; i <= 12; i++ {
		budgeted.Trials = append(budgeted.Trials, trial.Trial{ID: fmt.Sprintf("w-%d", i), Workload: "w", Repeat: i})
	}
	for name, c := range map[string]struct {
		share *time.Duration
		lost  bool
	}{
		"that of the plan": {nil, false}, "as much": {new(time.Minute), false},
		"not enough for more": {new(80 * time.Second), false}, "enough for more": {new(90 * time.Second), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			s := result.NewWorkerSummary(&budgeted, self)
			for i, x := range budgeted.Trials[:6] {
				s.Trials = append(s.Trials, result.TrialSummary{
					Trial: x, Outcome: result.Measured, Operations: []string{"read"}, Seconds: 10,
					Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 100 * (1 + 0.5*float64(i%2))}},
				})
			}
			b.put(t, budgeted.Keys().WorkerSummary(self.Name), s)
			settled, err := settle(t.Context(), b, &budgeted, self, c.share, nil, proof{})
			if err != nil || (settled.Failure != nil) != c.lost || settled.Spent != time.Minute {
				t.Errorf("got %+v, %v", settled, err)
			}
		})
	}
}

// A page that cannot be stored costs the run nothing, unless the store is only away.
func TestThePageIsStoredBesideTheSummary(t *testing.T) {
	b := newBucket(t)
	summary := result.Summary{Benchmark: plan.Benchmark, Run: plan.Run}
	if err := storeReport(t.Context(), b, plan, summary, nil); err != nil {
		t.Fatal(err)
	}
	if page, err := b.Get(t.Context(), "lab/b/r1/report.html"); err != nil || !strings.Contains(string(page), "lab/b") {
		t.Errorf("%v, %.200s", err, page)
	}
	for _, c := range []struct{ put, want error }{{store.ErrDenied, nil}, {store.ErrUnreachable, store.ErrUnreachable}} {
		err := storeReport(t.Context(), refusing{b, c.put}, plan, summary, nil)
		if !errors.Is(err, c.want) {
			t.Errorf("a store that says %v: %v", c.put, err)
		}
	}
}

// refusing is a bucket that stores nothing.
type refusing struct {
	*bucket
	err error
}

func (r refusing) Put(context.Context, string, []byte) error { return r.err }
