// Package engines lists the workload engines. A new engine is one line here.
package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/bandwidth"
	"storagebench.io/storagebench/internal/workload/bonnie"
	"storagebench.io/storagebench/internal/workload/filesync"
	"storagebench.io/storagebench/internal/workload/fio"
	"storagebench.io/storagebench/internal/workload/flushladder"
	"storagebench.io/storagebench/internal/workload/iozone"
	"storagebench.io/storagebench/internal/workload/postmark"
)

// Registry finds engines by name.
type Registry map[string]workload.Engine

// All returns every engine.
func All() Registry {
	return NewRegistry(
		fio.Engine{},
		postmark.Engine{},
		filesync.Engine{},
		bandwidth.Engine{},
		bonnie.Engine{},
		iozone.Engine{},
		flushladder.Engine{},
	)
}

// NewRegistry returns a registry of the given engines.
func NewRegistry(engines ...workload.Engine) Registry {
	r := Registry{}
	for _, e := range engines {
		r[e.Name()] = e
	}
	return r
}

// Engine returns the engine of that name, or a *trial.Failure.
func (r Registry) Engine(name string) (workload.Engine, error) {
	if e, ok := r[name]; ok {
		return e, nil
	}
	return nil, &trial.Failure{
		Class:   reason.InvalidSpec,
		Field:   name,
		Message: fmt.Sprintf("there is no engine %q", name),
		Remedy:  suggest.Remedy(name, slices.Sorted(maps.Keys(r))),
	}
}

// Check asks the engine whether it accepts a configuration.
func (r Registry) Check(engine string, config json.RawMessage, mode trial.Mode) error {
	e, err := r.Engine(engine)
	if err != nil {
		return err
	}
	return e.Check(config, mode)
}

// Memory is how much a configuration that was checked may allocate, and the field that says so;
// 0 if that is not more than usual.
func (r Registry) Memory(engine string, config json.RawMessage, mode trial.Mode) (bytes uint64, field string) {
	if a, ok := r[engine].(workload.Allocator); ok {
		if bytes, field = a.Memory(config, mode); bytes > workload.MaxMemory {
			return bytes, field
		}
	}
	return 0, ""
}

// Pace is the field or the option with which a configuration chooses its rate; empty: it has none.
func (r Registry) Pace(engine string, config json.RawMessage) string {
	if p, ok := r[engine].(workload.Pacer); ok {
		return p.Pace(config)
	}
	return ""
}

// UsualMemory is what a worker has for the tools of any workload.
func (Registry) UsualMemory() uint64 { return workload.MaxMemory }

// Duration is how long one trial measures, or 0 if the engine cannot know.
func (r Registry) Duration(engine string, config json.RawMessage) time.Duration {
	e, err := r.Engine(engine)
	if err != nil {
		return 0
	}
	if t, ok := e.(workload.Timer); ok {
		return t.Duration(config)
	}
	estimate, _ := e.Estimate(config) // unknown is zero
	return estimate.Duration
}

// Outline says what a workload will do at a place. Of an engine that cannot say it, only the
// estimate is known.
func (r Registry) Outline(w trial.Workload, at workload.Place) (workload.Outline, error) {
	e, err := r.Engine(w.Engine)
	if err != nil {
		return workload.Outline{}, err
	}
	if o, ok := e.(workload.Outliner); ok {
		return o.Outline(w.Name, w.Config, at)
	}
	estimate, err := e.Estimate(w.Config)
	return workload.Outline{Needs: estimate.Bytes, Writes: estimate.Bytes, AtLeast: true, Duration: estimate.Duration}, err
}

// Tools returns the versions of the programs that the engines run.
func (r Registry) Tools(ctx context.Context) map[string]string {
	tools := map[string]string{}
	for _, e := range r {
		maps.Copy(tools, e.Tools(ctx))
	}
	return tools
}
