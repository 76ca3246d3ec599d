package controllers

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/progress"
)

// One benchmark uses a node at a time. Who does holds the node's Lease in the
// operator's namespace; it is deleted when the node is given back. It does not
// expire: its holder is the benchmark, not a process, and a Lease whose holder is
// gone or has finished is free.

// leaseName of a node. A node's name has up to 253 characters, as a Lease's has.
func leaseName(node string) string {
	if name := "node-" + node; len(name) <= 253 {
		return name
	}
	return "node-" + node[:230] + "-" + plan.Hash(node)
}

// holderIdentity of a benchmark, in a Lease.
func holderIdentity(b *v1alpha1.StorageBenchmark) string {
	return fmt.Sprintf("%s/%s/%s", b.Namespace, b.Name, b.UID)
}

// claims returns how the Leases of the run's nodes stand.
func (r *StorageBenchmarkReconciler) claims(ctx context.Context, b *v1alpha1.StorageBenchmark) (map[string]progress.Claim, error) {
	all := &v1alpha1.StorageBenchmarkList{}
	if err := r.List(ctx, all); err != nil {
		return nil, err
	}
	claims := map[string]progress.Claim{}
	for _, w := range b.Status.Run.Workers {
		if _, seen := claims[w.Node]; seen {
			continue
		}
		lease, err := r.lease(ctx, w.Node)
		if err != nil {
			return nil, err
		}
		claim := progress.Claim{Ahead: ahead(all.Items, b, w.Node)}
		switch holder := lease.holder(all.Items); {
		case holder == nil:
		case holder.UID == b.UID:
			claim = progress.Claim{Mine: true}
		default:
			claim.Holder = client.ObjectKeyFromObject(holder).String()
		}
		claims[w.Node] = claim
	}
	return claims, nil
}

// nodeLease is a Lease, or none.
type nodeLease struct{ *coordinationv1.Lease }

func (r *StorageBenchmarkReconciler) lease(ctx context.Context, node string) (nodeLease, error) {
	l := &coordinationv1.Lease{}
	err := r.Get(ctx, types.NamespacedName{Namespace: r.Namespace, Name: leaseName(node)}, l)
	if apierrors.IsNotFound(err) {
		return nodeLease{}, nil
	}
	return nodeLease{l}, err
}

// holder is the benchmark that holds the Lease and still has a use for it.
func (l nodeLease) holder(all []v1alpha1.StorageBenchmark) *v1alpha1.StorageBenchmark {
	if l.Lease == nil || l.Spec.HolderIdentity == nil {
		return nil
	}
	for i := range all {
		b := &all[i]
		if holderIdentity(b) == *l.Spec.HolderIdentity && (b.Status.Run != nil && b.Status.Run.FinishedAt == nil) {
			return b
		}
	}
	return nil
}

// ahead counts the benchmarks that were queued for the node before b.
func ahead(all []v1alpha1.StorageBenchmark, b *v1alpha1.StorageBenchmark, node string) int {
	n := 0
	for i := range all {
		other := &all[i]
		if other.UID != b.UID && readyReason(other) == v1alpha1.ReasonQueued &&
			nextNode(other) == node && before(other, b) {
			n++
		}
	}
	return n
}

// before orders the queue: first come, first served; the name decides a tie.
func before(a, b *v1alpha1.StorageBenchmark) bool {
	at, bt := a.Status.Run.QueuedAt, b.Status.Run.QueuedAt
	if !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
}

// nextNode is the node of the first worker that has not ended, or empty.
func nextNode(b *v1alpha1.StorageBenchmark) string {
	if b.Status.Run == nil || !b.DeletionTimestamp.IsZero() {
		return ""
	}
	for _, w := range b.Status.Run.Workers {
		if !progress.Phase(w.Phase).Final() {
			return w.Node
		}
	}
	return ""
}

// acquire takes a node's Lease. If another was quicker, it returns a conflict.
func (r *StorageBenchmarkReconciler) acquire(ctx context.Context, b *v1alpha1.StorageBenchmark, node string) error {
	holder, now := holderIdentity(b), metav1.NewMicroTime(r.Clock.Now())
	spec := coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &now, RenewTime: &now}
	existing, err := r.lease(ctx, node)
	if err != nil {
		return err
	}
	if existing.Lease == nil {
		err := r.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: r.Namespace,
				Name:      leaseName(node),
				Labels:    map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy},
			},
			Spec: spec,
		})
		if apierrors.IsAlreadyExists(err) {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), leaseName(node), err)
		}
		return err
	}
	taken := existing.DeepCopy()
	taken.Spec = spec
	return r.Update(ctx, taken)
}

// release deletes a node's Lease if it is b's.
func (r *StorageBenchmarkReconciler) release(ctx context.Context, b *v1alpha1.StorageBenchmark, l *coordinationv1.Lease) error {
	if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != holderIdentity(b) {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, l, client.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}))
}
