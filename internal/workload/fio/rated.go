package fio

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// rated leaves out operations of which nobody can say how many there were in a second, and returns a note on each. It
// refuses a document of which nothing is left, and one of which a rate would be that of some jobs only.
func rated(own []foreignJob, m *result.Measurement) (out []string, err error) {
	var first error
	left := 0
	for _, op := range operations {
		counted := m.Metrics[op+".ios"].Value > 0
		why, rate := uncounted(own, op)
		remedy := "provide the whole document, as fio wrote it"
		switch {
		case rate && counted:
			return nil, foreign(why, remedy)
		case counted && m.Metrics[op+".iops"].Value == 0:
			why, remedy = fmt.Sprintf("fio reports %ss but no run time, so that they have no rate", op), "run fio for longer than a millisecond, and provide the whole document"
		case counted:
			left++
			if out = append(out, unratedParts(m, op)...); why != "" {
				out = append(out, why+": they are left out")
			}
			continue
		case why == "":
			continue
		}
		if first == nil {
			first = foreign(why, remedy)
		}
		out = append(out, why+": they are left out")
		dropOperation(m, op)
	}
	switch {
	case left > 0:
	case first != nil:
		return nil, first
	default:
		return nil, foreign("fio reports no reads, writes or trims", "run it without unified_rw_reporting, and long enough for an I/O to complete")
	}
	m.Operations = measured(m.Metrics)
	for i := range m.Parts {
		if p := &m.Parts[i]; len(p.Operations) > 0 {
			p.Operations = measured(p.Metrics)
		}
	}
	return out, nil
}

// uncounted says of which job fio printed what it did of an operation, but not how often, and whether that is a rate; empty: of none.
func uncounted(own []foreignJob, op string) (why string, rate bool) {
	for i := range own {
		d := own[i].direction(op)
		var what string
		switch {
		case d.IOs > 0:
			continue
		case d.IOPS > 0:
			what = "iops"
		case d.BytesPerSecond > 0 || d.KiBPerSecond > 0:
			what = "a bandwidth"
		case d.Bytes > 0:
			what = "bytes"
		default:
			continue
		}
		missing := "neither their number nor a run time"
		if d.Runtime > 0 {
			missing = "not their number"
		}
		return fmt.Sprintf("of the %ss of the %s, the document has %s, but %s", op, own[i].named(), what, missing), what != "bytes"
	}
	return "", false
}

// unratedParts leaves out an operation of the parts that have no run time for it.
func unratedParts(m *result.Measurement, op string) []string {
	var out []string
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Metrics[op+".ios"].Value > 0 && p.Metrics[op+".iops"].Value == 0 {
			out = append(out, fmt.Sprintf("%s: fio reports %ss but no run time, so that they have no rate: they are left out", clip(p.Name), op))
			dropMetrics(p.Metrics, p.Histograms, op)
		}
	}
	return out
}

func dropOperation(m *result.Measurement, op string) {
	dropMetrics(m.Metrics, m.Histograms, op)
	for i := range m.Parts {
		dropMetrics(m.Parts[i].Metrics, m.Parts[i].Histograms, op)
	}
}

func dropMetrics(metrics result.Metrics, histograms result.Histograms, op string) {
	for name := range metrics {
		if strings.HasPrefix(name, op+".") {
			delete(metrics, name)
		}
	}
	delete(histograms, op)
	delete(histograms, op+".completion")
}

// stands reports whether a job stands for others as well: more processes ran than it has clones.
func (j *foreignJob) stands() bool {
	return !j.sums() && j.processes > max(1, number(j.settings()["numjobs"]))
}

// ofOne are options that jobs differ in that are otherwise alike.
var ofOne = []string{"numjobs", "filename", "directory", "nrfiles", "offset"}

// merged notes jobs that stand for others, and removes from their options what is of one of these only. With
// group_reporting fio adds up all jobs of a group, under the name of the first, and prints the options of one.
func merged(own []foreignJob) []string {
	var out []string
	for i := range own {
		j := &own[i]
		if !j.stands() {
			continue
		}
		var of []string
		j.Options = maps.Clone(j.Options)
		for _, name := range ofOne {
			if value, ok := j.Options[name]; ok {
				of = append(of, clip(name+"="+value))
				delete(j.Options, name)
			}
		}
		text := fmt.Sprintf("the %s stands for at least %d processes of several jobs, which fio reported together (group_reporting): it has the name of the first, and the options of one of them", j.named(), j.processes)
		if len(of) > 0 {
			text += ", of which " + strings.Join(of, " ") + " are left out"
		}
		out = append(out, text)
	}
	return out
}

// unfinished notes jobs that were still running.
func unfinished(own []foreignJob) []string {
	const unknown = 1<<31 - 1 // fio does not know how long
	for i := range own {
		if j := &own[i]; j.Left > 0 && j.Left < unknown {
			return []string{fmt.Sprintf("the %s had %.0f s to go when fio printed this (eta): these are the numbers so far, and not those of the whole run", j.named(), float64(j.Left))}
		}
	}
	return nil
}

// derivedTimes notes operations whose run time is not in the document.
func derivedTimes(own []foreignJob) []string {
	var of []string
	for _, op := range operations {
		if slices.ContainsFunc(own, func(j foreignJob) bool { d := j.direction(op); return d.derived && d.IOs > 0 }) {
			of = append(of, op+"s")
		}
	}
	if len(of) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the document has no run time of the %s: it is worked out from their number and IOPS, and rates are as fio printed them", strings.Join(of, " and "))}
}

// printedBandwidth is fio's own where the run time is only worked out from the IOPS; 0: it is not known.
func printedBandwidth(clones []*jobOutput, op string) float64 {
	const kibi = 1024
	var printed float64
	n := 0
	for _, c := range clones {
		if d := c.direction(op); d.IOs > 0 {
			if n++; d.derived {
				printed = max(d.BytesPerSecond, 0)
				if printed == 0 {
					printed = max(d.KiBPerSecond*kibi, 0)
				}
			}
		}
	}
	if n != 1 {
		return 0
	}
	return printed
}
