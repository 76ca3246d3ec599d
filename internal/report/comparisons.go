package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"storagebench.io/storagebench/internal/result"
)

// Headlines returns the names of the metrics that best distinguish two measurements,
// the most important first: for each operation its rate, or else its bandwidth, and
// its p99 (of completion, if there is no other); then the p99 of operations without a rate, such as fio's syncs, and
// durations.
func Headlines[V any](named []string, metrics map[string]V) []string {
	var names []string
	add := func(name string) bool {
		_, ok := metrics[name]
		if ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
		return ok
	}
	for _, op := range operations(named, metrics) {
		_ = add(op+".iops") || add(op+".rate") || add(op+".bandwidth")
		_ = add(op+".latency.p99") || add(op+".completion.p99")
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if (strings.HasSuffix(name, ".latency.p99") || strings.HasSuffix(name, ".duration")) && !strings.HasPrefix(name, "device.") {
			add(name)
		}
	}
	return names
}

// flushes is the number of flushes that the disks below the target received.
const flushes = "device.flush.count"

// ofDisks are metrics of the disks below: how many flushes they got, how long a write took there, by
// the kernel's counters and, where requests were observed, apart from its wait in their queues, and how far
// requests were from each other.
var ofDisks = []string{flushes, result.FlushesMetric, "device.write.await", "device.write.latency.p99", "device.write.wait.p99", "device.seek.distance.p50"}

// Changed returns the names of the metrics by which a variant is compared with the
// control: the headlines, and those of the disks below.
func Changed(c result.Comparison) []string {
	names := Headlines(c.Operations, c.Metrics)
	for _, name := range ofDisks {
		if change, ok := c.Metrics[name]; ok && (change.Control > 0 || change.Variant > 0) {
			names = append(names, name)
		}
	}
	return names
}

// Comparisons writes what each variant changed, one line for each metric. It
// writes nothing for a run without variants.
func Comparisons(w io.Writer, s result.Summary) error {
	return errors.Join(comparisons(w, s), againstBaseline(w, s))
}

// againstBaseline writes how the run compares with its baseline, if it has one.
func againstBaseline(w io.Writer, s result.Summary) error {
	b := s.Baseline
	if b == nil {
		return nil
	}
	which := "baseline"
	if b.Run != "" {
		which += " " + b.Run
	}
	_, err := fmt.Fprintf(w, "\n%s: %s: %s\n", which, b.Outcome, b.Sentence)
	for _, d := range b.Differences {
		if err == nil {
			_, err = fmt.Fprintf(w, "differs from the baseline: %s\n", d)
		}
	}
	return err
}

