package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

const (
	// defaultProbes is enough for a range of 1 to 10,000, with each end of the answer probed again.
	defaultProbes = 24
	// leastProbes and maxProbes are the bounds of spec.workloads[].sweep.slo.probes.
	leastProbes, maxProbes = 4, 60
)

// kneeOf returns a workload that searches for the highest rate that keeps a promise.
func kneeOf(field string, w v1alpha1.Workload, sweep *v1alpha1.Sweep) ([]point, error) {
	slo, field := *sweep.SLO, field+".slo"
	limit, err := parseLimit(slo.Below.Text, result.Seconds)
	probes := cmp.Or(int(slo.Probes), defaultProbes)
	switch {
	case len(sweep.Over) > 0:
		return nil, invalid(field, "the sweep has slo and over, but a search has one setting", "remove one of them; make a workload for each setting to find the knee of each")
	case w.Fio == nil && w.Filesync == nil:
		return nil, invalid(field, "the workload has no open loop, whose rate could be searched for", "use fio or filesync")
	case !strings.Contains(slo.Metric, ".latency."):
		return nil, invalid(field+".metric", fmt.Sprintf("%.70q is not a latency", slo.Metric), "for example read.latency.p99")
	case !isMeasured(slo.Metric):
		return nil, invalid(field+".metric", fmt.Sprintf("%.70q is no latency that is measured", slo.Metric), "use p50, p95, p99, p99.9, p99.99, mean or max of it")
	case err != nil:
		return nil, invalid(field+".below", fmt.Sprintf("%.70q: %v", slo.Below.Text, err), "write it as a time with its unit, for example 2ms")
	case slo.Rate.From < 1 || slo.Rate.To <= slo.Rate.From:
		return nil, invalid(field+".rate", fmt.Sprintf("from %d to %d is no range", slo.Rate.From, slo.Rate.To), "write a range such as {from: 100, to: 20000}: both above 0, and to the larger one")
	case probes < leastProbes || probes > maxProbes:
		return nil, invalid(field+".probes", fmt.Sprintf("%d is not between %d and %d", probes, leastProbes, maxProbes), "omit it for 24")
	}
	k := &trial.Knee{Metric: slo.Metric, Limit: limit, Text: slo.Below.Text, From: slo.Rate.From, To: slo.Rate.To, Probes: probes}
	// The engine must accept both ends; whatever is offered is between them.
	var out []point
	for _, rate := range []int64{k.To, k.From} {
		p := point{workload: *w.DeepCopy(), knee: k}
		if f := set(&p.workload, setting{"offeredRate", strconv.FormatInt(rate, 10)}); f != nil {
			f.Field = field
			return nil, f
		}
		out = append(out, p)
	}
	return out, nil
}

// isMeasured reports whether a latency is one of those that trials have. Others, such as p90, may be
// asked of documents, but a probe without the metric says nothing.
func isMeasured(latency string) bool {
	return slices.ContainsFunc(quantities, func(q string) bool {
		return strings.HasPrefix(q, "latency.") && strings.HasSuffix(latency, "."+q)
	})
}

// checkKnees refuses what cannot be asked of a workload whose trials have different rates.
func checkKnees(spec v1alpha1.StorageBenchmarkSpec, p *trial.Plan, compare *trial.Compare) error {
	for _, w := range p.Workloads {
		if w.Knee == nil {
			continue
		}
		field := "spec.workloads[" + w.Name + "].sweep.slo"
		if failure := checkMetric(w.Engine, w.Knee.Metric); failure != nil {
			failure.Field = field + ".metric"
			return failure
		}
		if spec.Trials.Volumes > 1 || compare != nil && compare.By == string(v1alpha1.CompareByTarget) {
			return invalid(field, "a search is made on one volume, and the benchmark provisions several", "remove trials.volumes and compare.by, or make a benchmark for the search")
		}
		for i, g := range p.Gates {
			if g.Workload == w.Name {
				return invalid(fmt.Sprintf("spec.gates[%d].workload", i), fmt.Sprintf("the trials of %s are probes of a search, each at a rate of its own, and its answer is where the metric of the gate is near its limit", w.Name), "make a workload with a fixed offeredRate for the gate")
			}
		}
	}
	return nil
}

// probes returns how many trials the searches of a plan may take, of each variant.
func probes(p *trial.Plan) (all int) {
	for _, w := range p.Workloads {
		if w.Knee != nil {
			all += w.Knee.Probes
		}
	}
	return all * len(arms(p))
}

// searching reports whether a workload of the plan is a search.
func searching(p *trial.Plan) bool { return probes(p) > 0 }

// repeatsOf is how many trials a workload has, if others have so many.
func repeatsOf(w trial.Workload, repeats int) int {
	if w.Knee != nil {
		return w.Knee.Probes
	}
	return repeats
}

// mostRepeats is the highest number of trials of a workload.
func mostRepeats(p *trial.Plan, repeats int) int {
	most := 0
	for _, w := range p.Workloads {
		most = max(most, repeatsOf(w, repeats))
	}
	return most
}
