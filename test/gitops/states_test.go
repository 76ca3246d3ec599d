package gitops

import (
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	states "storagebench.io/storagebench/internal/status"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// seen is what the three tools see.
type seen struct {
	kstatus status.Status
	argo    string
	flux    string
}

// state is an object in a state that the operator writes, and how it must be seen.
type state struct {
	name   string
	object any
	kind   string
	want   seen
}

// benchmark is one of generation 3, with a run, after a pass of that outcome.
func benchmark(outcome states.Outcome, change ...func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
	b := &v1alpha1.StorageBenchmark{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "StorageBenchmark"},
		ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "n", Generation: 3},
	}
	b.Status.Run = &v1alpha1.RunStatus{TrialsPlanned: 6, TrialsStored: 6, WorkersTotal: 1, WorkersDone: 1}
	for _, c := range change {
		c(b)
	}
	states.Summarize(&b.Status, states.Pass{Generation: 3, Now: noon, Outcome: outcome, Records: records[b]})
	delete(records, b)
	return b
}

// records are the NodeRestores of a benchmark that is being made.
var records = map[*v1alpha1.StorageBenchmark][]states.Record{}

func ended(b *v1alpha1.StorageBenchmark) { b.Status.Run.FinishedAt = &metav1.Time{Time: noon} }

func failed(b *v1alpha1.StorageBenchmark) {
	ended(b)
	b.Status.Run.WorkersFailed, b.Status.Run.TrialsStored = 1, 2
	b.Status.Run.Failures = []v1alpha1.WorkerFailure{{Worker: "w", Node: "a", Reason: reason.WorkloadFailed, Message: "fio ended with 1"}}
}

func restoring(phase v1alpha1.RestorePhase) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) {
		ended(b)
		records[b] = []states.Record{{Node: "a", Phase: phase}}
	}
}

// store is one after a check with that result; nil: before the first.
func store(condition *metav1.Condition) *v1alpha1.ResultStore {
	s := &v1alpha1.ResultStore{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ResultStore"},
		ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1},
		Status:     v1alpha1.ResultStoreStatus{ObservedGeneration: -1},
	}
	if condition != nil {
		condition.Type, condition.Reason, condition.Message = "Available", "Tried", "tried"
		s.Status.ObservedGeneration = 1
		s.Status.Conditions = []metav1.Condition{*condition}
	}
	return s
}

// schedule is one of generation 2 with these conditions, all observed.
func schedule(conditions ...metav1.Condition) *v1alpha1.StorageBenchmarkSchedule {
	s := &v1alpha1.StorageBenchmarkSchedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "StorageBenchmarkSchedule"},
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "n", Generation: 2},
		Status:     v1alpha1.StorageBenchmarkScheduleStatus{ObservedGeneration: 2, Conditions: conditions},
	}
	for i := range conditions {
		conditions[i].Message, conditions[i].ObservedGeneration = "as the test says", 2
	}
	return s
}

func schedules() []state {
	const kind = "StorageBenchmarkSchedule"
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: reason.Scheduled}
	regressed := metav1.Condition{Type: "Regressed", Status: metav1.ConditionTrue, Reason: reason.MediansWorse}
	suspended := metav1.Condition{Type: "Suspended", Status: metav1.ConditionTrue, Reason: reason.Suspended}
	unready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason.InvalidSchedule}
	stalled := metav1.Condition{Type: "Stalled", Status: metav1.ConditionTrue, Reason: reason.InvalidSchedule}
	unseen := schedule()
	unseen.Status.ObservedGeneration = -1
	changed := schedule(ready)
	changed.Generation = 3
	deleted := schedule(ready)
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	done := seen{status.CurrentStatus, "Healthy", "Current"}
	progress := seen{status.InProgressStatus, "Progressing", "InProgress"}
	return []state{
		{"a schedule that is not seen yet", unseen, kind, progress},
		{"a schedule that was changed", changed, kind, progress},
		{"a schedule that is being deleted", deleted, kind, seen{status.TerminatingStatus, "Progressing", "Current"}},
		{"a schedule", schedule(ready), kind, done},
		{"a schedule whose storage is slower", schedule(ready, regressed), kind, done},
		{"a suspended schedule", schedule(ready, suspended), kind, done},
		{"a schedule that gives no times", schedule(unready, stalled), kind, seen{status.FailedStatus, "Degraded", "Failed"}},
	}
}

