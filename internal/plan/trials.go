package plan

import (
	"fmt"
	"strconv"
	"strings"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/trial"
)

const (
	// defaultMax is the highest number of trials of a benchmark that stops when it knows
	// enough and does not say how many are too many.
	defaultMax = 30
	// defaultHalfWidth of an interval is ±5 %.
	defaultHalfWidth = 0.05
	// volumeTrials is how many trials of a volume are enough where volumes are the replicates:
	// their mean is one value, and two or more tell its spread.
	volumeTrials = 3
	// maxVolumes is the highest spec.trials.volumes.
	maxVolumes = 20
	// lowestHalfWidth and highestHalfWidth are the bounds of spec.trials.halfWidth.
	lowestHalfWidth, highestHalfWidth = 0.001, 0.5
)

// volumes is how many volumes, or rounds, each target has on each node; 0 if it is one.
func (in Input) volumes(p *trial.Plan) (int, error) {
	n := int(in.Benchmark.Spec.Trials.Volumes)
	if n == 0 && p.ComparesTargets() {
		n = min(stats.BlocksFor(comparisonRows(p, len(in.Nodes))), maxVolumes)
	}
	field := "spec.placement.nodes"
	if n > 1 {
		field = "spec.trials.volumes"
	}
	for _, t := range p.Targets {
		if n > 1 && !p.ComparesTargets() && t.Source != trial.StorageClass {
			return 0, invalid(field, fmt.Sprintf("it is %d, but target %s is not provisioned: there is only one of it", n, t.Name), "set volumes to 1, or measure a storageClass")
		}
	}
	if workers := len(p.Targets) * len(in.Nodes) * max(n, 1); workers > MaxWorkers {
		return 0, invalid(field, fmt.Sprintf("%d targets × %d nodes × %d volumes make %d workers; the limit is %d", len(p.Targets), len(in.Nodes), max(n, 1), workers, MaxWorkers), "lower placement.nodes or trials.volumes, or split the benchmark")
	}
	if n <= 1 && !p.ComparesTargets() {
		return 0, nil
	}
	return n, nil
}

// trials fills in how many trials there are, in which order, and when a worker may stop.
func (in Input) trials(p *trial.Plan) error {
	spec := in.Benchmark.Spec.Trials
	adaptive := spec.Max > 0 || spec.HalfWidth != "" || spec.Budget != nil
	least := int(spec.Min)
	if least == 0 {
		least = in.defaultMin(p)
	}
	most := least
	if adaptive {
		if most = int(spec.Max); most == 0 {
			most = max(defaultMax, least)
		}
		if spec.Min == 0 {
			least = min(least, most)
		}
	}
	if most < least {
		return invalid("spec.trials.max", fmt.Sprintf("it is %d, less than trials.min, which is %d", most, least), "raise max or lower min")
	}
	field := "spec.trials.min"
	if spec.Max > 0 {
		field = "spec.trials.max"
	}
	cells := len(p.Cells())
	for _, w := range p.Workloads {
		if w.Knee != nil {
			cells -= len(arms(p))
		}
	}
	if spec.Min == 0 && spec.Max == 0 {
		most = min(most, MaxTrials/max(cells, 1)/2*2) // nobody asked for so many
		least = min(least, most)
	}
	if all := cells*most + probes(p); all > MaxTrials && searching(p) {
		return invalid("spec.workloads", fmt.Sprintf("%d trials and %d probes of searches are more than %d trials per worker", cells*most, probes(p), MaxTrials), "lower slo.probes or trials.min, or split the benchmark")
	}
	if cells*most > MaxTrials || most == 0 {
		return invalid(field, fmt.Sprintf("%d combinations of workload and variant × %d trials make %d trials per worker; the limit is %d", cells, most, cells*most, MaxTrials), "lower trials."+strings.TrimPrefix(field, "spec.trials.")+" or split the benchmark")
	}
	if adaptive {
		stop, err := stopRule(spec, least, most)
		if err != nil {
			return err
		}
		stop.Gates = gateStop(p, spec)
		p.Stop = stop
	}
	if p.Stop == nil && searching(p) {
		p.Stop = &trial.Stop{Min: most, Max: most, HalfWidth: defaultHalfWidth} // all trials but those of searches
	}
	p.Trials = order(p, most)
	return nil
}

