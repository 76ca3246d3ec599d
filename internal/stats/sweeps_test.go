package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// sweptRun is a run of one sweep over depths, each of which measures its level with some noise.
func sweptRun(repeats int, noise float64, levels map[string]float64, verdicts map[string]result.Verdict) result.Summary {
	p := &trial.Plan{Workers: []trial.Worker{{Name: "fast.a", Target: "fast", Node: "a"}}, Sweeps: []trial.Sweep{{Workload: "w", Parameters: []string{"iodepth"}}}}
	w := &result.WorkerSummary{Worker: p.Workers[0], Environment: &result.Environment{}}
	random := rand.New(rand.NewPCG(7, 8))
	for _, depth := range []string{"1", "4", "16"} {
		cell := trial.Cell{Workload: "w@iodepth-" + depth}
		p.Workloads = append(p.Workloads, trial.Workload{Name: cell.Workload, Of: "w"})
		p.Sweeps[0].Points = append(p.Sweeps[0].Points, trial.SweepPoint{Cell: cell, Values: []string{depth}})
		for r := 1; r <= repeats && levels[depth] > 0; r++ {
			t := trial.Trial{ID: fmt.Sprintf("%s.%d", cell.Workload, r), Workload: cell.Workload, Repeat: r}
			s := result.TrialSummary{Trial: t, Outcome: result.Measured, Operations: []string{"read"}, Metrics: result.Metrics{
				"read.iops":        {Unit: result.PerSecond, Value: levels[depth] * math.Exp(noise*random.NormFloat64())},
				"read.latency.p99": {Unit: result.Seconds, Value: 0.002},
			}}
			if v, ok := verdicts[depth]; ok {
				s.Verdicts = []result.Verdict{v}
			}
			p.Trials, w.Trials = append(p.Trials, t), append(w.Trials, s)
		}
	}
	return Summarize(p, []result.WorkerSummary{*w}, time.Time{})
}

func TestTheBestPointAndThoseThatCannotBeToldFromIt(t *testing.T) {
	for name, c := range map[string]struct {
		repeats  int
		noise    float64
		levels   map[string]float64
		verdicts map[string]result.Verdict
		best     string
		tied     []string
		says     string
	}{
		"one is far better":             {8, 0.01, map[string]float64{"1": 100, "4": 300, "16": 900}, nil, "16", nil, "w is best with iodepth=16: read IOPS 9"},
		"two are alike":                 {8, 0.05, map[string]float64{"1": 100, "4": 900, "16": 905}, nil, "16", []string{"4"}, "cannot be told from it: iodepth=4"},
		"too few trials":                {3, 0.01, map[string]float64{"1": 100, "4": 300, "16": 900}, nil, "16", []string{"1", "4"}, "3 settings need 7 trials each"},
		"an invalid one is not best":    {8, 0.01, map[string]float64{"1": 100, "4": 300, "16": 900}, map[string]result.Verdict{"16": {Name: "FromMemory", Effect: result.Invalidates}}, "4", nil, "of 3 settings 1 have numbers that do not count"},
		"a failed one is not there":     {8, 0.01, map[string]float64{"1": 100, "4": 300}, nil, "4", nil, "the others that count are worse; of 3 settings 1 were not measured"},
		"only one was measured":         {8, 0.01, map[string]float64{"4": 300}, nil, "4", nil, "no other setting has a number to compare it with; of 3 settings 2 were not measured"},
		"nothing stands, so none is it": {8, 0.01, map[string]float64{}, nil, "", nil, "no point of w has a number that stands"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sweptRun(c.repeats, c.noise, c.levels, c.verdicts)
			if len(s.Sweeps) != 1 {
				t.Fatalf("%d sweeps", len(s.Sweeps))
			}
			got := s.Sweeps[0]
			best, tied := "", []string(nil)
			if got.Best != nil {
				best = got.Points[*got.Best].Values[0]
			}
			for _, p := range got.Points {
				if p.Tied {
					tied = append(tied, p.Values[0])
				}
			}
			if best != c.best {
				t.Errorf("best is %q", best)
			}
			if !slices.Equal(tied, c.tied) {
				t.Errorf("tied are %v", tied)
			}
			if !strings.Contains(got.Sentence, c.says) {
				t.Errorf("it says %q", got.Sentence)
			}
		})
	}
}

