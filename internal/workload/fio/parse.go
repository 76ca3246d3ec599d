package fio

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/printed"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Report is one run of fio that a text holds.
type Report struct {
	// Title is the heading above it, or empty, and Section what stands above that.
	Title, Section string
	// Apart reports that somebody says something between it and the report before, in a sentence.
	Apart bool
	// Within is where the run stands in JSON that holds several: the keys that lead to it, and what is
	// said beside them.
	Within string
	// Machine that fio ran on, if the text says so.
	Machine string
	// Sum reports that it is fio's sum of the machines before it.
	Sum bool
	// Settings are the options of the jobs, as far as fio repeats them.
	Settings map[string]string
	// Groups is how many groups of jobs ran one after the other.
	Groups int
	// Measurement of the run.
	Measurement result.Measurement
}

// Parse reads the output of a fio that somebody else has run: json+, or json, which has
// no histograms: then the percentiles are fio's own, where they are those of one
// process or group. It reads all documents of a text, but of those that
// --status-interval printed of one run only the last, which has the whole. Of results that
// --client collected, each machine is a report, and so is their sum. It is pure. Its errors
// are *trial.Failure.
func Parse(output []byte) ([]Report, error) {
	found, err := findAll(output)
	if err != nil {
		return nil, err
	}
	var reports []Report
	var above titles
	for i, f := range found {
		if i+1 < len(found) && f.stateOf(found[i+1]) {
			found[i+1].before, found[i+1].states, found[i+1].inherits = f.before, f.states+1, f.inherits
			continue
		}
		own, err := f.reports(&above)
		if err != nil {
			return nil, err
		}
		own[0].Measurement.Notes = append(own[0].Measurement.Notes, unread(f.before, f.behind)...)
		reports = append(reports, own...)
	}
	return reports, nil
}

// titles are those above a document.
type titles struct {
	outline printed.Outline
	last    printed.Title
}

// reports of a document.
func (f *foundDocument) reports(above *titles) ([]Report, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var reports []Report
	if !f.inherits {
		lines := printed.Lines(f.before)
		above.outline.Read(lines)
		above.last = titleIn(lines)
	}
	title := above.last
	if f.alone && title.Text != "" {
		f.within = ""
	}
	all := f.all()
	phases := phasesOf(all)
	single := slices.DeleteFunc(slices.Clone(all), func(j foreignJob) bool { return j.sums() })
	if len(single) == 0 {
		single, phases = all, nil // a sum of which nothing is told apart
	}
	for _, machine := range machinesOf(single) {
		r, err := f.report(on(machine, single))
		if err != nil {
			return nil, err
		}
		r.Machine = machine
		reports = append(reports, r)
	}
	for i := range phases {
		if phases[i].sum == nil {
			continue
		}
		r, note, err := phases[i].report(f, len(phases) == 1)
		if err != nil {
			return nil, err
		}
		if note != "" {
			reports[0].Measurement.Notes = append(reports[0].Measurement.Notes, note)
			continue
		}
		reports = append(reports, r)
	}
	for i := range reports {
		r := &reports[i]
		r.Title, r.Section, r.Apart, r.Within = title.Text, above.outline.Above(title), title.Said && !f.inherits, f.within
	}
	return reports, nil
}

// report of jobs that ran on one machine.
func (f *foundDocument) report(own []foreignJob) (Report, error) {
	m, err := measurementOf(own, saidBefore(f.before))
	if err != nil {
		return Report{}, err
	}
	if f.states > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("%d earlier states of the same run are left out (--status-interval): the last one has the whole", f.states))
	}
	return Report{Settings: settingsOf(own), Groups: groupsAmong(own), Measurement: m}, nil
}

// unread notes what else of fio a text has, which is not read.
func unread(texts ...[]byte) []string {
	var out []string
	for _, text := range texts {
		switch {
		case human.Match(text):
			out = append(out, "the text also has human-readable output of fio, which is not read")
		case terse.Match(text):
			out = append(out, "the text also has terse output of fio, which is not read")
		}
	}
	return slices.Compact(out)
}

