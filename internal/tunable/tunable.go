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
	Node    Scope = "Node"    // of the kernel: everything on the node is affected
	Dataset Scope = "Dataset" // of the ZFS dataset that the target is on, and of those that inherit from it
	Device  Scope = "Device"  // of each leaf disk under the target, whoever else uses it
)

// Survival reports whether a value is still there after a reboot.
type Survival string

// Survivals of a reboot.
const (
	Never  Survival = "Never"  // the kernel forgets it
	Always Survival = "Always" // it is on disk
	Maybe  Survival = "Maybe"  // the drive decides
)

// Risk is what a value can cost besides speed.
type Risk string

// Risks of values.
const (
	None     Risk = "None"
	Memory   Risk = "Memory"   // the node may run out of memory
	DataLoss Risk = "DataLoss" // acknowledged writes may be lost, or a pool damaged, if the node loses power
)

// Tunable is one entry of the catalogue.
type Tunable struct {
	// Name as a spec has it, like block.queue.scheduler.
	Name  string
	Scope Scope
	// About says in a sentence what it does.
	About string
	// Where it is: a file, with X for a disk's name, or a command.
	Where    string
	Survives Survival
	// Restoring says what is special about putting it back; empty: nothing.
	Restoring string

	values  values
	risks   []risk
	backend backend
}

// risk of some values, or of all if none are named.
type risk struct {
	values []string
	level  Risk
	reason string
}

// Values describes the values that the tunable takes, for people.
func (t Tunable) Values() string { return t.values.about }

// Parse returns a value in the form in which it is written and compared.
func (t Tunable) Parse(value string) (string, error) { return t.values.parse(value) }

// Risk returns what a value, as Parse returns it, puts at risk, and why.
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

// Risks lists what values of the tunable put at risk; empty: none does.
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

// State is what a knob has: its value and, where the value alone does not say how
// to put it back, where that came from.
type State struct {
	Value string `json:"value"`
	// Source is, of a dataset's property, local, default, received or "inherited from
	// …"; of the ARC's limits the parameter's own text; of the vm settings of which
	// one switches off another, that other one's value; of a SCSI disk's cache
	// "temporary" if only the kernel's view of it was changed.
	Source string `json:"source,omitempty"`
}

// String is the state for people.
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

// Knob is one value of one thing: a tunable, and the device or dataset that it is
// a setting of. It goes into the journal, and must be found again by it.
type Knob struct {
	Tunable string     `json:"tunable"`
	Device  *DeviceID  `json:"device,omitempty"`
	Dataset *DatasetID `json:"dataset,omitempty"`
}

// String names the knob for people.
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

// PermittedBy reports whether t, which has the knob's name, names its device or dataset.
// What is the node's own has neither.
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

// Key is the same for two knobs if they are one.
func (k Knob) Key() string { return k.String() }

// Setting is what a spec asks for.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Assignment is what a setting comes to on one device or dataset, or on the node.
type Assignment struct {
	// Field of the setting, like tunables[0].
	Field string `json:"field"`
	Knob  Knob   `json:"knob"`
	// Value in the form in which it is written.
	Value string `json:"value"`
}
