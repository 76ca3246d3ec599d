package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/trial"
)

// Series is what a page needs of the samples of one trial.
type Series struct {
	Worker trial.Worker
	Trial  result.TrialSummary
	// points by panel and line.
	points map[line][]point
	// throttled is when a quota stopped the trial for the first time; 0: never.
	throttled float64
}

type line struct {
	panel panel
	name  string
	unit  string
}

type point struct{ at, value float64 }

// panel is one chart of a worker.
type panel int

const (
	workloadPanel panel = iota
	transferPanel
	waitPanel
	machinePanel
	panels
)

var panelTitles = [panels]string{"the workload", "what the disks moved", "how long the disks took", "the machine"}

// NewSeries takes from the samples of a trial what the page draws: the workload's own rate, the
// bandwidth and latency of each disk, and what the machine suffered.
func NewSeries(worker trial.Worker, t result.TrialSummary, table *samples.Table) Series {
	t.Metrics, t.Parts, t.Tunables = nil, nil, nil // what is drawn of these is drawn elsewhere
	s := Series{Worker: worker, Trial: t, points: map[line][]point{}}
	for i := range table.Len() {
		at := seconds(table.At[i])
		value := func(c samples.Column) float64 { return table.Values[c][i] }
		long := value(samples.Seconds)
		if !(long > 0) {
			continue
		}
		add := func(p panel, name, unit string, v float64) {
			if math.Abs(v) < 1e200 { // nor NaN; sums of such stay finite
				l := line{p, name, unit}
				if _, ok := s.points[l]; ok || len(s.points) < maxSeriesLines {
					s.points[l] = append(s.points[l], point{at, v})
				}
			}
		}
		switch name := table.Name[i]; table.Scope[i] {
		case samples.Workload:
			add(workloadPanel, name, result.PerSecond, value(samples.Count)/long)
		case samples.Disk:
			add(transferPanel, name+" read", result.BytesPerSecond, value(samples.ReadBytes)/long)
			add(transferPanel, name+" write", result.BytesPerSecond, value(samples.WriteBytes)/long)
			add(waitPanel, name+" read", result.Seconds, value(samples.ReadAwait))
			add(waitPanel, name+" write", result.Seconds, value(samples.WriteAwait))
		case samples.Machine:
			add(machinePanel, "waiting for I/O", result.Ratio, value(samples.PressureIO))
			add(machinePanel, "CPU stolen", result.Ratio, value(samples.CPUSteal))
			add(machinePanel, "CPU busy", result.Ratio, value(samples.CPUUser)+value(samples.CPUSystem))
			if value(samples.CgroupThrottledPeriods) > 0 && s.throttled == 0 {
				s.throttled = at
			}
		}
	}
	for l, points := range s.points {
		s.points[l] = thinned(points)
	}
	return s
}

// Limits of the samples of one trial that a page keeps, because it keeps those of many.
const (
	maxSeriesLines  = 48
	maxSeriesPoints = 400
)

// thinned returns the points, or the means of groups of them if there are too many.
func thinned(points []point) []point {
	if len(points) <= maxSeriesPoints {
		return slices.Clip(points)
	}
	step := (len(points) + maxSeriesPoints - 1) / maxSeriesPoints
	out := make([]point, 0, maxSeriesPoints)
	for group := range slices.Chunk(points, step) {
		sum := 0.0
		for _, p := range group {
			sum += p.value
		}
		out = append(out, point{group[len(group)-1].at, sum / float64(len(group))})
	}
	return out
}

// maxMarks is how many marks a chart has: more hide what they mark.
const maxMarks = 40

