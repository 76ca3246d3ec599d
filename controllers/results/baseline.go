package results

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/compare"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/inbox"
	"storagebench.io/storagebench/internal/trial"
)

// Baseline is the run that a benchmark's run is compared with.
type Baseline struct {
	// Run of the benchmark; empty: there is none yet.
	Run string
	// Benchmark of the same namespace; empty: the run's own.
	Benchmark string
	// Digest of the summary.json that the operator stored of it; empty: it is not known.
	Digest string
	// Named: the spec names the run. A run that was to be compared with that one and cannot be has no answer.
	// Otherwise it is the latest that qualified, and the run is the first of a new row.
	Named bool
	// MaxRegression is the worst acceptable change: 0.05 is 5 %.
	MaxRegression float64
}

// against compares a summary with that of the baseline. That there is none to compare with is an
// outcome; the error is of the store, and worth another try. Access that is denied is not: the run's own
// documents could be read, and a store answers so for objects that are gone, to those who may not list them.
func against(ctx context.Context, bucket stores.Bucket, rs *v1alpha1.ResultStore, b Baseline, s result.Summary) (*result.Baseline, error) {
	out := &result.Baseline{Run: b.Run, Outcome: string(compare.Inconclusive), MaxRegression: b.MaxRegression}
	if b.Run == "" {
		out.Sentence = "no earlier run of this benchmark qualifies as a baseline; a later run can be compared with this one"
		return out, nil
	}
	keys := trial.Keys{Namespace: s.Benchmark.Namespace, Name: cmp.Or(b.Benchmark, s.Benchmark.Name), Run: b.Run}
	key := keys.Summary()
	if stores.IsInternal(rs) {
		key = keys.Baseline()
	}
	document, err := bucket.GetLimited(ctx, key, result.MaxRunSummary)
	out.Lost = b.Named && err != nil
	switch {
	case errors.Is(err, store.ErrNotFound) && stores.IsInternal(rs):
		out.Sentence = fmt.Sprintf("the operator holds no summary of run %s of this benchmark: without a ResultStore it holds those of the last run, of the latest that qualified and of spec.baseline.from; name one of them, or a ResultStore in spec.results.storeRef.name", b.Run)
		return out, nil
	case errors.Is(err, store.ErrNotFound):
		out.Sentence = fmt.Sprintf("the result store has no summary of run %s of benchmark %s; set spec.baseline.from to a run that it has", b.Run, keys.Name)
		return out, nil
	case errors.Is(err, store.ErrDenied):
		out.Sentence = fmt.Sprintf("the operator may not read a summary of run %s of benchmark %s in the result store, or there is none; set spec.baseline.from to a run that it has", b.Run, keys.Name)
		return out, nil
	case errors.Is(err, store.ErrTooLarge):
		out.Sentence = fmt.Sprintf("the summary of run %s is too large to be one", b.Run)
		return out, nil
	case err != nil:
		return nil, err
	case b.Digest != "" && !stores.IsInternal(rs) && trial.Digest(document) != b.Digest:
		out.Lost = b.Named
		out.Sentence = fmt.Sprintf("the summary of run %s in the result store is not the one that the operator stored: its SHA-256 is %s, not %s; set spec.baseline.from to another run, and see who may write to the bucket", b.Run, trial.Digest(document), b.Digest)
		return out, nil
	}
	judge(out, document, s, b.Named)
	return out, nil
}

// judge compares a summary with the document of an earlier one, which may be anything.
func judge(out *result.Baseline, document []byte, s result.Summary, named bool) {
	var before result.Summary
	if _, err := inTurn(func() (any, error) { return nil, result.Decode(document, result.SummarySchema, &before) }); err != nil {
		out.Lost = named
		out.Sentence = fmt.Sprintf("the summary of run %s cannot be read: %v", out.Run, err)
		return
	}
	c, err := compare.Summaries(before, s, out.MaxRegression)
	out.Differences = c.Differences
	if err != nil {
		out.Sentence = err.Error()
		return
	}
	out.Outcome, out.Sentence = string(c.Verdict), c.Sentence()
}

// answerWith writes the comparison with the baseline into a summary. A regression is the answer, and so is that
// the baseline is lost, unless a gate is missed or the numbers are worthless.
func answerWith(s *result.Summary, b *result.Baseline) {
	s.Baseline = b
	switch {
	case s.Answer == nil || s.Answer.Answer == result.NotQualified || s.Answer.Answer == result.Invalid:
	case b.Lost:
		s.Answer.Answer, s.Answer.Sentence = string(compare.Inconclusive), fmt.Sprintf("cannot be compared with run %s: %s", b.Run, b.Sentence)
	case b.Outcome == string(compare.Regression):
		s.Answer.Answer, s.Answer.Sentence = result.Regression, fmt.Sprintf("worse than run %s: %s", b.Run, b.Sentence)
	}
}

// keepBaseline keeps what later runs are compared with in the operator's own store, which drops
// everything else of a run that has ended. If there is no room, the run has its answer all the same.
func keepBaseline(ctx context.Context, bucket stores.Bucket, keys trial.Keys, s result.Summary) error {
	document, err := json.Marshal(baselineOf(s))
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	err = bucket.Put(ctx, keys.Baseline(), document)
	if errors.Is(err, store.ErrTooLarge) || errors.Is(err, inbox.ErrFull) {
		ctrl.LoggerFrom(ctx).Info("cannot keep the run for later comparisons", "error", err.Error())
		return nil
	}
	return err
}

// baselineOf returns what of a summary a comparison reads.
func baselineOf(s result.Summary) result.Summary {
	short := result.Summary{
		Schema: s.Schema, Benchmark: s.Benchmark, Run: s.Run, FinishedAt: s.FinishedAt, Planned: s.Planned, Stored: s.Stored,
		Rows: []result.Row{}, Configuration: s.Configuration, Environment: map[string]*result.Environment{}, Attempts: map[string][]result.Attempt{}, Failures: s.Failures,
	}
	for _, row := range s.Rows {
		row.Histograms, row.HistogramsOmitted = nil, true
		short.Rows = append(short.Rows, row)
	}
	for name, e := range s.Environment {
		if e == nil {
			continue
		}
		known := *e
		known.Idle, known.Observers, known.Target.Layers = nil, nil, nil
		short.Environment[name] = &known
	}
	return short
}
