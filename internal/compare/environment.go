package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// maxDifferences is how many differences are named. More are counted.
const maxDifferences = 16

// Differences names what differs between the environments and configurations of two runs. Workers are
// matched by name; if each run has one worker, whatever its name.
func Differences(first, second result.Summary) []string {
	var out []string
	add := func(what, a, b string) {
		if a != b && a != "" && b != "" {
			if line := fmt.Sprintf("%s: %s -> %s", what, short(a), short(b)); !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first.Configuration)) {
		add(name, first.Configuration[name], second.Configuration[name])
	}
	for _, pair := range matchWorkers(first.Environment, second.Environment) {
		a, b := facts(pair[0]), facts(pair[1])
		for _, name := range slices.Sorted(maps.Keys(a)) {
			add(name, a[name], b[name])
		}
		for _, d := range classDifferences(pair[0].Target.Class, pair[1].Target.Class) {
			add(d[0], d[1], d[2])
		}
	}
	if len(out) > maxDifferences {
		out = append(out[:maxDifferences-1], fmt.Sprintf("and %d more", len(out)-maxDifferences+1))
	}
	return out
}

// Facts returns what Differences compares, by name. A fact that is not the same for all workers has an entry for
// each of them.
func Facts(s result.Summary) map[string]string {
	out := map[string]string{}
	for name, value := range s.Configuration {
		if value != "" {
			out[name] = short(value)
		}
	}
	byName := map[string]map[string]string{}
	for worker, e := range s.Environment {
		if e == nil {
			continue
		}
		for name, value := range facts(e) {
			if byName[name] == nil {
				byName[name] = map[string]string{}
			}
			byName[name][worker] = short(value)
		}
	}
	for name, values := range byName {
		if distinct := slices.Compact(slices.Sorted(maps.Values(values))); len(distinct) == 1 {
			if distinct[0] != "" {
				out[name] = distinct[0]
			}
			continue
		}
		for worker, value := range values {
			out[name+" on "+worker] = value
		}
	}
	return out
}

// short cuts what somebody else wrote.
func short(s string) string {
	if r := []rune(s); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return s
}

func matchWorkers(first, second map[string]*result.Environment) [][2]*result.Environment {
	var out [][2]*result.Environment
	for _, name := range slices.Sorted(maps.Keys(first)) {
		a, b := first[name], second[name]
		if b == nil && len(first) == 1 && len(second) == 1 {
			for _, only := range second {
				b = only
			}
		}
		if a != nil && b != nil {
			out = append(out, [2]*result.Environment{a, b})
		}
	}
	return out
}

// facts of an environment that make numbers differ. What was free, and where it was mounted,
// is not among them.
func facts(e *result.Environment) map[string]string {
	f := map[string]string{
		"kernel":        e.Kernel,
		"architecture":  e.Architecture,
		"CPU":           fmt.Sprintf("%s × %d", e.CPU.Model, e.CPU.Count),
		"CPU limit":     fmt.Sprintf("%g cores", e.CPU.LimitCores),
		"memory":        fmt.Sprintf("%d bytes", e.Memory.TotalBytes),
		"memory limit":  fmt.Sprintf("%d bytes", e.Memory.LimitBytes),
		"ARC limit":     fmt.Sprintf("%d bytes", e.Memory.ARCBytes),
		"mode":          string(e.Target.Mode),
		"file system":   e.Target.FilesystemType,
		"mount options": e.Target.MountOptions,
		"target's size": fmt.Sprintf("%d bytes", e.Target.SizeBytes),
	}
	for tool, version := range e.Tools {
		f["version of "+tool] = version
	}
	var models []string
	queues := map[string][]string{}
	for _, d := range e.Target.Devices {
		models = append(models, strings.TrimSpace(fmt.Sprintf("%s %d bytes", d.Model, d.SizeBytes)))
		for name, value := range d.Queue {
			queues[name] = append(queues[name], value)
		}
	}
	slices.Sort(models)
	f["devices"] = strings.Join(models, ", ")
	for name, values := range queues {
		slices.Sort(values)
		f["queue's "+name] = strings.Join(slices.Compact(values), ", ")
	}
	return f
}

// none stands for what one of two classes has not.
const none = "none"

// classDifferences names what differs between two StorageClasses, with both values. Classes of one
// digest do not differ; of documents of older releases, which have none, nothing is known.
func classDifferences(first, second *trial.ClassIdentity) [][3]string {
	if first == nil || second == nil || first.Digest == second.Digest {
		return nil
	}
	a, b := classFacts(first), classFacts(second)
	var out [][3]string
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, [3]string{name, cmp.Or(a[name], none), cmp.Or(b[name], none)})
	}
	return out
}

func classFacts(c *trial.ClassIdentity) map[string]string {
	f := map[string]string{
		"class's provisioner":         c.Provisioner,
		"class's mount options":       strings.Join(c.MountOptions, ","),
		"class's volume binding mode": c.BindingMode,
		"class's reclaim policy":      c.Reclaim,
	}
	for name, value := range c.Parameters {
		f["class's parameter "+name] = value
	}
	return f
}

// otherWorkload reports that a workload of one name is configured differently in the two runs.
func otherWorkload(first, second result.Summary, workload string) bool {
	a, b := first.Configuration["workload "+workload], second.Configuration["workload "+workload]
	return a != "" && b != "" && a != b
}
