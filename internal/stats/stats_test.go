package stats

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// The ranks are those of published tables of the sign test's interval.
func TestMedianIntervalUsesTheRanksOfTheSignTest(t *testing.T) {
	for n, rank := range map[int]int{6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8, 50: 18, 100: 40} {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i) // 1…n, descending
		}
		low, high, ok := MedianInterval(values, 0.95)
		if !ok || low != float64(rank) || high != float64(n+1-rank) {
			t.Errorf("n=%d: %v..%v (%v), want ranks %d and %d", n, low, high, ok, rank, n+1-rank)
		}
	}
	for n := range 6 {
		if _, _, ok := MedianInterval(make([]float64, n), 0.95); ok {
			t.Errorf("%d values cannot give a 95 %% interval", n)
		}
	}
}

func TestMedianIntervalCoversWhatItClaims(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{6, 13, 30} {
		covered := 0
		const rounds = 20_000
		for range rounds {
			values := make([]float64, n)
			for i := range values {
				values[i] = r.ExpFloat64()
			}
			if low, high, _ := MedianInterval(values, 0.95); low <= math.Ln2 && math.Ln2 <= high {
				covered++
			}
		}
		if share := float64(covered) / rounds; share < 0.945 {
			t.Errorf("n=%d: the interval covers the median in %.3f of the rounds", n, share)
		}
	}
}

func TestSummarizeFoldsMeasuredTrialsOnly(t *testing.T) {
	worker := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	p := &trial.Plan{
		Workloads: []trial.Workload{{Name: "oltp"}, {Name: "broken"}},
		Trials:    make([]trial.Trial, 14),
		Workers:   []trial.Worker{worker, {Name: "fast.b", Target: "fast", Node: "b"}},
	}
	h := &histogram.Histogram{}
	h.Add(100_000, 99)
	h.Add(5_000_000, 1)
	w := result.WorkerSummary{
		Worker:    worker,
		Workloads: []result.WorkloadPool{{Cell: trial.Cell{Workload: "oltp"}, Histograms: result.Histograms{"read": h}}},
		Failure:   &trial.Failure{Class: reason.WorkloadFailed, Message: "broken"},
	}
	for i := range 7 {
		w.Trials = append(w.Trials, result.TrialSummary{
			Trial: trial.Trial{Workload: "oltp"}, Outcome: result.Measured,
			Metrics: result.Metrics{
				"read.iops":        {Unit: result.PerSecond, Value: float64(100 + i*3%7)},
				"read.latency.p99": {Unit: result.Seconds, Value: 0.001},
			},
		}, result.TrialSummary{Trial: trial.Trial{Workload: "broken"}, Outcome: result.Failed})
	}

	s := Summarize(p, []result.WorkerSummary{w}, time.Unix(0, 0))

	if len(s.Rows) != 1 || s.Planned != 28 || s.Stored != 14 || s.Failures["fast.a"] == nil {
		t.Fatalf("summary: %+v", s)
	}
	iops := s.Rows[0].Metrics["read.iops"]
	if s.Rows[0].N != 7 || iops.Median != 103 || *iops.Low != 100 || *iops.High != 106 || iops.Unit != result.PerSecond {
		t.Errorf("row: %+v", s.Rows[0])
	}
	p99 := s.Rows[0].Metrics["read.latency.p99"]
	if p99.Pooled == nil || math.Abs(*p99.Pooled-100e-6)/100e-6 > 0.008 || p99.Median != 0.001 {
		t.Errorf("p99: %+v: the pooled one comes from the merged histogram", p99)
	}
}
