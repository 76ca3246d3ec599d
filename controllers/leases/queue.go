package leases

import (
	"context"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// Indexes of the cache.
const (
	indexHolder = "holder"
	indexQueue  = "queue"
)

// Index adds the indexes that this package reads by.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &coordinationv1.Lease{}, indexHolder, func(o client.Object) []string {
		l, ok := o.(*coordinationv1.Lease)
		if !ok || l.Spec.HolderIdentity == nil {
			return nil
		}
		found := []string{*l.Spec.HolderIdentity}
		if holder := Holder(l); holder.Name != "" {
			found = append(found, holder.String())
		}
		return found
	})
	if err != nil {
		return err
	}
	return indexer.IndexField(ctx, &v1alpha1.StorageBenchmark{}, indexQueue, func(o client.Object) []string {
		if b, ok := o.(*v1alpha1.StorageBenchmark); ok {
			if node := QueuedFor(b); node != "" {
				return []string{node}
			}
		}
		return nil
	})
}

// QueuedFor is the node in whose queue a benchmark is, or empty.
func QueuedFor(b *v1alpha1.StorageBenchmark) string {
	run := b.Status.Run
	if run == nil || run.FinishedAt != nil || run.Current == nil || b.Spec.Suspend || !b.DeletionTimestamp.IsZero() {
		return ""
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != reason.Queued {
		return ""
	}
	return run.Current.Node
}

// First is the first benchmark of a node's queue, or nil.
func (l *Leases) First(ctx context.Context, node string) (*v1alpha1.StorageBenchmark, error) {
	list := &v1alpha1.StorageBenchmarkList{}
	// Without a copy of each: they are only compared.
	if err := l.List(ctx, list, client.MatchingFields{indexQueue: node}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var first *v1alpha1.StorageBenchmark
	for i := range list.Items {
		if b := &list.Items[i]; first == nil || l.turns.before(node, b, first) {
			first = b
		}
	}
	return first, nil
}

// turns remembers when each namespace last got a node. It is lost with the process, and the queue
// is then in the order of time until each has had a turn.
type turns struct {
	mu  sync.Mutex
	all map[string]map[string]time.Time
}

// maxTurns bounds what is remembered of a node.
const maxTurns = 10_000

func (t *turns) served(node, namespace string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil || len(t.all) > maxTurns {
		t.all = map[string]map[string]time.Time{}
	}
	if t.all[node] == nil || len(t.all[node]) > maxTurns {
		t.all[node] = map[string]time.Time{}
	}
	t.all[node][namespace] = now
}

func (t *turns) last(node, namespace string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[node][namespace]
}

// before orders the queue: the namespace that has waited longest for a turn on the node goes first, so
// that whoever queues many benchmarks does not keep others out; then first come, first served; the
// name decides a tie.
func (t *turns) before(node string, a, b *v1alpha1.StorageBenchmark) bool {
	if a.Status.Run == nil || b.Status.Run == nil {
		return a.Status.Run != nil
	}
	if c := t.last(node, a.Namespace).Compare(t.last(node, b.Namespace)); c != 0 {
		return c < 0
	}
	at, bt := a.Status.Run.QueuedAt, b.Status.Run.QueuedAt
	if !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}
