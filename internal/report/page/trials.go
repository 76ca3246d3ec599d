package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
)

// maxTrials is how many trials a page draws: more are one on another at any width.
const maxTrials = 4000

// trialCharts returns a chart for each workload and part of each worker's target, in which every
// trial of each variant is a point at the time at which it began. A drift, a step, and a first
// trial that differs are seen there, and in no interval.
func trialCharts(workers []report.WorkerTrials) (out []Chart, left int) {
	type key struct{ workload, part, op string }
	var order []key
	lines, points, before := map[key][]line{}, map[key]map[string][]point{}, map[string][]string{}
	n := 0
	for _, w := range workers {
		left += w.Omitted
		for _, t := range w.Trials {
			if t.Outcome != result.Measured || t.StartedAt.IsZero() {
				continue
			}
			if n++; n > maxTrials {
				left++
				continue
			}
			if p := t.Precondition; p != nil { // of all variants
				before[t.Workload] = append(before[t.Workload], w.Worker.Target+" on "+w.Worker.Node+": "+roundsText(p))
			}
			for _, part := range append([]result.PartSummary{{Metrics: t.Metrics, Operations: t.Operations}}, t.Parts...) {
				for _, op := range operations(part) {
					metric, unit, ok := mainMetric(part.Metrics, op)
					if !ok {
						continue
					}
					k := key{t.Workload, part.Name, op}
					if points[k] == nil {
						order, points[k] = append(order, k), map[string][]point{}
					}
					name := strings.TrimSuffix(w.Worker.Target+" "+t.Variant, " ") + " on " + w.Worker.Node
					if points[k][name] == nil {
						lines[k] = append(lines[k], line{name: name, unit: unit})
					}
					points[k][name] = append(points[k][name], point{seconds(t.StartedAt), metric})
				}
			}
		}
	}
	for _, k := range order {
		c := Chart{Kind: Trials, Title: report.WithPart(k.workload, k.part) + ": " + k.op, XUnit: "time", XName: "began at"}
		first := lines[k][:min(len(lines[k]), maxLines)]
		if len(first) < len(lines[k]) {
			c.Note = fmt.Sprintf("The first %d of %d rows.", maxLines, len(lines[k]))
		}
		if rounds := before[k.workload]; len(rounds) > 0 && k.part == "" {
			c.Note = strings.TrimSpace(c.Note + " Before the first trial, " + listed(rounds) + ".")
		}
		for _, l := range first {
			for _, p := range points[k][l.name] {
				c.X = append(c.X, p.at)
			}
		}
		slices.Sort(c.X)
		c.X = slices.Compact(c.X)
		for _, l := range first {
			y := make([]*float64, len(c.X))
			for _, p := range points[k][l.name] {
				i, _ := slices.BinarySearch(c.X, p.at)
				y[i] = &p.value
			}
			c.Lines = append(c.Lines, Line{Name: l.name, Unit: l.unit, Y: y})
		}
		out = append(out, c)
	}
	return out, left
}

// operations of a trial or a part of it, and its syncs, which have a rate of their own.
func operations(part result.PartSummary) []string {
	if len(part.Operations) > 0 {
		return part.Operations
	}
	return report.Operations(result.Row{Metrics: estimates(part.Metrics)})
}

func estimates(metrics result.Metrics) map[string]result.Estimate {
	out := make(map[string]result.Estimate, len(metrics))
	for name := range metrics {
		out[name] = result.Estimate{}
	}
	return out
}

// mainMetric is the rate of an operation, or else its bandwidth.
func mainMetric(metrics result.Metrics, op string) (value float64, unit string, ok bool) {
	for _, quantity := range []string{".iops", ".rate", ".bandwidth"} {
		if m, found := metrics[op+quantity]; found {
			return m.Value, m.Unit, true
		}
	}
	return 0, "", false
}

func seconds(t time.Time) float64 { return math.Round(float64(t.UnixMilli())) / 1000 }

// Setting is a tunable of a variant: what it was before, during and after.
type Setting struct {
	Variant, Name, On, Asked, Before, During, After string
	Node                                            string
	Trials                                          int
	// Restored reports that every trial put the old value back, and Note says more.
	Restored bool
	Note     string
}

// maxSettings is how many settings a page lists.
const maxSettings = 200

// settings returns what variants changed, once for trials in which it was the same.
func settings(workers []report.WorkerTrials) (out []Setting, left int) {
	known := map[Setting]int{}
	for _, w := range workers {
		for _, t := range w.Trials {
			for _, tun := range t.Tunables {
				s := Setting{
					Variant: cmp.Or(t.Variant, "–"), Name: tun.Name, On: tun.On, Asked: tun.Asked, Before: tun.Before, During: tun.During,
					Node: w.Worker.Node, Restored: tun.Restored, Note: tun.Restoring,
				}
				if s.After = "not restored"; tun.Restored {
					s.After = tun.Before
				}
				i, ok := known[s]
				if !ok {
					if len(out) == maxSettings {
						left++
						continue
					}
					i = len(out)
					known[s], out = i, append(out, s)
				}
				out[i].Trials++
			}
		}
	}
	// One that was not restored goes before everything.
	slices.SortStableFunc(out, func(a, b Setting) int { return cmp.Compare(boolOrder(a.Restored), boolOrder(b.Restored)) })
	return out, left
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// roundsText says what was done before the first trial of a workload, and whether that made the
// storage steady.
func roundsText(p *result.Precondition) string {
	text := suggest.Count(p.Rounds, "round") + " not measured"
	if n := len(p.Rates); n > 1 {
		text += fmt.Sprintf(", from %s to %s %s", report.Number(p.Rates[0]), report.Number(p.Rates[n-1]), p.Metric)
	}
	switch {
	case p.Steady == nil:
		return text
	case *p.Steady:
		return text + ", then steady"
	default:
		return text + ", and not steady then"
	}
}

// maxListed is how many workers a note names.
const maxListed = 4

func listed(all []string) string {
	if left := len(all) - maxListed; left > 0 {
		all = append(slices.Clone(all[:maxListed]), fmt.Sprintf("and %d more", left))
	}
	return strings.Join(all, "; ")
}
