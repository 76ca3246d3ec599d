package bandwidth

import (
	"context"

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

// chooseSize takes 1 GiB, or 80 % of a smaller target, in whole blocks. It is chosen
// once, as what is free changes.
func chooseSize(env workload.Env, c config, room uint64) error {
	var chosen int64
	if ok, err := env.LoadNote(sizeNote(env), &chosen); err != nil || ok && chosen > 0 {
		return err
	}
	n := min(defaultSize, room/10*8)
	n -= n % uint64(c.BlockSize)
	if n < uint64(c.BlockSize)*uint64(c.Depth) {
		return env.TooSmall(uint64(c.BlockSize)*uint64(c.Depth)/8*10, room, "make it larger, or lower blockSize or depth of the workload")
	}
	return env.SaveNote(sizeNote(env), n)
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
	_, err := env.LoadNote(sizeNote(env), &a.size)
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
