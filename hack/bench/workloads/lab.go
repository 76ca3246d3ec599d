package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"storagebench.io/storagebench/hack/bench/paired"
	"storagebench.io/storagebench/hack/bench/volume"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/engines"
)

// sources are the programs in C that engines are compared with.
//
//go:embed c
var sources embed.FS

// lab makes what an entry needs, and removes it in the reverse order.
type lab struct {
	memory string // a directory of its own on tmpfs
	undo   []func() error
}

const tmpfsMagic = 0x01021994

func newLab(memory string) (*lab, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil {
		return nil, fmt.Errorf("-memory: %s: %w", memory, err)
	}
	if fs.Type != tmpfsMagic {
		return nil, fmt.Errorf("-memory: %s is no tmpfs", memory)
	}
	dir, err := os.MkdirTemp(memory, "storagebench-workloads-")
	if err != nil {
		return nil, err
	}
	return &lab{memory: dir, undo: []func() error{func() error { return os.RemoveAll(dir) }}}, nil
}

func (l *lab) close() error {
	var errs []error
	for _, undo := range slices.Backward(l.undo) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// ext4 returns the root of a new ext4 file system of that many bytes, on a loop
// device whose file is in memory, so that the processor is all there is to wait for.
func (l *lab) ext4(ctx context.Context, size int64) (string, error) {
	v, err := volume.New(ctx, l.memory, size)
	if err != nil {
		return "", err
	}
	l.undo = append(l.undo, v.Remove)
	return v.Dir, nil
}

// dir makes an empty directory in parent.
func (*lab) dir(parent string) (string, error) { return os.MkdirTemp(parent, "dir-") }

// compile compiles c/name.c and returns the program.
func (l *lab) compile(ctx context.Context, name string) (string, error) {
	text, err := sources.ReadFile("c/" + name + ".c")
	if err != nil {
		return "", err
	}
	source, program := filepath.Join(l.memory, name+".c"), filepath.Join(l.memory, name)
	if err := os.WriteFile(source, text, 0o600); err != nil {
		return "", err
	}
	_, err = volume.Output(ctx, "cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, source)
	return program, err
}

// rateOf runs a program that prints one number, a rate.
func rateOf(ctx context.Context, program string, args ...string) (float64, error) {
	out, err := volume.Output(ctx, program, args...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(out), 64)
}

// engine prepares an engine with a configuration, on the file system of dir, and
// returns what runs it once, in this process.
func (l *lab) engine(ctx context.Context, name, dir string, config any) (func(context.Context) (*result.Measurement, error), error) {
	env, err := l.prepare(ctx, name, dir, config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*result.Measurement, error) {
		env.Trial.Repeat++
		return execute(ctx, env)
	}, nil
}

// engineRate is the side of a comparison that runs an engine, and one of its metrics.
func (l *lab) engineRate(ctx context.Context, name, dir, metric string, config any) (paired.Side, error) {
	env, err := l.prepare(ctx, name, dir, config)
	return childRate(env, metric), err
}

// childRate runs what was prepared. Each trial is a process of its own, as it is on the
// other side: the kernel finds a new process another processor than one that has been
// there for long.
func childRate(env workload.Env, metric string) paired.Side {
	return func(ctx context.Context) (float64, error) {
		env.Trial.Repeat++
		metrics, err := inChild(ctx, env)
		return metrics[metric].Value, err
	}
}

// prepare has an engine prepare a workload with that configuration.
func (l *lab) prepare(ctx context.Context, name, dir string, config any) (workload.Env, error) {
	env := workload.Env{
		Target: trial.Target{Name: "bench", Source: trial.HostPath, Mode: trial.Filesystem},
		Log:    slog.New(slog.DiscardHandler),
	}
	e, err := engines.All().Engine(name)
	if err != nil {
		return env, err
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return env, err
	}
	if err := e.Check(raw, trial.Filesystem); err != nil {
		return env, err
	}
	env.Workload = trial.Workload{Name: name, Engine: name, Config: raw}
	for _, place := range []struct {
		path   *string
		parent string
	}{{&env.Dir, dir}, {&env.Scratch, l.memory}, {&env.State, l.memory}} {
		if *place.path, err = l.dir(place.parent); err != nil {
			return env, err
		}
	}
	return env, e.Prepare(ctx, env)
}
