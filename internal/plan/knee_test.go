package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

func promised(change func(*v1alpha1.SLO)) *v1alpha1.Sweep {
	slo := &v1alpha1.SLO{Metric: "read.latency.p99", Below: v1alpha1.Text("2ms"), Rate: v1alpha1.SLORate{From: 100, To: 5000}, Probes: 10}
	change(slo)
	return &v1alpha1.Sweep{SLO: slo}
}

func TestASearchHasProbesInPlaceOfRepeats(t *testing.T) {
	p, err := build(swept(promised(func(*v1alpha1.SLO) {})))
	if err != nil {
		t.Fatal(err)
	}
	want := &trial.Knee{Metric: "read.latency.p99", Limit: 0.002, Text: "2ms", From: 100, To: 5000, Probes: 10}
	if diff := cmp.Diff(want, p.Workloads[0].Knee); diff != "" {
		t.Error(diff)
	}
	if got := names(p); !cmp.Equal(got, []string{"oltp", "scan"}) {
		t.Errorf("workloads %v", got)
	}
	counts := map[string]int{}
	for _, x := range p.Trials {
		counts[x.Workload]++
	}
	if counts["oltp"] != 10 || counts["scan"] != 2 {
		t.Errorf("trials %v", counts)
	}
	if p.Stop == nil || p.Stop.Min != 2 || p.Stop.Max != 2 {
		t.Errorf("the rule is %+v", p.Stop)
	}
	if got := string(p.Workloads[0].Config); !strings.Contains(got, `"offeredRate":100`) {
		t.Errorf("it begins with %s", got)
	}
}

func TestWhatIsWrongWithASearchNamesItsField(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.SLO)
		want   string
	}{
		"a limit without unit":   {func(s *v1alpha1.SLO) { s.Below = v1alpha1.Text("2") }, "slo.below"},
		"a rate as the metric":   {func(s *v1alpha1.SLO) { s.Metric = "read.iops" }, "slo.metric"},
		"an unknown latency":     {func(s *v1alpha1.SLO) { s.Metric = "reed.latency.p99" }, "slo.metric"},
		"one that trials lack":   {func(s *v1alpha1.SLO) { s.Metric = "read.latency.p90" }, "slo.metric"},
		"a range backwards":      {func(s *v1alpha1.SLO) { s.Rate.To = 50 }, "slo.rate"},
		"too few probes":         {func(s *v1alpha1.SLO) { s.Probes = 2 }, "slo.probes"},
		"more than a worker has": {func(s *v1alpha1.SLO) { s.Probes = 61 }, "slo.probes"},
	} {
		_, err := build(swept(promised(c.change)))
		if err == nil || !strings.Contains(err.Error(), "spec.workloads[oltp].sweep."+c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	both := promised(func(*v1alpha1.SLO) {})
	both.Over = over(valued("iodepth", "1")).Over
	for name, c := range map[string]struct {
		change func(*v1alpha1.StorageBenchmark)
		want   string
	}{
		"over beside slo": {func(b *v1alpha1.StorageBenchmark) { b.Spec.Workloads[0].Sweep = both }, "slo and over"},
		"a gate on it": {func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Gates = []v1alpha1.Gate{{Workload: "oltp", Metric: "read.latency.p99", Max: new(v1alpha1.Text("2ms"))}}
		}, "spec.gates[0].workload"},
		"several volumes": {func(b *v1alpha1.StorageBenchmark) { b.Spec.Trials.Volumes = 3 }, "one volume"},
		"another engine": {func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Workloads[0].Fio, b.Spec.Workloads[0].Bonnie = nil, &v1alpha1.BonnieWorkload{}
		}, "no open loop"},
		"too many together": {func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Trials.Min, b.Spec.Workloads[0].Sweep.SLO.Probes = 100, 60
			b.Spec.Workloads = manyWorkloads(b, 5)
		}, "probes of searches"},
	} {
		_, err := build(benchmark(func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Workloads[0].Sweep = promised(func(*v1alpha1.SLO) {})
			c.change(b)
		}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// manyWorkloads are the benchmark's first and n copies of its second.
func manyWorkloads(b *v1alpha1.StorageBenchmark, n int) []v1alpha1.Workload {
	all := b.Spec.Workloads[:1:1]
	for i := range n {
		w := b.Spec.Workloads[1]
		w.Name += strings.Repeat("x", i)
		all = append(all, w)
	}
	return all
}

func TestASearchKeepsTheBudget(t *testing.T) {
	b := swept(promised(func(*v1alpha1.SLO) {}))
	b.Spec.Trials.Budget = &metav1.Duration{Duration: time.Minute}
	p, err := build(b)
	if err != nil || p.Stop.BudgetSeconds != 15 { // of four workers
		t.Errorf("got %+v, %v", p, err)
	}
}

// A search of 10 probes beside another workload, which has trials.
func TestProbesOfASearchAreNoTrialsOfOtherWorkloads(t *testing.T) {
	for name, c := range map[string]struct {
		min      int32
		variants []string
		want     string
	}{
		"too few for a median":      {min: 5, want: "5 trials give a median without an interval: set trials.min to 6 or more"},
		"enough for a median":       {min: 6},
		"too few for a comparison":  {min: 6, variants: []string{"a", "b"}, want: "3 blocks cannot tell any of 2 differences from none with 95 % confidence: set trials.min to 14 or more"},
		"as many as the plan wants": {variants: []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := swept(promised(func(*v1alpha1.SLO) {}))
			b.Spec.Trials = v1alpha1.Trials{Min: c.min}
			in := Input{Benchmark: b, Run: "r", Nodes: []string{"a"}, Engines: checker{}}
			in.withVariants(c.variants)
			p, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(Advice(p), "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
