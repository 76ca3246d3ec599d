package main

import (
	"fmt"
	"os"
	"strings"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// targetPaths returns the path of every target, and the mode of those that the
// command line replaces.
func targetPaths(b *v1alpha1.StorageBenchmark, replacements []string) (paths map[string]string, modes map[string]trial.Mode, err error) {
	replaced, err := parseReplacements(b, replacements)
	if err != nil {
		return nil, nil, err
	}
	paths, modes = map[string]string{}, map[string]trial.Mode{}
	var missing []string
	for _, t := range b.Spec.Targets {
		path, ok := replaced[t.Name]
		switch {
		case ok:
			if modes[t.Name], err = modeOf(t, path); err != nil {
				return nil, nil, err
			}
			paths[t.Name] = path
		case t.HostPath != nil:
			paths[t.Name] = t.HostPath.Path
		case t.BlockDevice != nil:
			paths[t.Name] = t.BlockDevice.Path
		default:
			missing = append(missing, t.Name)
		}
	}
	if len(missing) > 0 {
		return nil, nil, &trial.Failure{
			Class:   reason.InvalidSpec,
			Field:   "spec.targets[" + missing[0] + "]",
			Message: fmt.Sprintf("targets %s need volumes from a cluster, but run works without one", strings.Join(missing, ", ")),
			Remedy:  fmt.Sprintf("set the path to measure instead: --target %s=/path/of/a/directory", strings.Join(missing, "=… --target ")),
		}
	}
	return paths, modes, nil
}

func parseReplacements(b *v1alpha1.StorageBenchmark, replacements []string) (map[string]string, error) {
	known := map[string]bool{}
	var names []string
	for _, t := range b.Spec.Targets {
		known[t.Name] = true
		names = append(names, t.Name)
	}
	replaced := map[string]string{}
	for _, r := range replacements {
		name, path, ok := strings.Cut(r, "=")
		if !ok || name == "" || path == "" {
			return nil, usage(fmt.Errorf("--target %q does not have the form NAME=PATH", r))
		}
		if !known[name] {
			return nil, &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("--target: the benchmark has no target %q", name), Remedy: suggest.Remedy(name, names)}
		}
		replaced[name] = path
	}
	return replaced, nil
}

// modeOf returns the mode of a path from the command line. The benchmark
// overwrites a block device, so the file must allow that for its target.
func modeOf(t v1alpha1.Target, path string) (trial.Mode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", usage(fmt.Errorf("--target %s: %w", t.Name, err))
	}
	switch {
	case info.IsDir():
		return trial.Filesystem, nil
	case info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0:
		return "", usage(fmt.Errorf("--target %s: %s is neither a directory nor a block device", t.Name, path))
	}
	allowed := t.BlockDevice != nil && t.BlockDevice.AllowDataDestruction ||
		t.PersistentVolumeClaim != nil && t.PersistentVolumeClaim.AllowDataDestruction
	if !allowed {
		return "", &trial.Failure{
			Class:   reason.InvalidSpec,
			Field:   "spec.targets[" + t.Name + "]",
			Message: fmt.Sprintf("%s is a block device, which the benchmark would overwrite", path),
			Remedy:  "if you do not need its data, set for this target blockDevice: {path: " + path + ", allowDataDestruction: true}",
		}
	}
	return trial.Block, nil
}
