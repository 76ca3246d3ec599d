// Package trim drops from objects what the cache need not hold. Whoever may write an object may put 256 KiB of
// annotations and a megabyte of labels, finalizers and owners on it, and the operator holds every object of the kinds
// that it watches. So only what is read is kept, of a length that is bounded. An object from the cache is never
// written as a whole, and a patch says only what it changes, so nobody loses what is dropped here.
package trim

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

// What is read of objects that tenants may write. Another key that is to be read is added here.
var (
	labels = []string{
		jobspec.LabelManagedBy, jobspec.LabelBenchmark, jobspec.LabelRun, jobspec.LabelWorker, jobspec.LabelRecord,
		batchv1.JobNameLabel, v1alpha1.LabelSchedule,
	}
	annotations = []string{
		jobspec.AnnotationComplete, v1alpha1.AnnotationRerun, v1alpha1.AnnotationScheduledAt, v1alpha1.AnnotationAcknowledge,
	}
	finalizers = []string{Finalizer, metav1.FinalizerDeleteDependents}
)

// Finalizer keeps a benchmark until its workers are gone and its nodes are given back.
const Finalizer = "storagebench.io/cleanup"

const (
	// MaxFinalizers is how many finalizers are kept. An object from the cache that has so many may have more. A patch
	// replaces the list, so that of such an object is read from the API server before.
	MaxFinalizers = 16
	// MaxAnnotation is the length of an annotation that is kept: storagebench.io/acknowledge with 64 names is the longest.
	MaxAnnotation = 6 << 10
	// cut ends an annotation that is longer. It is no name of a benchmark, nor a time.
	cut = ",…"
	// maxOwner is the length of all texts of an owner: the API server bounds none of them.
	maxOwner = 1 << 10
)

// Meta keeps what is read of the metadata of an object that tenants may write.
func Meta(o metav1.Object) {
	o.SetManagedFields(nil)
	o.SetGenerateName("")
	o.SetLabels(only(o.GetLabels(), labels))
	o.SetAnnotations(only(o.GetAnnotations(), annotations))
	o.SetFinalizers(few(o.GetFinalizers()))
	o.SetOwnerReferences(controllerOf(o))
}

// Cluster keeps what is read of the metadata of a node or a namespace: labels that administrators choose select them.
func Cluster(o metav1.Object) {
	kept := o.GetLabels()
	Meta(o)
	o.SetLabels(kept)
	o.SetAnnotations(nil)
}

// only returns what all has of keys, or nil.
func only(all map[string]string, keys []string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		value, ok := all[key]
		if !ok {
			continue
		}
		if len(value) > MaxAnnotation {
			value = value[:MaxAnnotation] + cut
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
	}
	return kept
}

// few returns at most MaxFinalizers of all, those that are read among them.
func few(all []string) []string {
	if len(all) <= MaxFinalizers {
		return all
	}
	kept := make([]string, 0, MaxFinalizers)
	for _, name := range finalizers {
		if slices.Contains(all, name) {
			kept = append(kept, name)
		}
	}
	for _, name := range all {
		if len(kept) < MaxFinalizers && !slices.Contains(finalizers, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// controllerOf returns the owner that controls an object, as a list: no other is read.
func controllerOf(o metav1.Object) []metav1.OwnerReference {
	owner := metav1.GetControllerOf(o)
	if owner == nil || len(owner.APIVersion)+len(owner.Kind)+len(owner.Name)+len(owner.UID) > maxOwner {
		return nil
	}
	return []metav1.OwnerReference{*owner}
}
