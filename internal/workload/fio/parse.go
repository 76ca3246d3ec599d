package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// firstKey is how fio's document begins.
const firstKey = `"fio version"`

// Parse reads the output of a fio that somebody else has run: json+, or json, which has
// no histograms: then the percentiles are fio's own, where they are those of one
// process or group. If there are several documents, as --status-interval prints them, it
// reads the last, which has the whole. It is pure. Its errors are *trial.Failure.
func Parse(output []byte) (result.Measurement, error) {
	d, messages, err := lastDocument(output)
	if err != nil {
		return result.Measurement{}, err
	}
	if err := d.check(); err != nil {
		return result.Measurement{}, err
	}
	jobs := jobsOf(output, d)
	m := result.Measurement{Stderr: messages}
	var all []*jobOutput
	for i := range d.Jobs {
		all = append(all, &d.Jobs[i])
	}
	metrics, histograms, lost := measureForeign(all)
	m.Metrics, m.Histograms = metrics, histograms
	m.Operations = measured(metrics)
	byName := map[string][]*jobOutput{}
	for _, c := range all {
		byName[c.Name] = append(byName[c.Name], c)
	}
	addParts(&m, jobs, byName, func(clones []*jobOutput) (result.Metrics, result.Histograms) {
		metrics, histograms, _ := measureForeign(clones)
		return metrics, histograms
	})
	if !slices.ContainsFunc(operations, func(op string) bool { _, ok := m.Metrics[op+".ios"]; return ok }) {
		return result.Measurement{}, foreign("fio reports no reads, writes or trims", "run it without unified_rw_reporting, and long enough for an I/O to complete")
	}
	if err := plausible(m); err != nil {
		return result.Measurement{}, err
	}
	m.Notes = slices.Concat(m.Notes, notes(jobs, all, m.Metrics), foreignNotes(jobs, m, lost))
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

const remedyFormat = "run fio with --output-format=json+ --output=FILE"

// lastDocument finds the last document by its first key.
func lastDocument(output []byte) (d *document, messages string, err error) {
	end := bytes.LastIndex(output, []byte(firstKey))
	start := bytes.LastIndexByte(output[:max(end, 0)], '{')
	switch {
	case end < 0 && (bytes.Contains(output, []byte("Run status group")) || bytes.Contains(output, []byte("clat ("))):
		return nil, "", foreign("this is fio's human-readable output, which omits most of the results", remedyFormat)
	case end < 0 && bytes.HasPrefix(bytes.TrimSpace(output), []byte("3;fio-")):
		return nil, "", foreign("this is fio's terse output, which omits most of the results", remedyFormat)
	case start < 0 || len(bytes.TrimSpace(output[start+1:end])) > 0:
		return nil, "", foreign("the file contains no JSON from fio", remedyFormat)
	}
	d = &document{}
	if err := json.NewDecoder(bytes.NewReader(output[start:])).Decode(d); err != nil {
		return nil, "", foreign(fmt.Sprintf("fio's JSON is incomplete or damaged: %v", err), "let fio run to its end")
	}
	before := output[:start]
	if first := bytes.Index(before, []byte(firstKey)); first >= 0 {
		before = before[:max(bytes.LastIndexByte(before[:first], '{'), 0)]
	}
	return d, clip(clean(before)), nil
}

// check refuses what is no measurement, or in units that are not known.
func (d *document) check() error {
	for _, old := range []string{"fio-1.", "fio-2."} {
		if strings.HasPrefix(d.Version, old) {
			return foreign(fmt.Sprintf("%s is too old: its bandwidths and latencies are in other units", clip(d.Version)), "run fio 3 or later")
		}
	}
	if len(d.Jobs) == 0 {
		return foreign("fio's JSON has no jobs", "run fio without --client: results collected from servers are not supported")
	}
	for _, j := range d.Jobs {
		if j.Error != 0 {
			return foreign(fmt.Sprintf("the job %s failed: %v", clip(j.Name), syscall.Errno(j.Error)), "fix the job and run it again: results of a failed job do not count")
		}
	}
	return nil
}

// measureForeign is measure, with fio's own percentiles where there is no histogram
// and they are those of one clone. lost: of several clones, which cannot be merged.
func measureForeign(clones []*jobOutput) (metrics result.Metrics, histograms result.Histograms, lost bool) {
	metrics, histograms = measure(clones)
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
	for p, key := range map[string]string{"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p99.9": "99.900000", "p99.99": "99.990000"} {
		if ns, ok := own[0].Percentiles[key]; ok {
			metrics.Set(name+"."+p, result.Seconds, ns/1e9)
		}
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

// jobsOf are the jobs by name, in the order of the output, with the options that fio
// repeats in it. They are somebody else's, and only read for notes.
func jobsOf(output []byte, d *document) []job {
	var extra struct {
		Global map[string]any `json:"global options"`
		Jobs   []struct {
			Options map[string]any `json:"job options"`
		} `json:"jobs"`
	}
	start := bytes.LastIndexByte(output[:max(bytes.LastIndex(output, []byte(firstKey)), 0)], '{')
	// What cannot be read is not needed: the options only make notes.
	_ = json.NewDecoder(bytes.NewReader(output[max(start, 0):])).Decode(&extra)
	var jobs []job
	for i, o := range d.Jobs {
		if slices.ContainsFunc(jobs, func(j job) bool { return j.name == o.Name }) {
			continue
		}
		j := job{name: o.Name, options: map[string]string{}}
		for key, value := range extra.Global {
			j.options[key] = fmt.Sprint(value)
		}
		if i < len(extra.Jobs) {
			for key, value := range extra.Jobs[i].Options {
				j.options[key] = fmt.Sprint(value)
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}
