package restore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/action"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/trial"
)

// indexBenchmark finds records by the UID of their benchmark.
const indexBenchmark = "benchmark-uid"

// Index adds the indexes that this package reads by.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.NodeRestore{}, indexBenchmark, func(o client.Object) []string {
		if r, ok := o.(*v1alpha1.NodeRestore); ok {
			return []string{string(r.Spec.Benchmark.UID)}
		}
		return nil
	})
}

// Records writes and reads the records of nodes.
type Records struct {
	client.Client
	// Live reads past the cache what must not be overlooked.
	Live      client.Reader
	Settings  jobspec.Settings
	Namespace string // of restore Jobs
	Clock     clock.PassiveClock
}

// Of returns the records of a benchmark, in the order of their nodes' names.
func (r *Records) Of(ctx context.Context, uid types.UID) ([]v1alpha1.NodeRestore, error) {
	list := &v1alpha1.NodeRestoreList{}
	err := r.List(ctx, list, client.MatchingFields{indexBenchmark: string(uid)})
	slices.SortFunc(list.Items, func(a, b v1alpha1.NodeRestore) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, err
}

// Open writes the record of a node before a worker may change its settings. If the node
// has one already that is not over, it fails: the node is not as it was found. One that was
// given up it replaces, and takes over which settings may still be changed.
func (r *Records) Open(ctx context.Context, node string, spec v1alpha1.NodeRestoreSpec) error {
	record := &v1alpha1.NodeRestore{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy}}, Spec: spec}
	record.Spec.Since = metav1.NewTime(r.Clock.Now())
	err := r.Create(ctx, record)
	if !apierrors.IsAlreadyExists(err) {
		return action.Done(ctx, "record", record, err)
	}
	existing := &v1alpha1.NodeRestore{}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: node}, existing); err != nil {
		return err
	}
	switch {
	case existing.Status.Phase == v1alpha1.RestoreAbandoned:
		// Nobody restores it any more; also if this worker goes on, it needs another one. (One
		// of a node that was gone, and that is here now, is still to be restored.)
		record.Spec.Settings = allSettings(spec.Settings, existing.Spec.Settings)
		err := r.Delete(ctx, existing, client.Preconditions{UID: &existing.UID, ResourceVersion: &existing.ResourceVersion})
		if err := action.Done(ctx, "forget", existing, client.IgnoreNotFound(err)); err != nil {
			return err
		}
		return action.Done(ctx, "record", record, r.Create(ctx, record))
	case existing.Spec.Job.UID == spec.Job.UID:
		return nil
	}
	return &trial.Failure{
		Class:   reason.Restoring,
		Message: fmt.Sprintf("settings of node %s that an earlier worker may have changed are not restored yet", node), Err: status.ErrMayPass,
	}
}

// maxSettings is how many settings a record may have.
const maxSettings = 128

// allSettings returns the settings of a worker, and those of an earlier record whose old values
// the node's journal may still have, as far as a record has room.
func allSettings(settings, earlier []v1alpha1.RestorableSetting) []v1alpha1.RestorableSetting {
	all := slices.Clone(settings)
	for _, s := range earlier {
		known := slices.ContainsFunc(all, func(o v1alpha1.RestorableSetting) bool { return equality.Semantic.DeepEqual(o, s) })
		if !known && len(all) < maxSettings {
			all = append(all, s)
		}
	}
	return all
}

// Admitted asks the API server whether the Pod of a restore Job would be admitted, before a
// setting is changed: Pod Security, admission policies, webhooks and quotas decide on it.
func (r *Records) Admitted(ctx context.Context, node string, settings []v1alpha1.RestorableSetting) error {
	pod, err := jobspec.RestorePod(jobspec.Restore{Settings: r.Settings, Namespace: r.Namespace, Node: node, Record: "dry-run", Permit: permit(settings)})
	if err != nil {
		return err
	}
	err = r.Create(ctx, pod, client.DryRunAll)
	if err == nil {
		return nil
	}
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return &trial.Failure{
			Class: reason.RestoreNotPossible, Field: "spec.variants", Err: err,
			Message: fmt.Sprintf("the Pod that would restore the settings of node %s cannot be created in namespace %s: %v", node, r.Namespace, err),
			Remedy:  "ask your cluster administrator to create the namespace, label it pod-security.kubernetes.io/enforce=privileged, and allow the operator to create Pods there (the chart does)",
		}
	}
	return err
}

func permit(settings []v1alpha1.RestorableSetting) []trial.Tunable {
	var all []trial.Tunable
	for _, s := range settings {
		all = append(all, trial.Tunable{Name: s.Name, Devices: s.Devices, Datasets: s.Datasets})
	}
	return all
}

// Views are what a benchmark's status tells of its records.
func Views(records []v1alpha1.NodeRestore) []status.Record {
	var views []status.Record
	for i := range records {
		views = append(views, status.Record{Node: records[i].Name, Phase: records[i].Status.Phase, Message: records[i].Status.Message})
	}
	return views
}
