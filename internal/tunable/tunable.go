package tunable

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/trial"
)

// Scope is what a tunable is a setting of.
type Scope string

// Scopes of tunables.
const (
	Node    Scope = "Node"    // the kernel: affects everything on the node
	Dataset Scope = "Dataset" // the target's ZFS dataset, and those that inherit from it
	Device  Scope = "Device"  // each leaf disk under the target, for all its users
)

// Survival tells whether a value outlasts a reboot.
type Survival string

// Survivals of a reboot.
const (
	Never  Survival = "Never"  // the kernel forgets it
	Always Survival = "Always" // it is on disk
	Maybe  Survival = "Maybe"  // the drive decides
)

// Risk is what a value can cost, apart from speed.
type Risk string

// Risks of values.
const (
	None     Risk = "None"
	Memory   Risk = "Memory"   // the node may run out of memory
	DataLoss Risk = "DataLoss" // a power failure may lose acknowledged writes or damage a pool
)

// Tunable is one entry of the catalogue.
type Tunable struct {
	// Name as in a spec, like block.queue.scheduler.
	Name  string
	Scope Scope
	// About says in one sentence what the tunable does.
	About string
	// Where the setting is: a file, with X for a disk's name, or a command.
	Where    string
	Survives Survival
	// Restoring says what is special about restoring it; empty: nothing.
	Restoring string

	values  values
	risks   []risk
	backend backend
}

// risk is the risk of some values, or of all if it lists none.
type risk struct {
	values []string
	level  Risk
	reason string
}

// Values describes the values that the tunable accepts, for display.
func (t Tunable) Values() string { return t.values.about }

// Parse returns a value in its canonical form, in which it is written and
// compared.
func (t Tunable) Parse(value string) (string, error) { return t.values.parse(value) }

// Risk returns the risk of a value, as Parse returns it, and why.
func (t Tunable) Risk(value string) (Risk, string) {
	for _, r := range t.risks {
		if len(r.values) == 0 || slices.Contains(r.values, value) {
			return r.level, r.reason
		}
	}
	return None, ""
}

// Risky is a risk of some values of a tunable.
type Risky struct {
	// Values that have it; empty: all others.
	Values []string `json:"values,omitempty"`
	Risk   Risk     `json:"risk"`
	Reason string   `json:"reason"`
}

// Risks lists the tunable's values that are a risk.
func (t Tunable) Risks() []Risky {
	var out []Risky
	for _, r := range t.risks {
		out = append(out, Risky{Values: r.values, Risk: r.level, Reason: r.reason})
	}
	return out
}

// Worst returns the highest risk that any value has.
func (t Tunable) Worst() Risk {
	worst := None
	for _, r := range t.risks {
		if r.level == DataLoss || worst == None {
			worst = r.level
		}
	}
	return worst
}

// State is a knob's value and, where the value alone does not tell how to restore
// it, the value's source.
type State struct {
	Value string `json:"value"`
	// Source is local, default, received or "inherited from …" for a dataset's
	// property; the parameter's text for the ARC's limits; the value of the other
	// setting for a vm setting that switches off another; and "temporary" for a SCSI
	// disk's cache if only the kernel's view of it was changed.
	Source string `json:"source,omitempty"`
}

// String returns the state for display.
func (s State) String() string {
	if s.Source == "" {
		return quoteSpaces(s.Value)
	}
	return fmt.Sprintf("%s (%s)", quoteSpaces(s.Value), s.Source)
}

func quoteSpaces(s string) string {
	if s == "" || strings.ContainsAny(s, " \t") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// Knob is a tunable of one device, of one dataset, or of the node. The journal
// records it, and Locate must find it again from that record.
type Knob struct {
	Tunable string     `json:"tunable"`
	Device  *DeviceID  `json:"device,omitempty"`
	Dataset *DatasetID `json:"dataset,omitempty"`
}

// String names the knob for display.
func (k Knob) String() string {
	switch {
	case k.Device != nil:
		return k.Tunable + " of " + k.Device.Name
	case k.Dataset != nil:
		return k.Tunable + " of " + k.Dataset.Name
	default:
		return k.Tunable
	}
}

// PermittedBy reports whether the patterns of t, which has the knob's name, match its
// device or dataset. A setting of the node has neither and is always permitted.
func (k Knob) PermittedBy(t trial.Tunable) bool {
	switch {
	case k.Device != nil:
		return matchesAny(t.Devices, k.Device.Name)
	case k.Dataset != nil:
		return matchesAny(t.Datasets, k.Dataset.Name)
	default:
		return true
	}
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return p == trial.Everything || err == nil && ok
	})
}

// Key is equal for two knobs exactly if they are the same.
func (k Knob) Key() string { return k.String() }

// Setting is a tunable and the value that a spec asks for.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Assignment is a setting applied to one device, one dataset, or the node.
type Assignment struct {
	// Field of the setting, like tunables[0].
	Field string `json:"field"`
	Knob  Knob   `json:"knob"`
	// Value in its canonical form.
	Value string `json:"value"`
}
