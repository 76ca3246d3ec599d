package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/leases"
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
	out = append(out, w.nodes()...)
	pending := 0
	for i := range w.Records {
		r := &w.Records[i]
		switch r.Status.Phase {
		case v1alpha1.RestoreRunning, v1alpha1.RestoreNodeAway, v1alpha1.RestoreFailed:
			pending++
		}
		out = append(out, gauge(descUnrestored, 1, r.Name, string(r.Status.Phase)))
	}
	out = append(out, gauge(descPending, float64(pending)))
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

// nodes are who holds each node, and how many wait for it. The operator writes the Leases, one for a
// node, and nobody waits for a node that no benchmark holds: so their number is that of nodes.
func (w World) nodes() []prometheus.Metric {
	var out []prometheus.Metric
	queue, seen := map[string]int{}, map[string]bool{}
	for i := range w.Leases {
		l := &w.Leases[i]
		holder, node := leases.Holder(l), leases.Node(l)
		if holder.Name == "" || seen[node] {
			continue // the Lease of the operators among themselves, or one that nobody holds
		}
		seen[node], queue[node] = true, 0
		out = append(out, gauge(descHeld, 1, node, holder.Namespace, holder.Name))
	}
	for i := range w.Benchmarks {
		if node := leases.QueuedFor(&w.Benchmarks[i]); node != "" {
			queue[node]++
		}
	}
	for node, n := range queue {
		out = append(out, gauge(descQueue, float64(n), node))
	}
	return out
}

func boolean(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
