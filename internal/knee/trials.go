package knee

import (
	"slices"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
)

// For is the search of a workload.
func For(k trial.Knee) Search { return Search{From: k.From, To: k.To, Probes: k.Probes} }

// disturbing are the verdicts that say that something else than the storage may have made a probe slow.
var disturbing = []string{verdict.NoisyNeighbour, verdict.BackgroundIO, verdict.CPUBound, verdict.CPUThrottled, verdict.RunnerDisturbs}

// Of are the probes that trials are, in their order. A trial that failed is none, nor is one that
// did not measure the metric, unless it was overloaded: nothing is known of the promise then.
func Of(k trial.Knee, trials []*result.TrialSummary) []Probe {
	var out []Probe
	for _, t := range trials {
		if t.Outcome != result.Measured {
			continue
		}
		p := Probe{Rate: t.Rate}
		if m, ok := t.Metrics[k.Metric]; ok && m.Value > 0 && k.Limit > 0 {
			p.Latency, p.Ratio = m.Value, m.Value/k.Limit
		}
		for _, v := range t.Verdicts {
			if v.Name == verdict.Overloaded {
				p.Over, p.Ratio = true, 0
			}
			p.Disturbed = p.Disturbed || slices.Contains(disturbing, v.Name)
		}
		if !p.Over && p.Ratio == 0 {
			continue
		}
		p.Over = p.Over || p.Ratio > 1
		out = append(out, p)
	}
	return out
}
