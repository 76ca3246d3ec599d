package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// A plan says how much more memory than usual its tools need, within the operator's limit.
func TestMemoryThatToolsNeed(t *testing.T) {
	b := benchmark(func(b *v1alpha1.StorageBenchmark) {
		b.Spec.Workloads = append(b.Spec.Workloads, v1alpha1.Workload{Name: "large", Bonnie: &v1alpha1.BonnieWorkload{}})
	})
	in := Input{Benchmark: b, Run: "r", Nodes: []string{"n1"}, Engines: checker{}}
	p, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if p.ExtraMemory != 2<<30 {
		t.Errorf("%d bytes more than usual", p.ExtraMemory)
	}
	in.WorkloadMemory = 2 << 30
	_, err = Build(in)
	failure, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		t.Fatal(err)
	}
	want := trial.Failure{
		Class: reason.LimitExceeded, Field: "spec.workloads[large].bonnie.size", Workload: "large",
		Message: "its tools may allocate 3072Mi of memory, more than the limit of 2048Mi",
		Remedy:  "lower the number of clones, the queue depth or the block size, or ask your cluster administrator to raise the chart's value limits.workloadMemory",
	}
	if diff := cmp.Diff(want, *failure); diff != "" {
		t.Error(diff)
	}
}

// The plan of a benchmark that needs no more than usual has the digest it always had.
func TestUsualMemoryIsNotInThePlan(t *testing.T) {
	p, err := Build(Input{Benchmark: benchmark(func(*v1alpha1.StorageBenchmark) {}), Run: "r", Nodes: []string{"n1"}, Engines: checker{}})
	if err != nil || p.ExtraMemory != 0 {
		t.Errorf("%v, %v", p, err)
	}
}
