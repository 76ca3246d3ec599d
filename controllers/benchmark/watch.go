package benchmark

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/controllers/leases"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/jobspec"
)

// indexReason finds benchmarks by the reason of their condition Ready.
const indexReason = "reason"

// indexNode finds benchmarks by the node of their current worker.
const indexNode = "current-node"

// Index adds the indexes that this package reads by.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha1.StorageBenchmark{}, indexReason, func(o client.Object) []string {
		if b, ok := o.(*v1alpha1.StorageBenchmark); ok {
			if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); c != nil {
				return []string{c.Reason}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return indexer.IndexField(ctx, &v1alpha1.StorageBenchmark{}, indexNode, func(o client.Object) []string {
		if b, ok := o.(*v1alpha1.StorageBenchmark); ok && b.Status.Run != nil && b.Status.Run.Current != nil {
			return []string{b.Status.Run.Current.Node}
		}
		return nil
	})
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	ofReason := func(reasons ...string) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
			var all []reconcile.Request
			for _, why := range reasons {
				all = append(all, r.found(ctx, client.MatchingFields{indexReason: why})...)
			}
			return all
		})
	}
	changed := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.StorageBenchmark{}, builder.WithPredicates(r.notOurOwn())).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ofWorker)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(r.nextOf(func(o client.Object) string {
			if l, ok := o.(*coordinationv1.Lease); ok {
				return leases.Node(l)
			}
			return ""
		})), builder.WithPredicates(onlyDeletes)).
		Watches(&coordinationv1.Lease{}, handler.EnqueueRequestsFromMapFunc(ofLease), builder.WithPredicates(withoutHolder)).
		Watches(&v1alpha1.StorageBenchmark{}, r.queueChanged()).
		Watches(&v1alpha1.NodeRestore{}, handler.EnqueueRequestsFromMapFunc(r.ofRecord)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.ofNode), builder.WithPredicates(nodes.Changed)).
		Watches(&v1alpha1.ResultStore{}, ofReason(reason.StoreUnavailable, reason.ResultStoreNotFound, reason.NamespaceNotAllowed), builder.WithPredicates(availableChanged)).
		Watches(&storagev1.StorageClass{}, ofReason(reason.StorageClassNotFound)).
		Watches(&v1alpha1.TunablePolicy{}, ofReason(reason.TunableNotPermitted), changed).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(namespaceChanged)).
		WithOptions(controller.Options{MaxConcurrentReconciles: stores.Passes, RateLimiter: action.Retries()}).
		Complete(r)
}

// notOurOwn drops the events of the operator's own writes, which it knows of already.
func (r *Reconciler) notOurOwn() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !r.memory.writes.Is(e.ObjectNew.GetUID(), e.ObjectNew.GetResourceVersion())
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.memory.writes.Forget(e.Object.GetUID())
			r.memory.cleared(e.Object.GetUID())
			r.memory.setEmpty(e.Object.GetUID(), false)
			r.Workers.Forget(e.Object.GetUID())
			return true
		},
	}
}

// onlyDeletes passes only deletions: a Lease that is given back frees its node.
var onlyDeletes = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
}

// withoutHolder passes the Leases that are there when the operator starts, whose holders may
// have gone meanwhile, and deletions, as somebody may delete the Lease of a running worker.
var withoutHolder = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return e.IsInInitialList },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
}

// availableChanged drops the updates that change only the time of a store's last check.
var availableChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		was, ok1 := e.ObjectOld.(*v1alpha1.ResultStore)
		is, ok2 := e.ObjectNew.(*v1alpha1.ResultStore)
		if !ok1 || !ok2 || was.Generation != is.Generation {
			return true
		}
		a, b := meta.FindStatusCondition(was.Status.Conditions, v1alpha1.ConditionAvailable), meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionAvailable)
		return a == nil || b == nil || a.Status != b.Status || a.Reason != b.Reason
	},
}

var namespaceChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return predicate.LabelChangedPredicate{}.Update(e) || e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

// ofLease maps a Lease to its holder, which may be gone.
func ofLease(_ context.Context, o client.Object) []reconcile.Request {
	if l, ok := o.(*coordinationv1.Lease); ok && leases.Holder(l).Name != "" {
		return []reconcile.Request{{NamespacedName: leases.Holder(l)}}
	}
	return nil
}

func ofWorker(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[jobspec.LabelBenchmark]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// nextOf wakes the first of a node's queue. Nothing changes for the others.
func (r *Reconciler) nextOf(node func(client.Object) string) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		name := node(o)
		if name == "" {
			return nil
		}
		first, err := r.Leases.First(ctx, name)
		if err != nil || first == nil {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(first)}}
	}
}

// queueChanged wakes the first of a node's queue when a benchmark leaves the queue without having
// had the node, and when one joins it: the node may have become free just before.
func (r *Reconciler) queueChanged() handler.EventHandler {
	wake := func(ctx context.Context, o client.Object, q interface{ Add(reconcile.Request) }) {
		b, ok := o.(*v1alpha1.StorageBenchmark)
		if !ok {
			return
		}
		for _, request := range r.nextOf(func(client.Object) string { return leases.QueuedFor(b) })(ctx, b) {
			q.Add(request)
		}
	}
	return handler.Funcs{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			was, ok1 := e.ObjectOld.(*v1alpha1.StorageBenchmark)
			is, ok2 := e.ObjectNew.(*v1alpha1.StorageBenchmark)
			if ok1 && ok2 && leases.QueuedFor(was) != leases.QueuedFor(is) {
				wake(ctx, was, q)
				wake(ctx, is, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, e.Object, q)
		},
	}
}

// ofRecord wakes the benchmark of a record, and those that wait for its node.
func (r *Reconciler) ofRecord(ctx context.Context, o client.Object) []reconcile.Request {
	record, ok := o.(*v1alpha1.NodeRestore)
	if !ok {
		return nil
	}
	requests := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: record.Spec.Benchmark.Namespace, Name: record.Spec.Benchmark.Name}}}
	return append(requests, r.ofNode(ctx, o)...)
}

// ofNode wakes the benchmarks whose current worker is on a node, and those that found too few.
func (r *Reconciler) ofNode(ctx context.Context, node client.Object) []reconcile.Request {
	requests := r.found(ctx, client.MatchingFields{indexNode: node.GetName()})
	if _, ok := node.(*corev1.Node); ok {
		requests = append(requests, r.found(ctx, client.MatchingFields{indexReason: reason.NoMatchingNodes})...)
		requests = append(requests, r.found(ctx, client.MatchingFields{indexReason: reason.NodeAway})...)
	}
	return requests
}

// ofNamespace wakes the benchmarks of a namespace: its labels permit, and its deletion stops.
func (r *Reconciler) ofNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return r.found(ctx, client.InNamespace(namespace.GetName()))
}

func (r *Reconciler) found(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	list := &v1alpha1.StorageBenchmarkList{}
	// Without a copy of each: only the names are read.
	if err := r.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list benchmarks to wake")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}
