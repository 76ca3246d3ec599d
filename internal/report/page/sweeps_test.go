package page

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestASweepIsACurveInTheOrderOfItsParameter(t *testing.T) {
	sweep := result.Sweep{Target: "fast", Node: "a", Workload: "w", Parameters: []string{"iodepth"}, Metric: "read.iops", Unit: result.PerSecond, Sentence: "w is best with iodepth=16"}
	for value, median := range map[string]float64{"16": 900, "1": 100, "4": 300, "deep": 5} {
		sweep.Points = append(sweep.Points, result.SweepPoint{Values: []string{value}, Estimate: &result.Interval{Median: median}})
	}
	charts := sweepCharts(result.Summary{Sweeps: []result.Sweep{sweep}})
	if len(charts) != 1 || len(charts[0].X) != 3 || charts[0].X[0] != 1 || charts[0].X[2] != 16 || *charts[0].Lines[0].Y[2] != 900 {
		t.Fatalf("charts %+v", charts)
	}
	var b strings.Builder
	if err := Write(&b, Input{Summary: result.Summary{Sweeps: []result.Sweep{sweep}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"w is best with iodepth=16.", `id="sweep-0"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