// stopRule is the rule of a benchmark with max, halfWidth or budget. The budget is the run's; a
// worker's share of it is known when there are workers.
func stopRule(spec v1alpha1.Trials, least, most int) (*trial.Stop, error) {
	stop := &trial.Stop{Min: least, Max: most, HalfWidth: defaultHalfWidth}
	if text, ok := strings.CutSuffix(spec.HalfWidth, "%"); ok {
		percent, err := strconv.ParseFloat(text, 64)
		if stop.HalfWidth = percent / 100; err != nil || stop.HalfWidth < lowestHalfWidth || stop.HalfWidth > highestHalfWidth {
			return nil, invalid("spec.trials.halfWidth", fmt.Sprintf("%s is not between %g%% and %g%%", spec.HalfWidth, 100*lowestHalfWidth, 100*highestHalfWidth), "set how narrow an interval is to be, for example 5%")
		}
	} else if spec.HalfWidth != "" {
		return nil, invalid("spec.trials.halfWidth", fmt.Sprintf("%q has no percent sign", spec.HalfWidth), "write it as a share of the median, for example 5%")
	}
	if spec.Budget != nil {
		if stop.BudgetSeconds = spec.Budget.Seconds(); stop.BudgetSeconds <= 0 {
			return nil, invalid("spec.trials.budget", fmt.Sprintf("%s is no time", spec.Budget.Duration), "set how long the trials may take in all, for example 30m")
		}
	}
	return stop, nil
}

// gateStop says how gates end a workload. They do not where something is compared, as a decision
// depends on what differs; nor where volumes are the replicates, as it is about all of them.
func gateStop(p *trial.Plan, spec v1alpha1.Trials) trial.GateStop {
	switch {
	case len(p.Gates) == 0 || p.Volumes > 1 || p.ComparesTargets() || len(arms(p)) > 1:
		return ""
	case spec.HalfWidth != "":
		return trial.GatesOrWidth
	default:
		return trial.GatesAlone
	}
}

// defaultMin is how many trials can answer: 6 for a median, and for a comparison as many blocks as
// their rows need: one of them must be able to be told from none although there are the others.
func (in Input) defaultMin(p *trial.Plan) int {
	rows := comparisonRows(p, len(in.Nodes))
	swept := 0
	for _, s := range p.Sweeps {
		if len(s.Points) > 1 {
			swept = max(swept, stats.SweepUnits(len(s.Points)))
		}
	}
	switch {
	case p.Volumes > 1:
		return volumeTrials
	case swept > 0 && rows == 0:
		return swept
	case rows == 0 || p.Order == string(v1alpha1.OrderSequential):
		return stats.MinTrials
	case p.Order == string(v1alpha1.OrderRandom):
		return stats.BlocksFor(rows)
	default:
		return 2 * stats.BlocksFor(rows)
	}
}

// comparisonRows is how many differences the run is to judge: one for each workload and variant but
// the control, on each target and node; or one for each target but the first.
func comparisonRows(p *trial.Plan, nodes int) int {
	if p.ComparesTargets() {
		return len(p.Cells()) * (len(p.Targets) - 1) * nodes
	}
	compared := 0
	for _, w := range p.Workloads {
		if w.Knee == nil { // the probes of a search have rates of their own, and are compared with nothing
			compared++
		}
	}
	return compared * (len(arms(p)) - 1) * len(p.Targets) * nodes
}

// Advice says where the trials of a plan are too few to answer, or in an order that does not let
// them; a sentence each.
func Advice(p *trial.Plan) []string {
	repeats := 0
	for _, t := range p.Trials {
		if w, ok := p.Workload(t.Workload); ok && w.Knee == nil { // probes of a search answer another question
			repeats = max(repeats, t.Repeat)
		}
	}
	var out []string
	nodes := map[string]bool{}
	for _, w := range p.Workers {
		nodes[w.Node] = true
	}
	if p.Volumes > 1 || p.ComparesTargets() {
		return volumeAdvice(p, len(nodes))
	}
	if repeats > 0 && repeats < stats.MinTrials {
		out = append(out, fmt.Sprintf("%d trials give a median without an interval: set trials.min to %d or more", repeats, stats.MinTrials))
	}
	rows := comparisonRows(p, len(nodes))
	if rows == 0 {
		return out
	}
	perBlock := 2
	switch p.Order {
	case string(v1alpha1.OrderSequential):
		return append(out, "with trials.order Sequential, a drift of the machine cannot be told from a difference between variants: use Interleaved")
	case string(v1alpha1.OrderRandom):
		perBlock = 1
	}
	if needed, blocks := stats.BlocksFor(rows), repeats/perBlock; blocks < needed {
		out = append(out, fmt.Sprintf("%d blocks cannot tell any of %d differences from none with 95 %% confidence: set trials.min to %d or more", blocks, rows, needed*perBlock))
	}
	return out
}

// volumeAdvice is Advice for a plan in which volumes, or rounds, are the replicates.
func volumeAdvice(p *trial.Plan, nodes int) []string {
	fewest, why := stats.MinVolumes, "%d volumes give no interval for their class: set trials.volumes to %d or more"
	if p.ComparesTargets() {
		why = "%d volumes of each target cannot tell one from another: set trials.volumes to %d or more"
		for _, t := range p.Targets {
			if !t.Generated {
				fewest = stats.BlocksFor(comparisonRows(p, nodes))
				why = "%d rounds cannot tell one target from another: set trials.volumes to %d or more"
			}
		}
	}
	if n := max(p.Volumes, 1); n < fewest {
		return []string{fmt.Sprintf(why, n, fewest)}
	}
	return nil
}
