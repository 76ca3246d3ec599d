package workers

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	corev1 "k8s.io/api/core/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/internal/trial"
)

// A Pod that only looks like a worker's is not on its way out, or takes ten years for it.
func TestWhatIsLeftOfAWorkerCountsFromWhenItWasSeen(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, deleted := range map[string]*metav1.Time{
		"a Pod that nobody deletes":      nil,
		"a Pod with a grace of one year": new(metav1.NewTime(start.Add(365 * 24 * time.Hour))),
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(start)
			w := &Workers{Clock: clock}
			b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
			seen := Seen{Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted}}}}
			look := func() time.Duration {
				return w.Observe(b, trial.Worker{Name: "fast.n1", Node: "n1"}, true, seen, &nodes.View{Ready: true}).RemovedFor
			}
			if got := look(); got != 0 {
				t.Errorf("at first it is left for %s", got)
			}
			clock.SetTime(start.Add(3 * time.Minute))
			if got := look(); got != 3*time.Minute {
				t.Errorf("after 3m it is left for %s", got)
			}
			w.Forget("b")
			if got := look(); got != 0 {
				t.Errorf("when it was forgotten it is left for %s", got)
			}
		})
	}
}
