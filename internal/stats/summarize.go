package stats

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Confidence of every interval.
const Confidence = 0.95

// Limits of a run's summary, which grows in memory and must stay below
// result.MaxRunSummary. A run of 1,000 workers with two rows each has about 80,000
// metrics; a bucket of a histogram takes about 25 bytes of JSON.
const (
	maxRowMetrics   = 200_000
	maxVolumeValues = 4_000_000 // of 8 bytes
	maxAttempts     = 20_000
	keptAttempts    = 100 // of one worker
	maxBuckets      = 500_000
	maxEnvironments = 16 << 20 // bytes of JSON
	maxVerdicts     = 4 << 20  // bytes of what verdicts say
)

// Fold builds a run's summary from its workers' summaries, one at a time. It keeps only a
// worker's rows, so that they bound its memory, not the uploads.
type Fold struct {
	plan  *trial.Plan
	looks Looks
	// deciding are the metrics that the plan decides by.
	deciding map[string]bool
	workers  map[string]trial.Worker
	// parts of the summary, by worker.
	parts        map[string]part
	size         size
	attempts     int
	buckets      int
	environments int
	verdicts     int
	// gates of the workers that were added, of at most maxGates, and how many there are of
	// each outcome.
	gates   []result.Gate
	gatesOf map[result.GateOutcome]int
}

// part is what Fold keeps of a worker's summary.
type part struct {
	stored int
	// needed is how many trials were to be stored.
	needed      int
	rows        []result.Row
	comparisons []compared
	sweeps      []result.Sweep
	environment *result.Environment
	attempts    []result.Attempt
	failure     *trial.Failure
	// replicas are the rows with their values, if the worker measured one of several volumes.
	replicas []replica
}

// NewFold begins the summary of a run.
func NewFold(p *trial.Plan) *Fold {
	f := &Fold{plan: p, looks: looksOf(p).remembered(), deciding: decidingMetrics(p), workers: map[string]trial.Worker{}, parts: map[string]part{}, gatesOf: map[result.GateOutcome]int{}}
	for _, w := range p.Workers {
		f.workers[w.Name] = w
	}
	return f
}

// Add folds in a worker's summary and keeps only what the run's summary needs. It
// returns an error for a worker that is not in the plan or was added before.
func (f *Fold) Add(w *result.WorkerSummary) error {
	worker, ok := f.workers[w.Worker.Name]
	if !ok {
		return fmt.Errorf("stats: worker %.64q is not in the plan", w.Worker.Name)
	}
	if _, twice := f.parts[worker.Name]; twice {
		return fmt.Errorf("stats: worker %s was already added", worker.Name)
	}
	keeps, more := everything, f.measure(w, worker, everything)
	if f.size.with(more).exceeds(2) { // to leave room for the workers to come
		keeps = f.shown
		more = f.measure(w, worker, keeps)
	}
	if f.size.with(more).exceeds(1) {
		return tooMany(worker)
	}
	p := part{stored: len(w.Trials), needed: w.Needed(f.plan), failure: w.Failure}
	f.build(&p, worker, w, keeps)
	for _, row := range p.rows {
		more.metrics += len(row.Verdicts)
	}
	if f.size.with(more).exceeds(1) {
		return tooMany(worker)
	}
	f.size = f.size.with(more)
	if worker.Volume == 0 {
		f.addGates(gates(f.plan, worker, p.rows, onTrials(f.plan, f.looks, w)))
		p.sweeps = append(sweeps(f.plan, worker, p.rows, w), knees(f.plan, worker, w)...)
	}
	for i := range p.rows {
		f.omitHistograms(&p.rows[i])
		f.shortenVerdicts(&p.rows[i])
	}
	for i := range p.replicas {
		p.replicas[i].row = p.rows[i]
	}
	p.environment, p.attempts = f.addEnvironment(w.Environment, worker), f.lastAttempts(w.Attempts)
	f.parts[worker.Name] = p
	return nil
}

func tooMany(worker trial.Worker) error {
	return fmt.Errorf("stats: worker %s: the run's summary would have more than the limit of %d metrics and verdicts, or %d values of volumes", worker.Name, maxRowMetrics, maxVolumeValues)
}

