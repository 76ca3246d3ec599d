package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

func over(all ...v1alpha1.SweepParameter) *v1alpha1.Sweep { return &v1alpha1.Sweep{Over: all} }

func valued(name string, values ...string) v1alpha1.SweepParameter {
	p := v1alpha1.SweepParameter{Parameter: name}
	for _, v := range values {
		p.Values = append(p.Values, v1alpha1.Text(v))
	}
	return p
}

func ranged(name, from, to string, step, factor int64) v1alpha1.SweepParameter {
	return v1alpha1.SweepParameter{Parameter: name, Range: &v1alpha1.SweepRange{From: v1alpha1.Text(from), To: v1alpha1.Text(to), Step: step, Factor: factor}}
}

// swept is a benchmark whose workload oltp is swept.
func swept(s *v1alpha1.Sweep) *v1alpha1.StorageBenchmark {
	return benchmark(func(b *v1alpha1.StorageBenchmark) { b.Spec.Workloads[0].Sweep = s })
}

func names(p *trial.Plan) (out []string) {
	for _, w := range p.Workloads {
		out = append(out, w.Name)
	}
	return out
}

func TestASweepMakesAWorkloadOfEachPoint(t *testing.T) {
	for name, c := range map[string]struct {
		sweep *v1alpha1.Sweep
		want  []string
	}{
		"values":          {over(valued("iodepth", "1", "16")), []string{"oltp@iodepth-1", "oltp@iodepth-16", "scan"}},
		"steps":           {over(ranged("numjobs", "1", "6", 2, 0)), []string{"oltp@numjobs-1", "oltp@numjobs-3", "oltp@numjobs-5", "scan"}},
		"factors, a unit": {over(ranged("bs", "4k", "16k", 0, 2)), []string{"oltp@bs-4k", "oltp@bs-8k", "oltp@bs-16k", "scan"}},
		"two parameters":  {over(valued("iodepth", "1", "2"), valued("bs", "4k", "8k")), []string{"oltp@iodepth-1-bs-4k", "oltp@iodepth-1-bs-8k", "oltp@iodepth-2-bs-4k", "oltp@iodepth-2-bs-8k", "scan"}},
		"a field":         {over(valued("offeredRate", "100", "200")), []string{"oltp@offeredrate-100", "oltp@offeredrate-200", "scan"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := build(swept(c.sweep))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, names(p)); diff != "" {
				t.Error(diff)
			}
			for _, w := range p.Workloads[:len(p.Workloads)-1] {
				if w.Of != "oltp" {
					t.Errorf("%s is a point of %q", w.Name, w.Of)
				}
			}
		})
	}
}

