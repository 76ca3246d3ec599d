package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/engines"
)

// childArgument has this program run one trial, which it reads as JSON, and print its
// metrics.
const childArgument = "trial"

// order is what of an Env a child must know.
type order struct {
	Workload            trial.Workload
	Target              trial.Target
	Dir, Scratch, State string
	Trial               trial.Trial
}

// inChild runs a trial in a process of its own.
func inChild(ctx context.Context, env workload.Env) (result.Metrics, error) {
	in, err := json.Marshal(order{Workload: env.Workload, Target: env.Target, Dir: env.Dir, Scratch: env.Scratch, State: env.State, Trial: env.Trial})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", childArgument)
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("a trial: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var metrics result.Metrics
	err = json.Unmarshal(out, &metrics)
	return metrics, err
}

// child is the other end of inChild.
func child(ctx context.Context, in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return err
	}
	m, err := execute(ctx, workload.Env{
		Workload: o.Workload, Target: o.Target, Dir: o.Dir, Scratch: o.Scratch, State: o.State, Trial: o.Trial,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(m.Metrics)
}

// execute runs a trial without the garbage collector, as the runner does.
func execute(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	e, err := engines.All().Engine(env.Workload.Engine)
	if err != nil {
		return nil, err
	}
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	return e.Run(ctx, env)
}

// runChild is main where childArgument is given.
func runChild(ctx context.Context) {
	if err := child(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
