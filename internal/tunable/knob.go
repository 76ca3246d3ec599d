package tunable

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// backend reads and writes the knobs of a tunable.
type backend interface {
	read(ctx context.Context, h Host, k Knob) (State, error)
	write(ctx context.Context, h Host, k Knob, s State) error
	// prepare returns the state to put back later, and the state after value is
	// written.
	prepare(value string, present State) (old, wanted State)
	// same reports whether the two states are equivalent.
	same(a, b State) bool
}

func (k Knob) backend() (backend, error) {
	t, ok := recorded(k.Tunable)
	if !ok {
		return nil, fmt.Errorf("this version of storagebench does not know tunable %q", k.Tunable)
	}
	if err := k.check(t); err != nil {
		return nil, err
	}
	return t.backend, nil
}

// check keeps names that are paths out of sysfs and off command lines, whatever
// the knob's origin.
func (k Knob) check(t Tunable) error {
	if t.Scope == Device && (k.Device == nil || !deviceName(k.Device.Name)) {
		return fmt.Errorf("%s needs a device", k.Tunable)
	}
	if t.Scope == Dataset && (k.Dataset == nil || !datasetName(k.Dataset.Name)) {
		return fmt.Errorf("%s needs a ZFS dataset", k.Tunable)
	}
	return nil
}

// Read returns the current state of a knob. The error wraps ErrAbsent if this
// machine, device or dataset has no such setting.
func (h Host) Read(ctx context.Context, k Knob) (State, error) {
	b, err := k.backend()
	if err != nil {
		return State{}, err
	}
	s, err := State{}, h.sameDevice(k)
	if err == nil {
		s, err = b.read(ctx, h, k)
	}
	if err != nil {
		return State{}, fmt.Errorf("%s: %w", k, err)
	}
	return s, nil
}

// KeepError reports that a knob must keep its present value, because that could not be put back later.
type KeepError struct{ Why, Remedy string }

// Error says why.
func (e *KeepError) Error() string { return e.Why }

// Prepare reads a knob. It returns the state to put back later, and the state
// after value, in the form of Parse, is written. Its error wraps a *KeepError if the
// present state could not be put back.
func (h Host) Prepare(ctx context.Context, k Knob, value string) (old, wanted State, err error) {
	b, err := k.backend()
	if err != nil {
		return State{}, State{}, err
	}
	present, err := State{}, h.sameDevice(k)
	if err == nil {
		present, err = b.read(ctx, h, k)
	}
	if choosy, ok := b.(interface{ takesBack(State) error }); err == nil && ok {
		err = choosy.takesBack(present)
	}
	if err != nil {
		return State{}, State{}, fmt.Errorf("%s: %w", k, err)
	}
	old, wanted = b.prepare(value, present)
	return old, wanted, nil
}

// Write sets a knob to a state.
func (h Host) Write(ctx context.Context, k Knob, s State) error {
	b, err := k.backend()
	if err != nil {
		return err
	}
	if err = h.sameDevice(k); err == nil {
		err = b.write(ctx, h, k, s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	return nil
}

// Resets reports whether at least one known kernel resets other when it writes k.
func (k Knob) Resets(other Knob) bool {
	switch k.Tunable {
	case scheduler:
		return slices.Contains(resets[scheduler], other.Tunable) || other.OfScheduler()
	case requests:
		return other.Tunable == asyncDepth || other.Tunable == iosched+"async_depth"
	default:
		return slices.Contains(resets[k.Tunable], other.Tunable)
	}
}

// Derives reports whether the kernel works out other from k, so that other's state says nothing but k's.
func (k Knob) Derives(other Knob) bool { return slices.Contains(derived[k.Tunable], other.Tunable) }

// OfScheduler reports whether the knob is a setting of a disk's present scheduler, which is there only
// as long as that is.
func (k Knob) OfScheduler() bool {
	return k.Tunable == asyncDepth || strings.HasPrefix(k.Tunable, iosched)
}

// Late reports whether a write of the knob can take effect after the program that makes it has been
// killed, or has been given up: zfs waits in the kernel for its pool.
func (k Knob) Late() bool { return k.Dataset != nil }

// Same reports whether two states of the knob are equivalent.
func (k Knob) Same(a, b State) bool {
	back, err := k.backend()
	return err == nil && back.same(a, b)
}

// Residue reports whether present, although Same as old, still holds the value of wanted:
// the kernel accepted the value, but it has had no effect so far.
func (k Knob) Residue(present, old, wanted State) bool {
	back, err := k.backend()
	leaves, ok := back.(interface {
		residue(present, old, wanted State) bool
	})
	return err == nil && ok && leaves.residue(present, old, wanted)
}

// Drifted reports whether the kernel itself may have made present of wanted since.
func (k Knob) Drifted(present, wanted State) bool {
	back, err := k.backend()
	drifts, ok := back.(interface {
		drifted(present, wanted State) bool
	})
	return err == nil && ok && drifts.drifted(present, wanted)
}

// Survives reports whether the knob keeps its value over a reboot.
func (k Knob) Survives() Survival {
	if t, ok := recorded(k.Tunable); ok {
		return t.Survives
	}
	return Always
}

// Companions returns the knobs that the kernel may change when k is written. Which
// ones it changes depends on its version, so these are all settings of the same
// disk.
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
	// After nr_requests, which rescales it.
	out = append(out, Knob{Tunable: asyncDepth, Device: k.Device})
	names, _ := h.files().ReadDir("/sys/block/" + k.Device.Name + "/queue/iosched") // without a scheduler there are none
	for _, name := range names {
		if _, ok := recorded(iosched + name); ok {
			out = append(out, Knob{Tunable: iosched + name, Device: k.Device})
		}
	}
	return out
}

// plain implements prepare and same for a setting whose value is its whole
// state.
type plain struct{}

func (plain) prepare(value string, present State) (old, wanted State) {
	return present, State{Value: value}
}

func (plain) same(a, b State) bool { return a == b }
