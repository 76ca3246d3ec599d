package runner

import (
	"context"
	"reflect"

	"storagebench.io/storagebench/internal/environment"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
)

// layers looks at the layers of the target as they are now.
func (w *worker) layers(ctx context.Context, env workload.Env) ([]result.Layer, error) {
	if w.summary.Environment == nil {
		return nil, nil
	}
	input := environment.Input{System: w.System, Path: w.TargetPath, Mode: w.target.Mode}
	found := make(chan []result.Layer, 1)
	err := w.unlessItHangs(ctx, env, "looking at the layers of the storage", func() error { found <- environment.Layers(input); return nil })
	if err != nil {
		return nil, err
	}
	return <-found, nil
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
	after, err := w.layers(ctx, env)
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
