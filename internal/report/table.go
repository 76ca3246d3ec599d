package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"storagebench.io/storagebench/internal/result"
)

// Table writes one line for each row and operation: medians with their 95 %
// intervals, and percentiles of the merged histograms.
func Table(w io.Writer, s result.Summary) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TARGET\tNODE\tWORKLOAD\tOPERATION\tN\tIOPS\t95% INTERVAL\tBANDWIDTH\tP50\tP99\tP99.9")
	for _, row := range s.Rows {
		for _, op := range Operations(row) {
			iops, bandwidth := row.Metrics[op+".iops"], row.Metrics[op+".bandwidth"]
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n",
				row.Target, row.Node, row.Workload, op, row.N,
				Number(iops.Median), interval(iops), BytesPerSecond(bandwidth.Median),
				percentile(row, op, "p50"), percentile(row, op, "p99"), percentile(row, op, "p99.9"))
		}
	}
	return tw.Flush()
}

// Operations of a row that have a rate: read, trim, write.
func Operations(row result.Row) []string {
	var ops []string
	for name := range row.Metrics {
		if op, ok := strings.CutSuffix(name, ".iops"); ok {
			ops = append(ops, op)
		}
	}
	slices.Sort(ops)
	return ops
}

// Headline is a run in one line: the first row's operations, and the range over
// the other rows if there are any.
func Headline(s result.Summary) string {
	if len(s.Rows) == 0 {
		return ""
	}
	first := s.Rows[0]
	var parts []string
	for _, op := range Operations(first) {
		low, high, p99 := math.Inf(1), 0.0, 0.0
		for _, row := range s.Rows {
			if row.Workload != first.Workload {
				continue
			}
			v := row.Metrics[op+".iops"].Median
			low, high = min(low, v), max(high, v)
			if p := row.Metrics[op+".latency.p99"].Pooled; p != nil {
				p99 = max(p99, *p)
			}
		}
		text := fmt.Sprintf("%s %s", op, Number(low))
		if Number(high) != Number(low) {
			text += "–" + Number(high)
		}
		text += " IOPS"
		if p99 > 0 {
			text += ", p99 ≤ " + Seconds(p99)
		}
		parts = append(parts, text)
	}
	return first.Workload + ": " + strings.Join(parts, "; ")
}

func percentile(row result.Row, op, p string) string {
	e, ok := row.Metrics[op+".latency."+p]
	switch {
	case !ok:
		return "-"
	case e.Pooled != nil:
		return Seconds(*e.Pooled)
	default:
		return Seconds(e.Median)
	}
}

func interval(e result.Estimate) string {
	if e.Low == nil || e.High == nil {
		return "n < 6"
	}
	return Number(*e.Low) + "–" + Number(*e.High)
}

// Number writes three significant digits with a decimal prefix: 12.3k.
func Number(v float64) string { return scaled(v, 1000, []string{"", "k", "M", "G", "T"}) }

// BytesPerSecond writes a rate in binary units: 12.3 MiB/s.
func BytesPerSecond(v float64) string {
	return scaled(v, 1024, []string{" B/s", " KiB/s", " MiB/s", " GiB/s", " TiB/s"})
}

// Bytes writes a size in binary units: 12.3 MiB.
func Bytes(v float64) string { return strings.TrimSuffix(BytesPerSecond(v), "/s") }

// Seconds writes a latency in the unit that fits it: 310µs.
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

// digits writes three significant digits, without an exponent.
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
