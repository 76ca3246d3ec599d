package main

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/cmd/storagebench/spec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/engines"
	fioengine "storagebench.io/storagebench/internal/workload/fio"
)

// benchmark checks every workload of a StorageBenchmark, at each point of its sweep, for the mode of each target.
// If nothing is wrong with them, it checks what concerns the benchmark as a whole: that a plan can be made of it. Of a
// schedule, it checks the times and then its benchmark.
func (d *lintDocument) benchmark(ctx context.Context, file string) error {
	b, err := readBenchmark(ctx, file)
	if err != nil {
		return d.failure(file, err)
	}
	if err := d.all(file, b); err != nil {
		return err
	}
	for _, found := range [][]lintFinding{d.Problems, d.Changes} {
		for i := range found {
			found[i].Field = spec.Field(b, found[i].Field)
		}
	}
	return nil
}

func (d *lintDocument) all(file string, b *v1alpha1.StorageBenchmark) error {
	modes := map[trial.Mode]bool{}
	for _, t := range b.Spec.Targets {
		mode := trial.Filesystem
		if t.BlockDevice != nil || t.StorageClass != nil && t.StorageClass.VolumeMode == "Block" {
			mode = trial.Block
		}
		modes[mode] = true
	}
	for _, w := range b.Spec.Workloads {
		points, err := plan.AtPoints(w)
		if err != nil {
			if err := d.failure(file, err); err != nil {
				return err
			}
			continue
		}
		for _, at := range points {
			for _, mode := range slices.Sorted(maps.Keys(modes)) {
				if err := d.workload(file, w.Name, at, mode); err != nil {
					return err
				}
			}
		}
	}
	if len(d.Problems) > 0 {
		return nil
	}
	return d.failure(file, whole(b))
}

// failure adds a mistake of the benchmark. It returns any other error.
func (d *lintDocument) failure(file string, err error) error {
	f, ok := errors.AsType[*trial.Failure](err)
	if ok {
		d.Problems = append(d.Problems, lintFinding{File: file, Field: f.Field, Message: f.Message, Remedy: f.Remedy})
		return nil
	}
	return err
}

// whole returns what keeps a benchmark from becoming a plan.
func whole(b *v1alpha1.StorageBenchmark) error {
	variants, err := ownVariants(b)
	if err != nil {
		return err
	}
	modes := map[string]trial.Mode{}
	for _, t := range b.Spec.Targets {
		if t.PersistentVolumeClaim != nil {
			modes[t.Name] = trial.Filesystem // only the cluster knows
		}
	}
	_, err = plan.Build(plan.Input{Benchmark: b, Run: "lint", Nodes: nodeNames(b, 0), Modes: modes, Variants: variants, Engines: engines.All()})
	return err
}

// workload checks a workload at one point of its sweep. name is the workload's in the spec.
func (d *lintDocument) workload(file, name string, at v1alpha1.Workload, mode trial.Mode) error {
	encoded, err := json.Marshal(at)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return err
	}
	delete(fields, "name")
	prefix := "spec.workloads[" + name + "]."
	if raw, ok := fields["fio"]; ok {
		problems, changes := fioengine.Lint(raw, mode, workload.Machine{})
		d.add(file+" "+name, prefix, problems, changes)
		return nil
	}
	for engine, raw := range fields {
		failure, ok := errors.AsType[*trial.Failure](engines.All().Check(engine, raw, mode))
		if ok {
			d.add(file+" "+name, prefix, []fioengine.Finding{{Field: failure.Field, Message: failure.Message, Remedy: failure.Remedy}}, nil)
		}
	}
	return nil
}
