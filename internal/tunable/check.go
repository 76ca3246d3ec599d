package tunable

import (
	"fmt"
	"strings"
	"sync"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// index is the catalogue with its names. It is built once and never changed.
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
		i.byName[i.all[n].Name] = i.all[n]
		i.names = append(i.names, i.all[n].Name)
	}
	return i
})

// Catalogue returns every tunable.
func Catalogue() []Tunable { return append([]Tunable(nil), catalogue().all...) }

// Find returns the tunable of a name. Its error is a *trial.Failure that suggests
// a similar name.
func Find(name string) (Tunable, error) {
	if t, ok := catalogue().byName[name]; ok {
		return t, nil
	}
	f := &trial.Failure{
		Class:   reason.InvalidSpec,
		Message: fmt.Sprintf("there is no tunable %q", name),
		Remedy:  "storagebench tunables lists all of them",
	}
	if suggest.Nearest(name, catalogue().names) != "" {
		f.Remedy = suggest.Remedy(name, catalogue().names)
	} else if near := findByLeaf(name); near != "" {
		f.Remedy = "did you mean " + near + "?"
	}
	return Tunable{}, f
}

// findByLeaf finds the tunable whose last part is name: people write
// zfs_arc_max.
func findByLeaf(name string) string {
	leaf := name[strings.LastIndexAny(name, "./")+1:]
	for _, candidate := range catalogue().names {
		if leaf != "" && strings.HasSuffix(candidate, "."+leaf) {
			return candidate
		}
	}
	return ""
}

// resets lists the settings that at least one known kernel resets when another one is
// written: a scheduler brings its own nr_requests (and bfq switches off the throttling
// of writeback), and a change of a queue's limits resets its read-ahead.
var resets = map[string][]string{
	"scsi.disk.cache_type":       {"block.queue.write_cache", "block.queue.read_ahead_kb"},
	"ata.write_cache":            {"block.queue.write_cache", "block.queue.read_ahead_kb"},
	"block.queue.write_cache":    {"block.queue.read_ahead_kb"},
	"block.queue.max_sectors_kb": {"block.queue.read_ahead_kb"},
	"block.queue.scheduler":      {"block.queue.nr_requests", "block.queue.wbt_lat_usec"},
}

// derived lists the settings that the kernel works out anew from another one, whatever they were: whether a
// disk gets flushes follows from the drive's cache, also at boot.
var derived = map[string][]string{
	"scsi.disk.cache_type": {"block.queue.write_cache"},
	"ata.write_cache":      {"block.queue.write_cache"},
}

// exclusive returns the setting that the kernel switches off when this one is
// written, or "".
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
		return "scsi.disk.cache_type" // both are the same bit of the drive
	case "scsi.disk.cache_type":
		return "ata.write_cache"
	default:
		return ""
	}
}

// Check refuses settings that cannot work on any machine. Its error is a
// *trial.Failure whose Field is relative to the list's owner:
// tunables[0].value.
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
			return invalid(fmt.Sprintf("tunables[%d].name", i), fmt.Sprintf("tunables[%d] already sets %s", first, s.Name), "set it once")
		}
		seen[s.Name] = i
		if other, both := seen[exclusive(s.Name)]; both {
			return invalid(fmt.Sprintf("tunables[%d].name", i),
				fmt.Sprintf("%s and %s (tunables[%d]) are two forms of the same setting", s.Name, exclusive(s.Name), other), "set one of them")
		}
		for _, reset := range resets[s.Name] {
			if before, earlier := seen[reset]; earlier {
				return invalid(fmt.Sprintf("tunables[%d].name", i),
					fmt.Sprintf("tunables are set in the order of the list, and setting %s would reset %s (tunables[%d])", s.Name, reset, before),
					fmt.Sprintf("list %s before %s", s.Name, reset))
			}
		}
		if _, err := t.Parse(s.Value); err != nil {
			return invalid(fmt.Sprintf("tunables[%d].value", i), fmt.Sprintf("%s does not accept the value %q", s.Name, s.Value), err.Error())
		}
	}
	return nil
}

// CheckAssignments refuses to set one knob twice, as Check does for settings:
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
			return invalid(a.Field+".name", fmt.Sprintf("%s and %s are two forms of the same setting", a.Knob, other.Tunable), "set one of them")
		}
		seen[a.Knob.Key()] = true
	}
	return nil
}

func invalid(field, message, remedy string) *trial.Failure {
	return &trial.Failure{Class: reason.InvalidSpec, Field: field, Message: message, Remedy: remedy}
}
