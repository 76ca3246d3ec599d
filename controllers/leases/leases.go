// Package leases gives a node to one benchmark at a time. Namespaces take turns, and within one it
// is first come, first served.
//
// Who uses a node holds its Lease in the operator's namespace; it is deleted when the node
// is given back. Its holder is a benchmark, not a process, and a Lease whose holder is gone or has
// finished is free. So is one that was held for longer than the run's timeout and a grace: a tenant
// may have made it impossible to record the run's end. The queue of a node is the benchmarks whose
// condition Ready says Queued and whose status names the node (queue.go).
package leases

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/progress"
)

// annotationNode names the node of a Lease, whose own name can be a hash.
const annotationNode = "storagebench.io/node"

// Leases of nodes.
type Leases struct {
	// Client reads Leases and benchmarks from the cache.
	client.Client
	// Namespace of the operator, where the Leases are.
	Namespace string
	Clock     clock.PassiveClock

	turns turns
}

// grace is how much longer than its timeout a run may hold a node: it waits for its results to be
// stored, ten minutes for an unreachable store, and for the removal of volumes.
const grace = 15 * time.Minute

// name of a node's Lease. A node's name has up to 253 characters, as a Lease's has.
func name(node string) string {
	if name := "node-" + node; len(name) <= 253 {
		return name
	}
	// Cut at a dot, the hash would begin a label with its dash.
	return "node-" + strings.TrimRight(node[:230], "-.") + "-" + plan.Hash(node)
}

// Node is the node that a Lease is for.
func Node(l *coordinationv1.Lease) string {
	if node := l.Annotations[annotationNode]; node != "" {
		return node
	}
	return strings.TrimPrefix(l.Name, "node-")
}

// Identity of a benchmark, as the holder of a Lease.
func Identity(b *v1alpha1.StorageBenchmark) string {
	return fmt.Sprintf("%s/%s/%s", b.Namespace, b.Name, b.UID)
}

// Holder names the benchmark that holds a Lease; it is empty if the holder is none.
func Holder(l *coordinationv1.Lease) types.NamespacedName {
	if l.Spec.HolderIdentity == nil {
		return types.NamespacedName{}
	}
	parts := strings.Split(*l.Spec.HolderIdentity, "/")
	if len(parts) != 3 {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: parts[0], Name: parts[1]}
}

// Held returns the nodes whose Lease is b's.
func (l *Leases) Held(ctx context.Context, b *v1alpha1.StorageBenchmark) ([]string, error) {
	held, err := l.held(ctx, b)
	var nodes []string
	for i := range held {
		nodes = append(nodes, Node(&held[i]))
	}
	slices.Sort(nodes)
	return nodes, err
}

func (l *Leases) held(ctx context.Context, b *v1alpha1.StorageBenchmark) ([]coordinationv1.Lease, error) {
	list := &coordinationv1.LeaseList{}
	err := l.List(ctx, list, client.InNamespace(l.Namespace), client.MatchingFields{indexHolder: Identity(b)})
	return list.Items, err
}

// Claim returns who has the Lease of a node, as far as b may know.
func (l *Leases) Claim(ctx context.Context, b *v1alpha1.StorageBenchmark, node string) (progress.Claim, error) {
	lease, err := l.get(ctx, node)
	if err != nil {
		return progress.Claim{}, err
	}
	holder, err := l.holder(ctx, lease)
	if err != nil {
		return progress.Claim{}, err
	}
	if holder != nil && holder.UID == b.UID {
		return progress.Claim{Mine: true}, nil
	}
	if holder != nil {
		claim := busy(b, holder)
		claim.Taken = true
		return claim, nil
	}
	first, err := l.First(ctx, node)
	if err != nil || first == nil || first.UID == b.UID || !l.turns.before(node, first, b) {
		return progress.Claim{}, err
	}
	return busy(b, first), nil
}

// busy names the other benchmark to those in its own namespace only.
func busy(b, other *v1alpha1.StorageBenchmark) progress.Claim {
	claim := progress.Claim{Busy: true}
	if other.Namespace == b.Namespace {
		claim.Holder = "the StorageBenchmark " + other.Name
	}
	return claim
}

func (l *Leases) get(ctx context.Context, node string) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	err := l.Get(ctx, types.NamespacedName{Namespace: l.Namespace, Name: name(node)}, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return lease, err
}

