package journal

import (
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// NotPermittedError says which settings of a journal nobody permits.
type NotPermittedError struct{ Knobs []tunable.Knob }

// Error names them.
func (e *NotPermittedError) Error() string {
	names := make([]string, 0, len(e.Knobs))
	for _, k := range e.Knobs {
		names = append(names, k.String())
	}
	return "it holds settings that no benchmark on record may have changed (" + strings.Join(names, ", ") + "): nothing was touched"
}

// checkPermitted refuses a journal with an entry that no benchmark on record may have
// made: whoever planted it would have a process with all privileges write it.
func checkPermitted(permit []trial.Tunable, entries []Entry) error {
	var refused []tunable.Knob
	for _, e := range entries {
		if !slices.ContainsFunc(permit, func(t trial.Tunable) bool { return t.Name == e.Knob.Tunable && e.Knob.PermittedBy(t) }) {
			refused = append(refused, e.Knob)
			continue
		}
		for _, c := range e.Companions {
			// The kernel changes settings of a disk's queue along with another, and no others.
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
