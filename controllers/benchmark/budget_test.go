package benchmark

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/stopping"
	"storagebench.io/storagebench/internal/trial"
)

// budgeted is a run with a budget, of which nothing is kept but what the cluster keeps: the status, Jobs
// and stored trials. Its operator is another one at each step.
type budgeted struct {
	t    *testing.T
	seed uint64
	r    *rand.Rand
	plan *trial.Plan
	// whole is the budget, in seconds.
	whole float64
	// seconds and noise of the trials of a worker's workload.
	seconds, noise map[string]float64

	run    *v1alpha1.RunStatus
	jobs   map[string]*batchv1.Job
	stored map[string][]result.TrialSummary

	// spent more than their shares, in seconds, by workers whose least trials take longer, or that
	// went on with a smaller share than they had.
	over float64
	// dues are the shares of workers in the order in which they began.
	dues []time.Duration
	// wanted is what the cheapest step that the budget denied the worker that ended last would have
	// taken, in seconds; infinite: it wanted none.
	wanted float64
}

func newBudgeted(t *testing.T, seed uint64) *budgeted {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	least := 3 + r.IntN(4)
	b := &budgeted{
		t: t, seed: seed, r: r, seconds: map[string]float64{}, noise: map[string]float64{},
		run: &v1alpha1.RunStatus{}, jobs: map[string]*batchv1.Job{}, stored: map[string][]result.TrialSummary{},
		plan: &trial.Plan{
			Benchmark: trial.Benchmark{Namespace: "lab", Name: "b", UID: "u"}, Run: "g1-x", Targets: []trial.Target{{Name: "t", Source: trial.StorageClass}},
			Stop: &trial.Stop{Min: least, Max: least + r.IntN(25), HalfWidth: 0.05},
		},
	}
	workloads := 1 + r.IntN(3)
	for k := range workloads {
		b.plan.Workloads = append(b.plan.Workloads, trial.Workload{Name: fmt.Sprintf("w%d", k)})
	}
	for repeat := 1; repeat <= b.plan.Stop.Max; repeat++ {
		for _, w := range b.plan.Workloads {
			b.plan.Trials = append(b.plan.Trials, trial.Trial{ID: fmt.Sprintf("%s.r%d", w.Name, repeat), Workload: w.Name, Repeat: repeat})
		}
	}
	for n := range 1 + r.IntN(6) {
		worker := trial.Worker{Name: fmt.Sprintf("t.n%d", n), Target: "t", Node: fmt.Sprintf("n%d", n)}
		b.plan.Workers = append(b.plan.Workers, worker)
		for _, w := range b.plan.Workloads {
			of := worker.Name + w.Name
			b.seconds[of], b.noise[of] = float64(1+r.IntN(40)), []float64{0.001, 0.1, 0.8}[r.IntN(3)]
		}
	}
	b.whole = math.Round((0.3 + 3*r.Float64()) * b.least())
	b.plan.Stop.BudgetSeconds = b.whole / float64(len(b.plan.Workers))
	return b
}

// least is how many seconds the trials take that are run in any case.
func (b *budgeted) least() float64 {
	sum := 0.0
	for _, seconds := range b.seconds {
		sum += seconds * float64(b.plan.Stop.Min)
	}
	return sum
}

// measure returns what a trial measures, whenever it runs.
func (b *budgeted) measure(worker string, t trial.Trial) result.TrialSummary {
	of := worker + t.Workload
	random := rand.New(rand.NewPCG(b.seed, uint64(len(of))<<32|uint64(of[3])<<16|uint64(of[len(of)-1])<<8|uint64(t.Repeat)))
	return result.TrialSummary{Trial: t, Seconds: b.seconds[of], Outcome: result.Measured, Operations: []string{"read"}, Metrics: result.Metrics{
		"read.iops": {Unit: result.PerSecond, Value: 1000 * math.Exp(b.noise[of]*random.NormFloat64())},
	}}
}

