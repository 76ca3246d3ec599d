package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// States of a benchmark, the label state.
const (
	stateWaiting   = "Waiting"   // in a queue, or for a store, a node or a restore
	stateRunning   = "Running"   // a worker starts or measures
	stateSuspended = "Suspended" // spec.suspend
	stateStalled   = "Stalled"   // nothing happens until somebody acts
	stateFailed    = "Failed"    // the run has ended without all its trials
	stateComplete  = "Complete"  // the run has ended with all its trials
)

var states = []string{stateWaiting, stateRunning, stateSuspended, stateStalled, stateFailed, stateComplete}

func stateOf(b *v1alpha1.StorageBenchmark) string {
	is := func(kind string) bool { return meta.IsStatusConditionTrue(b.Status.Conditions, kind) }
	ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case is(v1alpha1.ConditionFailed):
		return stateFailed
	case is(v1alpha1.ConditionComplete):
		return stateComplete
	case is(v1alpha1.ConditionStalled):
		return stateStalled
	case ready == nil:
		return stateWaiting
	}
	switch ready.Reason {
	case reason.Suspended:
		return stateSuspended
	case reason.Running, reason.Starting:
		return stateRunning
	}
	return stateWaiting
}

// counts are the metrics whose number does not grow with what tenants write.
func (w World) counts() []prometheus.Metric {
	var (
		out     []prometheus.Metric
		byState = map[string]int{}
		planned int
		stored  int
	)
	for i := range w.Benchmarks {
		b := &w.Benchmarks[i]
		byState[stateOf(b)]++
		if run := b.Status.Run; run != nil {
			planned += int(run.TrialsPlanned)
			stored += int(run.TrialsStored)
		}
	}
	for _, state := range states {
		out = append(out, gauge(descBenchmarks, float64(byState[state]), state))
	}
	out = append(out, gauge(descTrialsPlanned, float64(planned)), gauge(descTrialsStored, float64(stored)))
	for i := range w.Records {
		r := &w.Records[i]
		out = append(out, gauge(descUnrestored, 1, r.Name, string(r.Status.Phase)))
	}
	for i := range w.Stores {
		s := &w.Stores[i]
		condition := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionAvailable)
		if condition == nil || condition.Status == metav1.ConditionUnknown {
			continue // nobody knows yet
		}
		out = append(out, gauge(descStore, boolean(condition.Status == metav1.ConditionTrue), s.Name))
	}
	return out
}

func boolean(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
