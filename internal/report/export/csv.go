package export

import (
	"cmp"
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// Rows writes one line for each row and metric, in SI base units, for programs. What a
// metric lacks, such as an interval with too few trials, is empty; verdicts says what the number
// is worth. Of n trials, bounds only gave a lower bound; at_least says that the median is one.
func Rows(w io.Writer, s result.Summary) error {
	lines := [][]string{{"target", "node", "workload", "variant", "metric", "unit", "n", "median", "low", "high", "pooled", "part", "verdicts", "bounds", "at_least"}}
	for _, row := range s.Rows {
		for _, name := range slices.Sorted(maps.Keys(row.Metrics)) {
			e := row.Metrics[name]
			lines = append(lines, []string{
				cell(row.Target), cell(row.Node), cell(row.Workload), cell(row.Variant), cell(name), cell(e.Unit), strconv.Itoa(e.N),
				plain(&e.Median), plain(e.Low), plain(e.High), plain(e.Pooled), cell(row.Part),
				cell(report.Worth(row, report.OperationOf(row, name))), strconv.Itoa(e.Bounds), strconv.FormatBool(e.AtLeast),
			})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// Trials writes one line for each trial and metric, of the whole and of each part. A trial that
// was not measured has one line without a metric, and its failure.
func Trials(w io.Writer, workers []report.WorkerTrials) error {
	lines := [][]string{{"target", "node", "workload", "variant", "part", "trial", "repeat", "attempt", "outcome", "started", "ended", "metric", "unit", "value", "at_least", "verdicts", "failure"}}
	for _, w := range workers {
		for _, t := range w.Trials {
			line := func(part, metric string, m result.Metric, value, verdicts, failure string) {
				lines = append(lines, []string{
					cell(w.Worker.Target), cell(w.Worker.Node), cell(t.Workload), cell(t.Variant), cell(part), cell(t.ID), strconv.Itoa(t.Repeat), strconv.Itoa(t.Attempt),
					cell(string(t.Outcome)), instant(t.StartedAt), instant(t.EndedAt), cell(metric), cell(m.Unit), value, strconv.FormatBool(m.AtLeast), cell(verdicts), cell(failure),
				})
			}
			if t.Failure != nil || t.Outcome != result.Measured {
				failure := ""
				if t.Failure != nil {
					failure = t.Failure.Error()
				}
				line("", "", result.Metric{}, "", "", failure)
				continue
			}
			for _, part := range append([]result.PartSummary{{Metrics: t.Metrics, Operations: t.Operations}}, t.Parts...) {
				for _, name := range slices.Sorted(maps.Keys(part.Metrics)) {
					m := part.Metrics[name]
					line(part.Name, name, m, plain(&m.Value), worth(t, part, name), "")
				}
			}
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// worth of a metric of one part of a trial, or of the whole.
func worth(t result.TrialSummary, part result.PartSummary, metric string) string {
	var verdicts []result.RowVerdict
	for _, v := range t.Verdicts {
		if v.OnRow(part.Name) {
			verdicts = append(verdicts, result.RowVerdict{Verdict: v, Trials: 1})
		}
	}
	row := result.Row{Operations: part.Operations, Verdicts: verdicts}
	return report.Worth(row, report.OperationOf(row, metric))
}

// Comparisons writes one line for each metric of each comparison: the medians of both sides,
// their ratio and difference with the 95 % intervals, and which of the two sides is invalid and why.
func Comparisons(w io.Writer, s result.Summary) error {
	lines := [][]string{{
		"target", "node", "workload", "part", "variant", "control", "metric", "unit", "pairs", "bounds", "control_median", "variant_median",
		"ratio", "ratio_low", "ratio_high", "difference", "difference_low", "difference_high", "verdicts",
	}}
	for _, c := range s.Comparisons {
		rows := rowsOf(s.Rows, c)
		for _, name := range slices.Sorted(maps.Keys(c.Metrics)) {
			m := c.Metrics[name]
			ratio := cmp.Or(m.Ratio, &result.Interval{})
			median := ""
			if m.Ratio != nil {
				median = plain(&ratio.Median)
			}
			lines = append(lines, []string{
				cell(c.Target), cell(c.Node), cell(c.Workload), cell(c.Part), cell(c.Variant), cell(c.Control), cell(name), cell(m.Unit),
				strconv.Itoa(m.Pairs), strconv.Itoa(m.Bounds), plain(&m.Control), plain(&m.Variant), median, plain(ratio.Low), plain(ratio.High),
				plain(&m.Difference.Median), plain(m.Difference.Low), plain(m.Difference.High),
				cell(report.InvalidArms(rows, c, name)),
			})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// rowsOf are the few rows among which both sides of a comparison are, so that not all are searched for each metric.
func rowsOf(rows []result.Row, c result.Comparison) []result.Row {
	var out []result.Row
	for i := range rows {
		if r := &rows[i]; r.Node == c.Node && r.Workload == c.Workload && r.Part == c.Part {
			out = append(out, *r)
		}
	}
	return out
}

// Sweeps writes one line for each point of each sweep: what was set, the estimate of the sweep's metric,
// the p99 beside it, and a note that names the verdicts on it.
func Sweeps(w io.Writer, s result.Summary) error {
	lines := [][]string{{"target", "node", "workload", "variant", "setting", "row_workload", "row_variant", "metric", "unit", "n", "median", "low", "high", "p99", "note"}}
	for _, sweep := range s.Sweeps {
		notes := report.SweepNotes(s.Rows, sweep)
		for i, p := range sweep.Points {
			e, p99 := cmp.Or(p.Estimate, &result.Interval{}), ""
			median := ""
			if p.Estimate != nil {
				median = plain(&e.Median)
			}
			if p.Latency != nil {
				p99 = plain(&p.Latency.Median)
			}
			lines = append(lines, []string{
				cell(sweep.Target), cell(sweep.Node), cell(sweep.Workload), cell(sweep.Variant), cell(report.Setting(sweep, p)), cell(p.Workload), cell(p.Variant),
				cell(sweep.Metric), cell(sweep.Unit), strconv.Itoa(p.N), median, plain(e.Low), plain(e.High), p99, cell(notes[i]),
			})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// cell is a text as a spreadsheet must show it: one that begins like a formula gets an apostrophe,
// and then no spreadsheet calculates it.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

func plain(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
