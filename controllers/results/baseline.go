package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/compare"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// Baseline is the run that a benchmark's run is compared with.
type Baseline struct {
	// Run of the benchmark; empty: there is none yet.
	Run string
	// Benchmark of the same namespace; empty: the run's own.
	Benchmark string
	// MaxRegression is the worst acceptable change: 0.05 is 5 %.
	MaxRegression float64
}

// against compares a summary with that of the baseline. That there is none to compare with is an
// outcome; the error is of the store, and worth another try.
func against(ctx context.Context, bucket stores.Bucket, rs *v1alpha1.ResultStore, b Baseline, s result.Summary) (*result.Baseline, error) {
	out := &result.Baseline{Run: b.Run, Outcome: string(compare.Inconclusive), MaxRegression: b.MaxRegression}
	if stores.IsInternal(rs) {
		out.Sentence = "a baseline is read from a ResultStore, and this benchmark has none: set spec.results.storeRef.name"
		return out, nil
	}
	if b.Run == "" {
		out.Sentence = "no earlier run of this benchmark qualifies as a baseline; a later run can be compared with this one"
		return out, nil
	}
	keys := trial.Keys{Namespace: s.Benchmark.Namespace, Name: cmp.Or(b.Benchmark, s.Benchmark.Name), Run: b.Run}
	document, err := bucket.GetLimited(ctx, keys.Summary(), result.MaxRunSummary)
	switch {
	case errors.Is(err, store.ErrNotFound):
		out.Sentence = fmt.Sprintf("the result store has no summary of run %s of benchmark %s; set spec.baseline.from to a run that it has", b.Run, keys.Name)
		return out, nil
	case errors.Is(err, store.ErrTooLarge):
		out.Sentence = fmt.Sprintf("the summary of run %s is too large to be one", b.Run)
		return out, nil
	case err != nil:
		return nil, err
	}
	judge(out, document, s)
	return out, nil
}

// judge compares a summary with the document of an earlier one, which may be anything.
func judge(out *result.Baseline, document []byte, s result.Summary) {
	var before result.Summary
	if err := result.Decode(document, result.SummarySchema, &before); err != nil {
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
