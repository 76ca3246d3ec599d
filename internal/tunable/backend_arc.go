package tunable

import (
	"context"
	"fmt"
	"strings"
)

// arcLimit is a limit of the ARC. The module's parameter holds what was requested,
// 0 for ZFS's own choice; arcstats shows the limit in effect. So a State's Value is
// the limit in effect, and its Source the parameter's text.
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

// same compares the limits in effect: until the next boot it makes no difference
// whether the parameter is 0 or the size that ZFS chose.
func (arcLimit) same(a, b State) bool { return a.Value == b.Value }

// residue reports whether the parameter still holds a limit that ZFS ignored. It
// would come into effect as soon as another limit makes it possible.
func (arcLimit) residue(present, old, wanted State) bool {
	return present.Value == old.Value && present.Source == wanted.Source && present.Source != old.Source && present.Source != present.Value
}

func (a arcLimit) write(_ context.Context, h Host, _ Knob, s State) error {
	if err := h.write(a.parameter, s.Value); err != nil {
		return err
	}
	if s.Source != s.Value {
		// 0 keeps the size as it is, and ZFS had ignored any other text that is not the limit. If ZFS
		// refuses it, the size is right anyway.
		_ = h.write(a.parameter, s.Source)
	}
	return nil
}
