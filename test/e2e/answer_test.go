//go:build e2e

package e2e

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// excludeNamespace has the default ResultStore take nothing of the lab's namespace.
func (l *lab) excludeNamespace() {
	l.t.Helper()
	set := func(ctx context.Context, selector *metav1.LabelSelector) error {
		rs := &v1alpha1.ResultStore{}
		if err := api.Get(ctx, client.ObjectKey{Name: "default"}, rs); err != nil {
			return err
		}
		before := rs.DeepCopy()
		rs.Spec.NamespaceSelector = selector
		return api.Patch(ctx, rs, client.MergeFrom(before))
	}
	err := set(l.ctx, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{l.namespace},
	}}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		l.eventually("the default ResultStore takes everything again", func() error { return set(context.Background(), nil) })
	})
}

// Nothing but the chart is needed: the worker sends its results to the operator.
func TestABenchmarkWithoutResultsIsQualified(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted", nodes(1))
	l.excludeNamespace()
	b := l.benchmark("answer", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Results = nil
		s.Trials.Min = 6
		s.Gates = []v1alpha1.Gate{{Workload: "mixed", Metric: "read.latency.p50", Max: &v1alpha1.Scalar{Text: "10s"}}}
	})
	l.ended(b, reason.Finished)
	if run := b.Status.Run; !run.StatusOnly || run.Location != "" {
		t.Errorf("the results are not in the status only: %+v", run)
	}
	// Without direct I/O the page cache answers, and a verdict says so: then it is not met, with that reason.
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionQualified)
	if c == nil || c.Reason != reason.GatesMet && c.Reason != reason.NumbersInvalid {
		t.Errorf("Qualified is %+v", c)
	}
	if len(b.Status.Gates) != 1 || b.Status.Gates[0].Value == nil || b.Status.Answer == nil {
		t.Errorf("gates %+v, answer %+v", b.Status.Gates, b.Status.Answer)
	}
}