// timelines returns the charts of each worker: its trials one after the other, with a band for
// each trial and a mark where something speaks against it.
func timelines(series []Series) (out []Chart) {
	var workers []trial.Worker
	byWorker := map[string][]Series{}
	for _, s := range series {
		if byWorker[s.Worker.Name] == nil {
			workers = append(workers, s.Worker)
		}
		byWorker[s.Worker.Name] = append(byWorker[s.Worker.Name], s)
	}
	for _, w := range workers {
		for p := range panels {
			if c, ok := timeline(w, p, byWorker[w.Name]); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

func timeline(w trial.Worker, p panel, series []Series) (Chart, bool) {
	c := Chart{Kind: Timeline, Title: w.Target + " on " + w.Node + ": " + panelTitles[p], XUnit: "time", XName: "time"}
	var lines []line
	for _, s := range series {
		for l := range s.points {
			if l.panel == p && !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.name, b.name) })
	if len(lines) > maxLines {
		c.Note = fmt.Sprintf("The first %d of %d lines.", maxLines, len(lines))
		lines = lines[:maxLines]
	}
	if len(lines) == 0 {
		return c, false
	}
	for _, l := range lines {
		c.Lines = append(c.Lines, Line{Name: l.name, Unit: l.unit})
	}
	each := max(2, maxPoints/max(1, len(series)))
	for _, s := range series {
		c.append(s, lines, each)
	}
	if len(c.X) == 0 {
		return c, false
	}
	return c, true
}

// append adds a trial to a chart, with at most the given number of points, and a gap after it.
func (c *Chart) append(s Series, lines []line, most int) {
	var times []float64
	for _, l := range lines {
		for _, p := range s.points[l] {
			times = append(times, p.at)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	last := math.Inf(-1)
	if len(c.X) > 0 {
		last = c.X[len(c.X)-1]
	}
	// Workers are drawn one after the other, and time goes on: what does not is forged, or of a
	// clock that was set.
	times = slices.DeleteFunc(times, func(t float64) bool { return t <= last })
	if len(times) == 0 {
		return
	}
	from := len(c.X)
	step := (len(times) + most - 1) / most
	for at := 0; at < len(times); at += step {
		group := times[at:min(at+step, len(times))]
		c.X = append(c.X, group[len(group)-1])
		for i, l := range lines {
			c.Lines[i].Y = append(c.Lines[i].Y, mean(s.points[l], group[0], group[len(group)-1]))
		}
	}
	c.gap(from)
	c.band(s, times)
}

// mean of the points of a stretch of time, or nil if there is none.
func mean(points []point, from, to float64) *float64 {
	sum, n := 0.0, 0
	for i, _ := slices.BinarySearchFunc(points, from, func(p point, at float64) int {
		switch {
		case p.at < at:
			return -1
		case p.at > at:
			return 1
		}
		return 0
	}); i < len(points) && points[i].at <= to; i++ {
		sum, n = sum+points[i].value, n+1
	}
	if n == 0 {
		return nil
	}
	v := rounded(sum / float64(n))
	return &v
}

// rounded to five digits, which is more than a pixel shows, and less than a page would grow by.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	if r := math.Round(v*scale) / scale; !math.IsNaN(r) && !math.IsInf(r, 0) {
		return r
	}
	return v
}

// gap ends the lines of the trial before, so that none is drawn through the time between two.
func (c *Chart) gap(from int) {
	if from == 0 {
		return
	}
	middle := (c.X[from-1] + c.X[from]) / 2
	c.X = slices.Insert(c.X, from, middle)
	for i := range c.Lines {
		c.Lines[i].Y = slices.Insert(c.Lines[i].Y, from, nil)
	}
}

// band marks a trial, and what speaks against it.
func (c *Chart) band(s Series, times []float64) {
	b := Band{From: times[0], To: times[len(times)-1], Name: s.Trial.ID}
	if start, end := s.Trial.StartedAt, s.Trial.EndedAt; !start.IsZero() && end.After(start) {
		b.From, b.To = seconds(start), seconds(end)
	}
	mark := func(at float64, name string) {
		if len(c.Marks) < maxMarks {
			c.Marks = append(c.Marks, Mark{at, name})
		}
	}
	for _, v := range s.Trial.Verdicts {
		b.Bad = b.Bad || v.Effect == result.Invalidates
	}
	if s.Trial.Outcome != result.Measured {
		b.Bad = true
	}
	if names := verdictNames(s.Trial); names != "" {
		mark(b.From, names)
	}
	if s.throttled > 0 {
		mark(s.throttled, "CPU quota")
	}
	c.Bands = append(c.Bands, b)
}

func verdictNames(t result.TrialSummary) string {
	var all []result.RowVerdict
	for _, v := range t.Verdicts {
		all = append(all, result.RowVerdict{Verdict: v, Trials: 1})
	}
	var names []string
	for _, v := range report.Verdicts(result.Row{Verdicts: all}) {
		if !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, ", ")
}