// An answer names the verdicts on the points that it speaks of, once if they all have the same.
func TestAnAnswerNamesTheVerdictsOnItsPoints(t *testing.T) {
	says := func(name string) result.Verdict {
		return result.Verdict{Name: name, Effect: result.Qualifies, Operation: "read"}
	}
	far, near, few := map[string]float64{"1": 100, "4": 300, "16": 900}, map[string]float64{"1": 898, "4": 900, "16": 903}, map[string]float64{"1": 100, "4": 300, "16": 900}
	for name, c := range map[string]struct {
		repeats  int
		noise    float64
		levels   map[string]float64
		verdicts map[string]result.Verdict
		says     string
	}{
		"the best":          {8, 0.01, far, map[string]result.Verdict{"16": says("DepthIgnored")}, ", p99 2.00ms [qualified: DepthIgnored]; every other setting is worse."},
		"one that is worse": {8, 0.01, far, map[string]result.Verdict{"4": says("Throttled")}, ", p99 2.00ms; every other setting is worse [1 of them qualified: Throttled]."},
		"all":               {8, 0.01, far, map[string]result.Verdict{"1": says("Throttled"), "4": says("NotSteady"), "16": says("Throttled")}, " [qualified: Throttled]; every other setting is worse [qualified: Throttled, NotSteady]."},
		"one tied":          {3, 0.01, few, map[string]result.Verdict{"4": says("Throttled")}, "cannot be told from it: iodepth=1; iodepth=4 [qualified: Throttled] ("},
		"all tied":          {8, 0.05, near, map[string]result.Verdict{"1": says("Throttled"), "4": says("Throttled"), "16": says("Throttled")}, " [each qualified: Throttled]."},
		"an invalid one":    {8, 0.01, far, map[string]result.Verdict{"1": says("Throttled"), "4": {Name: "FromMemory", Effect: result.Invalidates}}, "; the others that count are worse [qualified: Throttled]; of 3 settings 1 have numbers that do not count."},
		"another operation": {8, 0.01, far, map[string]result.Verdict{"16": {Name: "NotSteady", Effect: result.Qualifies, Operation: "write"}}, ", p99 2.00ms; every other setting is worse."},
	} {
		if got := sweptRun(c.repeats, c.noise, c.levels, c.verdicts).Sweeps[0].Sentence + "."; !strings.Contains(got, c.says) {
			t.Errorf("%s: it says %q, want %q", name, got, c.says)
		}
	}
}

// With points that are all alike, one of them is told from the best in at most 5 % of runs, although the
// best is chosen by the same numbers.
func TestAmongEqualPointsNoneIsBetter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	const runs, points, repeats = 400, 5, 9
	wrong := 0
	for range runs {
		c := &curve{plan: &trial.Plan{}, worker: &result.WorkerSummary{}}
		c.Metric = "read.iops"
		for i := range points {
			c.Points = append(c.Points, result.SweepPoint{Workload: fmt.Sprint(i)})
			var values []float64
			for r := 1; r <= repeats; r++ {
				v := math.Exp(0.1 * random.NormFloat64())
				values = append(values, v)
				c.worker.Trials = append(c.worker.Trials, result.TrialSummary{Trial: trial.Trial{Workload: fmt.Sprint(i), Repeat: r}, Outcome: result.Measured, Metrics: result.Metrics{"read.iops": {Value: v}}})
			}
			c.Points[i].Estimate = &result.Interval{Median: Median(values)}
		}
		c.best()
		c.ties()
		for i, p := range c.Points {
			if i != *c.Best && !p.Tied {
				wrong++
				break
			}
		}
	}
	if wrong > runs*5/100 {
		t.Errorf("%d of %d runs told a point from the best", wrong, runs)
	}
}
