package compare

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/suggest"
)

// Table writes a line for each metric, and the verdict at the end.
func (c Comparison) Table(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TARGET\tNODE\tWORKLOAD\tMETRIC\tBETTER\tFIRST\tSECOND\tRATIO\tINTERVAL\tVERDICT")
	for _, p := range c.Pairs {
		for _, m := range p.Metrics {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
				change(p.First.Target, p.Second.Target), change(p.First.Node, p.Second.Node), p.First.cell(),
				m.Name, arrow(m.Better), report.InUnit(m.Unit, m.First.Median), report.InUnit(m.Unit, m.Second.Median), ratio(m.Ratio), between(m.Low, m.High), m.Verdict.text())
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, k := range c.OnlyInFirst {
		fmt.Fprintf(w, "only in the first: %s\n", k)
	}
	for _, k := range c.OnlyInSecond {
		fmt.Fprintf(w, "only in the second: %s\n", k)
	}
	for _, d := range c.Differences {
		fmt.Fprintf(w, "differs: %s\n", d)
	}
	for _, n := range c.Notes {
		fmt.Fprintln(w, n)
	}
	for _, reason := range c.reasons() {
		fmt.Fprintln(w, "inconclusive:", reason)
	}
	_, err := fmt.Fprintf(w, "\n%s (allowed regression: %s)\n", c.Verdict.text(), percent(c.MaxRegression))
	return err
}

// reasons returns why metrics have no verdict, each reason once.
func (c Comparison) reasons() []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range c.Pairs {
		for _, m := range p.Metrics {
			if m.Reason != "" && !seen[m.Reason] {
				seen[m.Reason] = true
				out = append(out, m.Reason)
			}
		}
	}
	return out
}

func (v Verdict) text() string {
	switch v {
	case NoWorse:
		return "no worse"
	case Regression:
		return "regression"
	default:
		return "inconclusive"
	}
}

func arrow(d Direction) string {
	if d == Higher {
		return "higher"
	}
	return "lower"
}

func change(first, second string) string {
	if first != second {
		return first + " -> " + second
	}
	return cmp.Or(first, "-")
}

func ratio(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

func between(low, high *float64) string {
	if low == nil || high == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f–%.3f", *low, *high)
}

func percent(v float64) string { return fmt.Sprintf("%.3g %%", v*100) }

// Sentence says in a line why the verdict is what it is: the metrics that regressed, or the first reason.
func (c Comparison) Sentence() string {
	var worse []string
	metrics := 0
	for _, p := range c.Pairs {
		for _, m := range p.Metrics {
			metrics++
			if m.Verdict == Regression && len(worse) < 3 {
				worse = append(worse, fmt.Sprintf("%s of %s is %s times the baseline's (%s)", m.Name, p.Second, ratio(m.Ratio), between(m.Low, m.High)))
			}
		}
	}
	switch {
	case len(worse) > 0:
		return strings.Join(worse, "; ")
	case c.Verdict == NoWorse:
		return fmt.Sprintf("%s within %s", suggest.Count(metrics, "metric"), percent(c.MaxRegression))
	case len(c.OnlyInFirst) > 0:
		return fmt.Sprintf("the baseline has %s that this run has not", suggest.Count(len(c.OnlyInFirst), "row"))
	}
	if reasons := c.reasons(); len(reasons) > 0 {
		return reasons[0]
	}
	return "nothing could be compared"
}
