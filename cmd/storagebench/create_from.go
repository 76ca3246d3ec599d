package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
)

// fromSchedule returns the manifest of a benchmark that runs what a schedule runs. It is not the schedule's: it
// is in none of its series, and no limit of its history deletes it.
func (f *createFlags) fromSchedule(ctx context.Context, name string) ([]byte, error) {
	c, namespace, err := f.client()
	if err != nil {
		return nil, err
	}
	found, err := schedules(ctx, c, namespace, f.schedule, false)
	if err != nil {
		return nil, err
	}
	s := found[0]
	b := &v1alpha1.StorageBenchmark{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "StorageBenchmark"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Labels: s.Spec.Template.Metadata.Labels, Annotations: s.Spec.Template.Metadata.Annotations,
		},
		Spec: s.Spec.Template.Spec,
	}
	b.Spec.Baseline.Follow(s.Status.LatestQualified)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	return yaml.Marshal(object)
}
