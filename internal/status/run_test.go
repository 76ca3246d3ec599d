package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/trial"
)

// Workers start, are counted, are put aside for others, and end, in any order, and some ends
// are told twice. The sums are those of the workers, at every step.
func TestTheCountsOfARunAreThoseOfItsWorkers(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		workers, trials := 1+r.IntN(40), int32(1+r.IntN(6))
		run := &v1alpha1.RunStatus{WorkersTotal: int32(workers), TrialsPlanned: int32(workers) * trials, Accepted: &v1alpha1.AcceptedWorkers{}}
		accepted, order := "", []int(nil)
		SetTotals(run, 0)
		ends := map[int]End{}
		for len(ends) < workers {
			i := r.IntN(workers)
			name := fmt.Sprintf("t.n%d", i)
			_, hasEnded := ends[i]
			switch r.IntN(4) {
			case 0:
				if !hasEnded {
					SetCurrent(run, name, fmt.Sprintf("n%d", i))
				}
			case 1:
				SetStored(run, r.Int32N(trials+1))
			case 2:
				SetCurrent(run, "", "")
			case 3:
				end := End{Position: i, Worker: name, Node: "n", Stored: r.Int32N(trials + 1)}
				if r.IntN(3) == 0 {
					end.Reason, end.Message = "NoSpace", "it is full"
				}
				if r.IntN(4) > 0 {
					end.Digest = trial.Digest([]byte(name))
				}
				EndWorker(run, end)
				if !hasEnded {
					ends[i] = end
					if end.Digest != "" {
						accepted, order = trial.Chain(accepted, i, end.Digest), append(order, i)
					}
				}
			}
			check(t, seed, run, ends)
			if run.Accepted.Digest != accepted || !slices.Equal(progress.Positions(run.Accepted.Workers), order) {
				t.Fatalf("seed %d: accepted %+v, want %v with %s", seed, run.Accepted, order, accepted)
			}
		}
	}
}

func check(t *testing.T, seed uint64, run *v1alpha1.RunStatus, ends map[int]End) {
	t.Helper()
	type counts struct {
		Stored, Done, Failed int32
		Ended, Failures      int
		Progress             string
	}
	want := counts{Ended: len(ends)}
	for _, e := range ends {
		want.Stored += e.Stored
		if e.Reason == "" {
			want.Done++
		} else {
			want.Failed++
		}
	}
	want.Failures = min(int(want.Failed), maxFailures)
	if run.Current != nil {
		want.Stored += run.Current.TrialsStored
	}
	want.Progress = fmt.Sprintf("%d/%d", want.Stored, run.TrialsPlanned)
	got := counts{run.TrialsStored, run.WorkersDone, run.WorkersFailed, progress.ParseSet(run.Ended).Len(), len(run.Failures), run.Progress}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
	}
}

// A thousand workers that all fail, with as many words as they like, take a few kilobytes.
func TestAStatusIsSmallWhateverHappensToItsWorkers(t *testing.T) {
	s := &v1alpha1.StorageBenchmarkStatus{Run: &v1alpha1.RunStatus{WorkersTotal: 1000, TrialsPlanned: 500_000}}
	flood := strings.Repeat("ünter ", 10_000)
	for i := range 1000 {
		at := i * 2 % 1001 // every other one first
		EndWorker(s.Run, End{Position: at, Worker: fmt.Sprintf("t.n%d", at), Node: "n", Stored: 1, Reason: strings.Repeat("R", 500), Message: flood})
		AddNote(s.Run, fmt.Sprint(i, flood))
		Summarize(s, Pass{Generation: 1, Now: noon, Outcome: Outcome{Reason: "Running", Message: flood}})
		if n := len(s.Run.Ended); n > 8192 {
			t.Fatalf("after %d workers the set of those that have ended takes %d bytes", i, n)
		}
	}
	s.Run.FinishedAt = new(metav1.NewTime(noon))
	var records []Record
	for i := range 1000 {
		records = append(records, Record{Node: fmt.Sprintf("n%d", i), Phase: v1alpha1.RestoreFailed, Message: flood})
	}
	Summarize(s, Pass{Generation: 1, Now: noon, Records: records})
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 32<<10 {
		t.Errorf("it takes %d bytes", len(b))
	}
	for _, c := range s.Conditions {
		if len(c.Message) > maxMessage || !utf8.ValidString(c.Message) {
			t.Errorf("%s: %d bytes, valid %v", c.Type, len(c.Message), utf8.ValidString(c.Message))
		}
	}
	for _, f := range s.Run.Failures {
		if len(f.Message) > maxMessage || len(f.Reason) > 64 {
			t.Errorf("a failure with %d and %d bytes", len(f.Reason), len(f.Message))
		}
	}
}

