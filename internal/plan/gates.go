package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// buildGates returns the gates of a spec with their limits as numbers. Whether a workload will
// measure a metric depends on what it does, so a name is refused only if its engine has no
// such metric at all.
func buildGates(spec v1alpha1.StorageBenchmarkSpec, workloads []trial.Workload) ([]trial.Gate, error) {
	var gates []trial.Gate
	for i, g := range spec.Gates {
		field := fmt.Sprintf("spec.gates[%d]", i)
		out := trial.Gate{Workload: g.Workload, Target: g.Target, Variant: g.Variant, Part: g.Part, Metric: g.Metric}
		at := slices.IndexFunc(workloads, func(w trial.Workload) bool { return w.Name == g.Workload })
		if at < 0 {
			return nil, notThere(field+".workload", "workload", g.Workload, namesOf(workloads, func(w trial.Workload) string { return w.Name }))
		}
		if names := namesOf(spec.Targets, func(t v1alpha1.Target) string { return t.Name }); g.Target != "" && !slices.Contains(names, g.Target) {
			return nil, notThere(field+".target", "target", g.Target, names)
		}
		if names := namesOf(Variants(spec), func(v v1alpha1.Variant) string { return v.Name }); g.Variant != "" && !slices.Contains(names, g.Variant) {
			return nil, notThere(field+".variant", "variant", g.Variant, names)
		}
		if failure := checkMetric(workloads[at].Engine, g.Metric); failure != nil {
			failure.Field = field + ".metric"
			return nil, failure
		}
		text, name := g.Max, "max"
		if out.AtMost = g.Max != nil; !out.AtMost {
			text, name = g.Min, "min"
		}
		if text == nil || g.Max != nil && g.Min != nil {
			return nil, invalid(field, "a gate needs exactly one of max and min", "set max for a latency, or min for a rate")
		}
		limit, err := parseLimit(text.Text, result.UnitOf(g.Metric))
		if err != nil {
			return nil, invalid(field+"."+name, fmt.Sprintf("%.64q of %s: %v", text.Text, g.Metric, err), "write it "+exampleOf(result.UnitOf(g.Metric)))
		}
		out.Limit, out.Text = limit, text.Text
		gates = append(gates, out)
	}
	return gates, nil
}

func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

func notThere(field, what, name string, names []string) error {
	if len(names) == 0 {
		return invalid(field, fmt.Sprintf("the benchmark has no %ss", what), "remove it")
	}
	return invalid(field, fmt.Sprintf("there is no %s %q", what, name), suggest.Remedy(name, names))
}

// operationsOf are the operations of the engines whose metrics all have one in their name.
// PostMark, bonnie++ and iozone have many more.
var operationsOf = map[string][]string{
	"fio":       {"read", "write", "trim", "sync"},
	"bandwidth": {"read", "write", "write.durable"},
	"filesync":  {"filesync", "wait", "open", "write", "sync", "close", "unlink"},
}

// quantities that operations have.
var quantities = []string{
	"iops", "rate", "bandwidth", "ios", "count", "bytes", "duration", "await", "backlog", "rate.offered",
	"latency.mean", "latency.max", "latency.p50", "latency.p95", "latency.p99", "latency.p99.9", "latency.p99.99",
}

// free are metrics that do not have the form OPERATION.QUANTITY of their engine.
var free = regexp.MustCompile(`^(device|cpu|zfs|limit|background|below|others|files|tests|drain|runner|littles|phase|original)\.`)

// more are quantities that are less often asked for.
var more = regexp.MustCompile(`\.((completion|submission|wait|latency)\.(mean|max|p[0-9]+(\.[0-9]+)?)|attempted|noop|errors|half|cpu)$`)

// checkMetric refuses the name of a metric that an engine does not have.
func checkMetric(engine, metric string) *trial.Failure {
	if free.MatchString(metric) {
		return nil
	}
	operations, known := operationsOf[engine]
	if !known {
		if more.MatchString(metric) || slices.ContainsFunc(quantities, func(q string) bool { return strings.HasSuffix(metric, "."+q) }) {
			return nil
		}
	}
	var all []string
	for _, op := range operations {
		rest, ok := strings.CutPrefix(metric, op+".")
		if ok && (slices.Contains(quantities, rest) || more.MatchString("."+rest)) {
			return nil
		}
		for _, q := range quantities {
			all = append(all, op+"."+q)
		}
	}
	if !known { // its operation, with each quantity
		op, _, _ := strings.Cut(metric, ".")
		for _, q := range quantities {
			all = append(all, op+"."+q)
		}
	}
	remedy := "docs/reference/results.md lists the metrics"
	if near := suggest.Nearest(metric, all); near != "" {
		remedy = "did you mean " + near + "? " + remedy
	}
	return &trial.Failure{Class: reason.InvalidSpec, Message: fmt.Sprintf("%s has no metric %q", engine, metric), Remedy: remedy}
}

func exampleOf(unit string) string {
	switch unit {
	case result.Seconds:
		return "as a time with its unit, for example 10ms"
	case result.Bytes, result.BytesPerSecond:
		return "in bytes, for example 100MiB"
	default:
		return "as a number, for example 5000 or 5k"
	}
}

var number = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)(/s)?$`)

// units are factors of bytes, and the short ones of counts as well.
var units = map[string]float64{
	"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

// LimitOf reads a limit for a metric, written as in spec.gates, in the metric's unit.
func LimitOf(text, metric string) (float64, error) { return parseLimit(text, result.UnitOf(metric)) }

// parseLimit reads a limit in the unit of its metric.
func parseLimit(text, unit string) (float64, error) {
	text = strings.TrimSpace(text)
	if unit == result.Seconds {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return 0, fmt.Errorf("it is a time, and has no unit")
		}
		d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("it is not a time above 0")
		}
		return d.Seconds(), nil
	}
	match := number.FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("it is not a number of at least 0")
	}
	suffix := match[2]
	inBytes := unit == result.Bytes || unit == result.BytesPerSecond
	if inBytes {
		suffix = strings.TrimSuffix(suffix, "B")
	}
	factor, ok := units[suffix]
	value, err := strconv.ParseFloat(match[1], 64)
	switch {
	case err != nil || !ok:
		return 0, fmt.Errorf("it has the unknown unit %.16q", match[2])
	case match[3] != "" && unit != result.BytesPerSecond && unit != result.PerSecond:
		return 0, fmt.Errorf("it is no rate")
	case !inBytes && strings.HasSuffix(suffix, "i"):
		return 0, fmt.Errorf("it does not count bytes")
	}
	return value * factor, nil
}
