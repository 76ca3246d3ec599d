package tunable

import (
	"context"
	"fmt"
	"strings"
)

// backend reads and writes the knobs of a tunable.
type backend interface {
	read(ctx context.Context, h Host, k Knob) (State, error)
	write(ctx context.Context, h Host, k Knob, s State) error
	// prepare returns how to put the present state back, and the state that there will
	// be when the value has been written.
	prepare(value string, present State) (old, wanted State)
	// same reports whether nothing is left to do to get from one state to the other.
	same(a, b State) bool
}

func (k Knob) backend() (backend, error) {
	t, ok := catalogue().byName[k.Tunable]
	if !ok {
		return nil, fmt.Errorf("this version of storagebench knows no tunable %q", k.Tunable)
	}
	if err := k.check(t); err != nil {
		return nil, err
	}
	return t.backend, nil
}

// check keeps a knob whose names are paths out of sysfs and off command lines,
// wherever it came from.
func (k Knob) check(t Tunable) error {
	if t.Scope == Device && (k.Device == nil || !deviceName(k.Device.Name)) {
		return fmt.Errorf("%s needs a device", k.Tunable)
	}
	if t.Scope == Dataset && (k.Dataset == nil || !datasetName(k.Dataset.Name)) {
		return fmt.Errorf("%s needs a ZFS dataset", k.Tunable)
	}
	return nil
}

// Read returns what a knob has now. The error wraps ErrAbsent if there is no such
// setting on this machine, device or dataset.
func (h Host) Read(ctx context.Context, k Knob) (State, error) {
	b, err := k.backend()
	if err != nil {
		return State{}, err
	}
	s, err := b.read(ctx, h, k)
	if err != nil {
		return State{}, fmt.Errorf("%s: %w", k, err)
	}
	return s, nil
}

// Prepare reads a knob and returns the state to put it back to, and the state that
// it will have when value, in the form of Parse, has been written.
func (h Host) Prepare(ctx context.Context, k Knob, value string) (old, wanted State, err error) {
	b, err := k.backend()
	if err != nil {
		return State{}, State{}, err
	}
	present, err := b.read(ctx, h, k)
	if err == nil && k.Dataset != nil && !restorable(present.Source) {
		err = fmt.Errorf("its source is %q (a mount option sets it), which zfs cannot restore: mount the dataset without that option", present.Source)
	}
	if err != nil {
		return State{}, State{}, fmt.Errorf("%s: %w", k, err)
	}
	old, wanted = b.prepare(value, present)
	return old, wanted, nil
}

// Write brings a knob into a state.
func (h Host) Write(ctx context.Context, k Knob, s State) error {
	b, err := k.backend()
	if err != nil {
		return err
	}
	if err := b.write(ctx, h, k, s); err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	return nil
}

// Same reports whether two states of the knob are one.
func (k Knob) Same(a, b State) bool {
	back, err := k.backend()
	return err == nil && back.same(a, b)
}

// Residue reports whether a state that is Same as old still holds what writing wanted over
// it has left: a value that was accepted and had no effect, yet.
func (k Knob) Residue(present, old, wanted State) bool {
	back, err := k.backend()
	leaves, ok := back.(interface {
		residue(present, old, wanted State) bool
	})
	return err == nil && ok && leaves.residue(present, old, wanted)
}

// Survives reports whether the knob keeps its value when the node boots.
func (k Knob) Survives() Survival {
	if t, ok := catalogue().byName[k.Tunable]; ok {
		return t.Survives
	}
	return Always
}

// Companions are the knobs that the kernel may change when it is told to change k.
// Which ones it does depends on its version, and so they are all that a disk has.
func (h Host) Companions(k Knob) []Knob {
	if k.Device == nil {
		return nil
	}
	var out []Knob
	for _, t := range catalogue().all {
		if t.Name != k.Tunable && strings.HasPrefix(t.Name, "block.") {
			out = append(out, Knob{Tunable: t.Name, Device: k.Device})
		}
	}
	return out
}

// plain is a setting that is nothing but its value.
type plain struct{}

func (plain) prepare(value string, present State) (old, wanted State) {
	return present, State{Value: value}
}

func (plain) same(a, b State) bool { return a == b }
