package stats

import (
	"regexp"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// keeper reports whether a metric of a part, or of the whole (""), stays in a run's summary.
type keeper func(part, metric string) bool

func everything(string, string) bool { return true }

// shown leaves to parts of workloads only what tables show, leaves out what only some workers can
// observe of the disks' requests, and keeps what the plan decides by. A run of many workers has no room
// for more; the workers' summaries have it.
func (f *Fold) shown(part, metric string) bool {
	return !small(part, metric) || f.deciding[metric]
}

// small reports whether a metric of a part, or of the whole, gives way to others.
func small(part, metric string) bool {
	if part != "" && !slices.ContainsFunc(headlines, func(h string) bool { return strings.HasSuffix(metric, h) }) {
		return true
	}
	return strings.HasPrefix(metric, "device.") && ofRequests.MatchString(metric)
}

var ofRequests = regexp.MustCompile(`^device\.(.+\.(latency|wait)|request|seek)\.(mean|max|p50|p99\.9|size\.(mean|p99)|distance\.p50)$`)

var headlines = []string{".iops", ".rate", ".bandwidth", ".duration", ".latency.p50", ".latency.p99", ".latency.p99.9", ".completion.p99"}

// decidingMetrics are those of a plan's gates, and of its comparisons.
func decidingMetrics(p *trial.Plan) map[string]bool {
	all := map[string]bool{}
	for _, g := range p.Gates {
		all[g.Metric] = true
	}
	if p.Compare != nil && p.Compare.Metric != "" {
		all[p.Compare.Metric] = true
	}
	return all
}

// size is what a worker takes of a run's summary, and of memory.
type size struct {
	// metrics of rows and comparisons. Verdicts, and rows themselves, count as one.
	metrics int
	// values of rows of one of several volumes, which are kept until the last.
	values int
}

func (s size) with(more size) size { return size{s.metrics + more.metrics, s.values + more.values} }

// exceeds reports whether that is more than one of so many parts of the limits.
func (s size) exceeds(parts int) bool {
	return s.metrics > maxRowMetrics/parts || s.values > maxVolumeValues/parts
}

// measure counts before anything is built, and no further than the limits.
func (f *Fold) measure(w *result.WorkerSummary, worker trial.Worker, keeps keeper) size {
	var s size
	for _, cell := range f.plan.Cells() {
		if probes(f.plan, cell.Workload) {
			continue
		}
		copies := 1 // in the row, and in each comparison with it
		if worker.Volume == 0 && comparesVariants(f.plan) && cell.Variant == f.plan.Variants[0].Name {
			copies = len(f.plan.Variants)
		}
		for _, part := range partsOf(w, cell) {
			names := map[string]struct{}{}
			for _, t := range w.Trials {
				t, ok := t.OfPart(part)
				if !ok || t.Cell() != cell || t.Outcome != result.Measured {
					continue
				}
				for name := range t.Metrics {
					if !keeps(part, name) {
						continue
					}
					names[name] = struct{}{}
					if worker.Volume > 0 {
						s.values++
					}
				}
				if f.size.with(s).with(size{metrics: len(names)}).exceeds(1) {
					return s.with(size{metrics: len(names)})
				}
			}
			s.metrics += 1 + copies*len(names)
		}
	}
	return s
}

// lastAttempts are those of a worker that there is room for. A worker keeps as many itself.
func (f *Fold) lastAttempts(all []result.Attempt) []result.Attempt {
	n := min(len(all), keptAttempts, maxAttempts-f.attempts)
	f.attempts += n
	return slices.Clone(all[len(all)-n:]) // not what it is a part of
}

// maxRowOperations is how many operations a row has. No honest trial has so many.
const maxRowOperations = 64

// addOperations adds a trial's operations to those of a row or of a comparison.
func addOperations(all, more []string) []string {
	if len(all) >= maxRowOperations {
		return all
	}
	return union(all, more)
}

// series are the values of a metric, of a row of one of several volumes.
type series struct {
	values []float64
	// bounds are those that are only lower bounds; nil: none is.
	bounds []bool
}

func seriesOf(metrics []result.Metric) series {
	s := series{values: make([]float64, len(metrics))}
	for i, m := range metrics {
		s.values[i] = m.Value
		if m.AtLeast && s.bounds == nil {
			s.bounds = make([]bool, len(metrics))
		}
		if m.AtLeast {
			s.bounds[i] = true
		}
	}
	return s
}

// metrics are the values, without their unit.
func (s series) metrics() []result.Metric {
	out := make([]result.Metric, len(s.values))
	for i, v := range s.values {
		out[i].Value = v
	}
	for i, atLeast := range s.bounds {
		out[i].AtLeast = atLeast
	}
	return out
}
