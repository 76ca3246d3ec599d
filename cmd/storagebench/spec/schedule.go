package spec

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/config/crd"
	"storagebench.io/storagebench/internal/schedule"
	"storagebench.io/storagebench/internal/timetable"
	"storagebench.io/storagebench/internal/trial"
)

// readSchedule checks a schedule, its times included, and returns the benchmark that it makes.
func readSchedule(ctx context.Context, object map[string]any) (*v1alpha1.StorageBenchmark, error) {
	metadata := child(object, "metadata")
	if metadata["namespace"] == nil {
		metadata["namespace"] = "default"
	}
	schema, err := newSchema(crd.StorageBenchmarkSchedule)
	if err != nil {
		return nil, err
	}
	s := &v1alpha1.StorageBenchmarkSchedule{}
	if err := schema.read(ctx, object, s); err != nil {
		return nil, err
	}
	if _, err := timetable.Of(s.Spec, "", time.Now()); err != nil {
		if wrong, ok := errors.AsType[*schedule.Error](err); ok {
			err = invalid(wrong.Field, wrong.Problem, wrong.Remedy)
		}
		return nil, err
	}
	template := child(child(object, "spec"), "template")
	b, err := readBenchmark(ctx, map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": kindBenchmark,
		"metadata": map[string]any{"name": s.Name, "namespace": s.Namespace}, "spec": template["spec"],
	})
	if err != nil {
		if f, ok := errors.AsType[*trial.Failure](err); ok {
			f.Field = inTemplate(f.Field)
		}
		return nil, err
	}
	b.Labels = map[string]string{v1alpha1.LabelSchedule: s.Name}
	maps.Copy(b.Labels, s.Spec.Template.Metadata.Labels)
	return b, nil
}

// Field is the name that a field of the benchmark has in the file that it was read from.
func Field(b *v1alpha1.StorageBenchmark, field string) string {
	if b.Labels[v1alpha1.LabelSchedule] != "" {
		return inTemplate(field)
	}
	return field
}

func inTemplate(field string) string {
	if strings.HasPrefix(field, "spec.") {
		return "spec.template." + field
	}
	return field
}
