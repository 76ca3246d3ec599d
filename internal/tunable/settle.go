package tunable

import (
	"context"
	"maps"
	"time"
)

// What libata does after it has switched a disk's cache: it waits for the commands that the disk has, asks the
// disk what it is, and has the kernel look at it anew. Nobody is told when that is done.
const (
	settleLook = 100 * time.Millisecond
	// settleRest is how long nothing must have changed.
	settleRest = 2 * time.Second
	// settleLimit bounds the wait where somebody changes settings all the time.
	settleLimit = 10 * time.Second
)

// settles reports whether the kernel goes on changing other settings of the disk after a write of the knob has
// returned: those that it derives from the drive.
func (k Knob) settles() bool { return len(derived[k.Tunable]) > 0 }

// Settle waits, after a write of the knob, until its companions have come to rest. It returns at once where the
// kernel has changed them when the write returns. Its error is that of ctx.
func (h Host) Settle(ctx context.Context, k Knob) error {
	if !k.settles() {
		return nil
	}
	before, rested := h.companionStates(ctx, k), time.Duration(0)
	for waited := time.Duration(0); waited < settleLimit && rested < settleRest; waited += settleLook {
		if err := h.wait(ctx, settleLook); err != nil {
			return err
		}
		rested += settleLook
		if now := h.companionStates(ctx, k); !maps.Equal(now, before) {
			before, rested = now, 0
		}
	}
	return nil
}

// companionStates has those that can be read.
func (h Host) companionStates(ctx context.Context, k Knob) map[string]State {
	states := map[string]State{}
	for _, c := range h.Companions(k) {
		if s, err := h.Read(ctx, c); err == nil {
			states[c.Tunable] = s
		}
	}
	return states
}

func (h Host) wait(ctx context.Context, d time.Duration) error {
	if h.Wait != nil {
		return h.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