// measurementOf folds the jobs that ran on one machine.
func measurementOf(own []foreignJob, messages string) (result.Measurement, error) {
	said := slices.Concat(join(own), distinct(own), merged(own), unfinished(own))
	jobs := jobsOf(own)
	m := result.Measurement{Stderr: messages}
	var all []*jobOutput
	byName := map[string][]*jobOutput{}
	for i := range own {
		c := &own[i].jobOutput
		all = append(all, c)
		byName[c.Name] = append(byName[c.Name], c)
	}
	metrics, histograms, lost := measureForeign(all)
	m.Metrics, m.Histograms = metrics, histograms
	m.Operations = measured(metrics)
	addParts(&m, jobs, byName, func(clones []*jobOutput) (result.Metrics, result.Histograms) {
		metrics, histograms, _ := measureForeign(clones)
		return metrics, histograms
	})
	unrated, err := rated(own, &m)
	if err != nil {
		return m, err
	}
	if err := plausible(m); err != nil {
		return m, err
	}
	setDepths(jobs, m.Metrics)
	describeForeign(m.Parts, jobs)
	m.Notes = slices.Concat(m.Notes, notes(jobs, all, m.Metrics), foreignNotes(jobs, m, lost), failedIOs(own, m.Metrics), said, contradictions(own), derivedTimes(own), unrated, idleJobs(own))
	m.Input, m.DirectIO = inputOf(jobs), directOf(jobs)
	together := slices.ContainsFunc(own, func(j foreignJob) bool { return j.processes > 0 })
	if together || slices.ContainsFunc(jobs, func(j job) bool { return j.clones() > reported(all, j.name) }) {
		// What fio reports together has CPU time that is the mean of a clone, and not the cores of all.
		leaveOut(m, "cpu.user", "cpu.system")
	}
	if slices.ContainsFunc(own, func(j foreignJob) bool { return j.stands() }) {
		leaveOut(m, result.DepthAsked, result.DepthKept) // of jobs of which fio printed one
	}
	return m, nil
}

// leaveOut removes metrics of the whole and of all parts.
func leaveOut(m result.Measurement, names ...string) {
	for _, metrics := range allMetrics(m) {
		for _, name := range names {
			delete(metrics, name)
		}
	}
}

// failedIOs notes what failed in a job that went on (continue_on_error), and counts it: as the operation's where
// it is clear which one failed, and else as the whole workload's.
func failedIOs(own []foreignJob, metrics result.Metrics) []string {
	var n uint64
	for _, j := range own {
		n += j.Errors
	}
	if n == 0 {
		return nil
	}
	name := "errors"
	if ops := measured(metrics); len(ops) == 1 {
		name = ops[0] + "." + name
	}
	metrics.Set(name, result.Count, float64(n))
	return []string{fmt.Sprintf("%d I/Os failed, and fio went on (continue_on_error)", n)}
}

// plausible refuses values that no storage has and JSON cannot hold.
func plausible(m result.Measurement) error {
	for _, metrics := range allMetrics(m) {
		for name, v := range metrics {
			if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 {
				return foreign(fmt.Sprintf("its numbers are impossible: %s is %v", name, v.Value), "check whether the file was changed")
			}
		}
	}
	return nil
}

// reported is how many entries fio has for a job: one for each clone, unless they are
// reported as a group.
func reported(clones []*jobOutput, name string) uint64 {
	var n uint64
	for _, c := range clones {
		if c.Name == name {
			n++
		}
	}
	return n
}

func allMetrics(m result.Measurement) []result.Metrics {
	all := []result.Metrics{m.Metrics}
	for _, part := range m.Parts {
		all = append(all, part.Metrics)
	}
	return all
}

