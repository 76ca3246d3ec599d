package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func scalar(text string) *v1alpha1.Scalar { return &v1alpha1.Scalar{Text: text} }

func TestGatesHaveTheirLimitsAsNumbers(t *testing.T) {
	p, err := build(benchmark(func(b *v1alpha1.StorageBenchmark) {
		b.Spec.Gates = []v1alpha1.Gate{
			{Workload: "oltp", Metric: "sync.latency.p99", Max: scalar("10ms")},
			{Workload: "scan", Target: "fast", Part: "scan", Metric: "read.bandwidth", Min: scalar("100MiB/s")},
			{Workload: "oltp", Metric: "write.iops", Min: scalar("5k")},
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []trial.Gate{
		{Workload: "oltp", Metric: "sync.latency.p99", Limit: 0.01, AtMost: true, Text: "10ms"},
		{Workload: "scan", Target: "fast", Part: "scan", Metric: "read.bandwidth", Limit: 100 << 20, Text: "100MiB/s"},
		{Workload: "oltp", Metric: "write.iops", Limit: 5000, Text: "5k"},
	}
	if diff := cmp.Diff(want, p.Gates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAGateThatCannotBeDecidedIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		gate        v1alpha1.Gate
		field, says string
	}{
		"another workload":              {v1alpha1.Gate{Workload: "oltq", Metric: "read.iops", Min: scalar("1")}, "spec.gates[0].workload", "did you mean oltp"},
		"another target":                {v1alpha1.Gate{Workload: "oltp", Target: "fats", Metric: "read.iops", Min: scalar("1")}, "spec.gates[0].target", "did you mean fast"},
		"a variant, and there is none":  {v1alpha1.Gate{Workload: "oltp", Variant: "x", Metric: "read.iops", Min: scalar("1")}, "spec.gates[0].variant", "has no variants"},
		"a metric misspelt":             {v1alpha1.Gate{Workload: "oltp", Metric: "sync.latancy.p99", Max: scalar("1ms")}, "spec.gates[0].metric", "did you mean sync.latency.p99"},
		"an operation that fio has not": {v1alpha1.Gate{Workload: "oltp", Metric: "append.iops", Min: scalar("1")}, "spec.gates[0].metric", `fio has no metric "append.iops"`},
		"a time without its unit":       {v1alpha1.Gate{Workload: "oltp", Metric: "sync.latency.p99", Max: scalar("10")}, "spec.gates[0].max", "for example 10ms"},
		"a time of nothing":             {v1alpha1.Gate{Workload: "oltp", Metric: "sync.latency.p99", Max: scalar("0ms")}, "spec.gates[0].max", "above 0"},
		"a rate in bytes":               {v1alpha1.Gate{Workload: "oltp", Metric: "read.iops", Min: scalar("5Ki")}, "spec.gates[0].min", "does not count bytes"},
		"a word":                        {v1alpha1.Gate{Workload: "oltp", Metric: "read.bandwidth", Min: scalar("much")}, "spec.gates[0].min", "for example 100MiB"},
		"an unknown unit":               {v1alpha1.Gate{Workload: "oltp", Metric: "read.bandwidth", Min: scalar("5 parsecs")}, "spec.gates[0].min", "unknown unit"},
		"a negative number":             {v1alpha1.Gate{Workload: "oltp", Metric: "read.iops", Min: scalar("-5")}, "spec.gates[0].min", "at least 0"},
		"no limit":                      {v1alpha1.Gate{Workload: "oltp", Metric: "read.iops"}, "spec.gates[0]", "exactly one of max and min"},
		"two limits":                    {v1alpha1.Gate{Workload: "oltp", Metric: "read.iops", Min: scalar("1"), Max: scalar("2")}, "spec.gates[0]", "exactly one of max and min"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := build(benchmark(func(b *v1alpha1.StorageBenchmark) { b.Spec.Gates = []v1alpha1.Gate{tt.gate} }))
			failure, ok := errors.AsType[*trial.Failure](err)
			if !ok {
				t.Fatalf("it is taken, or refused with another kind of error: %v", err)
			}
			if failure.Field != tt.field || !strings.Contains(failure.Error(), tt.says) {
				t.Errorf("%s: %v; want %s, with %q", failure.Field, failure, tt.field, tt.says)
			}
		})
	}
}

func TestMetricsOfEngines(t *testing.T) {
	for _, c := range []struct {
		engine, metric string
		want           bool
	}{
		{"fio", "read.completion.p99.9", true}, {"fio", "device.write.await", true}, {"fio", "littles.law.ratio", true}, {"fio", "sync.rate", true},
		{"fio", "read.latency.p42x", false}, {"fio", "reads.iops", false},
		{"filesync", "filesync.rate", true}, {"filesync", "transactions.rate", false},
		{"postmark", "transactions.rate", true}, {"postmark", "create.alone.bandwidth", true}, {"postmark", "create.fastness", false},
		{"bonnie", "delete.random.rate", true}, {"iozone", "random.read.64MiB.4KiB.bandwidth", true}, {"bandwidth", "write.durable.bandwidth", true},
	} {
		if got := checkMetric(c.engine, c.metric) == nil; got != c.want {
			t.Errorf("%s of %s: taken %v, want %v", c.metric, c.engine, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       float64
	}{
		{"10ms", result.Seconds, 0.01}, {"1.5 s", result.Seconds, 1.5}, {"250µs", result.Seconds, 0.00025}, {"250us", result.Seconds, 0.00025},
		{"100MiB", result.BytesPerSecond, 100 << 20}, {"100Mi", result.BytesPerSecond, 100 << 20}, {"100MB/s", result.BytesPerSecond, 1e8},
		{"1.5GiB", result.Bytes, 1.5 * (1 << 30)}, {"4096", result.Bytes, 4096},
		{"5000", result.PerSecond, 5000}, {"5k/s", result.PerSecond, 5000}, {"0.5", result.Count, 0.5},
	} {
		if got, err := parseLimit(c.text, c.unit); err != nil || got != c.want {
			t.Errorf("%q in %s: %v (%v), want %v", c.text, c.unit, got, err, c.want)
		}
	}
}
