package apart

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Finder finds engines by name.
type Finder interface {
	Engine(name string) (workload.Engine, error)
	Tools(ctx context.Context) map[string]string
}

// Engines are the engines of a Finder. Each works in a process of its own. The program must
// call Become with the same engines before it does anything else.
type Engines struct{ Finder }

// Engine returns the engine of that name.
func (e Engines) Engine(name string) (workload.Engine, error) {
	inner, err := e.Finder.Engine(name)
	if err != nil {
		return nil, err
	}
	return Engine{inner}, nil
}

// Engine is an engine that works in a process of its own. Its other methods, which only
// compute or ask for versions, run in this process.
type Engine struct{ workload.Engine }

var _ workload.Engine = Engine{}

// Prepare lets the engine prepare the target.
func (e Engine) Prepare(ctx context.Context, env workload.Env) error {
	_, err := e.do(ctx, prepare, env)
	return err
}

// Run lets the engine run a trial.
func (e Engine) Run(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	return e.do(ctx, run, env)
}

// Clean lets the engine remove files, if it is a Cleaner.
func (e Engine) Clean(ctx context.Context, env workload.Env) error {
	if _, ok := e.Engine.(workload.Cleaner); !ok {
		return nil
	}
	_, err := e.do(ctx, clean, env)
	return err
}

// onStart is the key of a function in a context.
type onStart struct{}

// OnStart returns a context with which Run calls started with the number of the engine's process,
// before the engine begins.
func OnStart(ctx context.Context, started func(pid int)) context.Context {
	return context.WithValue(ctx, onStart{}, started)
}

// step is what the process is to do.
type step string

const (
	prepare step = "prepare"
	run     step = "run"
	clean   step = "clean"
)

// request is what the runner writes to the process.
type request struct {
	Engine string
	Step   step
	Env    workload.Env
}

func (e Engine) do(ctx context.Context, s step, env workload.Env) (*result.Measurement, error) {
	stage, err := newStage(env)
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, e.Name(), stage.confinement, env.Log)
	if err != nil {
		return nil, &trial.Failure{Class: reason.InternalError, Message: "cannot start the process of " + e.Name() + ": " + err.Error(), Workload: env.Workload.Name, Err: err}
	}
	if started, ok := ctx.Value(onStart{}).(func(pid int)); ok {
		started(p.pid)
	}
	r, err := p.exchange(ctx, request{Engine: e.Name(), Step: s, Env: stage.env})
	if ctx.Err() != nil {
		return nil, p.interrupted(ctx.Err(), err)
	}
	if err != nil {
		return nil, p.failure(env, e.Name(), err)
	}
	stage.rename(r.EngineResult)
	m := r.Measurement
	if m != nil {
		m.RawOutput, m.Rates, m.EngineCPU, m.Elapsed = r.raw, r.Rates, r.EngineCPU, r.Elapsed
		m.RunnerCPU = max(0, r.OwnCPU-r.EngineCPU) + r.runnerCPU
	}
	if r.Failure == nil {
		return m, nil
	}
	if !slices.Contains(classes, r.Failure.Class) {
		return m, p.failure(env, e.Name(), fmt.Errorf("it reported %s, which is no failure of an engine", r.Failure.Class))
	}
	return m, r.Failure
}

// classes are the classes of failures that an engine may report. The others are about the
// runner or the node.
var classes = []trial.Class{
	reason.InvalidSpec, reason.InvalidJobFile, reason.TargetTooSmall, reason.TargetUnusable, reason.NoSpace,
	reason.EngineRefused, reason.WorkloadFailed, reason.LimitExceeded, reason.InternalError,
}

// failure returns the failure of a process that did not reply as it should.
func (p *process) failure(env workload.Env, engine string, err error) error {
	f := &trial.Failure{
		Class: reason.WorkloadFailed, Field: env.Field(engine), Workload: env.Workload.Name, Err: err,
		Message: fmt.Sprintf("the process of %s failed: %v", engine, err),
	}
	if errors.Is(err, errKilled) {
		f.Remedy = "check the kernel log on the node; if it ran out of memory, lower what the workload needs, or raise the memory limit of workers"
	}
	if errors.Is(err, ErrStuck) {
		f.Message = engine + ": " + err.Error()
	}
	if words := p.words(); words != "" {
		f.Message += ": " + workload.LastWords(words)
	}
	return f
}
