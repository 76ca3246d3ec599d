package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
)

// Verdict on a metric, or on all of them.
type Verdict string

// Verdicts.
const (
	NoWorse      Verdict = "NoWorse"
	Regression   Verdict = "Regression"
	Inconclusive Verdict = "Inconclusive"
)

// Comparison of two runs. Ratios are second over first.
type Comparison struct {
	Verdict Verdict `json:"verdict"`
	// MaxRegression is the worst acceptable change: 0.05 is 5 %.
	MaxRegression float64 `json:"maxRegression"`
	Pairs         []Pair  `json:"pairs"`
	// OnlyInFirst and OnlyInSecond are rows without a counterpart.
	OnlyInFirst  []RowKey `json:"onlyInFirst,omitempty"`
	OnlyInSecond []RowKey `json:"onlyInSecond,omitempty"`
	// Differences between the environments and configurations of the runs.
	Differences []string `json:"differences,omitempty"`
	// Notes are what readers of the verdict must know.
	Notes []string `json:"notes,omitempty"`
}

// RowKey identifies what a row measured.
type RowKey struct {
	Target   string `json:"target"`
	Workload string `json:"workload"`
	Variant  string `json:"variant,omitempty"`
	Part     string `json:"part,omitempty"`
	Node     string `json:"node"`
}

// String returns target/workload/node for display, with the variant after the
// workload.
func (k RowKey) String() string { return k.Target + "/" + k.cell() + "/" + k.Node }

// cell returns the workload, followed by the variant and the part if there are.
func (k RowKey) cell() string {
	name := k.Workload
	if k.Variant != "" {
		name += "." + k.Variant
	}
	return report.WithPart(name, k.Part)
}

// Pair of rows.
type Pair struct {
	First   RowKey   `json:"first"`
	Second  RowKey   `json:"second"`
	Metrics []Metric `json:"metrics"`
}

// Metric of a pair.
type Metric struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Better is the direction of an improvement: Higher or Lower.
	Better Direction       `json:"better"`
	First  result.Estimate `json:"first"`
	Second result.Estimate `json:"second"`
	// Ratio of the medians; absent if the first is 0.
	Ratio *float64 `json:"ratio,omitempty"`
	// Low and High are the ratio's interval, absent if there is none.
	Low     *float64 `json:"low,omitempty"`
	High    *float64 `json:"high,omitempty"`
	Verdict Verdict  `json:"verdict"`
	// Reason why the verdict is inconclusive.
	Reason string `json:"reason,omitempty"`
}

// Summaries compares second with first. maxRegression is at least 0 and below 1. An
// error reports that there is nothing to compare.
func Summaries(first, second result.Summary, maxRegression float64) (Comparison, error) {
	c := Comparison{MaxRegression: maxRegression, Notes: append(notes("the first run", first), notes("the second run", second)...)}
	c.Differences = Differences(first, second)
	pairs, onlyFirst, onlySecond := match(report.Shown(first.Rows), report.Shown(second.Rows))
	c.OnlyInFirst, c.OnlyInSecond = onlyFirst, onlySecond
	if len(pairs) == 0 {
		return c, fmt.Errorf("the runs have no row in common: the first has %s, the second %s", list(first.Rows), list(second.Rows))
	}
	compared := 0
	for _, p := range pairs {
		pair := Pair{First: key(p.first), Second: key(p.second), Metrics: []Metric{}}
		for _, name := range shared(p.first, p.second) {
			m := ofOneKind(metric(name, p.first.Metrics[name], p.second.Metrics[name], maxRegression), p.first, p.second)
			if p.first.Workload == p.second.Workload && otherWorkload(first, second, p.first.Workload) {
				m.Verdict, m.Reason = Inconclusive, fmt.Sprintf("workload %s is configured differently in the two runs", p.first.Workload)
			}
			pair.Metrics = append(pair.Metrics, m)
		}
		compared += len(pair.Metrics)
		if otherLatencies(p) && !slices.Contains(c.Notes, otherLatenciesNote) {
			c.Notes = append(c.Notes, otherLatenciesNote)
		}
		c.Pairs = append(c.Pairs, pair)
	}
	if compared == 0 {
		return c, fmt.Errorf("the runs have no metric in common that can be better or worse")
	}
	c.Verdict = c.verdict()
	return c, nil
}