func all() []state {
	unseen := benchmark(states.Outcome{})
	unseen.Status = v1alpha1.StorageBenchmarkStatus{ObservedGeneration: -1}
	changed := benchmark(states.Outcome{}, ended)
	changed.Generation = 4
	deleted := benchmark(states.Underway(reason.Deleting, "its Jobs are removed", 0))
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	progress := seen{status.InProgressStatus, "Progressing", "InProgress"}
	stuck := seen{status.FailedStatus, "Degraded", "Failed"}
	done := seen{status.CurrentStatus, "Healthy", "Current"}
	out := []state{
		{"not seen yet", unseen, "StorageBenchmark", progress},
		{"finished, and changed since", changed, "StorageBenchmark", progress},
		{"being deleted", deleted, "StorageBenchmark", seen{status.TerminatingStatus, "Progressing", "InProgress"}},
		{"finished", benchmark(states.Outcome{}, ended), "StorageBenchmark", done},
		{"failed", benchmark(states.Outcome{}, failed), "StorageBenchmark", stuck},
		{"suspended", benchmark(states.Underway(reason.Suspended, "spec.suspend is true", 0)), "StorageBenchmark", seen{status.InProgressStatus, "Suspended", "InProgress"}},
		{"finished while settings are restored", benchmark(states.Outcome{}, restoring(v1alpha1.RestoreRunning)), "StorageBenchmark", progress},
		{"finished with settings that cannot be restored", benchmark(states.Outcome{}, restoring(v1alpha1.RestoreFailed)), "StorageBenchmark", stuck},
		{"finished on a node that is gone", benchmark(states.Outcome{}, restoring(v1alpha1.RestoreGone)), "StorageBenchmark", done},
		{"a store that nobody has tried", store(nil), "ResultStore", progress},
		{"a store that works", store(&metav1.Condition{Status: metav1.ConditionTrue}), "ResultStore", done},
		{"a store that is away", store(&metav1.Condition{Status: metav1.ConditionFalse}), "ResultStore", seen{status.CurrentStatus, "Degraded", "Failed"}},
	}
	for _, why := range []string{reason.Pending, reason.Queued, reason.Starting, reason.Running, reason.StoreUnavailable, reason.NodeAway} {
		out = append(out, state{why, benchmark(states.Underway(why, "x", 0)), "StorageBenchmark", progress})
	}
	for _, why := range []string{reason.InvalidSpec, reason.PodUnschedulable, reason.StoreUnavailable} {
		out = append(out, state{why + ", stalled", benchmark(states.Outcome{Reason: why, Message: "x", Stalled: true}), "StorageBenchmark", stuck})
	}
	return append(out, schedules()...)
}

func TestEachToolSeesEachStateAsWhatItIs(t *testing.T) {
	for _, s := range all() {
		t.Run(s.name, func(t *testing.T) {
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.object)
			if err != nil {
				t.Fatal(err)
			}
			computed, err := status.Compute(&unstructured.Unstructured{Object: object})
			if err != nil {
				t.Fatal(err)
			}
			health, message := argoHealth(t, s.kind, object)
			got := seen{kstatus: computed.Status, argo: health, flux: fluxStatus(t, s.kind, object)}
			if got != s.want {
				t.Errorf("seen as %+v, want %+v", got, s.want)
			}
			if message == "" {
				t.Error("Argo CD shows no message")
			}
		})
	}
}
