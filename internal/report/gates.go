package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"storagebench.io/storagebench/internal/result"
)

// Value formats a value in its unit, for people: 12.8ms, 1.20 GiB/s, 5.00k.
func Value(v float64, unit string) string {
	switch unit {
	case result.Seconds:
		return Seconds(v)
	case result.BytesPerSecond:
		return BytesPerSecond(v)
	case result.Bytes:
		return Bytes(v)
	default:
		return Number(v)
	}
}

// MetricName is what people call a metric: sync p99, write IOPS, read bandwidth.
func MetricName(metric string) string {
	if op, ok := strings.CutSuffix(metric, ".iops"); ok {
		return op + " IOPS"
	}
	if op, quantity, ok := strings.Cut(metric, ".latency."); ok {
		return op + " " + quantity
	}
	for _, quantity := range []string{"bandwidth", "rate", "duration"} {
		if op, ok := strings.CutSuffix(metric, "."+quantity); ok {
			return op + " " + quantity
		}
	}
	return metric
}

// GateNumber is what a gate's row measured: sync p99 12.8ms (95 % interval 11.9ms–13.6ms, 6 trials).
func GateNumber(g result.Gate) string {
	if g.Value == nil {
		return "no " + MetricName(g.Metric)
	}
	text := MetricName(g.Metric) + " " + Value(*g.Value, g.Unit)
	trials := fmt.Sprintf("%d trials", g.N)
	if g.N == 1 {
		trials = "1 trial"
	}
	if g.Low != nil && g.High != nil {
		return fmt.Sprintf("%s (95 %% interval %s–%s, %s)", text, Value(*g.Low, g.Unit), Value(*g.High, g.Unit), trials)
	}
	return text + " (" + trials + ")"
}

// GateLimit is a gate's limit: at most 10ms.
func GateLimit(g result.Gate) string {
	if g.AtMost {
		return "at most " + g.Text
	}
	return "at least " + g.Text
}

// GateHeadline describes a run's first gate, which is the one that decides, in one line.
func GateHeadline(s result.Summary) string {
	if len(s.Gates) == 0 {
		return ""
	}
	g := s.Gates[0]
	if g.Value == nil {
		return g.Sentence
	}
	text := MetricName(g.Metric) + " " + Value(*g.Value, g.Unit)
	if g.Low != nil && g.High != nil {
		text += " (" + Value(*g.Low, g.Unit) + "–" + Value(*g.High, g.Unit) + ")"
	}
	text += ", gate " + map[bool]string{true: "≤ ", false: "≥ "}[g.AtMost] + g.Text
	if len(g.InvalidatedBy) > 0 {
		text += " [invalid: " + strings.Join(g.InvalidatedBy, ", ") + "]"
	}
	if more := len(s.Gates) + s.GatesOmitted - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Gates writes a line for each gate, those that are missed first.
func Gates(w io.Writer, s result.Summary) error {
	if len(s.Gates) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "GATE\tTARGET\tNODE\tWORKLOAD\tWHY")
	for _, g := range s.Gates {
		name := WithPart(g.Workload, g.Part)
		if g.Variant != "" {
			name += "." + g.Variant
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", g.Outcome, g.Target, g.Node, name, g.Sentence)
	}
	if s.GatesOmitted > 0 {
		fmt.Fprintf(tw, "and %d more\n", s.GatesOmitted)
	}
	return tw.Flush()
}

// Answer writes what a run answers, and what the answer is about. If there was no question, the
// table is the answer.
func Answer(w io.Writer, a *result.Answer) error {
	if a == nil || a.Answer == result.JustMeasured {
		return nil
	}
	text := a.Answer
	if a.Sentence != "" {
		text += ": " + a.Sentence
	}
	if a.SpeaksFor != "" {
		text += "\nspeaks for: " + a.SpeaksFor
	}
	_, err := fmt.Fprintf(w, "%s\n\n", text)
	return err
}