// build makes the rows and comparisons of a worker, with the metrics that stay.
func (f *Fold) build(p *part, worker trial.Worker, w *result.WorkerSummary, keeps keeper) {
	for _, cell := range f.plan.Cells() {
		if probes(f.plan, cell.Workload) {
			continue
		}
		for _, part := range partsOf(w, cell) {
			row, values, ok := f.buildRow(worker, cell, part, w, keeps)
			if !ok {
				continue
			}
			row.SpeaksFor = rowSpeaksFor(f.plan, worker, 1)
			p.rows = append(p.rows, row)
			if worker.Volume > 0 {
				p.replicas = append(p.replicas, replica{worker: worker, values: values})
			}
		}
	}
	if worker.Volume == 0 { // volumes are compared at the end
		p.comparisons = comparisons(f.plan, worker, w, keeps)
	}
}

// omitHistograms drops the histograms of a row when there is no more room. The
// row's percentiles were already computed from them.
func (f *Fold) omitHistograms(row *result.Row) {
	buckets := 0
	for _, h := range row.Histograms {
		buckets += h.Buckets()
	}
	if f.buckets+buckets > maxBuckets {
		row.Histograms, row.HistogramsOmitted = result.Histograms{}, true
		return
	}
	f.buckets += buckets
}

// addEnvironment keeps a worker's environment if there is room. If not, it is only in
// the worker's summary.
func (f *Fold) addEnvironment(e *result.Environment, worker trial.Worker) *result.Environment {
	if e == nil {
		return nil
	}
	known := *e
	known.Target.Class = f.plan.Target(worker.Target).Class // whatever the worker says
	e = &known
	size := func(e *result.Environment) int {
		b, err := json.Marshal(e)
		if err != nil {
			return maxEnvironments // cannot happen: it was decoded from JSON
		}
		return len(b)
	}
	all := size(e)
	if f.environments+all > maxEnvironments {
		return nil
	}
	f.environments += all
	return e
}

// Finish returns the summary of what was added. Rows are in the order of the plan: by
// worker, then by workload. A workload without a measured trial has no row; its failure
// is in Failures.
func (f *Fold) Finish(finishedAt time.Time) result.Summary {
	p := f.plan
	s := result.Summary{
		Schema:      result.SummarySchema,
		Benchmark:   p.Benchmark,
		Run:         p.Run,
		FinishedAt:  finishedAt,
		Planned:     len(p.Trials) * len(p.Workers),
		Rows:        []result.Row{},
		Environment: map[string]*result.Environment{},
		Attempts:    map[string][]result.Attempt{},
		Failures:    map[string]*trial.Failure{},
	}
	var all []compared
	for _, worker := range p.Workers {
		w, ok := f.parts[worker.Name]
		if !ok {
			if worker.Volume == 0 {
				f.addGates(gates(p, worker, nil, nil))
			}
			continue
		}
		s.Stored += w.stored
		s.Planned -= len(p.Trials) - w.needed
		s.Environment[worker.Name] = w.environment
		s.Attempts[worker.Name] = w.attempts
		if w.failure != nil {
			s.Failures[worker.Name] = w.failure
		}
		if worker.Volume == 0 {
			s.Rows = append(s.Rows, w.rows...)
			all = append(all, w.comparisons...)
			s.Sweeps = append(s.Sweeps, w.sweeps...)
		}
	}
	rows, across := f.acrossVolumes()
	s.Sweeps = append(s.Sweeps, sweepsAcross(p, rows)...)
	s.Rows, all = append(s.Rows, rows...), append(all, across...)
	on := shared(p, &s)
	s.Comparisons = decide(p, s.Rows, all, on)
	s.Configuration = configuration(p)
	sortGates(f.gates)
	s.Gates, s.GatesOmitted = f.gates, f.gatesOf[result.GateMet]+f.gatesOf[result.GateMissed]+f.gatesOf[result.GateInconclusive]-len(f.gates)
	s.Answer = f.answer(s)
	return s
}

// Summarize folds the workers' summaries into the run's. It leaves out a worker that is
// not in the plan, and a second summary of the same worker.
func Summarize(p *trial.Plan, workers []result.WorkerSummary, finishedAt time.Time) result.Summary {
	f := NewFold(p)
	for i := range workers {
		_ = f.Add(&workers[i]) // the others still count
	}
	return f.Finish(finishedAt)
}