// holder is the benchmark that holds the Lease and still has a use for it, or nil.
func (l *Leases) holder(ctx context.Context, lease *coordinationv1.Lease) (*v1alpha1.StorageBenchmark, error) {
	if lease == nil || Holder(lease).Name == "" || l.over(lease) {
		return nil, nil
	}
	b := &v1alpha1.StorageBenchmark{}
	err := l.Get(ctx, Holder(lease), b)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil || Identity(b) != *lease.Spec.HolderIdentity || b.Status.Run == nil || b.Status.Run.FinishedAt != nil {
		return nil, err
	}
	return b, nil
}

// over reports whether a Lease has been held for longer than its holder's run may last.
func (l *Leases) over(lease *coordinationv1.Lease) bool {
	since, seconds := lease.Spec.AcquireTime, lease.Spec.LeaseDurationSeconds
	return since != nil && seconds != nil && l.Clock.Now().After(since.Add(time.Duration(*seconds)*time.Second))
}

// lasts is for how many seconds a run with a timeout may hold a node.
func lasts(timeout time.Duration) *int32 {
	return new(int32(min((timeout + grace).Seconds(), math.MaxInt32)))
}

// Renew writes how long a node may be held if the run's timeout has changed.
func (l *Leases) Renew(ctx context.Context, node string, timeout time.Duration) error {
	lease, err := l.get(ctx, node)
	if err != nil || lease == nil || lease.Spec.LeaseDurationSeconds != nil && *lease.Spec.LeaseDurationSeconds == *lasts(timeout) {
		return err
	}
	renewed := lease.DeepCopy()
	renewed.Spec.LeaseDurationSeconds = lasts(timeout)
	return action.Done(ctx, "renew", renewed, l.Update(ctx, renewed))
}

// Acquire takes a node's Lease for a run with a timeout. If another was quicker, it returns a conflict.
func (l *Leases) Acquire(ctx context.Context, b *v1alpha1.StorageBenchmark, node string, timeout time.Duration) error {
	holder, now := Identity(b), metav1.NewMicroTime(l.Clock.Now())
	l.turns.served(node, b.Namespace, now.Time)
	spec := coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: lasts(timeout)}
	existing, err := l.get(ctx, node)
	if err != nil {
		return err
	}
	if existing == nil {
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:   l.Namespace,
				Name:        name(node),
				Labels:      map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy},
				Annotations: map[string]string{annotationNode: node},
			},
			Spec: spec,
		}
		err := action.Done(ctx, "acquire", lease, l.Create(ctx, lease))
		if apierrors.IsAlreadyExists(err) {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), lease.Name, err)
		}
		return err
	}
	taken := existing.DeepCopy()
	taken.Spec = spec
	return action.Done(ctx, "acquire", taken, l.Update(ctx, taken))
}

// Release gives a node back, if it is b's.
func (l *Leases) Release(ctx context.Context, b *v1alpha1.StorageBenchmark, node string) error {
	lease, err := l.get(ctx, node)
	if err != nil || lease == nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != Identity(b) {
		return err
	}
	return l.release(ctx, lease)
}

// ReleaseAll gives back every node that is b's.
func (l *Leases) ReleaseAll(ctx context.Context, b *v1alpha1.StorageBenchmark) error {
	held, err := l.held(ctx, b)
	for i := range held {
		if err == nil {
			err = l.release(ctx, &held[i])
		}
	}
	return err
}

// ReleaseStrays gives back the nodes of deleted benchmarks of this name: they went without their
// finalizer, or while the operator did not run. present is the UID of the benchmark that has
// the name now, and keeps its nodes; it is empty if there is none.
func (l *Leases) ReleaseStrays(ctx context.Context, name types.NamespacedName, present types.UID) error {
	list := &coordinationv1.LeaseList{}
	if err := l.List(ctx, list, client.InNamespace(l.Namespace), client.MatchingFields{indexHolder: name.String()}); err != nil {
		return err
	}
	for i := range list.Items {
		if lease := &list.Items[i]; *lease.Spec.HolderIdentity != name.String()+"/"+string(present) {
			if err := l.release(ctx, lease); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Leases) release(ctx context.Context, lease *coordinationv1.Lease) error {
	err := l.Delete(ctx, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	return action.Done(ctx, "release", lease, client.IgnoreNotFound(err))
}
