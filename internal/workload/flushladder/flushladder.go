package flushladder

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Engine climbs the ladder.
type Engine struct{}

var (
	_ workload.Engine   = Engine{}
	_ workload.Outliner = Engine{}
)

// Name is flushLadder, as the field of the API.
func (Engine) Name() string { return "flushLadder" }

// Check refuses values out of bounds.
func (Engine) Check(raw json.RawMessage, _ trial.Mode) error {
	_, err := decode(raw)
	return err
}

// Estimate knows the room, and not how fast the target is.
func (Engine) Estimate(raw json.RawMessage) (workload.Estimate, error) {
	c, err := decode(raw)
	if err != nil || c.Size == nil {
		return workload.Estimate{}, err
	}
	return workload.Estimate{Bytes: c.room()}, nil
}

// Outline says what the workload will do at a place.
func (Engine) Outline(_ string, raw json.RawMessage, at workload.Place) (workload.Outline, error) {
	c, err := decode(raw)
	if err != nil {
		return workload.Outline{}, err
	}
	out := workload.Outline{Needs: c.room()}
	if c.Size == nil {
		choice := chosenSize(at.Room)
		out.Needs, out.Size = choice.Bytes, &choice
	}
	out.Prepares, out.Writes = out.Needs, c.writes(out.Needs)
	if at.Mode == trial.Filesystem {
		out.Keeps = out.Needs
	}
	return out, nil
}

// Tools is empty: no program is run.
func (Engine) Tools(context.Context) map[string]string { return nil }

// chosenSize of a workload that gives none. No cache of the machine matters: what is timed is a flush.
func chosenSize(room uint64) result.SizeChoice {
	return workload.Size(workload.SizeFacts{Room: room, Parts: 1, Unit: chunk, Floor: defaultSize})
}

func sizeNote(env workload.Env) string { return "flushladder-size-" + env.Workload.Name }

// sizeOf returns the size of the file, chosen by Prepare if the workload gives none.
func (c config) sizeOf(env workload.Env) (int64, *result.SizeChoice, error) {
	if c.Size != nil {
		return int64(*c.Size), nil, nil
	}
	choice := &result.SizeChoice{}
	ok, err := env.LoadNote(sizeNote(env), choice)
	if err == nil && !ok {
		err = fmt.Errorf("flushLadder: the size of workload %s was not chosen: Prepare did not run", env.Workload.Name)
	}
	return int64(choice.Bytes), choice, err
}

// path of the file or device.
func path(env workload.Env) string {
	if env.Target.Mode == trial.Block {
		return env.Device
	}
	return filepath.Join(env.Dir, "flushladder-"+env.Workload.Name)
}