// partsOf returns the parts of a cell that are rows, the whole ("") first.
func partsOf(w *result.WorkerSummary, cell trial.Cell) []string {
	parts := []string{""}
	for _, t := range w.Trials {
		if t.Cell() == cell {
			for _, p := range t.Parts {
				parts = union(parts, []string{p.Name})
			}
		}
	}
	return parts
}

// buildRow returns a row, and the values that it is made of.
func (f *Fold) buildRow(worker trial.Worker, cell trial.Cell, part string, w *result.WorkerSummary, keeps keeper) (result.Row, map[string]series, bool) {
	row := result.Row{
		Target:     worker.Target,
		Workload:   cell.Workload,
		Variant:    cell.Variant,
		Part:       part,
		Node:       worker.Node,
		Stopped:    w.StopOf(cell),
		Metrics:    map[string]result.Estimate{},
		Histograms: result.Histograms{},
	}
	values := map[string][]result.Metric{}
	for _, t := range w.Trials {
		t, ok := t.OfPart(part)
		if !ok || t.Cell() != cell || t.Outcome != result.Measured {
			continue
		}
		row.N++
		// A trial may lack a metric of an operation that was too fast to
		// measure.
		row.Operations, row.Files = addOperations(row.Operations, t.Operations), row.Files.With(t.Files)
		row.Verdicts = addVerdicts(row.Verdicts, verdictsOf(t, part))
		for name, m := range t.Metrics {
			if keeps(part, name) {
				values[name] = append(values[name], m)
			}
		}
	}
	if row.N == 0 {
		return row, nil, false
	}
	for _, pool := range w.Workloads {
		if pool.Cell == cell && pool.Part == part {
			row.Histograms.Merge(pool.Histograms)
		}
	}
	sortVerdicts(row.Verdicts)
	pooled, kept := row.Histograms.Percentiles(), map[string]series{}
	for name, vs := range values {
		row.Metrics[name] = estimate(name, vs[len(vs)-1].Unit, vs, pooled, f.looks)
		if worker.Volume > 0 {
			kept[name] = seriesOf(vs)
		}
	}
	row.TrialSeconds = shortTrial(row, func(name string) float64 {
		if e, ok := row.Metrics[name]; ok {
			return e.Median
		}
		left, _ := valuesOf(w, cell, part, name)
		return Median(left)
	})
	return row, kept, true
}

// estimate is that of a metric; pooled are the percentiles of its row's histograms, by metric.
func estimate(name, unit string, values []result.Metric, pooled map[string]float64, looks Looks) result.Estimate {
	e := bounded(values, looks)
	e.Unit = unit
	if seconds, ok := pooled[name]; ok {
		e.Pooled = &seconds
	}
	return e
}

// looksOf returns how often the intervals of a plan are looked at.
func looksOf(p *trial.Plan) Looks {
	if p.Stop == nil || p.Stop.Max <= p.Stop.Min {
		return Looks{Max: len(p.Trials)}
	}
	return Looks{Max: p.Stop.Max, Spending: Front}
}

// settings are tunables in words, as a digest does not say what changed.
func settings(all []trial.Tunable) string {
	words := make([]string, len(all))
	for i, t := range all {
		words[i] = t.Name + "=" + t.Value
	}
	return strings.Join(words, ", ")
}

// configuration returns what a plan measures.
func configuration(p *trial.Plan) map[string]string {
	out := map[string]string{}
	digest := func(v any) string {
		document, err := json.Marshal(v)
		if err != nil {
			return "" // cannot happen: the plan was decoded from JSON
		}
		return trial.Digest(document)[:len("sha256:")+12]
	}
	for _, w := range p.Workloads {
		out["workload "+w.Name] = digest(w)
	}
	for _, v := range p.Variants {
		out["variant "+v.Name] = digest(v)
		if len(v.Tunables) > 0 {
			out["settings of "+v.Name] = settings(v.Tunables)
		}
	}
	for _, t := range p.Targets {
		out["target "+t.Name] = fmt.Sprintf("%s %s", t.Source, t.Ref)
		if t.Class != nil {
			out["class of target "+t.Name] = t.Class.Digest[:min(len(t.Class.Digest), len("sha256:")+12)]
		}
	}
	return out
}
