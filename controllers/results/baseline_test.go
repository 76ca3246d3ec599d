package results

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// rated is the summary of a run with one rate.
func rated(run string, rate float64) result.Summary {
	low, high := rate*0.99, rate*1.01
	return result.Summary{
		Schema: result.SummarySchema, Benchmark: trial.Benchmark{Namespace: "lab", Name: "b"}, Run: run, Configuration: map[string]string{"target t": run},
		Rows: []result.Row{{Target: "t", Workload: "w", Node: "n", N: 6, Operations: []string{"read"}, Metrics: map[string]result.Estimate{
			"read.iops": {Unit: result.PerSecond, N: 6, Median: rate, Low: &low, High: &high},
		}}},
	}
}

func TestARunIsComparedWithItsBaseline(t *testing.T) {
	old, err := json.Marshal(rated("old", 1000))
	if err != nil {
		t.Fatal(err)
	}
	bucketStore := &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for name, c := range map[string]struct {
		store   *v1alpha1.ResultStore
		run     string
		rate    float64
		broken  error
		digest  string
		outcome string
		text    string
	}{
		"as fast":                      {bucketStore, "old", 1000, nil, "", "NoWorse", "1 metric within 5 %"},
		"slower":                       {bucketStore, "old", 800, nil, "", "Regression", "read.iops of t/w/n is 0.800 times"},
		"at the limit":                 {bucketStore, "old", 950, nil, "", "Inconclusive", "run more trials"},
		"no run before":                {bucketStore, "", 1000, nil, "", "Inconclusive", "no earlier run"},
		"a run that is gone":           {bucketStore, "gone", 1000, nil, "", "Inconclusive", "no summary of run gone"},
		"a run that is no JSON":        {bucketStore, "bad", 1000, nil, "", "Inconclusive", "cannot be read"},
		"a run that is denied":         {bucketStore, "denied", 1000, nil, "", "Inconclusive", "may not read a summary of run denied"},
		"without a ResultStore":        {&v1alpha1.ResultStore{}, "old", 700, nil, "", "Regression", "read.iops of t/w/n is 0.700 times"},
		"gone without one":             {&v1alpha1.ResultStore{}, "gone", 1000, nil, "", "Inconclusive", "name one of them, or a ResultStore in spec.results.storeRef.name"},
		"a store that is away":         {bucketStore, "old", 1000, store.ErrUnreachable, "", "", ""},
		"with its digest":              {bucketStore, "old", 1000, nil, trial.Digest(old), "NoWorse", "1 metric within 5 %"},
		"of another digest":            {bucketStore, "old", 800, nil, trial.Digest(nil), "Inconclusive", "is not the one that the operator stored"},
		"its own store is no tenant's": {&v1alpha1.ResultStore{}, "old", 700, nil, trial.Digest(nil), "Regression", "read.iops of t/w/n is 0.700 times"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t)
			keys := trial.Keys{Namespace: "lab", Name: "b", Run: "old"}
			b.put(t, keys.Summary(), rated("old", 1000))
			if err := keepBaseline(t.Context(), b, keys, rated("old", 1000)); err != nil {
				t.Fatal(err)
			}
			bad := trial.Keys{Namespace: "lab", Name: "b", Run: "bad"}
			b.put(t, bad.Summary(), []byte("{"))
			b.broken[trial.Keys{Namespace: "lab", Name: "b", Run: "denied"}.Summary()] = store.ErrDenied
			if c.broken != nil {
				b.broken[keys.Summary()] = c.broken
			}
			got, err := against(t.Context(), b, c.store, Baseline{Run: c.run, Digest: c.digest, Named: true, MaxRegression: 0.05}, rated("new", c.rate))
			if !errors.Is(err, c.broken) || (err != nil) != (c.broken != nil) {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if got.Outcome != c.outcome || !strings.Contains(got.Sentence, c.text) || got.Run != c.run {
				t.Errorf("%+v", got)
			}
			if lost := c.run == "gone" || c.run == "bad" || c.run == "denied" || strings.Contains(c.text, "is not the one"); got.Lost != lost {
				t.Errorf("lost: %v, want %v", got.Lost, lost)
			}
			if c.outcome == "NoWorse" && (len(got.Differences) != 1 || got.Differences[0] != "target t: old -> new") {
				t.Errorf("differences: %v", got.Differences)
			}
		})
	}
}

func TestARegressionIsTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answer  string
		outcome string
		want    string
	}{
		"without a question":        {result.JustMeasured, "Regression", result.Regression},
		"although gates are met":    {result.Qualified, "Regression", result.Regression},
		"although one is open":      {result.Inconclusive, "Regression", result.Regression},
		"a gate is missed as well":  {result.NotQualified, "Regression", result.NotQualified},
		"the numbers are worthless": {result.Invalid, "Regression", result.Invalid},
		"no worse":                  {result.Qualified, "NoWorse", result.Qualified},
		"not decided":               {result.JustMeasured, "Inconclusive", result.JustMeasured},
	} {
		s := result.Summary{Answer: &result.Answer{Answer: c.answer, Sentence: "before"}}
		b := &result.Baseline{Run: "g1", Outcome: c.outcome, Sentence: "half as fast"}
		answerWith(&s, b)
		said := "before"
		if c.want == result.Regression {
			said = "worse than run g1: half as fast"
		}
		if s.Answer.Answer != c.want || s.Answer.Sentence != said || s.Baseline != b {
			t.Errorf("%s: %+v", name, s.Answer)
		}
	}
}

func TestALostBaselineIsTheAnswerIfTheSpecNamesIt(t *testing.T) {
	rs := &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for name, c := range map[string]struct {
		named  bool
		answer string
		want   string
	}{
		"gates are met":             {true, result.Qualified, "Inconclusive"},
		"without a question":        {true, result.JustMeasured, "Inconclusive"},
		"a gate is missed as well":  {true, result.NotQualified, result.NotQualified},
		"the numbers are worthless": {true, result.Invalid, result.Invalid},
		"the latest that qualified": {false, result.Qualified, result.Qualified},
	} {
		t.Run(name, func(t *testing.T) {
			s := rated("new", 1000)
			s.Answer = &result.Answer{Answer: c.answer, Sentence: "before"}
			b, err := against(t.Context(), newBucket(t), rs, Baseline{Run: "gone", Named: c.named}, s)
			if err != nil {
				t.Fatal(err)
			}
			answerWith(&s, b)
			if s.Answer.Answer != c.want {
				t.Errorf("the answer is %s, want %s", s.Answer.Answer, c.want)
			}
			if said := strings.Contains(s.Answer.Sentence, "cannot be compared with run gone: the result store has no summary"); said != (c.want == "Inconclusive") {
				t.Errorf("the sentence is %q", s.Answer.Sentence)
			}
		})
	}
}

func TestAKeptBaselineHasNoHistograms(t *testing.T) {
	s := rated("old", 1000)
	s.Rows[0].Histograms = result.Histograms{"read": nil}
	s.Environment = map[string]*result.Environment{"a": {Kernel: "6.1", Target: result.TargetEnvironment{Layers: []result.Layer{{}}}}, "b": nil}
	short := baselineOf(s)
	if short.Rows[0].Histograms != nil || len(short.Environment) != 1 || short.Environment["a"].Target.Layers != nil || short.Environment["a"].Kernel != "6.1" {
		t.Errorf("%+v", short)
	}
	if s.Rows[0].Histograms == nil || s.Environment["a"].Target.Layers == nil {
		t.Error("the summary itself was cut")
	}
}

func TestABaselineCanBeOfAnotherBenchmark(t *testing.T) {
	b := newBucket(t)
	b.put(t, trial.Keys{Namespace: "lab", Name: "nightly-1", Run: "old"}.Summary(), rated("old", 1000))
	rs := &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	got, err := against(t.Context(), b, rs, Baseline{Benchmark: "nightly-1", Run: "old", MaxRegression: 0.05}, rated("new", 800))
	if err != nil || got.Outcome != "Regression" {
		t.Errorf("%v, %+v", err, got)
	}
	got, err = against(t.Context(), b, rs, Baseline{Benchmark: "nightly-2", Run: "old", MaxRegression: 0.05}, rated("new", 800))
	if err != nil || got.Outcome != "Inconclusive" || !strings.Contains(got.Sentence, "no summary of run old of benchmark nightly-2") {
		t.Errorf("%v, %+v", err, got)
	}
}
