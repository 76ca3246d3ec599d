package fio

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
)

// operations of fio that have a rate.
var operations = []string{"read", "write", "trim"}

func (j *jobOutput) direction(op string) *direction {
	switch op {
	case "read":
		return &j.Read
	case "write":
		return &j.Write
	default:
		return &j.Trim
	}
}

// tally adds up one operation.
type tally struct {
	ios, bytes                    uint64
	seconds                       float64
	total, submission, completion delays
}

// delays adds up latencies of one kind.
type delays struct {
	sum, max  float64 // nanoseconds
	n         uint64
	histogram histogram.Histogram
}

func (d *delays) add(l *latency) {
	d.sum += l.Mean * float64(l.N)
	d.n += l.N
	d.max = math.Max(d.max, l.Max)
	d.histogram.Merge(&l.Bins.Histogram)
}

// measure folds clones into metrics. Clones and jobs of one group ran together:
// their I/Os are added, over the time of the longest. Groups, which stonewall
// separates, ran one after the other: their times are added as well. So a rate is
// always I/Os that were done over time in which they were done.
func measure(clones []*jobOutput) (result.Metrics, result.Histograms) {
	metrics, histograms := result.Metrics{}, result.Histograms{}
	for _, op := range operations {
		t := tally{}
		times := map[int]float64{}
		for _, c := range clones {
			d := c.direction(op)
			t.ios += d.IOs
			t.bytes += d.Bytes
			times[c.Group] = math.Max(times[c.Group], d.Runtime/1e3)
			t.total.add(&d.Total)
			t.completion.add(&d.Completion)
			// With disable_lat fio does not note when it began to submit, and its
			// submission latencies are arbitrary.
			if d.Total.N > 0 {
				t.submission.add(&d.Submission)
			}
		}
		for _, seconds := range times {
			t.seconds += seconds
		}
		if t.ios == 0 {
			continue
		}
		metrics[op+".ios"] = result.Metric{Unit: result.Count, Value: float64(t.ios)}
		metrics[op+".bytes"] = result.Metric{Unit: result.Bytes, Value: float64(t.bytes)}
		if t.seconds > 0 {
			metrics[op+".iops"] = result.Metric{Unit: result.PerSecond, Value: float64(t.ios) / t.seconds}
			metrics[op+".bandwidth"] = result.Metric{Unit: result.BytesPerSecond, Value: float64(t.bytes) / t.seconds}
		}
		t.latencies(op, metrics, histograms)
	}
	measureSyncs(clones, metrics, histograms)
	measureCPU(clones, metrics)
	return metrics, histograms
}

func measureSyncs(clones []*jobOutput, metrics result.Metrics, histograms result.Histograms) {
	syncs, seconds, times := delays{}, 0.0, map[int]float64{}
	for _, c := range clones {
		syncs.add(&c.Sync.Latency)
		if c.Sync.Latency.N > 0 {
			times[c.Group] = math.Max(times[c.Group], c.Runtime/1e3)
		}
	}
	for _, longest := range times {
		seconds += longest
	}
	if syncs.n == 0 {
		return
	}
	metrics["sync.ios"] = result.Metric{Unit: result.Count, Value: float64(syncs.n)}
	if seconds > 0 {
		metrics["sync.rate"] = result.Metric{Unit: result.PerSecond, Value: float64(syncs.n) / seconds}
	}
	syncs.put("sync.latency", metrics)
	syncs.keep("sync", histograms)
}

// latencies are the operation's headline, what callers waited, and apart from it the two
// parts of that. Reports of a fio that ran without lat_percentiles have a histogram of
// completion only, which keeps its name.
func (t *tally) latencies(op string, metrics result.Metrics, histograms result.Histograms) {
	t.total.put(op+".latency", metrics)
	t.submission.put(op+".submission", metrics)
	t.completion.put(op+".completion", metrics)
	t.total.keep(op, histograms)
	if histograms[op] == nil {
		t.completion.keep(op+".completion", histograms)
	}
}

// put sets the metrics of latencies. With gtod_reduce and the like fio reports zeros; a
// metric that was not measured is absent.
func (d *delays) put(name string, metrics result.Metrics) {
	if d.n > 0 && d.max > 0 {
		metrics.SetTimes(name, d.sum/float64(d.n), d.max, &d.histogram)
		if d.sum == 0 {
			delete(metrics, name+".mean") // fio printed that it is no number
		}
	}
}

func (d *delays) keep(name string, histograms result.Histograms) {
	if d.max > 0 && d.histogram.Count() > 0 {
		histograms[name] = &d.histogram
	}
}

// measureCPU adds the CPU time of fio's threads, in cores, over the time they ran.
func measureCPU(clones []*jobOutput, metrics result.Metrics) {
	var user, system float64
	times := map[int]float64{}
	for _, c := range clones {
		user += c.UserCPU / 100 * c.Runtime / 1e3
		system += c.SystemCPU / 100 * c.Runtime / 1e3
		times[c.Group] = math.Max(times[c.Group], c.Runtime/1e3)
	}
	total := 0.0
	for _, seconds := range times {
		total += seconds
	}
	if total > 0 {
		metrics["cpu.user"] = result.Metric{Unit: result.Ratio, Value: user / total}
		metrics["cpu.system"] = result.Metric{Unit: result.Ratio, Value: system / total}
	}
}

