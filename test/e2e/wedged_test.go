//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/faults"
)

// watchEvery is how often a benchmark is looked at that has met a fault: many are at a time.
const watchEvery = 2 * time.Second

// met counts a fault that a benchmark has met, and that is over, and watches the benchmark.
func (l *lab) met(what string, b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	faults.Injected(l.t, what)
	l.notWedged(b)
}

// notWedged watches a benchmark while the test goes on, and counts it as wedged if it is
// silent when a minute has passed. A later fault of the same benchmark begins the minute anew.
func (l *lab) notWedged(b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	if w := l.watches[b.UID]; w != nil && w.Again() {
		return
	}
	// The test's own context ends before its cleanups, which wait for the verdict.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), time.Hour)
	w := faults.NewWatch(ctx, watchEvery, l.observe(b).look)
	if l.watches == nil {
		l.watches = map[types.UID]*faults.Watch{}
	}
	l.watches[b.UID] = w
	l.t.Cleanup(func() {
		defer cancel()
		if why := w.Verdict(); why != "" {
			faults.Wedged(l.t, b.Namespace+"/"+b.Name, why)
		}
	})
}

// saysWhy waits until a benchmark says what it waits for while a fault lasts.
func (l *lab) saysWhy(b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	o := l.observe(b)
	l.eventually(b.Name+" says what it waits for", func() error {
		if why, _ := o.look(l.ctx); why != "" {
			return errors.New(why)
		}
		return nil
	})
}

// observer looks at a benchmark. It is used by one goroutine.
type observer struct {
	benchmark *v1alpha1.StorageBenchmark
	reasons   []string
	nodes     []string
	// names of objects in the benchmark's namespace, also of those that are gone again.
	names map[string]bool
}

func (l *lab) observe(b *v1alpha1.StorageBenchmark) *observer {
	l.t.Helper()
	return &observer{benchmark: b.DeepCopy(), reasons: faults.Reasons(l.t), nodes: slices.Clone(l.nodes), names: map[string]bool{}}
}

// look returns why the benchmark would be wedged, if it stayed as it is. What it says must
// be so: one that measures has a Pod that runs on a node that is ready.
func (o *observer) look(ctx context.Context) (why string, ended faults.End) {
	now := &v1alpha1.StorageBenchmark{}
	err := api.Get(ctx, client.ObjectKeyFromObject(o.benchmark), now)
	if apierrors.IsNotFound(err) || err == nil && now.UID != o.benchmark.UID {
		return "", faults.Gone
	}
	if err == nil {
		err = o.learnNames(ctx)
	}
	if err != nil {
		return err.Error(), faults.Underway
	}
	objects := append([]string{now.Namespace}, o.nodes...)
	if now.Spec.Results != nil {
		objects = append(objects, now.Spec.Results.StoreRef.Name)
	}
	objects = slices.AppendSeq(objects, maps.Keys(o.names))
	if why := faults.Silent(now, o.reasons, objects); why != "" {
		return why, faults.Underway
	}
	all := now.Status.Conditions
	if meta.IsStatusConditionTrue(all, v1alpha1.ConditionComplete) || meta.IsStatusConditionTrue(all, v1alpha1.ConditionFailed) {
		ended = faults.Finished
	}
	c := meta.FindStatusCondition(all, v1alpha1.ConditionReady)
	if c.Reason == reason.Running && now.Status.Run != nil && now.Status.Run.Current != nil {
		return notRunning(ctx, now.Namespace, now.Status.Run.Current.Worker), ended
	}
	return "", ended
}

// learnNames adds the names of the Jobs, Pods and claims of the benchmark's namespace. One
// that has been removed meanwhile may still be what the benchmark waits for.
func (o *observer) learnNames(ctx context.Context) error {
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}} {
		if err := api.List(ctx, list, client.InNamespace(o.benchmark.Namespace)); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			o.names[object.(client.Object).GetName()] = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := api.List(ctx, volumes); err != nil {
		return err
	}
	for i := range volumes.Items {
		if ref := volumes.Items[i].Spec.ClaimRef; ref != nil && ref.Namespace == o.benchmark.Namespace {
			o.names[ref.Name] = true
		}
	}
	return nil
}

// notRunning returns why a worker does not run that is said to.
func notRunning(ctx context.Context, namespace, worker string) string {
	pod, err := livePod(ctx, namespace, worker)
	if err != nil {
		return err.Error()
	}
	if pod == nil {
		return "it says that worker " + worker + " measures, which has no Pod"
	}
	node := &corev1.Node{}
	if err := api.Get(ctx, types.NamespacedName{Name: pod.Spec.NodeName}, node); err != nil || !cluster.Ready(node) {
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
