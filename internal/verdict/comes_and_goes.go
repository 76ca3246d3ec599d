package verdict

import (
	"fmt"
	"math"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

const (
	// windowSeconds is how long the disks and the workload are compared at a time, in seconds. The clocks of
	// both are up to a tenth of a second apart, in which a rate that changes is no neighbour.
	windowSeconds = 1.0
	// disturbed is the share of what the disks moved in a window that was not the workload's.
	disturbed = 0.2
	// ofWindows is the share of windows that are disturbed before anything is said, and fewestWindows
	// how many at least.
	ofWindows, fewestWindows = 0.1, 2
)

// plainFilesystems are file systems that write what they are given, and little more.
var plainFilesystems = []string{"ext2", "ext3", "ext4", "xfs"}

// plainFilesystem reports whether the target's file system is one of them, or there is none.
func (f *Facts) plainFilesystem() bool {
	return f.Target.FilesystemType == "" || slices.Contains(plainFilesystems, f.Target.FilesystemType)
}

// plainPath reports whether each layer between the target and what is counted of its disks passes on what it
// is given, once or in copies that are known. Parity reads and writes more than that, and so do caches, snapshots
// and thin volumes.
func (f *Facts) plainPath() bool {
	counted := f.Target.Counted()
	layers := slices.Clone(f.Target.Layers)
	for i, l := range layers {
		if slices.Contains(counted, l.ID) { // what is below does not count
			layers[i] = result.Layer{ID: l.ID, Kind: result.DiskLayer}
		}
	}
	written := result.Written(layers)
	return !slices.ContainsFunc(written, func(l result.Layer) bool { return l.Kind == result.MappedLayer && !passes(l, written) })
}

// passes reports whether a mapped layer does as much as it is given for each of its copies.
func passes(l result.Layer, layers []result.Layer) bool {
	switch l.Type {
	case "partition", "multipath", "nvme-multipath", "linear", "raid0", "raid1", "raid10":
		return true
	case "lvm", "crypt":
		// Parts of its own are below what is more than a stretch of disks: a thin pool, a cache, parity, a journal.
		parts := slices.ContainsFunc(layers, func(o result.Layer) bool { return o.Type == l.Type && slices.Contains(l.Below, o.ID) })
		return !parts || l.Copies > 1
	default:
		return false
	}
}

// comesAndGoes: somebody else used the disks in a part of the trial, which is a small share of the
// whole. It is told from what the disks and the workload did in the same second.
func comesAndGoes(f *Facts) []result.Verdict {
	if f.Samples == nil || !f.counted() || !f.direct() || f.reduces() || !f.plainFilesystem() || !f.plainPath() || f.row == nil && inTurns.MatchString(f.Measurement.Input) {
		return nil // jobs that take turns are judged one by one, as rates jump where one follows another
	}
	var all, bad, first, last, most, foreign float64
	for _, w := range f.windows() {
		all++
		if w.foreign > disturbed*w.moved && w.foreign > faint*w.seconds {
			if bad == 0 {
				first = w.begin
			}
			bad, last, most, foreign = bad+1, w.begin+w.seconds, max(most, w.foreign/w.seconds), foreign+w.foreign
		}
	}
	if bad < fewestWindows || bad <= ofWindows*all || f.excess() < foreign/2 {
		return nil
	}
	return []result.Verdict{{
		Name: NoisyNeighbour, Effect: result.Qualifies, Settle: "Find out who else uses the disks now and then, and measure again without it.",
		Sentence: fmt.Sprintf("Somebody else used the disks in %.0f of %.0f seconds, from %.1f s to %.1f s after the start: up to %s per second were not the workload's.", bad*windowSeconds, all*windowSeconds, first, last, report.Bytes(most)),
		Evidence: evidence(
			number{"windows", result.Count, all},
			number{"disturbed", result.Count, bad},
			number{"foreign.most", result.BytesPerSecond, most},
		),
	}}
}

// span of time, and what the disks moved in it, and how much of that was not the workload's.
type span struct{ begin, seconds, moved, foreign float64 }

// windows returns the windows of the trial in which the workload ran all the time.
func (f *Facts) windows() []span {
	t := f.Samples
	own, ran := map[time.Time][2]float64{}, map[time.Time]float64{}
	for _, d := range []direction{f.reading(), f.writing()} {
		for _, op := range d.operations {
			for _, row := range t.Select(samples.Workload, op) {
				bytes := own[t.At[row]]
				if v := t.Values[samples.Bytes][row]; !math.IsNaN(v) {
					bytes[index(d.name)] += v
				}
				own[t.At[row]], ran[t.At[row]] = bytes, max(ran[t.At[row]], t.Values[samples.Seconds][row])
			}
		}
	}
	disks := map[time.Time][2]float64{}
	for _, name := range f.Target.Counted() {
		for _, row := range t.Select(samples.Disk, name) {
			bytes := disks[t.At[row]]
			bytes[0] += t.Values[samples.ReadBytes][row]
			bytes[1] += t.Values[samples.WriteBytes][row]
			disks[t.At[row]] = bytes
		}
	}
	var out []span
	var w span
	var mine, theirs [2]float64
	at := 0.0
	for _, row := range t.Select(samples.Machine, "") {
		seconds := t.Values[samples.Seconds][row]
		at += seconds
		bytes, known := own[t.At[row]]
		if !known || ran[t.At[row]] < 0.9*seconds {
			w, mine, theirs = span{}, [2]float64{}, [2]float64{} // it begins, ends, or pauses here
			continue
		}
		if w.seconds == 0 {
			w.begin = at - seconds
		}
		w.seconds += seconds
		for i := range mine {
			mine[i], theirs[i] = mine[i]+bytes[i], theirs[i]+disks[t.At[row]][i]
		}
		if w.seconds >= 0.95*windowSeconds {
			w.moved, w.foreign = f.notMine(mine, theirs)
			out = append(out, w)
			w, mine, theirs = span{}, [2]float64{}, [2]float64{}
		}
	}
	return out
}

func index(direction string) int {
	if direction == "write" {
		return 1
	}
	return 0
}

// excess is how much more the disks moved than the workload, in all of the time. Where a workload has bursts, the disks and its own
// rates seem apart in the seconds in which one begins or ends, but not in sum.
func (f *Facts) excess() float64 {
	read := max(0, f.value("device.read.bytes")-f.reading().bytes)
	return read + max(0, f.value("device.write.bytes")-f.copies()*f.writing().bytes)
}

// notMine returns what the disks moved, and how much of it the workload does not explain. Journals and
// metadata are its own, and nobody knows how much they are where it syncs.
func (f *Facts) notMine(own, disks [2]float64) (moved, foreign float64) {
	moved, foreign = disks[0], max(0, disks[0]-own[0])
	if f.syncsOften() || len(f.writing().operations) == 0 && !f.onlyReads() {
		return moved, foreign
	}
	return moved + disks[1], foreign + max(0, disks[1]-f.toDisks(own[1]))
}

// betweenTrials: for the same work the disks moved much more in one trial than in another, so that
// somebody else used them in some of the trials. That also tells of neighbours beside syncs: the journal is
// the workload's own, and does not change from trial to trial.
func betweenTrials(f *Facts) []result.Verdict {
	if !f.counted() || f.reduces() || !f.plainFilesystem() || !f.plainPath() || !f.prepared() {
		return nil
	}
	this := f.whole // as the earlier ones are
	for _, earlier := range f.Earlier {
		for _, c := range []struct {
			more, less result.Metrics
			words      string
		}{
			{this, earlier, "in this trial than in an earlier one"},
			{earlier, this, "in an earlier trial than in this one"},
		} {
			excess, moved := beyond(c.more, c.less)
			if excess <= disturbed*moved || excess <= faint*c.more["device.seconds"].Value || excess <= 4*metadata {
				continue
			}
			return []result.Verdict{{
				Name: NoisyNeighbour, Effect: result.Qualifies, Settle: "Find out who else uses the disks now and then, and measure again without it.",
				Sentence: fmt.Sprintf("For the same work the disks moved %s more %s: somebody else used them in some of the trials.", report.Bytes(excess), c.words),
				Evidence: evidence(number{"excess.bytes", result.Bytes, excess}, number{"device.bytes", result.Bytes, moved}),
			}}
		}
	}
	return nil
}

// prepared reports whether each trial finds the same files. If not, the first one also makes them.
func (f *Facts) prepared() bool {
	return !slices.ContainsFunc(f.Measurement.Files, func(c result.FileChoice) bool { return c.Files == result.AsFound || c.Files == result.Mixed })
}

// beyond returns how much more the disks moved in one trial than the work of another, scaled to its
// own, explains; and what they moved in all. Work that memory answered tells nothing.
func beyond(more, less result.Metrics) (excess, moved float64) {
	value := func(m result.Metrics, name string) float64 {
		if v := m[name].Value; v > 0 && v < 1e300 {
			return v
		}
		return 0
	}
	for _, d := range []struct {
		work  string
		disks []string
	}{{"read.bytes", []string{"device.read.bytes"}}, {"write.bytes", []string{"device.write.bytes", "device.drain.bytes"}}} {
		var all, usual float64
		for _, name := range d.disks {
			all, usual = all+value(more, name), usual+value(less, name)
		}
		moved += all
		var scale float64
		if own, other := value(more, d.work), value(less, d.work); own >= enough && other >= enough {
			if usual < 0.9*other {
				continue // memory took a part, of another size each time
			}
			scale = own / other
		} else if seconds := value(less, "device.seconds"); seconds > 0 && own == 0 && other == 0 {
			scale = max(1, value(more, "device.seconds")/seconds)
		} else {
			continue
		}
		excess += max(0, all-1.3*usual*scale)
	}
	return excess, moved
}
