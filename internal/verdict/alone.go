package verdict

import (
	"maps"
	"math"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
)

// Jobs that run one after the other share a trial, but no moment. What limited, disturbed or changed one of them is
// a small share of the trial, and all of that job's time. So what the disks did is compared with a job for the time that
// it had them to itself.

// overTime are the checks of how the rate went and of what decided it, and ofOthers those of who else used the disks, that
// are asked again of a row that ran alone.
var (
	overTime = []check{limitChanged, throttled, cpuThrottled, notSteady}
	ofOthers = []check{noisyNeighbour, flushesOfOthers, comesAndGoes}
)

const (
	// aloneLeast is how long a row must have run alone, in seconds, and aloneSamples in how many samples.
	aloneLeast, aloneSamples = 1, 5
	// clocksApart is how far the clocks of fio and the sampler may be apart.
	clocksApart = 20 * time.Millisecond
)

// ran is when a job was measured; zero: that is not known.
type ran struct {
	from, to time.Time
	// order among the parts.
	order int
}

func (r ran) known() bool { return r.to.After(r.from) }

// alone returns the facts of a row in the samples in which only its jobs ran; nil: there are none, or too few. A
// job of which nobody knows when it ran was too short to be noted.
func (f *Facts) alone() *Facts {
	var at ran
	for _, j := range f.row.jobs {
		if !j.ran.known() {
			return nil
		}
		if at.from.IsZero() || j.ran.from.Before(at.from) {
			at.from = j.ran.from
		}
		if j.ran.to.After(at.to) {
			at.to = j.ran.to
		}
	}
	for _, o := range f.row.others {
		if o.ran.known() && o.ran.from.Before(at.to.Add(-clocksApart)) && o.ran.to.After(at.from.Add(clocksApart)) {
			return nil
		}
	}
	of := *f
	of.Samples = during(f.row.whole.Samples, at)
	of.Measurement.Metrics = maps.Clone(f.Measurement.Metrics)
	if !of.countSamples() {
		return nil
	}
	return &of
}

// during returns the samples that lie within the time that a job ran.
func during(t *samples.Table, at ran) *samples.Table {
	out := &samples.Table{}
	if t == nil {
		return out
	}
	within := map[time.Time]bool{}
	for _, row := range t.Select(samples.Machine, "") {
		begin := t.At[row].Add(-time.Duration(t.Values[samples.Seconds][row] * 1e9))
		within[t.At[row]] = !begin.Before(at.from.Add(-clocksApart)) && !t.At[row].After(at.to.Add(clocksApart))
	}
	for row, end := range t.At {
		if !within[end] {
			continue
		}
		added := out.Add(end, t.Scope[row], t.Name[row])
		for c := range t.Values {
			out.Set(added, samples.Column(c), t.Values[c][row])
		}
	}
	return out
}

// countSamples takes what the disks did, and how much the row moved meanwhile, from the samples. It reports whether they
// have it all.
func (f *Facts) countSamples() bool {
	m, t := f.Measurement.Metrics, f.Samples
	seconds, counted := t.Sum(samples.Machine, "", samples.Seconds, nil), f.Target.Counted()
	if len(t.Select(samples.Machine, "")) < aloneSamples || !(seconds >= aloneLeast) {
		return false
	}
	for _, name := range ofCounters {
		delete(m, name)
	}
	m.Set("device.seconds", result.Seconds, seconds)
	if stopped := t.Sum(samples.Machine, "", samples.CgroupThrottledSeconds, nil); !math.IsNaN(stopped) {
		m.Set("cpu.throttled", result.Ratio, stopped/seconds)
	}
	depth := 0.0
	for _, name := range counted {
		rows := t.Select(samples.Disk, name)
		if len(rows) == 0 {
			return false // more disks than are sampled
		}
		for metric, c := range columnsOf {
			m["device."+metric] = result.Metric{Value: m["device."+metric].Value + t.Sum(samples.Disk, name, c, nil)}
		}
		for _, row := range rows {
			depth += t.Values[samples.QueueDepth][row] * t.Values[samples.Seconds][row]
		}
	}
	m.Set("device.queue.depth", result.Count, depth/seconds)
	for metric := range columnsOf {
		if math.IsNaN(m["device."+metric].Value) {
			delete(m, "device."+metric) // a sample lacks it
		}
	}
	for _, op := range f.operations() {
		if len(t.Select(samples.Workload, op)) > 0 {
			m.Set(op+".bytes", result.Bytes, t.Sum(samples.Workload, op, samples.Bytes, nil))
		}
	}
	return true
}

// leaves reports whether what the job wrote may still be on its way to the disks when it has ended.
func (f *Facts) leaves() bool {
	return len(f.writing().operations) > 0 && !f.direct() && !f.leavesNothing()
}

// endBeforeOthers is when the row's job ended, if others ran on for a second or more. False: they did not, or that is not known.
func (r *row) endBeforeOthers(f *Facts) (time.Time, bool) {
	rate, text := f.value("write.bandwidth"), f.Measurement.Input
	if len(r.jobs) != 1 || rate <= 0 || ramp.MatchString(text) || startDelay.MatchString(text) {
		return time.Time{}, false
	}
	j := r.jobs[0]
	var end, last time.Time
	if j.ran.known() {
		end = j.ran.from.Add(time.Duration(f.value("write.bytes") / rate * 1e9))
	}
	for _, o := range r.others {
		if !o.ran.known() {
			continue
		}
		if !j.ran.known() && o.ran.order > j.ran.order && (end.IsZero() || o.ran.from.Before(end)) {
			end = o.ran.from // it was too short to be noted, and had ended when the next one began
		}
		if o.ran.to.After(last) {
			last = o.ran.to
		}
	}
	return end, !end.IsZero() && last.Sub(end) >= time.Second
}

// leftAtItsEnd is which share of what a job wrote no disk had when the job ended, if others ran on: in their time, the
// kernel may have written all of it. 0: it left nothing, or that is not known.
func (r *row) leftAtItsEnd(f *Facts) float64 {
	w, own := r.whole, f.writing().bytes
	end, ok := r.endBeforeOthers(f)
	if !ok || !r.jobs[0].leaves() || own < enough || w.Samples == nil {
		return 0
	}
	interval := 0.0
	before := func(row int) bool {
		interval = w.Samples.Values[samples.Seconds][row]
		return !w.Samples.At[row].Add(-time.Duration(interval * 5e8)).After(end) // most of it
	}
	others, disks := w.Samples.Sum(samples.Workload, "write", samples.Bytes, before), 0.0
	for _, name := range w.Target.Counted() {
		disks += w.Samples.Sum(samples.Disk, name, samples.WriteBytes, before)
	}
	if interval == 0 {
		return 0
	}
	if own/f.value("write.bandwidth") > 0.9*interval { // so that its own bytes are among them
		others = max(0, others-own)
	}
	if left := max(0, disks/w.copies()-others); left < own { // false, if a sample lacks it
		return 1 - left/own
	}
	return 0
}

// onTime asks the checks over time of each row that ran alone. After a job that left data in memory, nobody can tell
// its writes from those of others.
func onTime(rows []*Facts) []result.Verdict {
	var out []result.Verdict
	for _, r := range rows {
		of := r.alone()
		if of == nil {
			continue
		}
		checks := overTime
		if !slices.ContainsFunc(r.row.others, (*Facts).leaves) {
			checks = slices.Concat(overTime, ofOthers)
		}
		for _, c := range checks {
			out = append(out, onRows(c(of), []string{r.row.name})...)
		}
	}
	return out
}
