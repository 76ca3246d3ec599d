package fio

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/printed"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Report is one run of fio that a text holds.
type Report struct {
	// Title is the heading above it, or empty, and Section what stands above that.
	Title, Section string
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
		if human.Match(f.before) {
			own[0].Measurement.Notes = append(own[0].Measurement.Notes, "the text also has human-readable output of fio, which is not read")
		}
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
	machines := machinesOf(f.all())
	slices.SortStableFunc(machines, func(a, b string) int { return cmp.Compare(sumLast(a), sumLast(b)) })
	for _, machine := range machines {
		own := slices.DeleteFunc(slices.Clone(f.all()), func(j foreignJob) bool { return j.machine() != machine })
		m, err := measurementOf(own, f.Global, saidBefore(f.before))
		if err != nil {
			return nil, err
		}
		if f.states > 0 {
			m.Notes = append(m.Notes, fmt.Sprintf("%d earlier states of the same run are left out (--status-interval): the last one has the whole", f.states))
		}
		r := Report{Title: title.Text, Section: above.outline.Above(title), Within: f.within, Machine: machine, Settings: settingsOf(own, f.Global), Groups: groupsAmong(own), Measurement: m}
		if machine == allClients && len(machines) > 1 && !f.sum(&r, reports) {
			continue
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// sumLast sorts the sum of all clients behind them.
func sumLast(machine string) int {
	if machine == allClients {
		return 1
	}
	return 0
}

// sum completes the report of all clients with what is known of each. False: there is no sum of
// groups that ran one after the other, and fio adds them up as if they had run together.
func (f *foundDocument) sum(r *Report, machines []Report) bool {
	apart := slices.ContainsFunc(machines, func(m Report) bool { return m.Groups > 1 })
	if apart {
		notes := &machines[0].Measurement.Notes
		*notes = append(*notes, "fio's sum of all machines is left out: it adds up groups that ran one after the other as if they had run together")
		return false
	}
	own := slices.DeleteFunc(slices.Clone(f.all()), func(j foreignJob) bool { return j.machine() == allClients })
	jobs := jobsOf(own, f.Global)
	r.Sum, r.Settings = true, settingsOf(own, f.Global)
	r.Settings["machines"] = strings.Join(slices.Sorted(slices.Values(machinesOf(own))), ",")
	r.Measurement.Input, r.Measurement.DirectIO = inputOf(jobs), directOf(jobs)
	r.Measurement.Notes = append(r.Measurement.Notes, fmt.Sprintf("%s is fio's sum of all %d machines, not a machine of its own", allClients, len(machines)))
	return true
}

// measurementOf folds the jobs that ran on one machine.
func measurementOf(own []foreignJob, global map[string]any, messages string) (result.Measurement, error) {
	grouping := slices.Concat(join(own, global), distinct(own))
	jobs := jobsOf(own, global)
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
	if err := rated(all, m); err != nil {
		return m, err
	}
	if err := plausible(m); err != nil {
		return m, err
	}
	setDepths(jobs, m.Metrics)
	describeForeign(m.Parts, jobs)
	m.Notes = slices.Concat(m.Notes, notes(jobs, all, m.Metrics), foreignNotes(jobs, m, lost), failedIOs(own, m.Metrics), grouping, contradictions(own), idleJobs(own))
	m.Input, m.DirectIO = inputOf(jobs), directOf(jobs)
	if slices.ContainsFunc(jobs, func(j job) bool { return j.clones() > reported(all, j.name) }) {
		// With group_reporting fio adds the run times of clones, and CPU time over that is
		// the mean of a clone and not the cores of all.
		for _, metrics := range allMetrics(m) {
			delete(metrics, "cpu.user")
			delete(metrics, "cpu.system")
		}
	}
	return m, nil
}

// rated refuses a document without a rate.
func rated(clones []*jobOutput, m result.Measurement) error {
	none := true
	for _, op := range operations {
		for _, c := range clones {
			if d := c.direction(op); d.IOs == 0 && d.IOPS > 0 {
				return foreign(fmt.Sprintf("the job %s has iops of %ss, but neither their number nor a run time", clip(c.Name), op), "provide the whole document, as fio wrote it")
			}
		}
		if _, ok := m.Metrics[op+".ios"]; !ok {
			continue
		}
		if none = false; m.Metrics[op+".iops"].Value == 0 {
			return foreign(fmt.Sprintf("fio reports %ss but no run time, so that they have no rate", op), "provide the whole document of a fio that ran for longer than a millisecond")
		}
	}
	if none {
		return foreign("fio reports no reads, writes or trims", "run it without unified_rw_reporting, and long enough for an I/O to complete")
	}
	return nil
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
	}
	for _, op := range append(slices.Clone(operations), "sync") {
		for name, pick := range latenciesOf(op) {
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
