package controllers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/benchmark"
	"storagebench.io/storagebench/controllers/schedule"
	"storagebench.io/storagebench/internal/jobspec"
)

// ballast are containers of a Pod, which the API server takes as well.
func ballast(n int) (spec corev1.PodSpec, status corev1.PodStatus) {
	for i := range n {
		spec.Containers = append(spec.Containers, corev1.Container{Name: fmt.Sprint(i), Image: strings.Repeat("x", 100)})
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprint(i)})
	}
	return spec, status
}

// A tenant may make as many claims, Pods and Jobs as it likes, with the operator's label, and with
// 256 KiB of annotations and a megabyte of labels on each; the operator has 256 MiB.
func TestATenantsAnnotationsAndLabelsAreNotCached(t *testing.T) {
	const most = 8 << 10
	meta := func() metav1.ObjectMeta {
		m := metav1.ObjectMeta{
			Name: "x", Namespace: "tenant", UID: "u", Labels: map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy},
			Annotations: map[string]string{"attacker.example/ballast": strings.Repeat("x", 200<<10)},
		}
		for i := range 5000 {
			m.Labels[fmt.Sprintf("l%05d", i)] = strings.Repeat("x", 63)
			m.Finalizers = append(m.Finalizers, fmt.Sprintf("attacker.example/%05d", i))
			m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{Kind: "K", Name: fmt.Sprint(i), UID: "u"})
		}
		return m
	}
	spec, status := ballast(2000)
	for name, c := range map[string]struct {
		in   client.Object
		trim func(any) (any, error)
	}{
		"a claim":     {&corev1.PersistentVolumeClaim{ObjectMeta: meta(), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: strings.Repeat("x", 1<<20)}}, trimClaim},
		"a Pod":       {&corev1.Pod{ObjectMeta: meta(), Spec: spec, Status: status}, trimPod},
		"a Job":       {&batchv1.Job{ObjectMeta: meta()}, trimJob},
		"a benchmark": {&v1alpha1.StorageBenchmark{ObjectMeta: meta()}, benchmark.Strip},
		"a rerun":     {&v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationRerun: strings.Repeat("x", 200<<10)}}}, benchmark.Strip},
		"a word":      {&v1alpha1.StorageBenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationAcknowledge: strings.Repeat("x,", 100<<10)}}}, schedule.Strip},
		"a schedule":  {&v1alpha1.StorageBenchmarkSchedule{ObjectMeta: meta()}, schedule.Strip},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := c.trim(c.in)
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > most {
				t.Errorf("the cache keeps %d KiB of it: %d of them fill the operator's 256 MiB", len(b)>>10, 256<<20/len(b))
			}
		})
	}
}
