package results

import (
	"bytes"
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/report/gather"
	"storagebench.io/storagebench/internal/report/page"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// Limits of what goes into a run's page: the benchmarks of other tenants wait meanwhile.
const (
	maxReportTrials = 2000
	maxReportBytes  = 16 << 20 // of these trials, as JSON
	seriesTimeout   = 15 * time.Second
	// maxReport is far above what a page of bounded parts can have.
	maxReport = 16 << 20
)

// A trial of an hour with two disks has about 15,000 rows, and the operator 256 MiB of memory.
var seriesLimits = gather.Limits{Trials: 200, Bytes: 32 << 20, Object: 1 << 20, Rows: 20_000}

// storeReport stores the run's page beside its summary. Its error is one that may pass: a page that
// cannot be made or stored for another reason is logged, and the run has its summary.
func storeReport(ctx context.Context, bucket stores.Bucket, p *trial.Plan, summary result.Summary, trials []report.WorkerTrials) error {
	log := ctrl.LoggerFrom(ctx)
	reading, cancel := context.WithTimeout(ctx, seriesTimeout)
	defer cancel()
	series, left, err := gather.Series(reading, bucket, p.Keys().Samples, trials, seriesLimits)
	if err != nil {
		log.Info("the run's page has not all samples", "left", left, "error", err.Error())
	}
	var body bytes.Buffer
	if err := page.Write(&body, page.Input{Summary: summary, Workers: trials, Series: series, SeriesLeft: left}); err != nil {
		log.Error(err, "the run's page cannot be written")
		return nil
	}
	if body.Len() > maxReport {
		log.Info("the run's page is too large to be stored", "bytes", body.Len(), "limit", maxReport)
		return nil
	}
	err = bucket.Put(ctx, p.Keys().Report(), body.Bytes())
	if err != nil && !store.Temporary(err) {
		log.Info("the run's page cannot be stored", "error", err.Error())
		return nil
	}
	return err
}
