package stats

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"storagebench.io/storagebench/internal/knee"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
)

// probes reports whether the trials of a workload are probes of a search, which have no row: each has a
// rate of its own.
func probes(p *trial.Plan, workload string) bool {
	w, _ := p.Workload(workload)
	return w.Knee != nil
}

// knees are the answers of a worker's searches, with a point for each rate that was probed.
func knees(p *trial.Plan, worker trial.Worker, w *result.WorkerSummary) []result.Sweep {
	var out []result.Sweep
	for _, cell := range p.Cells() {
		load, _ := p.Workload(cell.Workload)
		if load.Knee == nil {
			continue
		}
		var done []*result.TrialSummary
		for i, t := range w.Trials {
			if t.Cell() == cell {
				done = append(done, &w.Trials[i])
			}
		}
		out = append(out, search(*load.Knee, result.Sweep{
			Target: worker.Target, Node: worker.Node, Workload: cell.Workload, Variant: cell.Variant,
			Parameters: []string{"rate"}, Metric: load.Knee.Metric, Unit: result.Seconds,
		}, load.Knee.Text, done))
	}
	return out
}

func search(k trial.Knee, s result.Sweep, text string, done []*result.TrialSummary) result.Sweep {
	made := knee.Of(k, done)
	answer := knee.For(k).Decide(made)
	if answer.Outcome == "" { // the worker ended before the search did
		answer.Outcome = knee.Unfinished
	}
	s.Knee = &result.Knee{Outcome: string(answer.Outcome), Metric: k.Metric, Limit: k.Limit, Lower: answer.Lower, Upper: answer.Upper, Probes: len(made)}
	byRate := map[int64]*result.SweepPoint{}
	values := map[int64][]float64{}
	for _, p := range made {
		if p.Over && p.Disturbed {
			s.Knee.Disturbed++
		}
		at := byRate[p.Rate]
		if at == nil {
			at = &result.SweepPoint{Workload: s.Workload, Variant: s.Variant, Values: []string{strconv.FormatInt(p.Rate, 10)}}
			byRate[p.Rate] = at
		}
		at.N++
		at.Over = at.Over || p.Over && !p.Disturbed
		if p.Latency > 0 {
			values[p.Rate] = append(values[p.Rate], p.Latency)
		}
	}
	for _, rate := range slices.Sorted(maps.Keys(byRate)) {
		at := byRate[rate]
		if v := values[rate]; len(v) > 0 {
			at.Estimate = &result.Interval{Median: Median(v)}
		}
		s.Points = append(s.Points, *at)
	}
	s.Sentence = kneeSentence(*s.Knee, text) + worth(verdictsAt(*s.Knee, k, done))
	return s
}

// verdictsAt are the verdicts on the probes that count at the two ends of an answer. That one was overloaded is
// the answer itself.
func verdictsAt(found result.Knee, k trial.Knee, done []*result.TrialSummary) (invalid, qualified []string) {
	for _, t := range done {
		made := knee.Of(k, []*result.TrialSummary{t})
		if len(made) == 0 || made[0].Over && made[0].Disturbed || made[0].Rate != found.Lower && made[0].Rate != found.Upper {
			continue
		}
		row := result.Row{Operations: t.Operations}
		for _, v := range verdictsOf(*t, "") {
			if v.Name != verdict.Overloaded {
				row.Verdicts = append(row.Verdicts, result.RowVerdict{Verdict: v})
			}
		}
		invalid, qualified = union(invalid, report.Invalid(row, k.Metric)), union(qualified, report.Qualified(row, k.Metric))
	}
	return invalid, slices.DeleteFunc(qualified, func(name string) bool { return slices.Contains(invalid, name) })
}

// kneeSentence says what a search found.
func kneeSentence(k result.Knee, text string) string {
	promise := fmt.Sprintf("%s at most %s", report.MetricName(k.Metric), text)
	made := counted(k.Probes, "probe")
	if k.Disturbed > 0 {
		made += fmt.Sprintf(", %d of them disturbed", k.Disturbed)
	}
	switch knee.Outcome(k.Outcome) {
	case knee.Found:
		return fmt.Sprintf("%s up to %d per second; at %d it is not (%s)", promise, k.Lower, k.Upper, made)
	case knee.BelowRange:
		return fmt.Sprintf("%s is not kept at %d per second, the lowest rate: the highest that keeps it is below (%s)", promise, k.Upper, made)
	case knee.AboveRange:
		return fmt.Sprintf("%s at %d per second, the highest rate: the storage may do more (%s)", promise, k.Lower, made)
	case knee.Disturbed:
		return fmt.Sprintf("no answer for %s: most probes of a rate were disturbed, so the knee is only known to be %s (%s); search again when nothing else uses the disks", promise, between(k), made)
	}
	if k.Probes == 0 {
		return fmt.Sprintf("no answer for %s: no probe measured it; name a latency of an operation that the workload has", promise)
	}
	return fmt.Sprintf("the search for %s ended before its answer: the knee is %s (%s); raise slo.probes, trials.budget or timeout", promise, between(k), made)
}

func between(k result.Knee) string {
	switch {
	case k.Lower > 0 && k.Upper > 0:
		return fmt.Sprintf("from %d to %d per second", k.Lower, k.Upper)
	case k.Lower > 0:
		return fmt.Sprintf("above %d per second", k.Lower)
	case k.Upper > 0:
		return fmt.Sprintf("below %d per second", k.Upper)
	default:
		return "somewhere"
	}
}
