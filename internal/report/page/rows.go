package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// maxRows is how many rows a page shows, and maxMetrics how many of their metrics it holds. A
// run of 1,000 workers has more than anybody reads; summary.json has them all.
const (
	maxRows    = 300
	maxMetrics = 12_000
)

// place is where a row of the summary stands.
type place struct {
	index int
	row   result.Row
}

func (p place) at(metric, value string) string {
	return pointer("rows", p.index, "metrics", metric, value)
}

// name identifies the row among those of the same workload and part.
func (p place) name() string {
	name := p.row.Target
	if p.row.Variant != "" {
		name += " " + p.row.Variant
	}
	return name + " on " + p.row.Node
}

// shown returns the rows that are shown, and how many there are.
func shown(s result.Summary) (places []place, all int) {
	parts := map[[4]string]bool{}
	key := func(r result.Row) [4]string { return [4]string{r.Target, r.Workload, r.Variant, r.Node} }
	for _, r := range s.Rows {
		if r.Part != "" {
			parts[key(r)] = true
		}
	}
	for i, r := range s.Rows {
		if r.Part == "" && len(report.Operations(r)) == 0 && parts[key(r)] {
			continue
		}
		if all++; len(places) < maxRows {
			places = append(places, place{i, r})
		}
	}
	return places, all
}

// Table holds the rows of one workload, or of a part of it.
type Table struct {
	Workload, Part string
	Variants       bool
	Judged         bool
	Lines          []RowLine
}

// RowLine is one operation of a row.
type RowLine struct {
	Target, Node, Variant, Operation string
	N                                *Number
	Rate, Low, High                  *Number
	// AtLeast marks a median that is a lower bound; Few says why there is no interval.
	AtLeast bool
	Few     string
	Drawn   *Drawn
	// Bandwidth and percentiles; Completion reports that these are of completion only.
	Bandwidth             *Number
	P50, P99, P999, P9999 *Number
	Completion            bool
	Worth                 string
	Invalid               bool
}

// Drawn is an interval in percent of the width that all intervals of its column share.
type Drawn struct{ Low, Mid, High float64 }

// tables groups rows by what they measured.
func tables(places []place) []Table {
	var out []Table
	for _, p := range places {
		i := slices.IndexFunc(out, func(t Table) bool { return t.Workload == p.row.Workload && t.Part == p.row.Part })
		if i < 0 {
			i = len(out)
			out = append(out, Table{Workload: p.row.Workload, Part: p.row.Part})
		}
		out[i].Variants = out[i].Variants || p.row.Variant != ""
		out[i].Judged = out[i].Judged || len(p.row.Verdicts) > 0
		for _, op := range report.Operations(p.row) {
			out[i].Lines = append(out[i].Lines, p.line(op))
		}
	}
	for i := range out {
		out[i].draw()
	}
	return out
}

func (p place) line(op string) RowLine {
	l := RowLine{Target: p.row.Target, Node: p.row.Node, Variant: p.row.Variant, Operation: op, N: whole(p.row.N, pointer("rows", p.index, "n"))}
	if name := p.main(op); name != "" {
		e := p.row.Metrics[name]
		l.Rate, l.AtLeast = number(e.Unit, e.Median, p.at(name, "median")), e.AtLeast
		l.Low, l.High = optional(e.Unit, e.Low, p.at(name, "low")), optional(e.Unit, e.High, p.at(name, "high"))
		l.N = whole(e.N, p.at(name, "n"))
		if l.Low == nil && l.High == nil {
			l.Few = "n < 6"
		}
		if e.Low != nil && e.High != nil {
			l.Drawn = &Drawn{Low: *e.Low, Mid: e.Median, High: *e.High}
		}
	}
	if e, ok := p.row.Metrics[op+".bandwidth"]; ok {
		l.Bandwidth = number(e.Unit, e.Median, p.at(op+".bandwidth", "median"))
	}
	l.P50, l.Completion = p.percentile(op, "p50")
	l.P99, _ = p.percentile(op, "p99")
	l.P999, _ = p.percentile(op, "p99.9")
	l.P9999, _ = p.percentile(op, "p99.99")
	l.Worth = report.Worth(p.row, op)
	l.Invalid = strings.HasPrefix(l.Worth, "invalid")
	return l
}

// main is the metric of an operation that a table leads with: its rate, or else its bandwidth.
func (p place) main(op string) string {
	for _, name := range []string{report.Rate(p.row, op), op + ".bandwidth"} {
		if e, ok := p.row.Metrics[name]; ok && e.N > 0 {
			return name
		}
	}
	return ""
}

