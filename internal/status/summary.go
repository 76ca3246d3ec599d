package status

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/compare"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// MaxRows is the number of rows in a status: about 1 KiB each, 5 KiB at most without their
// verdicts, which is far below etcd's limit for an object. It is also the limit in the API's
// schema.
const MaxRows = 64

// MaxOperations is the number of operations of a row in a status.
const MaxOperations = 16

// Summary writes the summary's rows and headline into the status.
func Summary(status *v1alpha1.StorageBenchmarkStatus, s result.Summary) {
	status.Headline = Shorten(report.Headline(s), 256)
	status.Summary = nil
	room := verdictBytes
	rows := report.Shown(s.Rows)
	status.SummaryOmitted = int32(max(len(rows)-MaxRows, 0))
	for _, row := range rows[:min(len(rows), MaxRows)] {
		out := v1alpha1.SummaryRow{Target: row.Target, Workload: row.Workload, Variant: row.Variant, Part: row.Part, Node: row.Node, Trials: int32(row.N), Volumes: int32(row.Volumes), SpeaksFor: Shorten(row.SpeaksFor, 600)}
		if row.TrialSeconds > 0 {
			out.TrialDuration = &metav1.Duration{Duration: time.Duration(row.TrialSeconds * float64(time.Second))}
		}
		ops := report.Operations(row)
		for _, op := range ops[:min(len(ops), MaxOperations)] {
			out.Operations = append(out.Operations, v1alpha1.OperationSummary{
				Operation: op,
				IOPS:      estimate(row, op+".iops"),
				Rate:      estimate(row, op+".rate"),
				Bandwidth: estimate(row, op+".bandwidth"),
				Latency:   latency(row, op),
			})
		}
		out.Verdicts = verdicts(row, &room)
		status.Summary = append(status.Summary, out)
	}
	setGates(status, s)
	setSweeps(status, s)
	setBaseline(status, s)
	status.Facts = facts(s)
	status.Comparisons = nil
	for _, c := range s.Comparisons[:min(len(s.Comparisons), MaxRows)] {
		status.Comparisons = append(status.Comparisons, comparison(c))
	}
}

// MaxFacts is the number of facts in a status.
const MaxFacts = 64

// facts returns those of a summary, as many as there is room for.
func facts(s result.Summary) map[string]string {
	all := compare.Facts(s)
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if len(out) < MaxFacts {
			out[Shorten(name, 120)] = Shorten(all[name], 120)
		}
	}
	return out
}

// MaxVerdicts is the number of verdicts of a row in a status, and verdictBytes what those of all
// rows may say together. Without it a forged summary could fill an object of etcd.
const (
	MaxVerdicts  = 8
	verdictBytes = 192 << 10
)

// verdicts returns those of a row, and takes what they say from room. If there is no room, it
// returns their names only, as if they were about all operations.
func verdicts(row result.Row, room *int) []v1alpha1.VerdictSummary {
	var out []v1alpha1.VerdictSummary
	all := report.Verdicts(row)
	for _, v := range all[:min(len(all), MaxVerdicts)] {
		s := v1alpha1.VerdictSummary{Name: v.Name, Effect: string(v.Effect), Trials: int32(v.Trials)}
		operations, message := v.Operations[:min(len(v.Operations), MaxOperations)], Shorten(v.Sentence, 320)
		size := len(message)
		for _, op := range operations {
			size += len(op) + len(`"",`)
		}
		if size <= *room {
			*room -= size
			s.Operations, s.Message = operations, message
		}
		out = append(out, s)
	}
	return out
}

// MaxChanges is the number of metrics of a comparison in a status.
const MaxChanges = 16

func comparison(c result.Comparison) v1alpha1.ComparisonRow {
	out := v1alpha1.ComparisonRow{By: v1alpha1.CompareBy(c.By), Target: c.Target, Workload: c.Workload, Part: c.Part, Node: c.Node, Variant: c.Variant, Control: c.Control}
	if d := c.Primary; d != nil {
		out.Outcome, out.Primary, out.Message = v1alpha1.ComparisonOutcome(d.Outcome), Shorten(d.Metric, 64), Shorten(d.Sentence, 512)
		out.MoreRepeats = int32(min(max(d.MoreRepeats, 0), math.MaxInt32))
	}
	names := report.Changed(c)
	for _, name := range names[:min(len(names), MaxChanges)] {
		m := c.Metrics[name]
		change := v1alpha1.MetricChange{Metric: name, Pairs: int32(m.Pairs), Blocks: int32(m.Blocks), Control: quantity(m.Control), Variant: quantity(m.Variant)}
		if m.Ratio != nil {
			change.Ratio = interval(m.Ratio.Median, m.Ratio.Low, m.Ratio.High)
		}
		out.Changes = append(out.Changes, change)
	}
	return out
}

func estimate(row result.Row, name string) *v1alpha1.Estimate {
	m, ok := row.Metrics[name]
	if !ok {
		return nil
	}
	e := interval(m.Median, m.Low, m.High)
	e.Bounds, e.AtLeast = int32(min(max(m.Bounds, 0), math.MaxInt32)), m.AtLeast
	return e
}

func interval(median float64, low, high *float64) *v1alpha1.Estimate {
	e := &v1alpha1.Estimate{Median: quantity(median)}
	if low != nil && high != nil {
		from, to := quantity(*low), quantity(*high)
		e.Low, e.High = &from, &to
	}
	return e
}

// quantity keeps at least three digits, and three decimals below 1000.
func quantity(v float64) resource.Quantity {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return resource.Quantity{}
	}
	if small := math.Abs(v); small > 0 && small < 0.1 {
		// For example a latency in seconds. A quantity cannot be finer than 1n.
		unit := math.Pow(10, max(math.Floor(math.Log10(small))-2, -9))
		return *resource.NewScaledQuantity(int64(math.Round(math.Round(v/unit)*unit*1e9)), resource.Nano)
	}
	if math.Abs(v) < 1000 {
		return *resource.NewMilliQuantity(int64(math.Round(v*1000)), resource.DecimalSI)
	}
	// DecimalExponent would be shorter, but people read 12345 more easily.
	q, err := resource.ParseQuantity(strconv.FormatFloat(math.Round(v), 'f', 0, 64))
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

// latency returns the percentiles of the merged histogram.
func latency(row result.Row, op string) *v1alpha1.LatencySummary {
	h := row.Histograms[op]
	if h == nil || h.Count() == 0 {
		return nil
	}
	at := func(p float64) metav1.Duration { return metav1.Duration{Duration: time.Duration(h.Percentile(p))} }
	return &v1alpha1.LatencySummary{P50: at(50), P99: at(99), P999: at(99.9)}
}
