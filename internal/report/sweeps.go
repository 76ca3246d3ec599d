package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"storagebench.io/storagebench/internal/result"
)

// Setting is what a point of a sweep sets: iodepth=8, bs=4k.
func Setting(s result.Sweep, p result.SweepPoint) string {
	var parts []string
	for i, name := range s.Parameters[:min(len(s.Parameters), len(p.Values))] {
		parts = append(parts, name+"="+p.Values[i])
	}
	return strings.Join(parts, ", ")
}

// SweepNotes say of each point of a sweep that it is the best, or cannot be told from it, or does not count, and
// which verdicts qualify its number. rows are those of the run.
func SweepNotes(rows []result.Row, s result.Sweep) []string {
	var here []result.Row
	for i := range rows {
		if r := &rows[i]; r.Target == s.Target && r.Node == s.Node && r.Part == "" {
			here = append(here, *r)
		}
	}
	notes := make([]string, len(s.Points))
	for i, p := range s.Points {
		notes[i] = sweepNote(s, i)
		at := slices.IndexFunc(here, func(r result.Row) bool { return r.Workload == p.Workload && r.Variant == p.Variant })
		if at < 0 || p.Estimate == nil || len(p.InvalidatedBy) > 0 {
			continue
		}
		if names := Qualified(here[at], s.Metric); len(names) > 0 {
			notes[i] = strings.TrimPrefix(notes[i]+"; qualified: "+strings.Join(names, ", "), "; ")
		}
	}
	return notes
}

func sweepNote(s result.Sweep, i int) string {
	p := s.Points[i]
	switch {
	case s.Knee != nil && p.Over:
		return "not kept"
	case s.Knee != nil:
		return ""
	case s.Best != nil && *s.Best == i:
		return "best"
	case len(p.InvalidatedBy) > 0:
		return "invalid: " + strings.Join(p.InvalidatedBy, ", ")
	case p.Tied:
		return "not told from the best"
	default:
		return ""
	}
}

// IntervalText is an estimate's interval, or that there is none.
func IntervalText(e *result.Interval, unit string) string {
	switch {
	case e == nil:
		return "-"
	case e.Low == nil || e.High == nil:
		return "n < 6"
	default:
		return Value(*e.Low, unit) + "–" + Value(*e.High, unit)
	}
}

// EstimateText is an estimate's median, or that there is none.
func EstimateText(e *result.Interval, unit string) string {
	if e == nil {
		return "-"
	}
	return Value(e.Median, unit)
}

// SweepPlace names a sweep: oltp.variant on fast, node-a.
func SweepPlace(s result.Sweep) string {
	name := s.Workload
	if s.Variant != "" {
		name += "." + s.Variant
	}
	return name + " on " + s.Target + ", " + s.Node
}

// Sweeps writes the curve of each sweep, and its answer.
func Sweeps(w io.Writer, s result.Summary) error {
	for _, sweep := range s.Sweeps {
		fmt.Fprintf(w, "\nsweep of %s: %s.\n", SweepPlace(sweep), sweep.Sentence)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, name := range sweep.Parameters {
			fmt.Fprintf(tw, "%s\t", strings.ToUpper(name))
		}
		fmt.Fprintf(tw, "N\t%s\t95%% INTERVAL\tP99\t\n", strings.ToUpper(cmp.Or(MetricName(sweep.Metric), "-")))
		notes := SweepNotes(s.Rows, sweep)
		for i, p := range sweep.Points {
			for _, v := range p.Values {
				fmt.Fprintf(tw, "%s\t", v)
			}
			fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\n", p.N, EstimateText(p.Estimate, sweep.Unit), IntervalText(p.Estimate, sweep.Unit), EstimateText(p.Latency, result.Seconds), notes[i])
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}
