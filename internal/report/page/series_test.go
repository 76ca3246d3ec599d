package page

import (
	"fmt"
	"math"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/trial"
)

// recorded are the samples of a trial that reads 100 times more from second to second.
func recorded(from time.Time, n int) *samples.Table {
	t := &samples.Table{}
	for i := range n {
		at := from.Add(time.Duration(i+1) * time.Second)
		row := t.Add(at, samples.Disk, "vda")
		t.Set(row, samples.Seconds, 1)
		t.Set(row, samples.ReadBytes, float64(4096*(i+1)))
		row = t.Add(at, samples.Workload, "read")
		t.Set(row, samples.Seconds, 0.5)
		t.Set(row, samples.Count, float64(50*(i+1)))
		row = t.Add(at, samples.Machine, "")
		t.Set(row, samples.Seconds, 1)
		if i == 2 {
			t.Set(row, samples.CgroupThrottledPeriods, 3)
		}
	}
	return t
}

func summaryAt(id string, from time.Time, seconds int, verdicts ...result.Verdict) result.TrialSummary {
	return result.TrialSummary{
		Trial: trial.Trial{ID: id, Workload: "w"}, Outcome: result.Measured, StartedAt: from, EndedAt: from.Add(time.Duration(seconds) * time.Second),
		Verdicts: verdicts,
	}
}

func TestTimelinesShowTrialsWithGapsBandsAndMarks(t *testing.T) {
	start, w := time.Unix(1_700_000_000, 0), trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	later := start.Add(time.Minute)
	charts := timelines([]Series{
		NewSeries(w, summaryAt("w.r001", start, 5), recorded(start, 5)),
		NewSeries(w, summaryAt("w.r002", later, 5, result.Verdict{Name: "FromMemory", Effect: result.Invalidates}), recorded(later, 5)),
	})
	if len(charts) != 2 { // the workload, and what the disks moved; nobody waited for a disk
		t.Fatalf("%d charts: %+v", len(charts), charts)
	}
	c := charts[0]
	if c.Kind != Timeline || c.Title != "fast on a: the workload" || len(c.X) != 11 || len(c.Lines) != 1 || c.Lines[0].Unit != result.PerSecond {
		t.Fatalf("%+v", c)
	}
	if y := c.Lines[0].Y; *y[0] != 100 || *y[4] != 500 || y[5] != nil || *y[6] != 100 {
		t.Errorf("rates %v", y)
	}
	if want := []Band{{From: 1_700_000_000, To: 1_700_000_005, Name: "w.r001"}, {From: 1_700_000_060, To: 1_700_000_065, Name: "w.r002", Bad: true}}; fmt.Sprint(c.Bands) != fmt.Sprint(want) {
		t.Errorf("bands %v, want %v", c.Bands, want)
	}
	if want := []Mark{{1_700_000_003, "CPU quota"}, {1_700_000_060, "FromMemory"}, {1_700_000_063, "CPU quota"}}; fmt.Sprint(c.Marks) != fmt.Sprint(want) {
		t.Errorf("marks %v, want %v", c.Marks, want)
	}
}

func TestTimelinesAreBounded(t *testing.T) {
	start, w := time.Unix(1_700_000_000, 0), trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	var series []Series
	for i := range 60 {
		from := start.Add(time.Duration(i) * time.Hour)
		series = append(series, NewSeries(w, summaryAt(fmt.Sprint(i), from, 900, result.Verdict{Name: "Noise", Effect: result.Qualifies}), recorded(from, 900)))
	}
	for _, c := range timelines(series) {
		if len(c.X) > 2*maxPoints || len(c.Marks) > maxMarks || len(c.Bands) != 60 {
			t.Errorf("%s: %d points, %d marks, %d bands", c.Title, len(c.X), len(c.Marks), len(c.Bands))
		}
		for i := range c.X[1:] {
			if c.X[i+1] <= c.X[i] {
				t.Fatalf("%s: x is %v after %v", c.Title, c.X[i+1], c.X[i])
			}
		}
	}
}

func TestForgedSamplesAreDrawnOrLeftOut(t *testing.T) {
	table := &samples.Table{}
	for i := range 500 {
		row := table.Add(time.Unix(int64(1000-i), 0), samples.Disk, fmt.Sprint("disk-", i))
		table.Set(row, samples.Seconds, []float64{0, -1, math.NaN(), math.Inf(1), 1e-300}[i%5])
		table.Set(row, samples.ReadBytes, []float64{math.MaxFloat64, math.Inf(-1), math.NaN(), 0, 1}[i%5])
	}
	s := NewSeries(trial.Worker{Name: "w"}, summaryAt("t", time.Unix(0, 0), 1), table)
	if len(s.points) > maxSeriesLines {
		t.Errorf("%d lines", len(s.points))
	}
	write(t, Input{Summary: sample("name"), Series: []Series{s}}) // no number that JSON has not
}
