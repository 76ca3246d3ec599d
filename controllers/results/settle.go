package results

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/stopping"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
)

// Settled is what is accepted of a worker.
type Settled struct {
	Stored int32
	// Spared is how many of the planned trials the worker did not need.
	Spared int32
	// Spent is how much of the run's budget its trials took.
	Spent time.Duration
	// Digest of the document that was accepted; empty: none was.
	Digest string
	// Failure is why it did not measure every trial, or nil.
	Failure *trial.Failure
}

// Accepted is what was accepted of a run's workers.
type Accepted struct {
	// Positions of the workers in the plan, in the order in which their documents were accepted.
	Positions []int
	// Digest is the trial.Chain of these documents; empty: there are none.
	Digest string
}

// A store answers each request in time, or the request fails; but a worker may have stored hundreds of objects,
// and a run have a thousand workers. Beyond these times the store counts as unavailable.
const (
	settleTimeout   = 10 * time.Minute
	concludeTimeout = 30 * time.Minute
)

// Ended is a worker that has ended.
type Ended struct {
	trial.Worker
	// Share of the run's budget that it was started with; nil: there is no budget.
	Share *time.Duration
	// Receipt of its last Pod; nil: it left none.
	Receipt *trial.Receipt
	// Sealed reports that it was given a key to seal its documents with. Workers of release 0.2 were not.
	Sealed bool
}

