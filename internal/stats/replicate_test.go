package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// volumesPlan is a plan of so many volumes of two classes, compared with each other or not.
func volumesPlan(volumes int, compare, generated bool) *trial.Plan {
	p := &trial.Plan{
		Run: "r", Volumes: volumes, Workloads: []trial.Workload{{Name: "w"}}, Order: "Interleaved",
		Targets: []trial.Target{
			{Name: "fast", Source: trial.StorageClass, Ref: "nvme", Generated: generated},
			{Name: "slow", Source: trial.StorageClass, Ref: "hdd", Generated: generated},
		},
	}
	if compare {
		p.Compare = &trial.Compare{By: "target", MinEffect: 0.05}
	}
	for r := 1; r <= 3; r++ {
		p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("w.r%d", r), Workload: "w", Repeat: r})
	}
	for v := 1; v <= volumes; v++ {
		for _, t := range p.Targets {
			p.Workers = append(p.Workers, trial.Worker{Name: fmt.Sprintf("%s_%d.n", t.Name, v), Target: t.Name, Node: "n", Volume: v})
		}
	}
	return p
}

// summarize folds workers whose trials have these rates.
func summarize(t *testing.T, p *trial.Plan, rate func(trial.Worker, trial.Trial) float64) result.Summary {
	t.Helper()
	fold := NewFold(p)
	for _, worker := range p.Workers {
		s := result.NewWorkerSummary(p, worker)
		for _, x := range p.Trials {
			s.Trials = append(s.Trials, result.TrialSummary{
				Trial: x, Outcome: result.Measured, Operations: []string{"read"},
				Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: rate(worker, x)}},
			})
		}
		if err := fold.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	return fold.Finish(time.Time{})
}

func TestTrialsOfOneVolumeAreOneValueForItsClass(t *testing.T) {
	perVolume := []float64{100, 200, 400}
	s := summarize(t, volumesPlan(3, false, true), func(w trial.Worker, x trial.Trial) float64 {
		return perVolume[w.Volume-1] * (1 + 0.001*float64(x.Repeat-2))
	})
	if len(s.Rows) != 2 || s.Stored != 18 || s.Planned != 18 {
		t.Fatalf("%d rows of %d trials: %+v", len(s.Rows), s.Stored, s.Rows)
	}
	row := s.Rows[0]
	if row.Target != "fast" || row.N != 9 || row.Volumes != 3 || row.SpeaksFor != "volumes of class nvme on n, while it was measured" {
		t.Errorf("the row is %+v", row)
	}
	if got := s.Answer.SpeaksFor; !strings.Contains(got, "3 volumes of each of 2 targets on n: it speaks for volumes of these classes; other nodes") {
		t.Errorf("the answer speaks for %q", got)
	}
	e := row.Metrics["read.iops"]
	if math.Abs(e.Median/200-1) > 1e-6 || e.N != 9 || e.Low == nil {
		t.Fatalf("the estimate is %+v", e)
	}
	// ln 2 is the standard deviation of the three logarithms: 4.303·ln 2/√3.
	if want := 200 * math.Exp(4.3027*math.Ln2/math.Sqrt(3)); math.Abs(*e.High/want-1) > 1e-3 {
		t.Errorf("the interval ends at %g, want %g", *e.High, want)
	}
}

func TestTwoVolumesHaveNoInterval(t *testing.T) {
	s := summarize(t, volumesPlan(2, false, true), func(w trial.Worker, _ trial.Trial) float64 { return 100 * float64(w.Volume) })
	if e := s.Rows[0].Metrics["read.iops"]; e.Low != nil || e.High != nil || math.Abs(e.Median-math.Sqrt(20000)) > 1e-6 {
		t.Errorf("the estimate is %+v", e)
	}
	if got := s.Rows[0].SpeaksFor; !strings.HasPrefix(got, "these 2 volumes on n") {
		t.Errorf("it speaks for %q", got)
	}
}

func TestTargetsAreComparedVolumeByVolume(t *testing.T) {
	for name, c := range map[string]struct {
		volumes   int
		generated bool
		effect    float64 // of the second target
		spread    float64 // of its volumes
		outcome   Outcome
		want      string // in the sentence
	}{
		"a class that is slower":           {volumes: 6, generated: true, effect: 0.8, spread: 0.01, outcome: Worse, want: "lower on slow than on fast (95 % interval"},
		"a class that is the same":         {volumes: 6, generated: true, effect: 1, spread: 0.005, outcome: NoDifference, want: "6 volumes"},
		"classes whose volumes differ":     {volumes: 6, generated: true, effect: 0.8, spread: 0.5, outcome: Undecided, want: "more volume"},
		"three volumes are enough for t":   {volumes: 3, generated: true, effect: 0.5, spread: 0.01, outcome: Worse, want: "3 volumes"},
		"two are not":                      {volumes: 2, generated: true, effect: 0.5, spread: 0.01, outcome: Undecided, want: "in 2 volumes, too few for an interval; about 1 more volume"},
		"one is not":                       {volumes: 1, generated: true, effect: 0.5, spread: 0, outcome: Undecided, want: "50 % lower on slow than on fast in 1 volume"},
		"six rounds on the same storage":   {volumes: 6, effect: 0.8, spread: 0.01, outcome: Worse, want: "6 rounds"},
		"five rounds on the same storage":  {volumes: 5, effect: 0.8, spread: 0.01, outcome: Undecided, want: "in 5 rounds, too few for an interval; about 1 more round"},
		"rounds that are better, not less": {volumes: 6, effect: 1.3, spread: 0.01, outcome: Better, want: "higher on slow than on fast"},
	} {
		t.Run(name, func(t *testing.T) {
			s := summarize(t, volumesPlan(c.volumes, true, c.generated), func(w trial.Worker, x trial.Trial) float64 {
				// A drift that both targets of a volume share, larger than any effect.
				rate := 100 * math.Pow(2, float64(w.Volume)) * (1 + 0.001*float64(x.Repeat))
				if w.Target == "slow" {
					rate *= c.effect * math.Exp(c.spread*[]float64{-1, 1, 0, 0.5, -0.5, 0.2}[w.Volume-1])
				}
				return rate
			})
			if len(s.Comparisons) != 1 {
				t.Fatalf("%d comparisons: %+v", len(s.Comparisons), s.Comparisons)
			}
			got := s.Comparisons[0]
			if got.By != "target" || got.Target != "slow" || got.Control != "fast" || got.Primary == nil {
				t.Fatalf("the comparison is %+v", got)
			}
			if got.Primary.Outcome != string(c.outcome) || !strings.Contains(got.Primary.Sentence, c.want) {
				t.Errorf("%s: %s", got.Primary.Outcome, got.Primary.Sentence)
			}
			if got.Metrics["read.iops"].Pairs != c.volumes {
				t.Errorf("%d pairs", got.Metrics["read.iops"].Pairs)
			}
		})
	}
}

