//go:build e2e

package e2e

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/test/faults"
)

// wedgedAfter is how long after a fault a benchmark may be silent.
const wedgedAfter = time.Minute

// met counts a fault that a benchmark has met, and that is over, and watches the benchmark
// until it has ended, is gone, or says what it waits for.
func (l *lab) met(what string, b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	faults.Injected(l.t, what)
	l.notWedged(b)
}

// notWedged counts a benchmark as wedged that stays silent.
func (l *lab) notWedged(b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	reasons := faults.Reasons(l.t)
	for deadline := time.Now().Add(wedgedAfter); ; time.Sleep(patience.Every) {
		why := l.silent(b, reasons)
		if why == "" {
			return
		}
		if time.Now().After(deadline) {
			faults.Wedged(l.t, b.Namespace+"/"+b.Name, why)
			return
		}
	}
}

// silent returns why the benchmark would be wedged, if it stayed as it is. What it says must
// be so: one that measures has a Pod that runs on a node that is ready.
func (l *lab) silent(b *v1alpha1.StorageBenchmark, reasons []string) string {
	now := &v1alpha1.StorageBenchmark{}
	err := api.Get(l.ctx, client.ObjectKeyFromObject(b), now)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	objects := append([]string{now.Namespace, now.Spec.Results.StoreRef.Name, "Job ", "Pod ", "claim "}, l.nodes...)
	if why := faults.Silent(now, reasons, objects); why != "" {
		return why
	}
	c := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
	if c.Reason == reason.Running && now.Status.Run != nil && now.Status.Run.Current != nil {
		return l.notRunning(now.Status.Run.Current.Worker)
	}
	return ""
}

// notRunning returns why a worker does not run that is said to.
func (l *lab) notRunning(worker string) string {
	pod := l.pod(worker)
	if pod == nil {
		return "it says that worker " + worker + " measures, which has no Pod"
	}
	node := &corev1.Node{}
	if err := api.Get(l.ctx, types.NamespacedName{Name: pod.Spec.NodeName}, node); err != nil || !ready(node) {
		return fmt.Sprintf("it says that worker %s measures, on node %s, which is not ready: %v", worker, pod.Spec.NodeName, err)
	}
	return ""
}

// over waits until a benchmark has ended or is gone, and checks that nothing of it is left:
// no setting changed, no record, no Lease, and no object once it is deleted.
func (l *lab) over(b *v1alpha1.StorageBenchmark, device string, before queue) {
	l.t.Helper()
	l.eventually("the run of "+b.Name+" ends, or it is gone", func() error {
		err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case b.Status.Run == nil || b.Status.Run.FinishedAt == nil || meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReconciling):
			return fmt.Errorf("%+v", b.Status.Conditions)
		}
		return nil
	})
	if err := api.Delete(l.ctx, b); client.IgnoreNotFound(err) != nil {
		l.t.Fatal(err)
	}
	l.gone(b)
	faults.Compare(l.t, before, readQueue(l.t, device))
	l.nothingLeft()
}