// fold makes a measurement of a document: the trial as a whole, and each job by
// its name, whatever the order in which fio printed them.
func fold(d *document, jobs []job) result.Measurement {
	var all []*jobOutput
	byName := map[string][]*jobOutput{}
	for i := range d.Jobs {
		c := &d.Jobs[i]
		all = append(all, c)
		byName[c.Name] = append(byName[c.Name], c)
	}
	m := result.Measurement{}
	m.Metrics, m.Histograms = measure(all)
	m.Operations = measured(m.Metrics)
	addParts(&m, jobs, byName, measure)
	setDepths(jobs, m.Metrics)
	checkLittle(jobs, byName, m)
	m.Notes = slices.Concat(m.Notes, notes(jobs, all, m.Metrics))
	return m
}

// measured are the operations that a trial did, in an order that does not change.
func measured(metrics result.Metrics) []string {
	var ops []string
	for _, op := range append(slices.Clone(operations), "sync") {
		if _, ok := metrics[op+".ios"]; ok {
			ops = append(ops, op)
		}
	}
	return ops
}

// notes say what a reader of the numbers must know.
func notes(jobs []job, clones []*jobOutput, metrics result.Metrics) []string {
	var out []string
	for _, op := range operations {
		_, rate := metrics[op+".iops"]
		_, latency := metrics[op+".latency.p50"]
		_, completion := metrics[op+".completion.p50"]
		switch {
		case !rate || latency:
		case completion:
			out = append(out, fmt.Sprintf("%s: percentiles are of completion latency (%[1]s.completion), without the time that an I/O waited to be submitted: fio ran with disable_lat, or without lat_percentiles=1", op))
		case measuredNone(clones, op):
			out = append(out, op+": no percentiles of latency: fio measured no latencies, as with gtod_reduce or disable_clat")
		case !printedAny(clones, op):
			out = append(out, op+": no percentiles of latency: fio printed none, as with clat_percentiles=0")
		}
		var short, dropped uint64
		for _, c := range clones {
			short += c.direction(op).Short
			dropped += c.direction(op).Dropped
		}
		if short+dropped > 0 {
			out = append(out, fmt.Sprintf("%s: %d I/Os were short and %d dropped", op, short, dropped))
		}
	}
	out = append(out, shortJobs(jobs, clones)...)
	if slices.ContainsFunc(jobs, func(j job) bool { return j.has("latency_target") }) {
		out = append(out, "latency_target is set: the depth was varied during the trial")
	}
	return out
}

// setDepths records how many I/Os the jobs ask to have in flight, and how many of them are at the
// storage at the same time, if these are fewer.
func setDepths(jobs []job, metrics result.Metrics) {
	var asked, kept uint64
	named := true
	for _, j := range jobs {
		asked += j.clones() * j.depth()
		kept += j.clones() * j.kept()
		named = named && (j.has("ioengine") || !j.elsewhere)
	}
	// The default engine of another system may keep them: then, by Little's law, they were in flight.
	if asked <= kept || !named && flying(metrics) > 1.5*float64(kept) {
		return
	}
	metrics.Set(result.DepthAsked, result.Count, float64(asked))
	metrics.Set(result.DepthKept, result.Count, float64(kept))
}

// flying is how many I/Os were in flight on average, by Little's law.
func flying(metrics result.Metrics) float64 {
	total := 0.0
	for _, op := range operations {
		total += metrics[op+".iops"].Value * cmp.Or(metrics[op+".latency.mean"].Value, metrics[op+".completion.mean"].Value)
	}
	return total
}

// measuredNone reports whether fio measured no latencies of an operation.
func measuredNone(clones []*jobOutput, op string) bool {
	return !slices.ContainsFunc(clones, func(c *jobOutput) bool {
		d := c.direction(op)
		return max(d.Total.Max, d.Total.Mean, d.Completion.Max, d.Completion.Mean) > 0
	})
}

// printedAny reports whether fio printed percentiles of an operation, or a histogram.
func printedAny(clones []*jobOutput, op string) bool {
	return slices.ContainsFunc(clones, func(c *jobOutput) bool {
		d := c.direction(op)
		return len(d.Total.Percentiles)+len(d.Completion.Percentiles) > 0 || d.Total.Bins.Count()+d.Completion.Bins.Count() > 0
	})
}

// shortest is the time in milliseconds that a job should run at least: a second, less what
// a job of runtime=1 may seem to miss of it.
const shortest = 990

// shortJobs notes those that ended too early to say how the storage is.
func shortJobs(jobs []job, clones []*jobOutput) []string {
	var out []string
	for _, j := range jobs {
		longest, ran := 0.0, false
		for _, c := range clones {
			if c.Name == j.name {
				longest, ran = max(longest, c.Runtime, c.Read.Runtime, c.Write.Runtime, c.Trim.Runtime), true
			}
		}
		if ran && longest < shortest {
			out = append(out, fmt.Sprintf("%s: ran for only %.0f ms, less than a second: start, end and caches weigh more than the storage; raise size, or set runtime", j.name, longest))
		}
	}
	return out
}

// synchronous engines wait for each I/O.
func synchronous(engine string) bool {
	return slices.Contains([]string{"psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"}, engine)
}
