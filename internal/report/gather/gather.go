// Package gather reads what a run's page shows besides its summary and trials: the samples over
// time. In: where the documents are, and the trials. Out: series for package page.
//
// Samples are objects that workers store, one for each trial, so all here is bounded: how many
// objects are read, how many bytes, and by the caller's context how long it takes. What there is
// no room for is left out, and a page without samples is still a page.
package gather

import (
	"context"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/report/page"
	"storagebench.io/storagebench/internal/samples/codec"
	"storagebench.io/storagebench/internal/store"
)

// Limits bound what is read.
type Limits struct {
	// Trials is of how many trials samples are read.
	Trials int
	// Bytes is how much of them is read together, and Object of one trial.
	Bytes, Object int
	// Rows is how many rows the samples of one trial may have.
	Rows int
}

// Series reads the samples of the trials. key is where those of a trial are. left is of how many
// trials they were not read, or not there, or not readable; err is the store's, if it is why.
func Series(ctx context.Context, objects store.Objects, key func(worker, trial string) string, workers []report.WorkerTrials, limits Limits) (series []page.Series, left int, err error) {
	for _, w := range workers {
		left += w.Omitted
		for _, t := range w.Trials {
			if err != nil || len(series) >= limits.Trials || limits.Bytes <= 0 || store.CheckKey(key(w.Worker.Name, t.ID)) != nil {
				left++
				continue
			}
			body, failed := objects.GetLimited(ctx, key(w.Worker.Name, t.ID), min(limits.Bytes, limits.Object))
			if failed != nil {
				left++
				if store.Temporary(failed) {
					err = failed
				}
				continue
			}
			limits.Bytes -= len(body)
			table, failed := codec.DecodeAtMost(body, limits.Rows)
			if failed != nil {
				left++ // whoever wrote it, it is no table of ours
				continue
			}
			series = append(series, page.NewSeries(w.Worker, t, table))
		}
	}
	return series, left, err
}