const otherLatenciesNote = "one of the runs is older: its latencies of fio are completion latencies, without the time that an I/O waited to be submitted"

// otherLatencies reports whether the rows' latencies are not the same kind: an old run has
// those of completion under the name of total latency.
func otherLatencies(p rows) bool {
	for name := range p.first.Metrics {
		op, latency := strings.CutSuffix(name, ".latency.p99")
		_, both := p.second.Metrics[name]
		_, first := p.first.Metrics[op+".completion.p99"]
		_, second := p.second.Metrics[op+".completion.p99"]
		if latency && both && first != second {
			return true
		}
	}
	return false
}

func (c Comparison) verdict() Verdict {
	v := NoWorse
	if len(c.OnlyInFirst) > 0 {
		v = Inconclusive
	}
	for _, p := range c.Pairs {
		if len(p.Metrics) == 0 {
			v = Inconclusive
		}
		for _, m := range p.Metrics {
			switch m.Verdict {
			case Regression:
				return Regression
			case Inconclusive:
				v = Inconclusive
			case NoWorse:
			}
		}
	}
	return v
}

func notes(which string, s result.Summary) []string {
	var out []string
	if s.Imported != nil {
		out = append(out, fmt.Sprintf("%s was imported from the output of %s, so where it was measured is unknown", which, s.Imported.Tool))
	}
	if s.Stored < s.Planned {
		out = append(out, fmt.Sprintf("%s has only %d of %s", which, s.Stored, suggest.Count(s.Planned, "trial")))
	}
	for _, worker := range slices.Sorted(maps.Keys(s.Failures)) {
		out = append(out, fmt.Sprintf("%s: worker %s failed: %s", which, worker, s.Failures[worker].Message))
	}
	return out
}

func key(r result.Row) RowKey {
	return RowKey{Target: r.Target, Workload: r.Workload, Variant: r.Variant, Part: r.Part, Node: r.Node}
}

func list(rows []result.Row) string {
	if len(rows) == 0 {
		return "none"
	}
	names := make([]string, 0, len(rows))
	for _, r := range rows {
		names = append(names, key(r).String())
	}
	return strings.Join(names, ", ")
}

type rows struct{ first, second result.Row }

// match pairs the rows, in the order of the first run.
func match(first, second []result.Row) (pairs []rows, onlyFirst, onlySecond []RowKey) {
	counterpart, taken := map[int]int{}, map[int]bool{}
	pair := func(i, j int) { counterpart[i], taken[j] = j, true }
	matched := func(i int) bool { _, ok := counterpart[i]; return ok }
	for i, a := range first {
		if j := slices.IndexFunc(second, func(b result.Row) bool { return key(a) == key(b) }); j >= 0 && !taken[j] {
			pair(i, j)
		}
	}
	for i, a := range first {
		if matched(i) {
			continue
		}
		ours := without(first, a, matched)
		theirs := without(second, a, func(j int) bool { return taken[j] })
		if len(ours) == 1 && len(theirs) == 1 {
			pair(i, theirs[0])
		}
	}
	for i, a := range first {
		if j, ok := counterpart[i]; ok {
			pairs = append(pairs, rows{a, second[j]})
		} else {
			onlyFirst = append(onlyFirst, key(a))
		}
	}
	for j, b := range second {
		if !taken[j] {
			onlySecond = append(onlySecond, key(b))
		}
	}
	return pairs, onlyFirst, onlySecond
}

// without returns the rows of the same workload, variant and part that have no counterpart yet.
func without(all []result.Row, like result.Row, matched func(int) bool) []int {
	var left []int
	for k, r := range all {
		if r.Workload == like.Workload && r.Variant == like.Variant && r.Part == like.Part && !matched(k) {
			left = append(left, k)
		}
	}
	return left
}

// shared returns the headlines of the metrics that both rows have, in the order of the
// report.
func shared(a, b result.Row) []string {
	both := map[string]result.Estimate{}
	for name, m := range a.Metrics {
		if second, ok := b.Metrics[name]; ok && m.Unit == second.Unit {
			both[name] = m
		}
	}
	return report.Headlines(a.Operations, both)
}