func TestVariantsAreComparedOverVolumes(t *testing.T) {
	p := volumesPlan(4, false, true)
	p.Variants = []trial.Variant{{Name: "a"}, {Name: "b"}}
	p.Trials = nil
	for r := 1; r <= 2; r++ {
		for _, v := range []string{"a", "b"} {
			p.Trials = append(p.Trials, trial.Trial{ID: fmt.Sprintf("w.%s.r%d", v, r), Workload: "w", Variant: v, Repeat: r, Block: 1})
		}
	}
	s := summarize(t, p, func(w trial.Worker, x trial.Trial) float64 {
		rate := 100 * float64(w.Volume) * (1 + 0.002*float64(w.Volume*x.Repeat))
		if x.Variant == "b" {
			rate *= 1.5 + 0.01*float64(w.Volume)
		}
		return rate
	})
	if len(s.Rows) != 4 || len(s.Comparisons) != 2 {
		t.Fatalf("%d rows and %d comparisons", len(s.Rows), len(s.Comparisons))
	}
	for _, c := range s.Comparisons {
		if c.By != "" || c.Variant != "b" || c.Control != "a" || c.Primary.Outcome != string(Better) || c.Primary.Units != 4 {
			t.Errorf("%+v: %+v", c, c.Primary)
		}
	}
}

func TestABoundOrAVolumeThatIsMissingIsNotCompared(t *testing.T) {
	p := volumesPlan(3, true, true)
	fold := NewFold(p)
	for _, worker := range p.Workers {
		s := result.NewWorkerSummary(p, worker)
		if worker.Name != "slow_3.n" { // its worker failed
			m := result.Metric{Unit: result.PerSecond, Value: 100, AtLeast: worker.Name == "fast_1.n"}
			s.Trials = append(s.Trials, result.TrialSummary{Trial: p.Trials[0], Outcome: result.Measured, Operations: []string{"read"}, Metrics: result.Metrics{"read.iops": m}})
		}
		if err := fold.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	s := fold.Finish(time.Time{})
	c := s.Comparisons[0].Metrics["read.iops"]
	if c.Pairs != 2 || c.Bounds != 1 || c.Ratio != nil {
		t.Errorf("the change is %+v", c)
	}
	if e := s.Rows[0].Metrics["read.iops"]; e.Bounds != 1 || e.Low != nil {
		t.Errorf("the estimate is %+v", e)
	}
}

func TestAGateOnSeveralVolumesIsDecidedOnTheirInterval(t *testing.T) {
	for name, c := range map[string]struct {
		volumes int
		rates   []float64
		outcome result.GateOutcome
		want    string
	}{
		"alike and above":    {3, []float64{100, 101, 102}, result.GateMet, ""},
		"alike and below":    {3, []float64{50, 51, 52}, result.GateMissed, ""},
		"they differ":        {3, []float64{60, 100, 200}, result.GateInconclusive, "more volumes would decide"},
		"two have no answer": {2, []float64{100, 101}, result.GateInconclusive, "an interval for the class needs 3 volumes: measure 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			p := volumesPlan(c.volumes, false, true)
			p.Gates = []trial.Gate{{Workload: "w", Target: "fast", Metric: "read.iops", Limit: 80, Text: "80"}}
			s := summarize(t, p, func(w trial.Worker, x trial.Trial) float64 {
				return c.rates[w.Volume-1] * (1 + 0.0001*float64(x.Repeat))
			})
			if len(s.Gates) != 1 || s.Gates[0].Outcome != c.outcome || !strings.Contains(s.Gates[0].Sentence, c.want) || s.Gates[0].N != 3*c.volumes {
				t.Errorf("the gates are %+v", s.Gates)
			}
			if c.volumes == 3 && !strings.Contains(s.Answer.SpeaksFor, "3 volumes of each of 2 targets") {
				t.Errorf("the answer speaks for %q", s.Answer.SpeaksFor)
			}
		})
	}
}