// percentile of all I/Os together, or else the median of the trials'; and whether it is one of
// completion, for want of another.
func (p place) percentile(op, which string) (*Number, bool) {
	for _, kind := range []string{".latency.", ".completion."} {
		name := op + kind + which
		e, ok := p.row.Metrics[name]
		if !ok {
			continue
		}
		if e.Pooled != nil {
			return number(e.Unit, *e.Pooled, p.at(name, "pooled")), kind == ".completion."
		}
		return number(e.Unit, e.Median, p.at(name, "median")), kind == ".completion."
	}
	return nil, false
}

// draw scales the intervals of each operation from zero to the highest.
func (t *Table) draw() {
	highest := map[string]float64{}
	for _, l := range t.Lines {
		if l.Drawn != nil {
			highest[l.Operation] = max(highest[l.Operation], l.Drawn.High)
		}
	}
	for _, l := range t.Lines {
		if d := l.Drawn; d != nil {
			top := highest[l.Operation]
			if top <= 0 {
				top = 1
			}
			*d = Drawn{Low: 100 * d.Low / top, Mid: 100 * d.Mid / top, High: 100 * d.High / top}
		}
	}
}

// Metrics are all metrics of a row, for the reader who wants them: page.js writes them when they
// are asked for. A line is [name, unit, n, median, low, high, pooled, bounds].
type Metrics struct {
	// At is the JSON pointer of the row's metrics.
	At    string  `json:"at"`
	Name  string  `json:"-"`
	Lines [][]any `json:"lines"`
}

// allMetrics returns the metrics of the rows, and of how many rows there is no room for them.
func allMetrics(places []place) (out []Metrics, left int) {
	n := 0
	for _, p := range places {
		if n += len(p.row.Metrics); n > maxMetrics {
			left++
			continue
		}
		m := Metrics{At: pointer("rows", p.index, "metrics"), Name: report.WithPart(p.row.Workload, p.row.Part) + ", " + p.name()}
		for _, name := range slices.Sorted(maps.Keys(p.row.Metrics)) {
			e := p.row.Metrics[name]
			m.Lines = append(m.Lines, []any{name, e.Unit, e.N, e.Median, e.Low, e.High, e.Pooled, e.Bounds})
		}
		out = append(out, m)
	}
	return out, left
}

// Verdict is a verdict on some rows.
type Verdict struct {
	Name, Effect, Sentence, Settle string
	Invalid                        bool
	Where                          []string
	More                           int
	Evidence                       []Evidence
}

// Evidence is one number that a verdict stands on.
type Evidence struct {
	Name  string
	Value *Number
}

// Limits of what a page says about verdicts.
const (
	maxVerdicts = 100
	maxWhere    = 6
)

// verdicts returns those on the rows, those that invalidate first. Rows that have one for the
// same reason share it.
func verdicts(places []place) (out []Verdict, left int) {
	known := map[string]int{}
	for _, p := range places {
		for _, v := range report.Verdicts(p.row) {
			key := strings.Join([]string{v.Name, string(v.Effect), v.Sentence}, "\n")
			i, ok := known[key]
			if !ok {
				if len(out) == maxVerdicts {
					left++
					continue
				}
				i = len(out)
				known[key] = i
				out = append(out, Verdict{
					Name: v.Name, Effect: string(v.Effect), Sentence: v.Sentence, Settle: v.Settle,
					Invalid: v.Effect == result.Invalidates, Evidence: p.evidence(v),
				})
			}
			if len(out[i].Where) == maxWhere {
				out[i].More++
				continue
			}
			where := report.WithPart(p.row.Workload, p.row.Part) + ", " + p.name()
			if len(v.Operations) > 0 {
				where += ", " + strings.Join(v.Operations, ", ")
			}
			out[i].Where = append(out[i].Where, fmt.Sprintf("%s: %d of %d trials", where, v.Trials, p.row.N))
		}
	}
	slices.SortStableFunc(out, func(a, b Verdict) int { return cmp.Compare(effectOrder(a), effectOrder(b)) })
	return out, left
}

func effectOrder(v Verdict) int {
	if v.Invalid {
		return 0
	}
	return 1
}

// evidence of a verdict, where it stands in the summary.
func (p place) evidence(v report.Verdict) (out []Evidence) {
	i := slices.IndexFunc(p.row.Verdicts, func(o result.RowVerdict) bool {
		return o.Name == v.Name && o.Effect == v.Effect && o.Sentence == v.Sentence
	})
	if i < 0 {
		return nil
	}
	evidence := p.row.Verdicts[i].Evidence
	for _, name := range slices.Sorted(maps.Keys(evidence)) {
		e := evidence[name]
		out = append(out, Evidence{Name: name, Value: number(e.Unit, e.Value, pointer("rows", p.index, "verdicts", i, "evidence", name, "value"))})
	}
	return out
}
