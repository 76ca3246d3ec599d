package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"storagebench.io/storagebench/internal/result"
)

// Table writes one line for each row and operation: medians with their 95 %
// intervals, and percentiles of the merged histograms. The interval is that of the
// rate, or of the bandwidth for an operation without a rate.
func Table(w io.Writer, s result.Summary) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	variants := slices.ContainsFunc(s.Rows, func(r result.Row) bool { return r.Variant != "" })
	parts := slices.ContainsFunc(s.Rows, func(r result.Row) bool { return r.Part != "" })
	judged := slices.ContainsFunc(s.Rows, func(r result.Row) bool { return len(r.Verdicts) > 0 || r.TrialSeconds > 0 })
	volumes := slices.ContainsFunc(s.Rows, func(r result.Row) bool { return r.Volumes > 0 })
	fmt.Fprintln(tw, "TARGET\tNODE\tWORKLOAD"+column(variants, "VARIANT")+column(parts, "PART")+"\tOPERATION\tN"+column(volumes, "VOLUMES")+"\tPER SECOND\t95% INTERVAL\tBANDWIDTH\tP50\tP99\tP99.9"+column(judged, "VERDICT"))
	for _, row := range s.Rows {
		for _, op := range Operations(row) {
			l := LineOf(row, op)
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d%s\t%s\t%s\t%s\t%s\t%s\t%s%s\n",
				row.Target, row.Node, row.Workload+column(variants, row.Variant)+column(parts, PartName(s.Rows, row)), op,
				l.N, column(volumes, strconv.Itoa(max(row.Volumes, 1))), l.Rate, l.Interval, l.Bandwidth, l.P50, l.P99, l.P999, column(judged, cmp.Or(Worth(row, op), "-")))
		}
	}
	return tw.Flush()
}

// rateOf is an operation's rate, with the one that was offered if the loop was an open one.
func rateOf(row result.Row, op string) string {
	text := median(row, Rate(row, op), Number)
	if offered, ok := row.Metrics[op+".rate.offered"]; ok {
		text += " of " + Number(offered.Median)
	}
	return text
}

// trials is of how many trials an operation's rate is, or else its bandwidth: a tool may give
// none for one that was too fast.
func trials(row result.Row, op string) int {
	for _, name := range []string{Rate(row, op), op + ".bandwidth"} {
		if e, ok := row.Metrics[name]; ok && e.N > 0 {
			return e.N
		}
	}
	return row.N
}

// Line is one operation of a row, as a table shows it.
type Line struct {
	N                                         int
	Rate, Interval, Bandwidth, P50, P99, P999 string
}

// LineOf returns the texts of an operation of a row.
func LineOf(row result.Row, op string) Line {
	return Line{
		N: trials(row, op), Rate: rateOf(row, op), Interval: intervalOf(row, op), Bandwidth: median(row, op+".bandwidth", BytesPerSecond),
		P50: percentile(row, op, "p50"), P99: percentile(row, op, "p99"), P999: percentile(row, op, "p99.9"),
	}
}

// column returns an optional column.
func column(there bool, text string) string {
	if !there {
		return ""
	}
	return "\t" + text
}

// rates are the quantities that are rates, in order of preference.
var quantities = []string{".iops", ".rate", ".bandwidth"}

// Operations returns the operations of a row that have a rate, in the engine's
// order, or sorted by name.
func Operations(row result.Row) []string { return operations(row.Operations, row.Metrics) }

