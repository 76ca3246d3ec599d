package controllers

import (
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
	"storagebench.io/storagebench/internal/jobspec"
)

// Cache keeps only the operator's own Jobs, Pods and Leases, and of every object only the
// fields that are read, so that memory grows with benchmarks and not with the cluster. An
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
		&corev1.PersistentVolumeClaim{}: {Transform: trimClaim},
		&corev1.PersistentVolume{}:      {Transform: trimVolume},
		&corev1.Node{}:                  {Transform: trimNode},
		&corev1.Namespace{}:             {Transform: trimMeta},
		&v1alpha1.StorageBenchmark{}:    {Transform: benchmark.Strip},

		&v1alpha1.StorageBenchmarkSchedule{}: {Transform: schedule.Strip},
		&coordinationv1.Lease{}:              {Namespaces: map[string]cache.Config{o.Namespace: {LabelSelector: ours}}},
	}
	return out
}

// trimMeta drops what is never read of an object's metadata.
func trimMeta(object any) (any, error) {
	if o, err := meta.Accessor(object); err == nil {
		o.SetManagedFields(nil)
		if annotations := o.GetAnnotations(); annotations != nil {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		}
	}
	return object, nil
}

func trimJob(object any) (any, error) {
	if job, ok := object.(*batchv1.Job); ok {
		job.Spec = batchv1.JobSpec{Suspend: job.Spec.Suspend}
	}
	return trimMeta(object)
}

func trimPod(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		spec := corev1.PodSpec{NodeName: pod.Spec.NodeName}
		for _, c := range pod.Spec.Containers {
			spec.Containers = append(spec.Containers, corev1.Container{Name: c.Name, Image: c.Image})
		}
		pod.Spec = spec
		pod.Status = corev1.PodStatus{
			Phase: pod.Status.Phase, Conditions: pod.Status.Conditions, StartTime: pod.Status.StartTime,
			ContainerStatuses: pod.Status.ContainerStatuses,
		}
	}
	return trimMeta(object)
}

func trimClaim(object any) (any, error) {
	if claim, ok := object.(*corev1.PersistentVolumeClaim); ok {
		claim.Spec = corev1.PersistentVolumeClaimSpec{
			StorageClassName: claim.Spec.StorageClassName, VolumeName: claim.Spec.VolumeName, VolumeMode: claim.Spec.VolumeMode,
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
		node.Annotations = nil
	}
	return trimMeta(object)
}
