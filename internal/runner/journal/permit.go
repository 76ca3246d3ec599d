package journal

import (
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// NotPermittedError lists the settings of a journal that nobody permits.
type NotPermittedError struct{ Knobs []tunable.Knob }

// Error names them.
func (e *NotPermittedError) Error() string {
	names := make([]string, 0, len(e.Knobs))
	for _, k := range e.Knobs {
		names = append(names, k.String())
	}
	return "it contains settings that no recorded benchmark may change (" + strings.Join(names, ", ") + "); no setting was changed"
}

// checkPermitted refuses a journal with an entry that no recorded benchmark may have
// made. Otherwise whoever planted the entry could make a fully privileged process
// write it.
func checkPermitted(permit []trial.Tunable, entries []Entry) error {
	var refused []tunable.Knob
	for _, e := range entries {
		if !slices.ContainsFunc(permit, func(t trial.Tunable) bool { return t.Name == e.Knob.Tunable && e.Knob.PermittedBy(t) }) {
			refused = append(refused, e.Knob)
			continue
		}
		for _, c := range e.Companions {
			// The kernel changes only settings of the same disk's queue along with another
			// one.
			if e.Knob.Device == nil || !strings.HasPrefix(c.Tunable, "block.") {
				refused = append(refused, c.knob(e.Knob))
			}
		}
	}
	if len(refused) > 0 {
		return &NotPermittedError{Knobs: refused}
	}
	return nil
}
