//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/result"
)

// trials of a run that something is killed in.
const trialsInRun = 6

func long(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = trialsInRun }

// whole checks that every trial was measured and stored once, and nothing is left.
func (l *lab) whole(b *v1alpha1.StorageBenchmark) map[string]result.Trial {
	l.t.Helper()
	l.ended(b, reason.Finished)
	trials := l.trials(b, l.worker("ext4"))
	if len(trials) != trialsInRun {
		l.t.Errorf("%d trials are stored: %v", len(trials), l.stored(b))
	}
	for id, tr := range trials {
		if tr.Outcome != result.Measured || tr.Run != b.Status.Run.ID {
			l.t.Errorf("trial %s: %+v", id, tr)
		}
	}
	if got := l.stored(b); len(got) != 3*trialsInRun+5 {
		l.t.Errorf("%d objects: %v", len(got), got)
	}
	if n := b.Status.Summary[0].Trials; n != trialsInRun || b.Status.Run.Progress != fmt.Sprintf("%d/%d", trialsInRun, trialsInRun) {
		l.t.Errorf("the summary is over %d trials, %s", n, b.Status.Run.Progress)
	}
	l.nothingLeft()
	return trials
}

func TestTheOperatorIsKilledInMidRun(t *testing.T) {
	l := newLab(t, "restricted", alone)
	b := l.benchmark("operator", long)
	for stored := range 3 {
		l.measuring(b, l.worker("ext4"), stored+1)
		l.kill(operatorNamespace, map[string]string{"app.kubernetes.io/name": "storagebench"})
	}
	l.whole(b)
}

func TestTheOperatorIsKilledWhileItStartsAWorker(t *testing.T) {
	l := newLab(t, "restricted", alone)
	for i := range 4 {
		b := l.benchmark(fmt.Sprintf("start-%d", i), func(*v1alpha1.StorageBenchmarkSpec) {})
		l.eventually("the run is recorded", func() error {
			if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil || b.Status.Run == nil {
				return fmt.Errorf("no run: %v", err)
			}
			return nil
		})
		l.kill(operatorNamespace, map[string]string{"app.kubernetes.io/name": "storagebench"})
		l.ended(b, reason.Finished)
		l.nothingLeft()
	}
}

func TestTheWorkerIsKilledInMidRun(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	b := l.benchmark("worker", long)
	l.measuring(b, l.worker("ext4"), 2)
	before := l.trials(b, l.worker("ext4"))
	l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
	after := l.whole(b)

	// What was stored is not measured again, and the rest is of a second attempt.
	second := 0
	for id, tr := range after {
		if was, ok := before[id]; ok && (tr.Attempt != 1 || !tr.StartedAt.Equal(was.StartedAt)) {
			t.Errorf("trial %s was measured twice", id)
		}
		if tr.Attempt == 2 {
			second++
		}
	}
	if second == 0 {
		t.Error("no trial is of a second attempt")
	}
}

func TestTheStoreIsKilledInMidRun(t *testing.T) {
	l := newLab(t, "restricted", alone)
	b := l.benchmark("store", long)
	l.measuring(b, l.worker("ext4"), 2)
	l.kill("minio", map[string]string{"app": "minio"})
	l.whole(b)
}

func TestTheStoreIsAwayUntilTheWorkerHasMeasuredEverything(t *testing.T) {
	l := newLab(t, "restricted", alone)
	t.Cleanup(func() { // before the namespace goes, also after a failure
		l.ctx = context.Background()
		l.scale("minio", "minio", 1)
	})
	b := l.benchmark("away", long)
	pod := l.measuring(b, l.worker("ext4"), 1)
	l.scale("minio", "minio", 0)
	l.storeSeenAway()
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(pod), pod); err != nil || pod.Status.Phase != corev1.PodRunning {
		t.Fatalf("the worker does not wait for the store: %v %s", err, pod.Status.Phase)
	}
	l.scale("minio", "minio", 1)
	for id, tr := range l.whole(b) {
		if tr.Attempt != 1 {
			t.Errorf("the worker was started again: trial %s is of attempt %d", id, tr.Attempt)
		}
	}
}

// storeSeenAway waits until the operator has seen that the object store does not answer.
func (l *lab) storeSeenAway() {
	l.t.Helper()
	l.eventually("the operator notices", func() error {
		rs := &v1alpha1.ResultStore{}
		if err := api.Get(l.ctx, client.ObjectKey{Name: "default"}, rs); err != nil {
			return err
		}
		for _, c := range rs.Status.Conditions {
			if c.Type == v1alpha1.ConditionAvailable && c.Status == metav1.ConditionFalse && c.Reason == reason.EndpointUnreachable {
				return nil
			}
		}
		return fmt.Errorf("%+v", rs.Status.Conditions)
	})
}
