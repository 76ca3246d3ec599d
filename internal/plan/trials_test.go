package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// planOf builds the plan of a benchmark with these trials, on two nodes and two targets.
func planOf(t *testing.T, trials v1alpha1.Trials, variants ...string) (*trial.Plan, error) {
	t.Helper()
	b := benchmark(func(b *v1alpha1.StorageBenchmark) { b.Spec.Trials = trials })
	in := Input{Benchmark: b, Run: "g3-x", Nodes: []string{"a", "b"}, Engines: checker{}}
	for _, v := range variants {
		b.Spec.Variants = append(b.Spec.Variants, v1alpha1.Variant{Name: v})
		in.Variants = append(in.Variants, trial.Variant{Name: v})
	}
	return Build(in)
}

func TestHowManyTrialsThereAre(t *testing.T) {
	for name, c := range map[string]struct {
		trials   v1alpha1.Trials
		variants []string
		want     int // repeats
		stop     *trial.Stop
	}{
		"min is the exact number":             {trials: v1alpha1.Trials{Min: 6}, want: 6},
		"any number":                          {trials: v1alpha1.Trials{Min: 2}, want: 2},
		"the planner's, for a median":         {want: 6},
		"one variant is compared with none":   {variants: []string{"a"}, want: 6},
		"for 8 differences, 9 blocks":         {variants: []string{"a", "b"}, want: 18},
		"in random order, 9 blocks of one":    {trials: v1alpha1.Trials{Order: v1alpha1.OrderRandom}, variants: []string{"a", "b"}, want: 9},
		"in sequence nothing can be compared": {trials: v1alpha1.Trials{Order: v1alpha1.OrderSequential}, variants: []string{"a", "b"}, want: 6},
		"a max alone":                         {trials: v1alpha1.Trials{Max: 20}, want: 20, stop: &trial.Stop{Min: 6, Max: 20, HalfWidth: 0.05}},
		"a max below what would answer":       {trials: v1alpha1.Trials{Max: 4}, want: 4, stop: &trial.Stop{Min: 4, Max: 4, HalfWidth: 0.05}},
		"a half-width alone":                  {trials: v1alpha1.Trials{HalfWidth: "2.5%"}, want: 30, stop: &trial.Stop{Min: 6, Max: 30, HalfWidth: 0.025}},
		"a min above the planner's max":       {trials: v1alpha1.Trials{Min: 40, HalfWidth: "1%"}, want: 40, stop: &trial.Stop{Min: 40, Max: 40, HalfWidth: 0.01}},
		"a budget is shared by 4 workers": {
			trials: v1alpha1.Trials{Min: 6, Max: 12, Budget: &metav1.Duration{Duration: 20 * time.Minute}}, want: 12,
			stop: &trial.Stop{Min: 6, Max: 12, HalfWidth: 0.05, BudgetSeconds: 300},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := planOf(t, c.trials, c.variants...)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(p.Trials) / len(p.Cells()); got != c.want {
				t.Errorf("%d repeats, want %d", got, c.want)
			}
			if diff := cmp.Diff(c.stop, p.Stop); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTrialsThatContradictThemselvesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		trials v1alpha1.Trials
		want   string // the field, then a word of the message
	}{
		"max below min":           {v1alpha1.Trials{Min: 6, Max: 5}, "spec.trials.max: it is 5"},
		"a width of nothing":      {v1alpha1.Trials{HalfWidth: "0%"}, "spec.trials.halfWidth: 0% is not between"},
		"a width of everything":   {v1alpha1.Trials{HalfWidth: "51%"}, "spec.trials.halfWidth: 51% is not between"},
		"a width without percent": {v1alpha1.Trials{HalfWidth: "0.05"}, "spec.trials.halfWidth: \"0.05\" has no percent sign"},
		"a budget of nothing":     {v1alpha1.Trials{Budget: &metav1.Duration{}}, "spec.trials.budget: 0s is no time"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := planOf(t, c.trials)
			failure, ok := errors.AsType[*trial.Failure](err)
			if !ok || !strings.HasPrefix(err.Error(), c.want) || failure.Remedy == "" {
				t.Errorf("got %v", err)
			}
		})
	}
	b := benchmark(func(b *v1alpha1.StorageBenchmark) { b.Spec.Trials = v1alpha1.Trials{Min: 1, Max: 100} })
	for _, w := range []string{"a", "b", "c", "d"} {
		b.Spec.Workloads = append(b.Spec.Workloads, v1alpha1.Workload{Name: w, Fio: b.Spec.Workloads[0].Fio})
	}
	if _, err := build(b); err == nil || !strings.HasPrefix(err.Error(), "spec.trials.max: 6 combinations") {
		t.Errorf("600 trials a worker: %v", err)
	}
	b.Spec.Trials = v1alpha1.Trials{HalfWidth: "5%"} // the planner's own max is no reason to refuse
	for i := range 14 {
		b.Spec.Workloads = append(b.Spec.Workloads, v1alpha1.Workload{Name: "w" + string(rune('a'+i)), Fio: b.Spec.Workloads[0].Fio})
	}
	p, err := build(b)
	if err != nil || len(p.Trials) > MaxTrials || p.Stop.Max != 24 {
		t.Errorf("with 20 workloads: %v", err)
	}
}