func comparisons(w io.Writer, s result.Summary) error {
	if len(s.Comparisons) == 0 {
		return nil
	}
	judged := slices.ContainsFunc(s.Comparisons, func(c result.Comparison) bool {
		return slices.ContainsFunc(Changed(c), func(name string) bool { return InvalidArms(s.Rows, c, name) != "" })
	})
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	parts := slices.ContainsFunc(s.Comparisons, func(c result.Comparison) bool { return c.Part != "" })
	decided := slices.ContainsFunc(s.Comparisons, func(c result.Comparison) bool { return c.Primary != nil })
	fmt.Fprintln(tw, "\nTARGET\tNODE\tWORKLOAD\tVARIANT"+column(parts, "PART")+"\tMETRIC\tPAIRS\tCONTROL\tVARIANT\tRATIO\t95% INTERVAL"+column(decided, "OUTCOME")+column(judged, "VERDICT"))
	for _, c := range s.Comparisons {
		for _, name := range Changed(c) {
			change := c.Metrics[name]
			ratio, interval := "-", "-"
			if change.Bounds > 0 {
				interval = fmt.Sprintf("too fast in %d of %d", change.Bounds, change.Pairs)
			}
			if change.Ratio != nil {
				ratio = fmt.Sprintf("%.3f", change.Ratio.Median)
				if interval = "blocks < 6"; change.Ratio.Low != nil && change.Ratio.High != nil {
					interval = fmt.Sprintf("%.3f–%.3f", *change.Ratio.Low, *change.Ratio.High)
				}
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s%s\n", c.Target, c.Node, c.Workload, arm(c)+column(parts, cmp.Or(c.Part, "-")), name, change.Pairs,
				InUnit(change.Unit, change.Control), InUnit(change.Unit, change.Variant), ratio, interval, column(decided, outcomeOf(c, name))+column(judged, cmp.Or(InvalidArms(s.Rows, c, name), "-")))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return errors.Join(decisions(w, s), orderEffects(w, s))
}

// arm names what is compared: a variant, or, by target, the target's control.
func arm(c result.Comparison) string {
	if c.By == "target" {
		return cmp.Or(c.Variant, "-") + " (against " + c.Control + ")"
	}
	return c.Variant
}

// outcomeOf returns the outcome on the metric that decides, and a dash on all others.
func outcomeOf(c result.Comparison, metric string) string {
	if c.Primary == nil || c.Primary.Metric != metric {
		return "-"
	}
	return c.Primary.Outcome
}

// decisions writes a line for each comparison that a metric decides.
func decisions(w io.Writer, s result.Summary) error {
	for _, c := range s.Comparisons {
		if c.Primary == nil || c.Primary.Sentence == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s on %s at %s: %s\n", c.Primary.Outcome, WithPart(c.Workload, c.Part), c.Target, c.Node, c.Primary.Sentence); err != nil {
			return err
		}
	}
	return nil
}

// orderEffects writes a line for each metric that depends on which trial of a repeat ran
// first: the interval of the order's effect does not contain 1.
func orderEffects(w io.Writer, s result.Summary) error {
	for _, c := range s.Comparisons {
		for _, name := range Changed(c) {
			o := c.Metrics[name].Order
			if o == nil || o.Low == nil || o.High == nil || *o.Low <= 1 && *o.High >= 1 {
				continue
			}
			if _, err := fmt.Fprintf(w, "order matters: %s of %s.%s on %s at %s: the later trial of a repeat measures %.3f times the earlier one (%.3f–%.3f)\n",
				name, WithPart(c.Workload, c.Part), c.Variant, c.Target, c.Node, o.Median, *o.Low, *o.High); err != nil {
				return err
			}
		}
	}
	return nil
}

// InvalidArms says which of a comparison's two numbers is invalid, and why; nothing if both stand.
func InvalidArms(rows []result.Row, c result.Comparison, metric string) string {
	return invalidArms(rows, c, metric, func([]string) bool { return true })
}

// unsafeConfiguration is the verdict that what was acknowledged can be lost.
const unsafeConfiguration = "UnsafeConfiguration"

// Incomparable is InvalidArms without what a variant does on purpose. A variant that stops flushes makes
// its own numbers unsafe, which is no reason not to say how much faster it is: that is the question. Numbers
// that are not the storage's at all stay incomparable, and so do targets of which one is unsafe.
func Incomparable(rows []result.Row, c result.Comparison, metric string) string {
	return invalidArms(rows, c, metric, func(names []string) bool {
		return c.By == "target" || !slices.Equal(names, []string{unsafeConfiguration})
	})
}

// Unsafe reports whether what the variant acknowledges can be lost.
func Unsafe(rows []result.Row, c result.Comparison, metric string) bool {
	return invalidArms(rows, c, metric, func(names []string) bool { return slices.Contains(names, unsafeConfiguration) }) != ""
}

// invalidArms is InvalidArms of those whose verdicts count.
func invalidArms(rows []result.Row, c result.Comparison, metric string, counts func(names []string) bool) string {
	type side struct{ name, target, variant string }
	sides := []side{{"control", c.Target, c.Control}, {"variant", c.Target, c.Variant}}
	if c.By == "target" {
		sides = []side{{c.Control, c.Control, c.Variant}, {c.Target, c.Target, c.Variant}}
	}
	var parts []string
	for _, side := range sides {
		i := slices.IndexFunc(rows, func(r result.Row) bool {
			return r.Target == side.target && r.Node == c.Node && r.Workload == c.Workload && r.Part == c.Part && r.Variant == side.variant
		})
		if i < 0 {
			continue
		}
		if names := Invalid(rows[i], metric); len(names) > 0 && counts(names) {
			parts = append(parts, side.name+" invalid: "+strings.Join(names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// InUnit formats a value for display in its unit.
func InUnit(unit string, v float64) string {
	switch unit {
	case result.BytesPerSecond:
		return BytesPerSecond(v)
	case result.Bytes:
		return Bytes(v)
	case result.Seconds:
		return Seconds(v)
	default:
		return Number(v)
	}
}
