package bandwidth

import (
	"context"
	"encoding/json"
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// defaultSize of a workload that gives none, on a target that is large enough.
const defaultSize = 1 << 30

// prefillBlock is what is written at once before there is anything to measure.
const prefillBlock = 1 << 20

// Prepare chooses the size, sees whether there is room for it, and writes what a trial
// reads first.
func (Engine) Prepare(ctx context.Context, env workload.Env) error {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	room, err := env.Room()
	if err != nil {
		return err
	}
	own, err := occupied(env)
	if err != nil {
		return err
	}
	room = max(room, room+own) // without an overflow
	if c.Size == nil {
		if err := chooseSize(env, c, room); err != nil {
			return err
		}
	}
	a, err := newArea(env, c)
	if err != nil {
		return err
	}
	if need := uint64(a.size); need > room {
		return env.TooSmall(need, room, "make it larger, or lower bandwidth.size of the workload")
	}
	if !c.readsFirst() {
		return nil
	}
	return a.prefill(ctx)
}

// chooseSize chooses whole blocks, once, as what is free changes.
func chooseSize(env workload.Env, c config, room uint64) error {
	var chosen result.SizeChoice
	if ok, err := env.LoadNote(sizeNote(env), &chosen); err != nil || ok && chosen.Bytes > 0 {
		return err
	}
	choice := c.chosenSize(env.Machine, room)
	if choice.Bytes < uint64(c.BlockSize)*uint64(c.Depth) {
		return env.TooSmall(uint64(c.BlockSize)*uint64(c.Depth)/8*10, room, "make it larger, or lower blockSize or depth of the workload")
	}
	return env.SaveNote(sizeNote(env), choice)
}

// chosenSize of a workload that gives none. What is written is dropped from the page cache before it
// is read, so that only caches below the target count.
func (c config) chosenSize(machine workload.Machine, room uint64) result.SizeChoice {
	return workload.Size(workload.SizeFacts{Machine: machine, Room: room, Parts: 1, Unit: uint64(c.BlockSize), Floor: defaultSize})
}

// Outline says what the workload will do at a place.
func (Engine) Outline(_ string, raw json.RawMessage, at workload.Place) (workload.Outline, error) {
	c, err := decode(raw)
	if err != nil {
		return workload.Outline{}, err
	}
	out := workload.Outline{}
	if c.Size != nil {
		out.Needs = uint64(*c.Size)
	} else {
		choice := c.chosenSize(at.Machine, at.Room)
		out.Needs, out.Size = choice.Bytes, &choice
	}
	if c.readsFirst() {
		out.Prepares = out.Needs
		if at.Mode == trial.Filesystem {
			out.Keeps = out.Needs
		}
	}
	if slices.Contains(c.Operations, write) {
		out.Writes = out.Needs
	}
	return out, nil
}

func sizeNote(env workload.Env) string { return "bandwidth-size-" + env.Workload.Name }

// newArea is the area of the workload, of the size that Prepare has chosen if none is
// given.
func newArea(env workload.Env, c config) (area, error) {
	a := area{env: env, config: c}
	if c.Size != nil {
		a.size = int64(*c.Size)
		return a, nil
	}
	a.choice = &result.SizeChoice{}
	_, err := env.LoadNote(sizeNote(env), a.choice)
	a.size = int64(a.choice.Bytes)
	return a, err
}

// writtenNote says how much is there to be read.
func (a area) writtenNote() string { return "bandwidth-written-" + a.env.Workload.Name }

func (a area) noteWritten(size int64) error {
	if !a.config.readsFirst() {
		return nil // nobody asks
	}
	return a.env.SaveNote(a.writtenNote(), size)
}

// prefill writes the area unless that was done before, in blocks that are large enough
// to be fast.
func (a area) prefill(ctx context.Context) error {
	var written int64
	if ok, err := a.env.LoadNote(a.writtenNote(), &written); err != nil || ok && written == a.size {
		return err
	}
	a.env.Log.Info("writing what will be read", "workload", a.env.Workload.Name, "bytes", a.size)
	block := int64(a.config.BlockSize)
	block *= max(prefillBlock/block, 1)
	_, _, err := a.write(ctx, block)
	return err
}
