package tunable

import (
	"fmt"
	"strings"
	"sync"

	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// index is the catalogue and the way into it. It is built once and never changed.
type index struct {
	all    []Tunable
	byName map[string]Tunable
	names  []string
}

var catalogue = sync.OnceValue(func() index {
	i := index{byName: map[string]Tunable{}}
	for _, part := range [][]Tunable{moduleTunables(), datasetTunables(), driveTunables(), blockTunables(), vmTunables()} {
		i.all = append(i.all, part...)
	}
	for n := range i.all {
		i.all[n].rank = n
		i.byName[i.all[n].Name] = i.all[n]
		i.names = append(i.names, i.all[n].Name)
	}
	return i
})

// Catalogue returns every tunable, in the order in which they are applied: what
// resets other settings of a device stands before those.
func Catalogue() []Tunable { return append([]Tunable(nil), catalogue().all...) }

// Find returns the tunable of a name. Its error is a *trial.Failure that suggests
// the name that was meant.
func Find(name string) (Tunable, error) {
	if t, ok := catalogue().byName[name]; ok {
		return t, nil
	}
	f := &trial.Failure{
		Class:   trial.InvalidSpec,
		Message: fmt.Sprintf("there is no tunable %q", name),
		Remedy:  "storagebench tunables lists those that there are",
	}
	if near := suggest.Nearest(name, catalogue().names); near != "" {
		f.Remedy = "did you mean " + near + "?"
	} else if near := sameLeaf(name); near != "" {
		f.Remedy = "did you mean " + near + "?"
	}
	return Tunable{}, f
}

// sameLeaf finds the tunable that ends as name does: people write zfs_arc_max.
func sameLeaf(name string) string {
	leaf := name[strings.LastIndexAny(name, "./")+1:]
	for _, candidate := range catalogue().names {
		if leaf != "" && strings.HasSuffix(candidate, "."+leaf) {
			return candidate
		}
	}
	return ""
}

// ByRank orders assignments as they are to be applied.
func ByRank(a, b Assignment) int {
	return catalogue().byName[a.Knob.Tunable].rank - catalogue().byName[b.Knob.Tunable].rank
}

// exclusive are settings of which writing one switches the other off.
func exclusive(name string) string {
	switch name {
	case "vm.dirty_bytes":
		return "vm.dirty_ratio"
	case "vm.dirty_ratio":
		return "vm.dirty_bytes"
	case "vm.dirty_background_bytes":
		return "vm.dirty_background_ratio"
	case "vm.dirty_background_ratio":
		return "vm.dirty_background_bytes"
	case "ata.write_cache":
		return "scsi.disk.cache_type" // the kernel's name for the same bit of the drive
	case "scsi.disk.cache_type":
		return "ata.write_cache"
	default:
		return ""
	}
}

// Check refuses settings that no machine can have, with a *trial.Failure whose
// Field is relative to what holds the settings: tunables[0].value.
func Check(settings []Setting) error {
	seen := map[string]int{}
	for i, s := range settings {
		t, err := Find(s.Name)
		if err != nil {
			f := trial.AsFailure(err)
			f.Field = fmt.Sprintf("tunables[%d].name", i)
			return f
		}
		if first, twice := seen[s.Name]; twice {
			return invalid(fmt.Sprintf("tunables[%d].name", i), fmt.Sprintf("%s is set already, by tunables[%d]", s.Name, first), "set it once")
		}
		seen[s.Name] = i
		if other, both := seen[exclusive(s.Name)]; both {
			return invalid(fmt.Sprintf("tunables[%d].name", i),
				fmt.Sprintf("%s and %s of tunables[%d] are the same setting in two forms", s.Name, exclusive(s.Name), other), "set one of them")
		}
		if _, err := t.Parse(s.Value); err != nil {
			return invalid(fmt.Sprintf("tunables[%d].value", i), fmt.Sprintf("%s does not take the value %q", s.Name, s.Value), err.Error())
		}
	}
	return nil
}

// CheckAssignments refuses to set one knob twice, which Check refuses for settings:
// assignments of several targets can meet on one disk.
func CheckAssignments(assignments []Assignment) error {
	seen := map[string]bool{}
	for _, a := range assignments {
		other := a.Knob
		other.Tunable = exclusive(a.Knob.Tunable)
		switch {
		case seen[a.Knob.Key()]:
			return invalid(a.Field+".name", a.Knob.String()+" is set twice", "set it once")
		case seen[other.Key()]:
			return invalid(a.Field+".name", fmt.Sprintf("%s and %s are the same setting in two forms", a.Knob, other.Tunable), "set one of them")
		}
		seen[a.Knob.Key()] = true
	}
	return nil
}

func invalid(field, message, remedy string) *trial.Failure {
	return &trial.Failure{Class: trial.InvalidSpec, Field: field, Message: message, Remedy: remedy}
}
