package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// Compared is one metric of a comparison.
type Compared struct {
	Target, Node, Workload, Variant, Control, Metric string
	Pairs                                            *Number
	Before, After, Ratio, Low, High                  *Number
	// Why there is no ratio or no interval.
	Why     string
	Drawn   *Drawn
	Outcome string
	// Worth says which of the two sides is invalid, and why.
	Worth string
}

// comparisons returns what each variant changed.
func comparisons(s result.Summary) (out []Compared, left int) {
	for i, c := range s.Comparisons {
		for _, name := range report.Changed(c) {
			if len(out) == maxRows {
				left++
				continue
			}
			change, at := c.Metrics[name], pointer("comparisons", i, "metrics", name)
			line := Compared{
				Target: c.Target, Node: c.Node, Workload: report.WithPart(c.Workload, c.Part), Variant: c.Variant, Control: c.Control, Metric: name,
				Worth:  report.InvalidArms(s.Rows, c, name),
				Pairs:  whole(change.Pairs, at+"/pairs"),
				Before: number(change.Unit, change.Control, at+"/control"), After: number(change.Unit, change.Variant, at+"/variant"),
			}
			if c.Primary != nil && c.Primary.Metric == name {
				line.Outcome = c.Primary.Outcome
			}
			switch {
			case change.Bounds > 0:
				line.Why = fmt.Sprintf("too fast in %d of %d", change.Bounds, change.Pairs)
			case change.Ratio == nil:
				line.Why = "the control is 0"
			default:
				line.Ratio = ratio(change.Ratio.Median, at+"/ratio/median")
				if change.Ratio.Low == nil || change.Ratio.High == nil {
					line.Why = "fewer than 6 blocks"
					break
				}
				line.Low, line.High = ratio(*change.Ratio.Low, at+"/ratio/low"), ratio(*change.Ratio.High, at+"/ratio/high")
				line.Drawn = &Drawn{Low: *change.Ratio.Low, Mid: change.Ratio.Median, High: *change.Ratio.High}
			}
			out = append(out, line)
		}
	}
	drawRatios(out)
	return out, left
}

// drawRatios scales ratios so that 1 is in the middle, and the one that is farthest from it at
// an edge. A ratio that is very far away must not hide the others.
func drawRatios(lines []Compared) {
	const most = 1.0 // of 100 % more or less
	reach := 0.05
	for _, l := range lines {
		if l.Drawn != nil {
			reach = max(reach, min(most, l.Drawn.High-1), min(most, 1-l.Drawn.Low))
		}
	}
	to := func(v float64) float64 { return min(100, max(0, 50+50*(v-1)/reach)) }
	for _, l := range lines {
		if l.Drawn != nil {
			*l.Drawn = Drawn{Low: to(l.Drawn.Low), Mid: to(l.Drawn.Mid), High: to(l.Drawn.High)}
		}
	}
}

// Place is where some workers measured.
type Place struct {
	Workers []string
	Facts   []Fact
	Layers  []Layer
	Devices []Device
}

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// Layer of the storage, with how deep it is.
type Layer struct {
	Depth    int
	ID, Text string
	Note     string
}

// Device with its queue's settings.
type Device struct {
	Name, Text string
	Queue      []Fact
}

// maxPlaces is how many environments a page shows.
const maxPlaces = 24

// environments returns where the workers measured; those that are alike are shown once.
func environments(s result.Summary) (out []Place, left int) {
	known := map[string]int{}
	for _, worker := range slices.Sorted(maps.Keys(s.Environment)) {
		e := s.Environment[worker]
		if e == nil {
			continue
		}
		p := describe(e)
		key := fmt.Sprintf("%+v", p)
		i, ok := known[key]
		if !ok {
			if len(out) == maxPlaces {
				left++
				continue
			}
			i = len(out)
			known[key], out = i, append(out, p)
		}
		out[i].Workers = append(out[i].Workers, worker)
	}
	return out, left
}