func foreign(message, remedy string) *trial.Failure {
	return &trial.Failure{Class: reason.InvalidSpec, Message: message, Remedy: remedy}
}

// measureForeign is measure, with fio's own percentiles where there is no histogram
// and they are those of one clone. lost: of several clones, which cannot be merged.
func measureForeign(clones []*jobOutput) (metrics result.Metrics, histograms result.Histograms, lost bool) {
	metrics, histograms = measure(clones)
	for _, op := range operations {
		if metrics[op+".bytes"].Value == 0 { // the document does not say how many
			delete(metrics, op+".bytes")
			delete(metrics, op+".bandwidth")
		}
		if own := printedBandwidth(clones, op); own > 0 {
			metrics.Set(op+".bandwidth", result.BytesPerSecond, own)
		}
	}
	for _, op := range append(slices.Clone(operations), "sync") {
		for name, pick := range latenciesOf(op) {
			meanAlone(clones, name, pick, metrics)
			if _, ok := metrics[name+".p50"]; ok {
				continue
			}
			lost = ownPercentiles(clones, name, pick, metrics) || lost
		}
	}
	return metrics, histograms, lost
}

// latenciesOf are the kinds of latency of an operation, by the name of their metrics.
func latenciesOf(op string) map[string]func(*jobOutput) *latency {
	if op == "sync" {
		return map[string]func(*jobOutput) *latency{"sync.latency": func(c *jobOutput) *latency { return &c.Sync.Latency }}
	}
	return map[string]func(*jobOutput) *latency{
		op + ".latency":    func(c *jobOutput) *latency { return &c.direction(op).Total },
		op + ".completion": func(c *jobOutput) *latency { return &c.direction(op).Completion },
		op + ".submission": func(c *jobOutput) *latency { return &c.direction(op).Submission },
	}
}

// meanAlone sets the mean where the document has it without the maximum.
func meanAlone(clones []*jobOutput, name string, pick func(*jobOutput) *latency, metrics result.Metrics) {
	var d delays
	for _, c := range clones {
		d.add(pick(c))
	}
	if d.n > 0 && d.max == 0 && d.sum > 0 {
		metrics.Set(name+".mean", result.Seconds, d.sum/float64(d.n)/1e9)
	}
}

// shownPercentiles are those that have a metric.
var shownPercentiles = []float64{50, 95, 99, 99.9, 99.99}

// ownPercentiles sets the percentiles that fio computed, if those of one clone are all.
func ownPercentiles(clones []*jobOutput, name string, pick func(*jobOutput) *latency, metrics result.Metrics) (lost bool) {
	var own []*latency
	for _, c := range clones {
		if l := pick(c); l.N > 0 && len(l.Percentiles) > 0 {
			own = append(own, l)
		}
	}
	if len(own) != 1 {
		return len(own) > 1
	}
	for key, ns := range own[0].Percentiles {
		p, err := strconv.ParseFloat(key, 64)
		if err != nil || !slices.Contains(shownPercentiles, p) {
			continue
		}
		metrics.Set(name+".p"+strconv.FormatFloat(p, 'f', -1, 64), result.Seconds, ns/1e9)
	}
	return false
}

func foreignNotes(jobs []job, m result.Measurement, lost bool) []string {
	var out []string
	if len(m.Histograms) == 0 {
		out = append(out, "no histograms (--output-format=json, not json+): percentiles are fio's own and cannot be pooled over repeats")
	}
	if lost {
		out = append(out, "percentiles of several clones or jobs cannot be merged without histograms and are left out")
	}
	if m.Stderr != "" {
		out = append(out, "fio printed before its result: "+m.Stderr)
	}
	known := slices.ContainsFunc(jobs, func(j job) bool { return len(j.options) > 0 })
	if known && !slices.ContainsFunc(jobs, job.direct) {
		out = append(out, "no job has direct=1: reads may come from memory, and writes may end there")
	}
	return out
}
