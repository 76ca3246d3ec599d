package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// aim decides which state to restore each companion to.
func (r *restoration) aim(ctx context.Context) {
	r.entry.Companions = slices.Clone(r.entry.Companions)
	for i := range r.entry.Companions {
		c := &r.entry.Companions[i]
		k := c.knob(r.knob)
		derived := r.knob.Derives(k)
		present, err := r.journal.host.Read(ctx, k)
		if r.fresh {
			// It keeps the state that the boot gave it, also when restoring the
			// knob changes it. One that the boot derived from our value is wrong
			// with the old one, of which the kernel derives the right one itself.
			c.Target = nil
			if err == nil && !derived {
				c.Target = &present
			}
			continue
		}
		if r.entry.Stage == Restoring {
			continue // decided before a crash, when the evidence was still visible
		}
		c.Target = &c.Old
		foreign := c.Seen != nil && !k.Same(present, *c.Seen)
		if c.Seen == nil {
			foreign = !r.knob.Resets(k)
		}
		if derived || k.Drifted(present, c.latest()) {
			foreign = false // it says what the kernel made of our value
		}
		if r.right() && r.knob.Resets(k) {
			foreign = false // whoever set the knob itself back had the kernel reset what goes with it
		}
		if err == nil && foreign && !k.Same(present, c.Old) {
			r.note("%s keeps %s, which somebody else set", k, present)
			c.Target = &present
		}
	}
}

// needsWrite reports whether anything has to be written.
func (r *restoration) needsWrite(ctx context.Context) bool {
	return !r.right() || r.wrongCompanion(ctx) != nil
}

// wrongCompanion returns an error that names a companion without its target
// state, or nil.
func (r *restoration) wrongCompanion(ctx context.Context) error {
	for _, c := range r.entry.Companions {
		if c.Target == nil {
			continue
		}
		k := c.knob(r.knob)
		if s, err := r.journal.host.Read(ctx, k); absent(err) && k.OfScheduler() {
			continue // somebody else's scheduler does not have it
		} else if err != nil {
			return err
		} else if !c.right(k, s) {
			return fmt.Errorf("%s is %s instead of %s", k, s, c.Target)
		}
	}
	return nil
}

// restoreCompanions restores what the kernel changed along with the knob. Writing
// one companion can reset another, so it repeats until all are right.
func (r *restoration) restoreCompanions(ctx context.Context) error {
	var failures []error
	for range 3 {
		failures = nil
		for _, c := range r.entry.Companions {
			if c.Target == nil {
				continue
			}
			k := c.knob(r.knob)
			s, err := r.journal.host.Read(ctx, k)
			if absent(err) && k.OfScheduler() {
				continue
			}
			if err == nil && !c.right(k, s) {
				r.touched = true
				err = r.journal.host.Write(ctx, k, *c.Target)
			}
			failures = append(failures, err)
		}
		if r.wrongCompanion(ctx) == nil {
			return nil
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return r.wrongCompanion(ctx)
}
