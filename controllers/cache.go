package controllers

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/benchmark"
	"storagebench.io/storagebench/controllers/schedule"
	"storagebench.io/storagebench/controllers/trim"
	"storagebench.io/storagebench/internal/jobspec"
)

// Cache keeps only the operator's own Jobs, Pods, claims and Leases, and of every object only the
// fields that are read (package trim), so that memory grows with benchmarks and not with the cluster. An
// object from it is never written back as a whole.
func Cache(o Options) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{jobspec.LabelManagedBy: jobspec.ManagedBy})
	job := cache.ByObject{Label: ours, Transform: trimJob}
	pod := cache.ByObject{Label: ours, Transform: trimPod}
	out := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// A read of a kind that no controller watches would start to watch it; here it fails.
		ReaderFailOnMissingInformer: true,
	}
	if len(o.Namespaces) > 0 {
		out.DefaultNamespaces = map[string]cache.Config{}
		for _, name := range o.Namespaces {
			out.DefaultNamespaces[name] = cache.Config{}
		}
		withRestore := map[string]cache.Config{o.RestoreNamespace: {}}
		for name := range out.DefaultNamespaces {
			withRestore[name] = cache.Config{}
		}
		job.Namespaces, pod.Namespaces = withRestore, withRestore
	}
	out.ByObject = map[client.Object]cache.ByObject{
		&batchv1.Job{}:                  job,
		&corev1.Pod{}:                   pod,
		&corev1.PersistentVolumeClaim{}: {Label: ours, Transform: trimClaim},
		&corev1.PersistentVolume{}:      {Transform: trimVolume},
		&corev1.Node{}:                  {Transform: trimNode},
		&corev1.Namespace{}:             {Transform: trimNamespace},
		&v1alpha1.StorageBenchmark{}:    {Transform: benchmark.Strip},

		&v1alpha1.StorageBenchmarkSchedule{}: {Transform: schedule.Strip},
		&coordinationv1.Lease{}:              {Namespaces: map[string]cache.Config{o.Namespace: {LabelSelector: ours}}},
	}
	return out
}

// trimMeta drops what is never read of the metadata of what tenants may write.
func trimMeta(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		trim.Meta(o)
	}
	return object, nil
}

func trimNamespace(object any) (any, error) {
	if o, ok := object.(*corev1.Namespace); ok {
		trim.Cluster(o)
	}
	return object, nil
}

// A Pod of a worker has one container, and few that somebody injects. Others may have thousands.
const (
	maxContainers = 16
	maxImage      = 1 << 10
	maxName       = 253
)

func trimJob(object any) (any, error) {
	if job, ok := object.(*batchv1.Job); ok {
		job.Spec = batchv1.JobSpec{Suspend: job.Spec.Suspend, ActiveDeadlineSeconds: job.Spec.ActiveDeadlineSeconds}
	}
	return trimMeta(object)
}

func trimPod(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		spec := corev1.PodSpec{NodeName: pod.Spec.NodeName}
		for _, c := range first(pod.Spec.Containers) {
			spec.Containers = append(spec.Containers, corev1.Container{Name: c.Name, Image: strings.Clone(c.Image[:min(len(c.Image), maxImage)])})
		}
		pod.Spec = spec
		pod.Status = corev1.PodStatus{
			Phase: pod.Status.Phase, Conditions: pod.Status.Conditions, StartTime: pod.Status.StartTime,
			ContainerStatuses: first(pod.Status.ContainerStatuses),
		}
	}
	return trimMeta(object)
}

// first returns at most maxContainers of all, in memory of their own.
func first[T any](all []T) []T {
	if len(all) <= maxContainers {
		return all
	}
	return slices.Clone(all[:maxContainers])
}

func trimClaim(object any) (any, error) {
	if claim, ok := object.(*corev1.PersistentVolumeClaim); ok {
		claim.Spec = corev1.PersistentVolumeClaimSpec{
			StorageClassName: claim.Spec.StorageClassName, VolumeName: claim.Spec.VolumeName, VolumeMode: claim.Spec.VolumeMode,
		}
		if len(claim.Spec.VolumeName) > maxName { // no volume has such a name, and nobody checks it
			claim.Spec.VolumeName = ""
		}
		claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
	}
	return trimMeta(object)
}

func trimVolume(object any) (any, error) {
	if volume, ok := object.(*corev1.PersistentVolume); ok {
		volume.Spec = corev1.PersistentVolumeSpec{NodeAffinity: volume.Spec.NodeAffinity}
		volume.Status = corev1.PersistentVolumeStatus{}
	}
	return trimMeta(object)
}

func trimNode(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		status := corev1.NodeStatus{}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				// The heartbeat would make every copy another one.
				c.LastHeartbeatTime.Reset()
				status.Conditions = append(status.Conditions, c)
			}
		}
		node.Spec = corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable, Taints: node.Spec.Taints}
		node.Status = status
		trim.Cluster(node)
	}
	return object, nil
}