func operations[V any](named []string, metrics map[string]V) []string {
	if len(named) > 0 {
		return named
	}
	ops := map[string]bool{}
	for name := range metrics {
		for _, quantity := range quantities {
			if op, ok := strings.CutSuffix(name, quantity); ok {
				ops[op] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ops))
}

// Rate returns the name of the metric for an operation's rate per second:
// <operation>.iops, or <operation>.rate if the operation is more than one I/O.
func Rate(row result.Row, op string) string {
	if _, ok := row.Metrics[op+".iops"]; ok {
		return op + ".iops"
	}
	return op + ".rate"
}

// headlineOperations is how many operations fit in a headline.
const headlineOperations = 3

// Headline describes a run in one line: the first row's first operations, the range over the
// other rows if there are any, and what the numbers are worth.
func Headline(s result.Summary) string {
	all := s.Single()
	rows := Shown(all)
	if len(rows) == 0 {
		for _, sweep := range s.Sweeps {
			return sweep.Workload + ": " + sweep.Sentence
		}
		return ""
	}
	first := rows[0]
	same := slices.DeleteFunc(slices.Clone(all), func(row result.Row) bool {
		return row.Workload != first.Workload || row.Variant != first.Variant || row.Part != first.Part
	})
	var parts []string
	for _, op := range operationsOf(same) {
		if len(parts) == headlineOperations {
			break
		}
		name, unit, number := rateAmong(same, op), "/s", Number
		switch {
		case name == "":
			continue // a step of another operation, which has only a latency
		case strings.HasSuffix(name, ".bandwidth"):
			unit, number = "", BytesPerSecond
		case strings.HasSuffix(name, ".iops"):
			unit = " IOPS"
		}
		low, high, p99 := math.Inf(1), 0.0, 0.0
		bounds, all, atLeast := 0, 0, false
		var verdicts []result.RowVerdict
		short := 0.0
		for _, row := range same {
			e, ok := row.Metrics[name]
			if !ok {
				continue // a run that did not measure it
			}
			verdicts, short = append(verdicts, row.Verdicts...), max(short, row.TrialSeconds)
			v := e.Median
			bounds, all, atLeast = bounds+e.Bounds, all+e.N, atLeast || e.AtLeast
			low, high = min(low, v), max(high, v)
			if p := row.Metrics[op+".latency.p99"].Pooled; p != nil {
				p99 = max(p99, *p)
			}
		}
		text := number(low)
		if number(high) != number(low) {
			text += "–" + number(high)
		}
		text = op + " " + Bounded(result.Estimate{N: all, Bounds: bounds, AtLeast: atLeast}, text+unit)
		if p99 > 0 {
			text += ", p99 ≤ " + Seconds(p99)
		}
		if worth := worth(verdicts, short, op); worth != "" {
			text += " [" + worth + "]"
		}
		parts = append(parts, text)
	}
	return WithPart(first.Workload, first.Part) + ": " + strings.Join(parts, "; ")
}

// operationsOf returns the operations of rows, each once.
func operationsOf(rows []result.Row) []string {
	var out []string
	for _, row := range rows {
		for _, op := range Operations(row) {
			if !slices.Contains(out, op) {
				out = append(out, op)
			}
		}
	}
	return out
}

// rateAmong is the name of the rate of an operation that the first row with one has; empty: none has any.
func rateAmong(rows []result.Row, op string) string {
	for _, row := range rows {
		for _, name := range []string{Rate(row, op), op + ".bandwidth"} {
			if _, ok := row.Metrics[name]; ok {
				return name
			}
		}
	}
	return ""
}

// percentile of an operation's latency. A report of fio without total latencies has that
// of completion (clat), which is marked as such.
func percentile(row result.Row, op, p string) string {
	if e, ok := row.Metrics[op+".latency."+p]; ok {
		return pooled(e)
	}
	if e, ok := row.Metrics[op+".completion."+p]; ok {
		return "clat " + pooled(e)
	}
	return "-"
}

// pooled is the percentile of all trials' I/Os together, or else the median of the trials'.
func pooled(e result.Estimate) string {
	if e.Pooled != nil {
		return Seconds(*e.Pooled)
	}
	return Seconds(e.Median)
}

// intervalOf returns the interval of an operation's rate, or else of its
// bandwidth.
func intervalOf(row result.Row, op string) string {
	e, number := row.Metrics[Rate(row, op)], Number
	if e.N == 0 {
		e, number = row.Metrics[op+".bandwidth"], BytesPerSecond
	}
	if e.N == 0 {
		return "-"
	}
	if e.Low != nil && e.Bounds > 0 && e.High == nil {
		return "≥ " + number(*e.Low)
	}
	if e.Low == nil || e.High == nil {
		return "n < 6"
	}
	return number(*e.Low) + "–" + number(*e.High)
}

func median(row result.Row, name string, number func(float64) string) string {
	e, ok := row.Metrics[name]
	if !ok {
		return "-"
	}
	return Bounded(e, number(e.Median))
}

// Bounded adds to the text of a median how many of its trials only give a lower bound: ≥ 1.20 GiB/s
// (3 of 6), if the median is one itself.
func Bounded(e result.Estimate, text string) string {
	switch {
	case e.Bounds == 0:
		return text
	case e.AtLeast:
		return fmt.Sprintf("≥ %s (%d of %d)", text, e.Bounds, e.N)
	default:
		return fmt.Sprintf("%s (%d of %d above)", text, e.Bounds, e.N)
	}
}

// Number formats three significant digits with a decimal prefix: 12.3k.
func Number(v float64) string { return scaled(v, 1000, []string{"", "k", "M", "G", "T"}) }

// BytesPerSecond formats a rate in binary units: 12.3 MiB/s.
func BytesPerSecond(v float64) string {
	return scaled(v, 1024, []string{" B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s"})
}

// Bytes formats a size in binary units: 12.3 MiB.
func Bytes(v float64) string { return strings.TrimSuffix(BytesPerSecond(v), "/s") }

// Seconds formats a latency in a suitable unit: 310µs.
func Seconds(v float64) string {
	d := time.Duration(math.Round(v * 1e9))
	switch {
	case d < time.Microsecond:
		return d.String()
	case d < time.Millisecond:
		return digits(v*1e6) + "µs"
	case d < time.Second:
		return digits(v*1e3) + "ms"
	default:
		return digits(v) + "s"
	}
}

func scaled(v, base float64, units []string) string {
	i := 0
	for v >= base*0.9995 && i < len(units)-1 {
		v /= base
		i++
	}
	return digits(v) + units[i]
}

// digits formats three significant digits, without an exponent.
func digits(v float64) string {
	switch {
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
