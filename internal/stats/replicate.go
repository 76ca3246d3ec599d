package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// replica is a row of one volume, or of one round, with the values that it is made of.
type replica struct {
	worker trial.Worker
	row    result.Row
	values map[string]series
}

// replicaKey is what the replicas of one row have in common.
type replicaKey struct{ target, node, workload, variant, part string }

func (r replica) key() replicaKey {
	return replicaKey{r.row.Target, r.row.Node, r.row.Workload, r.row.Variant, r.row.Part}
}

// exact returns the values of a metric, and false if one of them is only a bound.
func (r replica) exact(metric string) ([]float64, bool) {
	s := r.values[metric]
	return s.values, s.bounds == nil && len(s.values) > 0
}

// acrossVolumes makes one row of the replicas of each, decides gates on them, and compares rows volume by volume, or
// round by round. Trials of one volume count as one value: what they have in common is
// no evidence for the next volume.
func (f *Fold) acrossVolumes() (rows []result.Row, all []compared) {
	byKey := map[replicaKey][]replica{}
	var keys []replicaKey
	for _, worker := range f.plan.Workers {
		for _, r := range f.parts[worker.Name].replicas {
			if byKey[r.key()] == nil {
				keys = append(keys, r.key())
			}
			byKey[r.key()] = append(byKey[r.key()], r)
		}
	}
	f.sortKeys(keys)
	for _, key := range keys {
		rows = append(rows, mergeReplicas(f.plan, byKey[key]))
	}
	for _, worker := range f.plan.Workers {
		if worker.Volume == 1 {
			own := slices.DeleteFunc(slices.Clone(rows), func(r result.Row) bool { return r.Target != worker.Target || r.Node != worker.Node })
			f.addGates(gates(f.plan, worker, own, onVolumes(f.plan, f.looks, byKey)))
		}
	}
	for _, key := range keys {
		for _, control := range controlsOf(f.plan, key) {
			if before := byKey[control]; before != nil {
				all = append(all, compareReplicas(f.plan, key, control, before, byKey[key], all))
			}
		}
	}
	return rows, slices.DeleteFunc(all, func(c compared) bool { return len(c.Metrics) == 0 })
}

// sortKeys sorts rows by node and target, in the order of the plan.
func (f *Fold) sortKeys(keys []replicaKey) {
	nodes := map[string]int{}
	for i, w := range f.plan.Workers {
		if _, seen := nodes[w.Node]; !seen {
			nodes[w.Node] = i
		}
	}
	targets := map[string]int{}
	for i, t := range f.plan.Targets {
		targets[t.Name] = i
	}
	slices.SortStableFunc(keys, func(a, b replicaKey) int {
		return cmp.Or(cmp.Compare(nodes[a.node], nodes[b.node]), cmp.Compare(targets[a.target], targets[b.target]))
	})
}

// controlsOf returns the row that a row is compared with, if it is: that of the first target, or of the
// first variant.
func controlsOf(p *trial.Plan, key replicaKey) []replicaKey {
	control := key
	switch {
	case p.ComparesTargets():
		control.target = p.Targets[0].Name
	case len(p.Variants) > 1:
		control.variant = p.Variants[0].Name
	}
	if control == key {
		return nil
	}
	return []replicaKey{control}
}

// mergeReplicas makes one row of those of each volume.
func mergeReplicas(p *trial.Plan, replicas []replica) result.Row {
	row := replicas[0].row
	if len(replicas) == 1 {
		return row
	}
	row.N, row.Volumes, row.Verdicts, row.Operations = 0, len(replicas), nil, nil
	row.Metrics, row.Histograms = map[string]result.Estimate{}, result.Histograms{}
	units := map[string]string{}
	for _, r := range replicas {
		row.N += r.row.N
		row.Operations, row.Files = addOperations(row.Operations, r.row.Operations), row.Files.With(r.row.Files)
		row.Verdicts = addRowVerdicts(row.Verdicts, r.row.Verdicts)
		row.Histograms.Merge(r.row.Histograms)
		row.HistogramsOmitted = row.HistogramsOmitted || r.row.HistogramsOmitted
		if row.Stopped == "" {
			row.Stopped = r.row.Stopped
		}
		for name, e := range r.row.Metrics {
			units[name] = e.Unit
		}
	}
	if row.HistogramsOmitted {
		row.Histograms = result.Histograms{}
	}
	row.SpeaksFor = rowSpeaksFor(p, replicas[0].worker, row.Volumes)
	sortVerdicts(row.Verdicts)
	pooled := row.Histograms.Percentiles()
	for name, unit := range units {
		row.Metrics[name] = volumesEstimate(name, unit, replicas, pooled)
	}
	row.TrialSeconds = shortTrial(row, mediansOf(row))
	return row
}

// volumesEstimate is the estimate of a metric over volumes. One with values that are 0 or only bounds
// has no interval.
func volumesEstimate(name, unit string, replicas []replica, pooled map[string]float64) result.Estimate {
	var perVolume [][]float64
	var metrics []result.Metric
	for _, r := range replicas {
		metrics = append(metrics, r.values[name].metrics()...)
		if values, ok := r.exact(name); ok {
			perVolume = append(perVolume, values)
		}
	}
	e := estimate(name, unit, metrics, pooled, Looks{Spending: Once})
	e.Low, e.High = nil, nil
	if e.Bounds > 0 {
		return e
	}
	if v := VolumeInterval(perVolume); v.Median > 0 {
		e.Median = v.Median
		if v.OK && !math.IsInf(v.High, 0) {
			e.Low, e.High = &v.Low, &v.High
		}
	}
	return e
}

