package tunable

import (
	"context"
	"fmt"
	"strings"
)

// arcLimit is a limit of the ARC. The parameter says what was asked for, 0 for
// whatever ZFS finds good; what is in effect stands in the statistics. So the value
// is what is in effect, and the source the parameter's text.
type arcLimit struct{ parameter, stat string }

func (a arcLimit) read(_ context.Context, h Host, _ Knob) (State, error) {
	asked, err := h.read(a.parameter)
	if err != nil {
		return State{}, err
	}
	stats, err := h.read(arcstats)
	if err != nil {
		return State{}, err
	}
	for line := range strings.Lines(stats) {
		// name, type, data
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == a.stat {
			return State{Value: fields[2], Source: asked}, nil
		}
	}
	return State{}, fmt.Errorf("%s has no %s", arcstats, a.stat)
}

func (arcLimit) prepare(value string, present State) (old, wanted State) {
	return present, State{Value: value, Source: value}
}

// same compares what is in effect: whether the parameter says 0 or the size that
// ZFS found is of no consequence until the next boot.
func (arcLimit) same(a, b State) bool { return a.Value == b.Value }

// residue: what ZFS has ignored stays in the parameter, and comes into effect when
// another limit makes it possible.
func (arcLimit) residue(present, old, wanted State) bool {
	return present.Value == old.Value && present.Source == wanted.Source && present.Source != old.Source && present.Source != present.Value
}

func (a arcLimit) write(_ context.Context, h Host, _ Knob, s State) error {
	if err := h.write(a.parameter, s.Value); err != nil {
		return err
	}
	if s.Source == "0" {
		// A 0 leaves the size as it is. Where it is refused, the size is right all the same.
		_ = h.write(a.parameter, "0")
	}
	return nil
}