func TestADurationIsThatOfTheTrialsThatAreRunInAnyCase(t *testing.T) {
	p, err := planOf(t, v1alpha1.Trials{Min: 3, Max: 10})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Duration(p, checker{}), 3*2*4*time.Minute; got != want { // repeats × workloads × workers
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAdviceSaysWhatTooFewTrialsCannotAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		trials   v1alpha1.Trials
		variants []string
		want     string
	}{
		"a median without an interval":  {v1alpha1.Trials{Min: 5}, nil, "set trials.min to 6"},
		"enough for a median":           {v1alpha1.Trials{Min: 6}, nil, ""},
		"too few blocks":                {v1alpha1.Trials{Min: 6}, []string{"a", "b"}, "3 blocks cannot tell any of 8 differences from none with 95 % confidence: set trials.min to 18"},
		"half a block does not count":   {v1alpha1.Trials{Min: 17}, []string{"a", "b"}, "8 blocks"},
		"as many as the planner wants":  {v1alpha1.Trials{}, []string{"a", "b"}, ""},
		"too few blocks of one":         {v1alpha1.Trials{Min: 8, Order: v1alpha1.OrderRandom}, []string{"a", "b"}, "set trials.min to 9"},
		"an order that cannot be used":  {v1alpha1.Trials{Min: 30, Order: v1alpha1.OrderSequential}, []string{"a", "b"}, "use Interleaved"},
		"one variant needs no blocks":   {v1alpha1.Trials{Min: 6}, []string{"a"}, ""},
		"up to max there may be enough": {v1alpha1.Trials{Min: 6, Max: 18}, []string{"a", "b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := planOf(t, c.trials, c.variants...)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(Advice(p), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// workersOf builds the plan of two classes, compared or not, and returns its workers' names.
func workersOf(t *testing.T, run string, compare bool, volumes int32, change func(*v1alpha1.StorageBenchmark)) (*trial.Plan, error) {
	t.Helper()
	b := benchmark(func(b *v1alpha1.StorageBenchmark) {
		b.Spec.Trials = v1alpha1.Trials{Volumes: volumes}
		if compare {
			b.Spec.Compare = &v1alpha1.Compare{By: v1alpha1.CompareByTarget}
		}
	})
	if change != nil {
		change(b)
	}
	return Build(Input{Benchmark: b, Run: run, Nodes: []string{"a"}, Modes: map[string]trial.Mode{"db": trial.Filesystem}, Engines: checker{}})
}

func TestVolumesAreWorkersOfTheirOwn(t *testing.T) {
	p, err := workersOf(t, "r", false, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []trial.Worker{
		{Name: "fast_1.a", Target: "fast", Node: "a", Volume: 1}, {Name: "raw_1.a", Target: "raw", Node: "a", Volume: 1},
		{Name: "fast_2.a", Target: "fast", Node: "a", Volume: 2}, {Name: "raw_2.a", Target: "raw", Node: "a", Volume: 2},
	}
	if diff := cmp.Diff(want, p.Workers); diff != "" || p.Volumes != 2 || len(p.Trials)/len(p.Cells()) != 3 {
		t.Errorf("%d trials, %s", len(p.Trials), diff)
	}
	if got := Advice(p); len(got) != 1 || !strings.Contains(got[0], "2 volumes give no interval for their class: set trials.volumes to 3") {
		t.Errorf("the advice is %q", got)
	}
	if p, err = workersOf(t, "r", false, 1, nil); err != nil || p.Volumes != 0 || p.Workers[0].Name != "fast.a" {
		t.Errorf("one volume is not as it was: %v, %+v", err, p.Workers)
	}
}

// Targets that are compared follow each other in each round, in an order that is drawn for it.
func TestTargetsThatAreComparedAlternate(t *testing.T) {
	first := map[string]int{}
	for run := range 200 {
		p, err := workersOf(t, "r"+string(rune('a'+run%26))+string(rune('a'+run/26)), true, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Volumes != 7 || len(p.Workers) != 14 { // 2 workloads are 2 differences
			t.Fatalf("%d volumes, %d workers", p.Volumes, len(p.Workers))
		}
		for i := 0; i < len(p.Workers); i += 2 {
			one, two := p.Workers[i], p.Workers[i+1]
			if one.Volume != i/2+1 || two.Volume != one.Volume || one.Target == two.Target {
				t.Fatalf("round %d is %+v and %+v", i/2+1, one, two)
			}
			first[one.Target]++
		}
	}
	if n := first["fast"]; n < 600 || n > 800 { // 700 ± 5 standard deviations
		t.Errorf("fast comes first in %d of 1400 rounds", n)
	}
	p, err := workersOf(t, "r", true, 2, nil)
	if err != nil || len(Advice(p)) != 1 || !strings.Contains(Advice(p)[0], "set trials.volumes to 3") {
		t.Errorf("%v: %q", err, Advice(p))
	}
	p, err = workersOf(t, "r", true, 1, nil)
	if err != nil || p.Workers[0].Volume != 1 {
		t.Errorf("%v: %+v", err, p.Workers)
	}
}

func TestOnlyWhatIsProvisionedHasVolumes(t *testing.T) {
	claim := func(b *v1alpha1.StorageBenchmark) {
		b.Spec.Targets[1] = v1alpha1.Target{Name: "db", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "db-0"}}
	}
	_, err := workersOf(t, "r", false, 3, claim)
	if err == nil || !strings.HasPrefix(err.Error(), "spec.trials.volumes: it is 3, but target db is not provisioned") {
		t.Errorf("got %v", err)
	}
	p, err := workersOf(t, "r", true, 3, claim) // rounds
	if err != nil || len(p.Workers) != 6 {
		t.Fatalf("got %v", err)
	}
	if got := Advice(p); len(got) != 1 || !strings.Contains(got[0], "3 rounds cannot tell one target from another: set trials.volumes to 7") {
		t.Errorf("the advice is %q", got)
	}
}

// withVariants gives the benchmark variants that set nothing.
func (in *Input) withVariants(names []string) {
	for _, name := range names {
		in.Benchmark.Spec.Variants = append(in.Benchmark.Spec.Variants, v1alpha1.Variant{Name: name})
		in.Variants = append(in.Variants, trial.Variant{Name: name})
	}
}

func TestGatesEndAWorkloadUnlessSomethingIsCompared(t *testing.T) {
	for name, c := range map[string]struct {
		trials   v1alpha1.Trials
		variants []string
		gates    bool
		want     trial.GateStop
	}{
		"a fixed number":          {trials: v1alpha1.Trials{Min: 6}, gates: true},
		"up to a maximum":         {trials: v1alpha1.Trials{Min: 6, Max: 20}, gates: true, want: trial.GatesAlone},
		"with a budget":           {trials: v1alpha1.Trials{Budget: &metav1.Duration{Duration: time.Hour}}, gates: true, want: trial.GatesAlone},
		"with a width of its own": {trials: v1alpha1.Trials{Max: 20, HalfWidth: "5%"}, gates: true, want: trial.GatesOrWidth},
		"without gates":           {trials: v1alpha1.Trials{Max: 20}},
		"one variant":             {trials: v1alpha1.Trials{Max: 20}, variants: []string{"a"}, gates: true, want: trial.GatesAlone},
		"two variants":            {trials: v1alpha1.Trials{Max: 20}, variants: []string{"a", "b"}, gates: true},
		"several volumes":         {trials: v1alpha1.Trials{Max: 20, Volumes: 3}, gates: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := benchmark(func(b *v1alpha1.StorageBenchmark) {
				b.Spec.Trials = c.trials
				b.Spec.Targets = b.Spec.Targets[:1]
			})
			if c.gates {
				b.Spec.Gates = []v1alpha1.Gate{{Workload: b.Spec.Workloads[0].Name, Metric: "read.iops", Min: &v1alpha1.Scalar{Text: "100"}}}
			}
			in := Input{Benchmark: b, Run: "g3-x", Nodes: []string{"a"}, Engines: checker{}}
			in.withVariants(c.variants)
			p, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			got := trial.GateStop("")
			if p.Stop != nil {
				got = p.Stop.Gates
			}
			if got != c.want {
				t.Errorf("gates end a workload: %q, want %q", got, c.want)
			}
		})
	}
}