// addRowVerdicts adds the verdicts of another volume to those of a row.
func addRowVerdicts(row, more []result.RowVerdict) []result.RowVerdict {
	for _, v := range more {
		i := slices.IndexFunc(row, func(r result.RowVerdict) bool { return r.Name == v.Name && r.Operation == v.Operation })
		switch {
		case i < 0 && len(row) == maxRowVerdicts:
		case i < 0:
			row = append(row, v)
		case v.Effect == result.Invalidates && row[i].Effect != result.Invalidates:
			v.Trials += row[i].Trials
			row[i] = v
		default:
			row[i].Trials += v.Trials
		}
	}
	return row
}

// compareReplicas compares a row with its control, volume by volume. sofar are the comparisons that
// were made before: the whole of a workload decides, and a part only if the whole has no number.
func compareReplicas(p *trial.Plan, key, control replicaKey, before, after []replica, sofar []compared) compared {
	c := compared{replicate: "volume", Comparison: result.Comparison{
		Target: key.target, Workload: key.workload, Part: key.part, Node: key.node, Variant: key.variant, Control: control.variant,
		Metrics: map[string]result.Change{}, Operations: union(nil, before[0].row.Operations),
	}}
	if p.ComparesTargets() {
		c.By, c.Control = byTarget, control.target
	}
	if !p.Target(key.target).Generated || !p.Target(control.target).Generated {
		c.replicate = "round"
	}
	pairs := pairReplicas(before, after)
	judgments := map[string]Comparison{}
	for name := range before[0].row.Metrics {
		change, judgment, ok := compareMetric(name, pairs, c.replicate, optionsFor(p.Compare, name))
		if ok {
			c.Metrics[name], judgments[name] = change, judgment
		}
	}
	decided := slices.ContainsFunc(sofar, func(o compared) bool {
		return o.primary != nil && o.Part == "" && o.Target == c.Target && o.Node == c.Node && o.Workload == c.Workload && o.Variant == c.Variant
	})
	if name := primary(p.Compare, c.Comparison); name != "" && !decided {
		judgment := judgments[name]
		c.primary = &judgment
		c.Primary = &result.Decision{Metric: name, MinEffect: optionsFor(p.Compare, name).minEffect()}
	}
	return c
}

// pairReplicas returns the replicas of the same volume number, which were measured one after the
// other.
func pairReplicas(before, after []replica) (pairs [][2]replica) {
	for _, a := range before {
		for _, b := range after {
			if a.worker.Volume == b.worker.Volume {
				pairs = append(pairs, [2]replica{a, b})
			}
		}
	}
	return pairs
}

// compareMetric compares a metric over pairs of volumes, or rounds; false if no pair has it.
func compareMetric(name string, pairs [][2]replica, replicate string, o CompareOptions) (result.Change, Comparison, bool) {
	var change result.Change
	var d, controls, variants, differences []float64
	positive := true
	for _, pair := range pairs {
		unit := pair[0].row.Metrics[name].Unit
		if _, ok := pair[1].row.Metrics[name]; !ok || unit == "" || pair[1].row.Metrics[name].Unit != unit {
			continue
		}
		change.Unit = unit
		change.Pairs++
		a, okA := pair[0].exact(name)
		b, okB := pair[1].exact(name)
		if !okA || !okB {
			change.Bounds++
			continue
		}
		controls, variants = append(controls, Median(a)), append(variants, Median(b))
		differences = append(differences, Median(b)-Median(a))
		x, okX := logs(a)
		y, okY := logs(b)
		if positive = positive && okX && okY; positive {
			d = append(d, stat.Mean(y, nil)-stat.Mean(x, nil))
		}
	}
	if change.Pairs == 0 {
		return change, Comparison{}, false
	}
	change.Control, change.Variant = Median(controls), Median(variants)
	if change.Bounds > 0 || !positive {
		return change, judged(0, nil, 0, MinVolumes, o), true
	}
	judgment := compareUnits(d, replicate, o)
	change.Blocks, change.Difference = len(d), result.Interval{Median: Median(differences)}
	change.Ratio = &result.Interval{Median: judgment.Ratio}
	if judgment.OK && !math.IsInf(judgment.High, 0) {
		change.Ratio.Low, change.Ratio.High = &judgment.Low, &judgment.High
	}
	return change, judgment, true
}

// compareUnits judges the differences of pairs of volumes or rounds. Volumes that were provisioned anew
// are a sample of their class: Student's t, from 3 on. Rounds on the same storage are blocks whose
// order was drawn: signed ranks, from 6 on.
func compareUnits(d []float64, replicate string, o CompareOptions) Comparison {
	if replicate == "round" {
		return judge(walsh(d), len(d), MinBlocks, o)
	}
	if len(d) == 1 {
		c := judged(0, nil, 1, MinVolumes, o)
		c.Ratio = math.Exp(d[0])
		return c
	}
	n := float64(len(d))
	return student(stat.Mean(d, nil), stat.StdDev(d, nil)/math.Sqrt(n), n-1, len(d), o)
}

// rowSpeaksFor says what intervals of so many volumes of a worker's target are about.
func rowSpeaksFor(p *trial.Plan, worker trial.Worker, volumes int) string {
	target := p.Target(worker.Target)
	what := "this volume"
	switch {
	case target.Source == trial.HostPath && target.Mode == trial.Filesystem:
		what = "this directory"
	case target.Mode == trial.Block && !target.Generated:
		what = "this device"
	}
	switch {
	case volumes >= MinVolumes && target.Generated:
		what = "volumes of class " + target.Ref
	case volumes > 1 && target.Generated:
		what = fmt.Sprintf("these %d volumes", volumes)
	case volumes > 1:
		what += fmt.Sprintf(", in %d rounds", volumes)
	}
	return fmt.Sprintf("%s on %s, while it was measured", what, worker.Node)
}