// Whoever reads a status could upload with a signed URL that stands in it.
func TestNoSignatureReachesAStatus(t *testing.T) {
	for message, want := range map[string]string{
		`Put "https://s3.example.com/results/x?X-Amz-Signature=abc&X-Amz-Date=1": EOF`: `Put "https://s3.example.com/results/x": EOF`,
		"http://10.0.0.1:9000/b/k?sig=1 and https://h/k?sig=2":                         "http://10.0.0.1:9000/b/k and https://h/k",
		"'https://h/k?sig=1'":                      "'https://h/k'",
		"is https://h/k right? see https://h/docs": "is https://h/k right? see https://h/docs",
		"no address at all?x=1":                    "no address at all?x=1",
	} {
		if got := withoutSignatures(message); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	s := &v1alpha1.StorageBenchmarkStatus{Run: &v1alpha1.RunStatus{}}
	const secret = "X-Amz-Signature=abc"
	message := "Get https://h/k?" + secret
	EndWorker(s.Run, End{Worker: "t.n", Node: "n", Reason: "X", Message: message})
	for _, outcome := range []Outcome{Underway("Running", message, 0), Failure(fmt.Errorf("open: %s", message)), {}} {
		if outcome.Reason == "" {
			s.Run.FinishedAt = new(metav1.NewTime(noon))
		}
		Summarize(s, Pass{Generation: 1, Now: noon, Outcome: outcome, Records: []Record{{Node: "n", Phase: v1alpha1.RestoreFailed, Message: message}}})
		b, err := json.Marshal(s)
		if err != nil || strings.Contains(string(b), secret) {
			t.Errorf("%+v: %v: %s", outcome, err, b)
		}
	}
}

// A run that a failure of its own has ended before its summary was stored does not say that
// its results are stored, whatever was measured, and however many workers failed before.
func TestASummaryThatCouldNotBeStoredIsNotSaidToBe(t *testing.T) {
	for _, failed := range []int{0, 1, 20} {
		run := &v1alpha1.RunStatus{TrialsPlanned: 40, WorkersTotal: 20, StartedAt: new(metav1.NewTime(noon)), FinishedAt: new(metav1.NewTime(noon.Add(time.Hour)))}
		for i := range 20 {
			end := End{Position: i, Worker: fmt.Sprintf("t.n%d", i), Node: "n", Stored: 2}
			if i < failed {
				end.Reason, end.Message = "NoSpace", "it is full"
			}
			EndWorker(run, end)
		}
		Fail(run, End{Worker: WholeRun, Node: "-", Reason: reason.ResultsNotStored, Message: "the store is away"})
		s := &v1alpha1.StorageBenchmarkStatus{Run: run}
		Summarize(s, Pass{Generation: 1, Now: noon})
		if got := conditions(s); !strings.Contains(got, "ResultsStored=False/ResultsNotStored") || !strings.Contains(got, "Failed=True") {
			t.Errorf("%d workers failed: %s", failed, got)
		}
	}
}

// The API server keeps whole seconds. Of a run that took 27.6 s no later pass says that it
// took 27.
func TestWhatIsSaidOfARunStaysWhenItsTimesAreReadBack(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		started := noon.Add(time.Duration(r.Int64N(int64(time.Minute))))
		finished := started.Add(time.Duration(r.Int64N(int64(time.Hour))))
		s := &v1alpha1.StorageBenchmarkStatus{Run: &v1alpha1.RunStatus{
			TrialsPlanned: 3, TrialsStored: 3, WorkersTotal: 1, WorkersDone: 1, StartedAt: new(metav1.NewTime(started)), FinishedAt: new(metav1.NewTime(finished)),
		}}
		if r.IntN(2) == 0 { // the operator started again in between, and read the start
			s.Run.StartedAt = new(s.Run.StartedAt.Rfc3339Copy())
		}
		Summarize(s, Pass{Generation: 1, Now: finished})
		first, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		read := &v1alpha1.StorageBenchmarkStatus{}
		if err := json.Unmarshal(first, read); err != nil {
			t.Fatal(err)
		}
		Summarize(read, Pass{Generation: 1, Now: finished.Add(time.Duration(r.Int64N(int64(time.Hour))))})
		if second, err := json.Marshal(read); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("seed %d: %v\nfirst %s\nthen  %s", seed, err, first, second)
		}
	}
}

