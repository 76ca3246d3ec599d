// Package state reads the state of Jobs, Pods and namespaces, for workers and restores alike.
// It changes and remembers nothing.
//
// In: objects of the cache; a reader and a name for a namespace. Out: answers such as whether a
// Pod or a Job has ended, and how.
package state

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Newest returns the Pod that was created last, or nil if there is none.
func Newest(pods []corev1.Pod) *corev1.Pod {
	var found *corev1.Pod
	for i := range pods {
		if found == nil || found.CreationTimestamp.Before(&pods[i].CreationTimestamp) {
			found = &pods[i]
		}
	}
	return found
}

// PodEnded reports whether a Pod's containers have ended for good.
func PodEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// JobEnded returns the condition with which a Job has ended, Complete or Failed, or an empty
// one while it has not.
func JobEnded(job *batchv1.Job) batchv1.JobConditionType {
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// Suspended reports whether a Job starts no Pods now.
func Suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// overdueGrace is how much later than its deadline a Job is ended at the latest where its controller works.
const overdueGrace = 2 * time.Minute

// Overdue reports whether a Job should have been ended long ago: somebody may have filled it to the limit
// of etcd, so that its end cannot be written.
func Overdue(job *batchv1.Job, now time.Time) bool {
	start, deadline := job.Status.StartTime, job.Spec.ActiveDeadlineSeconds
	return start != nil && deadline != nil && now.After(start.Add(time.Duration(*deadline)*time.Second+overdueGrace))
}

// Namespace is how a namespace stands.
type Namespace int

// States of a namespace.
const (
	// NamespaceMissing: the cache does not know it. It is gone, or so new that the cache has
	// not heard of it.
	NamespaceMissing Namespace = iota
	// NamespaceThere: objects can be created in it.
	NamespaceThere
	// NamespaceTerminating: it is being deleted, and nothing new is admitted to it.
	NamespaceTerminating
)

// OfNamespace reads how a namespace stands.
func OfNamespace(ctx context.Context, reader client.Reader, name string) (Namespace, error) {
	namespace := &corev1.Namespace{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return NamespaceMissing, nil
	case err != nil:
		return NamespaceMissing, err
	case !namespace.DeletionTimestamp.IsZero():
		return NamespaceTerminating, nil
	}
	return NamespaceThere, nil
}