func TestAPointHasTheConfigurationOfItsValue(t *testing.T) {
	p, err := build(swept(over(valued("iodepth", "8"), valued("offeredRate", "300"))))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"parameters":{"iodepth":"8","rw":"randrw"},"prefill":"Auto","files":"Auto","offeredRate":300}`
	if got := string(p.Workloads[0].Config); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if p.Workloads[0].Files != "oltp" {
		t.Errorf("its files are %q: points that differ in depth and rate share them", p.Workloads[0].Files)
	}
	if p, err = build(swept(over(valued("numjobs", "1", "4")))); err != nil || p.Workloads[0].Files != "" {
		t.Errorf("points with other files share them: %q, %v", p.Workloads[0].Files, err)
	}
}

func TestAVariableOfAJobFileIsSwept(t *testing.T) {
	b := benchmark(func(b *v1alpha1.StorageBenchmark) {
		b.Spec.Workloads[1].Fio.Variables = v1alpha1.Texts(map[string]string{"DEPTH": "1"})
		b.Spec.Workloads[1].Sweep = over(valued("DEPTH", "1", "32"))
	})
	p, err := build(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(p.Workloads[2].Config); !strings.Contains(got, `"DEPTH":"32"`) {
		t.Error(got)
	}
	if b.Spec.Workloads[1].Fio.Variables["DEPTH"].Text != "1" {
		t.Error("the spec was changed")
	}
}

func TestWhatIsWrongWithASweepNamesItsField(t *testing.T) {
	many := make([]string, MaxPoints+1)
	for i := range many {
		many[i] = fmt.Sprint(i + 1)
	}
	for name, c := range map[string]struct {
		sweep *v1alpha1.Sweep
		want  []string
	}{
		"no parameter":         {over(), []string{"spec.workloads[oltp].sweep", "has no parameters"}},
		"no values":            {over(v1alpha1.SweepParameter{Parameter: "bs"}), []string{"sweep.over[bs]", "exactly one of values and range"}},
		"twice the same":       {over(valued("bs", "4k", "4k")), []string{"over[bs].values", "twice"}},
		"too many":             {over(valued("iodepth", many...)), []string{"sweep.over", "more than 32 combinations", "leave out values"}},
		"too many together":    {over(valued("iodepth", many[:8]...), valued("bs", many[:8]...)), []string{"sweep.over", "more than 32"}},
		"an endless range":     {over(ranged("iodepth", "1", "1000000", 1, 0)), []string{"over[iodepth].range", "more than 32 values"}},
		"a range backwards":    {over(ranged("iodepth", "9", "1", 1, 0)), []string{"over[iodepth].range", "is no range"}},
		"a factor of nothing":  {over(ranged("iodepth", "0", "8", 0, 2)), []string{"over[iodepth].range", "above 0"}},
		"other units":          {over(ranged("bs", "4k", "1m", 0, 2)), []string{"range.to", "different units"}},
		"no number":            {over(ranged("bs", "deep", "1m", 0, 2)), []string{"range.from", "not a whole number"}},
		"step and factor":      {over(ranged("bs", "1", "2", 1, 2)), []string{"over[bs].range", "exactly one of step and factor"}},
		"a line break":         {over(valued("bs", "4k\nexec=x")), []string{"over[bs].values", "not a value"}},
		"a rate that is none":  {over(valued("offeredRate", "fast")), []string{"over[offeredRate]", "not a value of offeredRate"}},
		"a tunable beside two": {over(valued("block.queue.nr_requests", "4")), []string{"over[block.queue.nr_requests]", "2 workloads", "make a benchmark for this workload"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(swept(c.sweep))
			for _, part := range c.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("got %v, want %q", err, part)
				}
			}
		})
	}
	_, err := build(benchmark(func(b *v1alpha1.StorageBenchmark) { b.Spec.Workloads[1].Sweep = over(valued("iodepth", "1")) }))
	if err == nil || !strings.Contains(err.Error(), "neither a field nor a variable") || !strings.Contains(err.Error(), "fio.variables") {
		t.Errorf("an option of a job file: %v", err)
	}
}

func TestATunableIsSweptAsVariants(t *testing.T) {
	b := swept(over(valued("block.queue.nr_requests", "4", "64"), valued("iodepth", "1", "8")))
	b.Spec.Workloads = b.Spec.Workloads[:1]
	variants := Variants(b.Spec)
	want := []v1alpha1.Variant{
		{Name: "nr-requests-4", Tunables: []v1alpha1.Tunable{{Name: "block.queue.nr_requests", Value: v1alpha1.Text("4")}}},
		{Name: "nr-requests-64", Tunables: []v1alpha1.Tunable{{Name: "block.queue.nr_requests", Value: v1alpha1.Text("64")}}},
	}
	if diff := cmp.Diff(want, variants); diff != "" {
		t.Fatal(diff)
	}
	p, err := Build(Input{Benchmark: b, Nodes: []string{"a"}, Engines: checker{}, Variants: []trial.Variant{{Name: "nr-requests-4"}, {Name: "nr-requests-64"}}})
	if err != nil {
		t.Fatal(err)
	}
	var points []string
	for _, s := range p.Sweeps[0].Points {
		points = append(points, s.Workload+" "+s.Variant+" "+strings.Join(s.Values, ","))
	}
	if diff := cmp.Diff([]string{
		"oltp@iodepth-1 nr-requests-4 4,1", "oltp@iodepth-1 nr-requests-64 64,1", "oltp@iodepth-8 nr-requests-4 4,8", "oltp@iodepth-8 nr-requests-64 64,8",
	}, points); diff != "" || len(p.Sweeps) != 1 {
		t.Error(diff)
	}
}

// Points that always followed each other in the same order would share what one leaves behind.
func TestTheOrderOfPointsIsDrawnForEachRepeat(t *testing.T) {
	b := swept(over(valued("iodepth", "1", "2", "4", "8")))
	b.Spec.Trials.Min = 8
	p, err := build(b)
	if err != nil {
		t.Fatal(err)
	}
	orders := map[string]bool{}
	for repeat := range 8 {
		var order []string
		for _, x := range p.Trials[5*repeat : 5*repeat+5] {
			order = append(order, x.Workload)
		}
		if order[4] != "scan" {
			t.Errorf("repeat %d: a workload that is not swept moved: %v", repeat+1, order)
		}
		orders[strings.Join(order, " ")] = true
		slices.Sort(order)
		if len(slices.Compact(order)) != 5 {
			t.Errorf("repeat %d has not every point: %v", repeat+1, order)
		}
	}
	if len(orders) < 3 {
		t.Errorf("8 repeats have %d orders", len(orders))
	}
}

func TestGatesAndComparisonsNameAPoint(t *testing.T) {
	b := swept(over(valued("iodepth", "1", "8")))
	b.Spec.Gates = []v1alpha1.Gate{{Workload: "oltp@iodepth-8", Metric: "read.latency.p99", Max: new(v1alpha1.Text("5ms"))}}
	p, err := build(b)
	if err != nil || p.Gates[0].Workload != "oltp@iodepth-8" {
		t.Fatalf("got %v, %v", p, err)
	}
	b.Spec.Gates[0].Workload = "oltp"
	if _, err := build(b); err == nil || !strings.Contains(err.Error(), "oltp@iodepth-8") {
		t.Errorf("got %v, want the points' names", err)
	}
}

func TestASweepHasTrialsToTellItsPointsApart(t *testing.T) {
	b := swept(over(valued("iodepth", "1", "2", "4", "8")))
	b.Spec.Trials.Min = 0
	p, err := build(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Trials[len(p.Trials)-1].Repeat; got != 8 { // 6 pairs: 2/2⁸ is below 5 %/6
		t.Errorf("%d repeats", got)
	}
}