// Only time in which the run was active counts, of which it has spec.timeout.
func TestTheTimeInWhichARunIsActiveAddsUp(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &v1alpha1.StorageBenchmarkStatus{Run: &v1alpha1.RunStatus{StartedAt: new(metav1.NewTime(noon))}}
		now, want, active := noon, time.Duration(0), false
		for range 100 {
			passed := time.Duration(r.IntN(300)) * time.Second
			now = now.Add(passed)
			if active {
				want += passed
			}
			active = r.IntN(2) == 0
			Summarize(s, Pass{Generation: 1, Now: now, Outcome: Outcome{Reason: "X", Message: "x", Active: active}})
			if got := Active(s.Run, now); got != want {
				t.Fatalf("seed %d: active for %s, want %s", seed, got, want)
			}
		}
	}
}

func TestTrialsThatAreNotNeededAreNotPlanned(t *testing.T) {
	run := &v1alpha1.RunStatus{WorkersTotal: 2, TrialsPlanned: 60}
	EndWorker(run, End{Position: 0, Worker: "a.n", Stored: 18, Spared: 12})
	if run.TrialsPlanned != 48 || run.Progress != "18/48" {
		t.Errorf("%d planned, progress %s", run.TrialsPlanned, run.Progress)
	}
	EndWorker(run, End{Position: 0, Worker: "a.n", Stored: 18, Spared: 12}) // the same again
	EndWorker(run, End{Position: 1, Worker: "b.n", Stored: 30})
	if run.Progress != "48/48" || run.WorkersDone != 2 {
		t.Errorf("progress %s, %d workers done", run.Progress, run.WorkersDone)
	}
}

func TestWhatWorkersSpendOfTheBudgetAddsUp(t *testing.T) {
	run := &v1alpha1.RunStatus{WorkersTotal: 4}
	EndWorker(run, End{Position: 3, Worker: "d.n"})
	if run.BudgetSpent != nil {
		t.Errorf("without a budget, %s of it is spent", run.BudgetSpent.Duration)
	}
	for _, position := range []int{0, 1, 0} { // the last is recorded already
		EndWorker(run, End{Position: position, Worker: "a.n", Spent: new(90 * time.Second)})
	}
	if got := BudgetSpent(run); got != 3*time.Minute {
		t.Errorf("two workers have spent %s", got)
	}
	EndWorker(run, End{Position: 2, Worker: "c.n", Spent: new(time.Duration(math.MaxInt64))})
	if got := BudgetSpent(run); got != math.MaxInt64 {
		t.Errorf("more than can be is %s", got)
	}
}