// again is a copy of what the API server has.
func again[T any](t *testing.T, of *T) *T {
	t.Helper()
	stored, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(stored, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// start makes the worker's Job, as the operator does.
func (b *budgeted) start(self trial.Worker) {
	b.t.Helper()
	due := share(b.run, b.plan)
	if restarted := share(again(b.t, b.run), b.plan); *restarted != *due {
		b.t.Fatalf("seed %d: %s gets %s, and from an operator that was restarted %s", b.seed, self.Name, due, restarted)
	}
	job, err := jobspec.Job(jobspec.Input{Plan: b.plan, Worker: self, Target: b.plan.Targets[0], GrantDigest: "sha256:aa", Share: due})
	if err != nil {
		b.t.Fatal(err)
	}
	b.jobs[self.Name] = again(b.t, job)
	b.dues = append(b.dues, *due)
}

// work runs the trials of a worker that has a Job, and reports whether it came to its end before its
// node went away.
func (b *budgeted) work(self trial.Worker, position int) (ended bool) {
	b.t.Helper()
	had := jobspec.Share(b.jobs[self.Name])
	if had == nil {
		b.t.Fatalf("seed %d: %s has no share", b.seed, self.Name)
	}
	for {
		d := stopping.Decide(b.plan, self.Target, had, b.stored[self.Name])
		if d.Next != nil {
			b.stored[self.Name] = append(b.stored[self.Name], b.measure(self.Name, *d.Next))
			if b.r.IntN(30) == 0 { // the Job is withdrawn
				delete(b.jobs, self.Name)
				return false
			}
			continue
		}
		spent := stopping.Spent(b.stored[self.Name])
		status.EndWorker(b.run, status.End{Position: position, Worker: self.Name, Stored: int32(len(b.stored[self.Name])), Spent: &spent})
		status.EndWorker(b.run, status.End{Position: position, Worker: self.Name, Stored: int32(len(b.stored[self.Name])), Spent: &spent}) // it changes nothing
		b.over += max(0, (spent - *had).Seconds())
		b.wanted = math.Inf(1)
		for _, s := range d.Stopped {
			if s.Reason == result.StopBudget {
				b.wanted = min(b.wanted, 3*b.seconds[self.Name+s.Workload])
			}
		}
		delete(b.jobs, self.Name)
		return true
	}
}

// play runs the workers one after the other, while nodes go away, Pods cannot start, and the
// operator is restarted.
func (b *budgeted) play() {
	b.t.Helper()
	for ended := map[int]bool{}; len(ended) < len(b.plan.Workers); {
		b.run = again(b.t, b.run)
		position := b.r.IntN(len(b.plan.Workers)) // whose node can be used
		self := b.plan.Workers[position]
		if ended[position] {
			continue
		}
		order := workers.Order{Share: share(b.run, b.plan), Last: unended(b.run, b.plan) == 1}
		switch job := b.jobs[self.Name]; {
		case job == nil:
			b.start(self)
		case order.Outgrown(jobspec.Share(job)):
			delete(b.jobs, self.Name)
			continue
		}
		if b.r.IntN(5) == 0 { // its Pod cannot start: it is parked
			continue
		}
		if b.work(self, position) {
			ended[position] = true
		}
	}
}

func TestTheBudgetOfARunIsSpentAndNotExceeded(t *testing.T) {
	exceeded, more, denied := 0, 0, 0
	for seed := range uint64(600) {
		b := newBudgeted(t, seed)
		b.play()
		total := 0.0
		for _, done := range b.stored {
			total += stopping.Spent(done).Seconds()
		}
		if said := status.BudgetSpent(b.run).Seconds(); math.Abs(said-total) > 1e-6 {
			t.Errorf("seed %d: the trials took %.3f s, and the status says %.3f s", seed, total, said)
		}
		const rounding = 0.01
		if total > b.whole+b.least() || total > b.whole+b.over+rounding {
			t.Errorf("seed %d: %.3f s of %.0f s are spent, %.3f s of them by workers beyond their shares; the least trials take %.0f s", seed, total, b.whole, b.over, b.least())
		}
		if b.wanted <= b.whole-total-rounding {
			t.Errorf("seed %d: the last worker was denied a step of %.0f s, and %.3f s of %.0f s are left", seed, b.wanted, b.whole-total, b.whole)
		}
		equal := b.plan.Stop.BudgetSeconds
		for i, due := range b.dues {
			if b.over == 0 && due.Seconds() < max(equal, b.dues[max(0, i-1)].Seconds())-rounding {
				t.Errorf("seed %d: the shares shrink, although none was exceeded: %v, of %.3f s each", seed, b.dues, equal)
			}
			if due.Seconds() > equal+rounding {
				more++
			}
		}
		if b.over > 0 {
			exceeded++
		}
		if !math.IsInf(b.wanted, 1) {
			denied++
		}
	}
	if exceeded < 50 || more < 50 || denied < 50 {
		t.Errorf("the runs are too alike: in %d a share was exceeded, %d workers had more than an equal one, in %d the last wanted more", exceeded, more, denied)
	}
}

// What somebody has forged must not become a share that is negative, or more than the budget.
func TestAShareIsPartOfTheBudgetWhateverWasStored(t *testing.T) {
	p := &trial.Plan{Stop: &trial.Stop{Min: 6, Max: 12, HalfWidth: 0.05, BudgetSeconds: 60}, Workers: make([]trial.Worker, 4)}
	for name, c := range map[string]struct {
		seconds []float64
		want    time.Duration
	}{
		"nothing":           {nil, 80 * time.Second},
		"half":              {[]float64{60, 60}, 40 * time.Second},
		"less than no time": {[]float64{-1e300, -5}, 80 * time.Second},
		"all time":          {[]float64{math.MaxFloat64, math.MaxFloat64}, 0},
		"less and more":     {[]float64{-1e300, 30}, 70 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.RunStatus{}
			var done []result.TrialSummary
			for _, seconds := range c.seconds {
				done = append(done, result.TrialSummary{Seconds: seconds})
			}
			spent := stopping.Spent(done)
			status.EndWorker(run, status.End{Position: 2, Worker: "t.n2", Spent: &spent})
			if got := share(run, p); *got != c.want {
				t.Errorf("the next worker gets %s, want %s", got, c.want)
			}
		})
	}
	if got := share(&v1alpha1.RunStatus{}, &trial.Plan{Workers: make([]trial.Worker, 4)}); got != nil {
		t.Errorf("without a budget, a worker gets %s", got)
	}
}