func describe(e *result.Environment) Place {
	p := Place{}
	add := func(name, value string) {
		if value != "" {
			p.Facts = append(p.Facts, Fact{name, value})
		}
	}
	size := func(v uint64) string {
		if v == 0 {
			return ""
		}
		return report.Bytes(float64(v))
	}
	add("Host", e.Hostname)
	add("Kernel", strings.TrimSpace(e.Kernel+" "+e.Architecture))
	if e.CPU.Count > 0 {
		add("CPU", strings.TrimPrefix(fmt.Sprintf("%s, %d CPUs", e.CPU.Model, e.CPU.Count), ", "))
	}
	if e.CPU.LimitCores > 0 {
		add("CPU limit", fmt.Sprintf("%g cores", e.CPU.LimitCores))
	}
	add("Memory", size(e.Memory.TotalBytes))
	add("Memory limit", size(e.Memory.LimitBytes))
	add("ZFS ARC limit", size(e.Memory.ARCBytes))
	add("Access", string(e.Target.Mode))
	add("File system", e.Target.FilesystemType)
	add("Mount options", e.Target.MountOptions)
	add("Mounted from", e.Target.MountSource)
	add("Size", size(e.Target.SizeBytes))
	add("Free before the run", size(e.Target.FreeBytes))
	for _, tool := range slices.Sorted(maps.Keys(e.Tools)) {
		add(tool, e.Tools[tool])
	}
	add("Devices", e.Target.DeviceNote)
	p.Layers = layers(e.Target.Layers)
	for _, d := range e.Target.Devices {
		device := Device{Name: d.Name, Text: strings.Join(slices.DeleteFunc([]string{d.Model, size(d.SizeBytes), d.Backing}, func(s string) bool { return s == "" }), ", ")}
		for _, name := range slices.Sorted(maps.Keys(d.Queue)) {
			device.Queue = append(device.Queue, Fact{name, d.Queue[name]})
		}
		p.Devices = append(p.Devices, device)
	}
	return p
}

// layers in the order in which they stand on each other, each once.
func layers(all []result.Layer) (out []Layer) {
	seen := map[string]bool{}
	var visit func(id string, depth int)
	visit = func(id string, depth int) {
		i := slices.IndexFunc(all, func(l result.Layer) bool { return l.ID == id })
		if i < 0 || seen[id] {
			return
		}
		seen[id] = true
		l := all[i]
		var words []string
		for _, w := range []string{l.Type, l.Model, l.Source, l.WriteCache} {
			if w != "" && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		if l.SizeBytes > 0 {
			words = append(words, report.Bytes(float64(l.SizeBytes)))
		}
		if l.DeviceCache != "" && l.DeviceCache != l.WriteCache {
			words = append(words, "the device says "+l.DeviceCache)
		}
		if l.InMemory {
			words = append(words, "in memory")
		}
		out = append(out, Layer{Depth: min(depth, 6), ID: l.ID, Text: string(l.Kind) + ": " + strings.Join(words, ", "), Note: l.Note})
		for _, below := range l.Below {
			visit(below, depth+1)
		}
	}
	for _, l := range all {
		visit(l.ID, 0)
	}
	return out
}

// Failed is a worker that did not measure everything.
type Failed struct{ Worker, Class, Text string }

const maxFailures = 50

func failures(s result.Summary) (out []Failed, left int) {
	for _, worker := range slices.Sorted(maps.Keys(s.Failures)) {
		f := s.Failures[worker]
		if f == nil {
			continue
		}
		if len(out) == maxFailures {
			left++
			continue
		}
		out = append(out, Failed{Worker: worker, Class: string(f.Class), Text: f.Error()})
	}
	return out, left
}

// storagebenchVersion is the version that measured, if all workers had the same one.
func storagebenchVersion(s result.Summary) string {
	version := ""
	for _, worker := range slices.Sorted(maps.Keys(s.Environment)) {
		if e := s.Environment[worker]; e != nil {
			v := e.Tools["storagebench"]
			if version != "" && v != version {
				return "several versions"
			}
			version = v
		}
	}
	return cmp.Or(version, "an unknown version")
}
