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
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

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
// returns what runs it once.
func (l *lab) engine(ctx context.Context, name, dir string, config any) (func(context.Context) (*result.Measurement, error), error) {
	e, err := engines.All().Engine(name)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	if err := e.Check(raw, trial.Filesystem); err != nil {
		return nil, err
	}
	env := workload.Env{
		Workload: trial.Workload{Name: name, Engine: name, Config: raw},
		Target:   trial.Target{Name: "bench", Source: trial.HostPath, Mode: trial.Filesystem},
		Log:      slog.New(slog.DiscardHandler),
	}
	for _, place := range []struct {
		path   *string
		parent string
	}{{&env.Dir, dir}, {&env.Scratch, l.memory}, {&env.State, l.memory}} {
		if *place.path, err = l.dir(place.parent); err != nil {
			return nil, err
		}
	}
	if err := e.Prepare(ctx, env); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*result.Measurement, error) {
		env.Trial.Repeat++
		// The runner keeps the garbage collector out of a trial as well.
		runtime.GC()
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		return e.Run(ctx, env)
	}, nil
}

// engineRate is the side of a comparison that runs an engine, and one of its metrics.
func (l *lab) engineRate(ctx context.Context, name, dir, metric string, config any) (func(context.Context) (float64, error), error) {
	run, err := l.engine(ctx, name, dir, config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (float64, error) {
		m, err := run(ctx)
		if err != nil {
			return 0, err
		}
		return m.Metrics[metric].Value, nil
	}, nil
}
