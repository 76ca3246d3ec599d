package result

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

func TestARoundWithoutARateEndsTheListOfRates(t *testing.T) {
	p := Precondition{MaxRounds: 9}
	rate := func(v float64) Metrics { return Metrics{"write.iops": {Unit: PerSecond, Value: v}} }
	for _, v := range []float64{10, 0, 20} {
		if !p.Add("write.iops", rate(v)) {
			t.Errorf("%v is no rate", v)
		}
	}
	if !slices.Equal(p.Rates, []float64{10, 0, 20}) || p.Rounds != 3 || p.Metric != "write.iops" || p.Unit != PerSecond {
		t.Errorf("%+v", p)
	}
	for _, m := range []Metrics{nil, rate(math.NaN()), rate(math.Inf(1)), rate(-1), {"write.iops": {Value: 1, AtLeast: true}}} {
		broken := p
		if broken.Add("write.iops", m) || broken.Rates != nil || broken.Rounds != 4 {
			t.Errorf("%v: %+v", m, broken)
		}
	}
}

// Whoever can run a program in the namespace can upload a document.
func TestAHostilePreconditionIsRejected(t *testing.T) {
	honest := func() *Precondition {
		return &Precondition{MaxRounds: 100, Rounds: 100, Seconds: 1, Metric: "read.iops", Unit: PerSecond, Rates: make([]float64, 100), Steady: new(true)}
	}
	for name, c := range map[string]struct {
		change func(*Precondition)
		want   string
	}{
		"an honest one":      {func(*Precondition) {}, ""},
		"too many rounds":    {func(p *Precondition) { p.MaxRounds, p.Rounds = 101, 101 }, "101 of 101 rounds"},
		"more than allowed":  {func(p *Precondition) { p.MaxRounds = 99 }, "100 of 99 rounds"},
		"fewer than none":    {func(p *Precondition) { p.Rounds = -1 }, "-1 of 100 rounds"},
		"rates of no rounds": {func(p *Precondition) { p.Rates = make([]float64, 101) }, "101 rates of 100 rounds"},
		"a negative rate":    {func(p *Precondition) { p.Rates[4] = -1 }, "round 5"},
		"a huge rate":        {func(p *Precondition) { p.Rates[0] = 1e300 }, "round 1"},
		"rates of nothing":   {func(p *Precondition) { p.Metric = "" }, "100 rates, and does not name the metric"},
		"steady at once":     {func(p *Precondition) { p.Rates = p.Rates[:4] }, "which takes 5 rounds, and has the rates of 4"},
		"a long metric":      {func(p *Precondition) { p.Metric = strings.Repeat("m", 65) }, "invalid metric"},
		"a unit of control":  {func(p *Precondition) { p.Unit = "\x1b[2J" }, "invalid metric"},
		"no time":            {func(p *Precondition) { p.Seconds = -1 }, "-1 seconds"},
		"a negative offer":   {func(p *Precondition) { p.Offered = -5 }, "offers -5"},
	} {
		p := honest()
		c.change(p)
		one, err := json.Marshal(Trial{Schema: TrialSchema, Outcome: Measured, Precondition: p})
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(WorkerSummary{Schema: WorkerSchema, Planned: 1, Trials: []TrialSummary{{Trial: trial.Trial{ID: "a"}, Outcome: Measured, Precondition: p}}})
		if err != nil {
			t.Fatal(err)
		}
		_, trialErr := DecodeTrial(one, "")
		_, summaryErr := DecodeWorkerSummary(all, "")
		for of, err := range map[string]error{"trial": trialErr, "summary": summaryErr} {
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v", name, of, err)
			}
		}
	}
	for _, rate := range []string{"1e999", "NaN"} {
		if _, err := DecodeTrial([]byte(`{"schema":"`+TrialSchema+`","outcome":"Measured","precondition":{"maxRounds":5,"rounds":1,"rates":[`+rate+`]}}`), ""); err == nil {
			t.Errorf("the rate %s was accepted", rate)
		}
	}
}