// Settle reads what a worker stored, checks it against its receipt or its seals, and
// keeps what it accepts. Its error is of the store, and worth another try.
func (r *Results) Settle(ctx context.Context, rs *v1alpha1.ResultStore, p *trial.Plan, e Ended) (Settled, error) {
	bucket, err := r.Open(ctx, rs)
	if err != nil {
		return Settled{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	proof := proof{}
	if e.Receipt != nil {
		proof.digest = e.Receipt.SummaryDigest
	}
	if proof.digest == "" && e.Sealed {
		if proof.key, err = r.SealingKey(ctx, p, e.Name); err != nil {
			return Settled{}, err
		}
	}
	settled, err := settle(ctx, bucket, p, e.Worker, e.Share, e.Receipt, proof)
	if err != nil {
		return Settled{}, unstored(rs, err)
	}
	return settled, nil
}

// proof is what shows that a worker's documents are its own: the digest of its summary, or without one the seal of its
// key. Without a key, everything that looks like it is taken.
type proof struct {
	digest string
	key    result.SealingKey
}

func settle(ctx context.Context, bucket stores.Bucket, p *trial.Plan, self trial.Worker, share *time.Duration, receipt *trial.Receipt, proof proof) (Settled, error) {
	summary, err := collect(ctx, bucket, p, self, proof)
	rejected, isRejected := errors.AsType[*rejectedError](err)
	if isRejected {
		summary, err = result.NewWorkerSummary(p, self), nil
		summary.Failure = rejected.failure(self)
	}
	if err != nil {
		return Settled{}, err
	}
	if summary == nil {
		// Whatever is uploaded after this comes too late.
		summary = result.NewWorkerSummary(p, self)
		summary.Failure = lost(self, receipt)
	}
	if receipt != nil && receipt.Failure != nil && !isRejected {
		// The last Pod's own word: the summary can be of one before it, which was stopped and
		// does not know why the run did not go on.
		summary.Failure = receipt.Failure
	}
	complete := false
	document, err := inTurn(func() ([]byte, error) {
		complete = stopping.Complete(p, self.Target, share, summary.Trials)
		if summary.Stopped = nil; p.Stop != nil { // whatever the worker says
			summary.Stopped = stopping.Decide(p, self.Target, share, summary.Trials).Stopped
		}
		return result.Encode(summary)
	})
	if err != nil {
		return Settled{}, fmt.Errorf("results: %w", err)
	}
	if err := bucket.Put(ctx, p.Keys().Accepted(self.Name), document); err != nil {
		return Settled{}, err
	}
	out := Settled{Stored: int32(len(summary.Trials)), Spent: stopping.Spent(summary.Trials), Digest: trial.Digest(document), Failure: summary.Failure}
	if out.Failure == nil && !complete {
		out.Failure = lost(self, receipt)
	}
	// Also of a worker that failed elsewhere: what was not needed is not missing.
	out.Spared = int32(len(p.Trials) - summary.Needed(p))
	return out, nil
}

// lost is the failure of a worker that has ended without saying why.
func lost(self trial.Worker, receipt *trial.Receipt) *trial.Failure {
	if receipt != nil && receipt.Failure != nil {
		return receipt.Failure
	}
	return &trial.Failure{
		Class:   reason.WorkerLost,
		Message: fmt.Sprintf("the worker's Pods on node %s ended without a receipt", self.Node),
		Remedy:  "check whether the node failed or ran out of memory, then change spec.runID to run again",
	}
}

// rejectedError says that a document of a worker is not taken.
type rejectedError struct{ why string }

func (e *rejectedError) Error() string { return e.why }

func (e *rejectedError) failure(self trial.Worker) *trial.Failure {
	return &trial.Failure{
		Class:   reason.ResultsRejected,
		Message: fmt.Sprintf("the operator rejected a document that worker %s stored: %s", self.Name, e.why),
		Remedy:  "find out who else can write to the worker's objects, then change spec.runID to run again",
	}
}

// maxStrays is how many objects may lie between a worker's documents that are none of its plan.
const maxStrays = 1000

// collect reads what a worker stored: its summary, and without a digest of it also the documents of the trials that the
// summary does not know, as its Pod was killed before it could write it again. Nil means
// that it stored nothing.
func collect(ctx context.Context, bucket stores.Bucket, p *trial.Plan, self trial.Worker, proof proof) (*result.WorkerSummary, error) {
	summary, err := readSummary(ctx, bucket, p, self, proof)
	if err != nil {
		return nil, err
	}
	if summary != nil && proof.digest != "" {
		summary.Sort(p.Trials)
		return summary, nil // the worker's last word: whatever else lies there is not its own
	}
	found := summary != nil
	if summary == nil {
		summary = result.NewWorkerSummary(p, self)
	}
	keys, err := bucket.List(ctx, p.Keys().Trials(self.Name), len(p.Trials)+maxStrays)
	if errors.Is(err, store.ErrTooLarge) {
		return nil, &rejectedError{err.Error()}
	}
	if err != nil {
		return nil, err
	}
	kept := result.NewKept()
	for _, t := range p.Trials {
		key := p.Keys().Trial(self.Name, t.ID)
		if summary.Has(t.ID) || !slices.Contains(keys, key) {
			continue
		}
		document, err := bucket.GetLimited(ctx, key, result.MaxTrial)
		if errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrNotFound) {
			continue // it is no trial of ours, or the operator's own store had no room for it
		}
		if err != nil {
			return nil, err
		}
		if !proof.key.Sealed(document) {
			continue // somebody else wrote it
		}
		folded, err := inTurn(func() (bool, error) {
			d, err := result.DecodeTrial(document, "")
			if err != nil || !d.BelongsTo(p, self, t) {
				return false, nil //nolint:nilerr // whoever wrote it, it is no trial of this run
			}
			summary.Fold(d, result.Object{Key: key, Bytes: len(document), Digest: trial.Digest(document)})
			return true, kept.Count(summary)
		})
		if err != nil {
			return nil, &rejectedError{err.Error()}
		}
		found = found || folded
	}
	if !found {
		return nil, nil
	}
	summary.Sort(p.Trials)
	return summary, nil
}

// readSummary reads a worker's summary, or returns nil if there is none.
func readSummary(ctx context.Context, bucket stores.Bucket, p *trial.Plan, self trial.Worker, proof proof) (*result.WorkerSummary, error) {
	document, err := bucket.GetLimited(ctx, p.Keys().WorkerSummary(self.Name), result.MaxWorkerSummary)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err == nil && proof.digest == "" && !proof.key.Sealed(document) {
		return nil, &rejectedError{"its summary does not have the worker's seal, and the worker left no receipt with its SHA-256"}
	}
	return inTurn(func() (*result.WorkerSummary, error) { return decodeSummary(p, self, document, proof.digest, err) })
}

// decodeSummary takes a worker's summary that was read for what it should be, or rejects it. It is
// called in turn.
func decodeSummary(p *trial.Plan, self trial.Worker, document []byte, digest string, err error) (*result.WorkerSummary, error) {
	if errors.Is(err, store.ErrTooLarge) {
		return nil, &rejectedError{err.Error()}
	}
	if err != nil {
		return nil, err
	}
	summary, err := result.DecodeWorkerSummary(document, digest)
	if err == nil {
		err = summary.CheckWorker(p, self)
	}
	if err != nil {
		return nil, &rejectedError{err.Error()}
	}
	return summary, nil
}

// Conclude folds what was accepted of the workers into the run's summary, one worker at a
// time, and stores it. It also returns the digest of the document that it stored. If accepted is nil, whatever the store has
// is taken for what was accepted.
func (r *Results) Conclude(ctx context.Context, rs *v1alpha1.ResultStore, p *trial.Plan, accepted *Accepted, baseline *Baseline, now time.Time) (result.Summary, string, error) {
	bucket, err := r.Open(ctx, rs)
	if err != nil {
		return result.Summary{}, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, concludeTimeout)
	defer cancel()
	c := &conclusion{plan: p, fold: stats.NewFold(p), page: !stores.IsInternal(rs), room: maxReportTrials}
	if err := c.addAll(ctx, bucket, accepted); err != nil {
		if failure, ok := errors.AsType[*trial.Failure](err); ok {
			return result.Summary{}, "", failure
		}
		return result.Summary{}, "", unstored(rs, err)
	}
	summary, _ := inTurn(func() (result.Summary, error) { return c.fold.Finish(now), nil })
	if baseline != nil {
		compared, err := against(ctx, bucket, rs, *baseline, summary)
		if err != nil {
			return result.Summary{}, "", unstored(rs, err)
		}
		answerWith(&summary, compared)
	}
	if stores.IsInternal(rs) {
		if err := keepBaseline(ctx, bucket, p.Keys(), summary); err != nil {
			return result.Summary{}, "", unstored(rs, err)
		}
	}
	document, err := encodeRun(summary)
	if err != nil {
		return result.Summary{}, "", err
	}
	if err := bucket.Put(ctx, p.Keys().Summary(), document); err != nil {
		return result.Summary{}, "", unstored(rs, err)
	}
	if c.page { // the operator's own store is empty as soon as the run has ended
		if err := storeReport(ctx, bucket, p, summary, c.trials); err != nil {
			return result.Summary{}, "", unstored(rs, err)
		}
	}
	return summary, trial.Digest(document), nil
}

// conclusion is a run's summary that is being made.
type conclusion struct {
	plan *trial.Plan
	fold *stats.Fold
	// page: the run has one, which is stored with the results and made of these trials.
	page   bool
	trials []report.WorkerTrials
	room   int
	bytes  int // of the trials, as JSON
}

// addAll folds in what was accepted of the workers, if it still is that.
func (c *conclusion) addAll(ctx context.Context, bucket stores.Bucket, accepted *Accepted) error {
	digests := map[int]string{}
	for i, self := range c.plan.Workers {
		if accepted != nil && !slices.Contains(accepted.Positions, i) {
			continue // it has ended without a document
		}
		digest, err := c.add(ctx, bucket, self, accepted != nil)
		if _, rejected := errors.AsType[*rejectedError](err); rejected && accepted == nil {
			continue // it stands in the status as the worker's failure
		} else if rejected {
			return changedSince(fmt.Sprintf("that of worker %s: %v", self.Name, err))
		}
		if err != nil {
			return err
		}
		digests[i] = digest
	}
	if accepted == nil {
		return nil
	}
	chain := ""
	for _, i := range accepted.Positions {
		chain = trial.Chain(chain, i, digests[i])
	}
	if chain != accepted.Digest {
		return changedSince("their SHA-256 is not that in status.run.accepted")
	}
	return nil
}

// changedSince is the failure of a run whose accepted documents are not what they were.
func changedSince(why string) *trial.Failure {
	return &trial.Failure{
		Class:   reason.ResultsRejected,
		Message: "documents that the operator had accepted were changed in the result store before the run ended: " + why,
		Remedy:  "find out who else can write to the bucket, then change spec.runID to run again",
	}
}

// add folds in what was accepted of a worker, and returns the document's digest. What is decoded of one run is let go
// before that of another is decoded, but no store is waited for meanwhile.
func (c *conclusion) add(ctx context.Context, bucket stores.Bucket, self trial.Worker, known bool) (string, error) {
	document, err := bucket.GetLimited(ctx, c.plan.Keys().Accepted(self.Name), result.MaxWorkerSummary)
	if errors.Is(err, store.ErrNotFound) && known {
		return "", &rejectedError{"it is gone"}
	}
	if errors.Is(err, store.ErrNotFound) { // release 0.1 accepted nothing: then it is what the worker stored
		summary, err := collect(ctx, bucket, c.plan, self, proof{})
		if err != nil || summary == nil {
			return "", err
		}
		_, err = inTurn(func() (any, error) { return nil, c.take(summary) })
		return "", err
	}
	_, err = inTurn(func() (any, error) {
		summary, err := decodeSummary(c.plan, self, document, "", err)
		if err != nil {
			return nil, err
		}
		return nil, c.take(summary)
	})
	return trial.Digest(document), err
}

func (c *conclusion) take(summary *result.WorkerSummary) error {
	if err := c.fold.Add(summary); err != nil {
		return tooLarge(err)
	}
	if !c.page {
		return nil
	}
	trials := report.TrialsOf(summary, c.room)
	document, err := result.Encode(trials.Trials)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if c.bytes+len(document) > maxReportBytes { // any metric can be called as one that is drawn
		trials, document = report.TrialsOf(summary, 0), nil
	}
	c.trials = append(c.trials, trials)
	c.room, c.bytes = c.room-len(trials.Trials), c.bytes+len(document)
	return nil
}

// encodeRun returns the document of a run's summary: not indented, as that of 1,000 workers would be too large.
func encodeRun(summary result.Summary) ([]byte, error) {
	document, err := inTurn(func() ([]byte, error) { return result.Encode(summary) })
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	if len(document) > result.MaxRunSummary { // nobody could read it
		return nil, tooLarge(fmt.Errorf("it would have %d bytes, the limit is %d", len(document), result.MaxRunSummary))
	}
	return document, nil
}

func tooLarge(err error) *trial.Failure {
	return &trial.Failure{
		Class: reason.LimitExceeded, Message: "the run's results are too large for one summary: " + err.Error(),
		Remedy: "split the benchmark: fewer nodes, workloads or variants in each", Err: err,
	}
}
