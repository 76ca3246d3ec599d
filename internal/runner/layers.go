package runner

import (
	"context"
	"reflect"
	"slices"

	"storagebench.io/storagebench/internal/environment"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
)

// layers looks at the layers of the target as they are now, and at what the kernel does on them.
func (w *worker) layers(ctx context.Context, env workload.Env, d *result.Trial) ([]result.Layer, error) {
	if w.summary.Environment == nil {
		return nil, nil
	}
	type seen struct {
		layers     []result.Layer
		activities []result.Activity
	}
	input := environment.Input{System: w.System, Path: w.TargetPath, Mode: w.target.Mode}
	found := make(chan seen, 1)
	err := w.unlessItHangs(ctx, env, "looking at the layers of the storage", func() error {
		layers := environment.Layers(input)
		found <- seen{layers, input.System.Activities(layers)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	now := <-found
	for _, a := range now.activities {
		same := func(o result.Activity) bool { return o.On == a.On && o.What == a.What }
		if !slices.ContainsFunc(d.Activities, same) && len(d.Activities) < result.MaxActivities {
			d.Activities = append(d.Activities, a)
		}
	}
	return now.layers, nil
}

// targetOf is the target with layers as they were found; if none were, as when the worker began.
func (w *worker) targetOf(layers []result.Layer) result.TargetEnvironment {
	var target result.TargetEnvironment
	if w.summary.Environment != nil {
		target = w.summary.Environment.Target
	}
	if len(layers) > 0 {
		target.Layers = layers
	}
	return target
}

// recordLayers looks at the layers after a trial. The trial's document gets those that are not as
// the worker, or the trial, had found them at its beginning.
func (w *worker) recordLayers(ctx context.Context, env workload.Env, d *result.Trial, m *result.Measurement, before []result.Layer) error {
	after, err := w.layers(ctx, env, d)
	if err != nil || len(before) == 0 {
		return err
	}
	if !reflect.DeepEqual(before, w.summary.Environment.Target.Layers) {
		d.Layers = before
	}
	if len(after) > 0 && !reflect.DeepEqual(before, after) {
		d.LayersAfter = after
		m.Notes = append(m.Notes, result.LayerChanges(before, after)...)
	}
	return nil
}
