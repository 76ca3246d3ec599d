package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// errWait marks a failure that can pass without anybody's help.
var errWait = errors.New("it may pass")

// startRun checks all that the spec needs and records a run in the status. It
// creates nothing. A *trial.Failure says what is missing and what to do.
func (r *StorageBenchmarkReconciler) startRun(ctx context.Context, b *v1alpha1.StorageBenchmark, hash string) error {
	rs, err := r.resultStore(ctx, b)
	if err != nil {
		return err
	}
	volumes, modes, err := r.checkTargets(ctx, b)
	if err != nil {
		return err
	}
	nodes, err := r.chooseNodes(ctx, b, volumes)
	if err != nil {
		return err
	}
	run := plan.RunID(b)
	variants, err := r.permit(ctx, b, nodes)
	if err != nil {
		return err
	}
	p, err := plan.Build(plan.Input{Benchmark: b, Run: run, Nodes: nodes, Modes: modes, Variants: variants, Engines: r.Engines})
	if err != nil {
		return err
	}
	if failure := storeNotAvailable(rs); failure != nil {
		return failure
	}
	b.Status.Run = &v1alpha1.RunStatus{
		ID:            run,
		SpecHash:      hash,
		Location:      location(rs, p.Keys()),
		QueuedAt:      metav1.NewMicroTime(r.Clock.Now()),
		TrialsPlanned: int32(len(p.Trials) * len(p.Workers)),
	}
	for _, w := range p.Workers {
		b.Status.Run.Workers = append(b.Status.Run.Workers, v1alpha1.WorkerStatus{
			Name: w.Name, Target: w.Target, Node: w.Node, Phase: v1alpha1.WorkerPending,
		})
	}
	status.Progress(b.Status.Run)
	b.Status.Summary, b.Status.SummaryOmitted, b.Status.Headline = nil, 0, ""
	return nil
}

// buildPlan makes the plan of the recorded run again.
func (r *StorageBenchmarkReconciler) buildPlan(ctx context.Context, b *v1alpha1.StorageBenchmark) (*trial.Plan, error) {
	_, modes, err := r.checkTargets(ctx, b)
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, w := range b.Status.Run.Workers {
		if !slices.Contains(nodes, w.Node) {
			nodes = append(nodes, w.Node)
		}
	}
	variants, err := r.permit(ctx, b, nodes)
	if err != nil {
		return nil, err
	}
	return plan.Build(plan.Input{Benchmark: b, Run: b.Status.Run.ID, Nodes: nodes, Modes: modes, Variants: variants, Engines: r.Engines})
}

func (r *StorageBenchmarkReconciler) resultStore(ctx context.Context, b *v1alpha1.StorageBenchmark) (*v1alpha1.ResultStore, error) {
	rs := &v1alpha1.ResultStore{}
	name := b.Spec.Results.StoreRef.Name
	err := r.Get(ctx, types.NamespacedName{Name: name}, rs)
	if apierrors.IsNotFound(err) {
		return nil, &trial.Failure{
			Class:   v1alpha1.ReasonResultStoreNotFound,
			Field:   "spec.results.storeRef.name",
			Message: fmt.Sprintf("there is no ResultStore %q", name),
			Remedy:  "create it, or name one that kubectl get resultstores lists",
		}
	}
	return rs, err
}

// storeNotAvailable is nil if the last check of the store went well. If waiting
// may be enough, the failure wraps errWait.
func storeNotAvailable(rs *v1alpha1.ResultStore) *trial.Failure {
	failure := &trial.Failure{Class: v1alpha1.ReasonStoreUnavailable, Field: "spec.results.storeRef.name"}
	c := meta.FindStatusCondition(rs.Status.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case c == nil:
		failure.Message, failure.Err = fmt.Sprintf("ResultStore %s has not been checked yet", rs.Name), errWait
		return failure
	case c.Status == metav1.ConditionTrue:
		return nil
	case c.Reason == v1alpha1.ReasonEndpointUnreachable:
		failure.Err = errWait
	}
	failure.Message = fmt.Sprintf("ResultStore %s: %s: %s", rs.Name, c.Reason, c.Message)
	return failure
}

func location(rs *v1alpha1.ResultStore, keys trial.Keys) string {
	parts := []string{rs.Spec.Bucket}
	if rs.Spec.Prefix != "" {
		parts = append(parts, rs.Spec.Prefix)
	}
	return "s3://" + strings.Join(append(parts, keys.Prefix()), "/")
}

// checkTargets finds targets that cannot be measured. It returns the modes that
// the spec does not tell, and the volumes that restrict the choice of nodes.
func (r *StorageBenchmarkReconciler) checkTargets(ctx context.Context, b *v1alpha1.StorageBenchmark) ([]*corev1.PersistentVolume, map[string]trial.Mode, error) {
	namespace := &corev1.Namespace{}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: b.Namespace}, namespace); err != nil {
		return nil, nil, err
	}
	var volumes []*corev1.PersistentVolume
	modes := map[string]trial.Mode{}
	for _, target := range b.Spec.Targets {
		if err := r.Host.check(namespace, target); err != nil {
			return nil, nil, err
		}
		field := "spec.targets[" + target.Name + "]."
		switch {
		case target.StorageClass != nil:
			err := r.Live.Get(ctx, types.NamespacedName{Name: target.StorageClass.Name}, &storagev1.StorageClass{})
			if apierrors.IsNotFound(err) {
				return nil, nil, &trial.Failure{
					Class:   v1alpha1.ReasonStorageClassNotFound,
					Field:   field + "storageClass.name",
					Message: fmt.Sprintf("there is no StorageClass %q", target.StorageClass.Name),
					Remedy:  "create it, or name one that kubectl get storageclasses lists",
				}
			} else if err != nil {
				return nil, nil, err
			}
		case target.PersistentVolumeClaim != nil:
			claim, volume, err := r.existingClaim(ctx, b.Namespace, target.PersistentVolumeClaim.ClaimName, field)
			if err != nil {
				return nil, nil, err
			}
			modes[target.Name] = trial.Filesystem
			if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock {
				modes[target.Name] = trial.Block
			}
			if volume != nil {
				volumes = append(volumes, volume)
			}
		}
	}
	return volumes, modes, nil
}

// existingClaim reads a claim of the user's, and its volume if it is bound.
func (r *StorageBenchmarkReconciler) existingClaim(ctx context.Context, namespace, name, field string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume, error) {
	claim := &corev1.PersistentVolumeClaim{}
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		return nil, nil, &trial.Failure{
			Class:   v1alpha1.ReasonPersistentVolumeClaimNotFound,
			Field:   field + "persistentVolumeClaim.claimName",
			Message: fmt.Sprintf("there is no PersistentVolumeClaim %q in namespace %s", name, namespace),
			Remedy:  "create it, or use storageClass to have a volume generated",
		}
	}
	if err != nil || claim.Spec.VolumeName == "" {
		return claim, nil, err
	}
	volume := &corev1.PersistentVolume{}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: claim.Spec.VolumeName}, volume); err != nil {
		return claim, nil, client.IgnoreNotFound(err)
	}
	return claim, volume, nil
}
