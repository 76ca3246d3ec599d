// Package results reads and writes the run's documents in the result store.
//
//	StorePlan, Plan   the plan, built once and checked against its digest ever after
//	CountStored       how far a running worker is, for people
//	Settle            what a worker stored, when it has ended: checked, and kept
//	Conclude          the run's summary, worker by worker
//
// Whoever has a worker's grant can store anything under the worker's keys. So a document is
// bounded when it is read, compared with the digest in the worker's receipt before it is
// decoded, and bounded when it is decoded. What is accepted is stored again under a key that
// no worker can write, and only that is read at the end. A document that is forged, too
// large or unreadable is its worker's failure, and never an error that is met again. A worker
// that left no receipt has sealed its documents with a key that whoever has only the bucket's access key lacks.
package results

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/inbox"
	"storagebench.io/storagebench/internal/trial"

	"k8s.io/utils/clock"
)

// Results of runs.
type Results struct {
	Buckets *stores.Buckets
	Seals   *stores.Seals
	Clock   clock.PassiveClock

	plans  planCache
	counts counts
}

// Open opens the bucket of a store. Its error is a *trial.Failure, or wraps stores.ErrBusy.
func (r *Results) Open(ctx context.Context, rs *v1alpha1.ResultStore) (stores.Bucket, error) {
	bucket, err := r.Buckets.Open(ctx, rs)
	if err != nil {
		return nil, unstored(rs, err)
	}
	return bucket, nil
}

// Authority returns the PEM of the authority that signed a store's certificate; nil: the
// system's authorities.
func (r *Results) Authority(ctx context.Context, rs *v1alpha1.ResultStore) ([]byte, error) {
	if !stores.IsInternal(rs) {
		return rs.Spec.CABundle, nil
	}
	if r.Buckets.Inbox == nil {
		_, err := r.Open(ctx, rs)
		return nil, err
	}
	certificate, err := r.Buckets.Inbox.Certificate(ctx)
	if err != nil {
		return nil, unstored(rs, err)
	}
	return certificate, nil
}

// SealingKey returns the key that a worker seals its documents with. Its error is a *trial.Failure.
func (r *Results) SealingKey(ctx context.Context, p *trial.Plan, worker string) (result.SealingKey, error) {
	key, err := r.Seals.Key(ctx, p, worker)
	if err != nil {
		return nil, &trial.Failure{
			Class: reason.StoreUnavailable, Message: "the operator has no key for the seals of results: " + err.Error(),
			Remedy: "apply the chart or the manifests of this release again", Err: errors.Join(err, status.ErrMayPass),
		}
	}
	return key, nil
}

// Drop deletes what the operator's own store holds of a benchmark's runs, except of what is to be
// kept. A ResultStore is left alone.
func (r *Results) Drop(ctx context.Context, namespace, name string, keep inbox.Keep) error {
	if r.Buckets.Inbox == nil {
		return nil
	}
	// One that cannot be opened must not keep nodes and finalizers of those who never used it. When it
	// opens, what is held of benchmarks that are gone is dropped.
	if err := r.Buckets.Inbox.Check(ctx); err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot drop what the operator's own store may hold", "error", err.Error())
		return nil
	}
	return r.Buckets.Inbox.Drop(ctx, namespace, name, keep)
}

// unstored turns a store's error into a failure that the benchmark waits out.
func unstored(rs *v1alpha1.ResultStore, err error) error {
	if errors.Is(err, stores.ErrBusy) {
		return err // it says nothing of the store
	}
	if stores.IsInternal(rs) {
		return untaken(err)
	}
	why, message := stores.Trouble(rs, err)
	failure := &trial.Failure{Class: reason.StoreUnavailable, Field: "spec.results.storeRef.name", Message: fmt.Sprintf("ResultStore %s: %s: %s", rs.Name, why, message), Err: err}
	if store.Temporary(err) {
		failure.Err = errors.Join(err, status.ErrMayPass)
	}
	return failure
}

// untaken is unstored for the operator's own store.
func untaken(err error) error {
	failure := &trial.Failure{
		Class: reason.StoreUnavailable, Field: "spec.results", Message: "the benchmark has no ResultStore, and the operator cannot hold its results: " + err.Error(),
		Remedy: "wait until other runs have ended, or name a ResultStore in spec.results.storeRef.name", Err: err,
	}
	if store.Temporary(err) {
		failure.Err = errors.Join(err, status.ErrMayPass)
	}
	return failure
}

// Keys of a benchmark's present run.
func Keys(b *v1alpha1.StorageBenchmark) trial.Keys {
	return trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: b.Status.Run.ID}
}

// StorePlan stores a plan and returns its digest.
func (r *Results) StorePlan(ctx context.Context, rs *v1alpha1.ResultStore, p *trial.Plan) (digest string, err error) {
	document, digest, err := p.Encode()
	if err != nil {
		return "", err
	}
	if len(document) > result.MaxPlan { // no worker could have it, and Plan would not read it again
		return "", &trial.Failure{
			Class: reason.LimitExceeded, Message: fmt.Sprintf("the plan has %d bytes, the limit is %d", len(document), result.MaxPlan),
			Remedy: "split the benchmark: fewer nodes, workloads or variants in each",
		}
	}
	bucket, err := r.Open(ctx, rs)
	if err != nil {
		return "", err
	}
	if err := bucket.Put(ctx, p.Keys().Plan(), document); err != nil {
		return "", unstored(rs, err)
	}
	r.plans.add(digest, Plan{Plan: p, Document: document})
	return digest, nil
}

// Plan is a plan and its document.
type Plan struct {
	*trial.Plan
	Document []byte
}

// ErrNoPlan reports that the store has no plan for a run of release 0.1, which recorded no
// digest of it.
var ErrNoPlan = errors.New("the result store does not have the run's plan")

// PlanGone is the failure of a run whose plan was deleted.
func PlanGone() *trial.Failure {
	return &trial.Failure{
		Class: reason.PlanTampered, Message: "somebody deleted the run's plan.json from the result store",
		Remedy: "find out who deletes objects there, then change spec.runID to run again",
	}
}

// planChanged is the failure of a run whose plan was replaced.
func planChanged(want, got string) *trial.Failure {
	return &trial.Failure{
		Class: reason.PlanTampered, Message: fmt.Sprintf("somebody changed the run's plan.json in the result store: it has digest %s, but the run was started with %s", got, want),
		Remedy: "find out who can write objects there, then change spec.runID to run again",
	}
}

// Plan loads the run's plan, and checks it against the digest in the status. A run of
// release 0.1 has no digest there: then what is returned is the stored document's.
func (r *Results) Plan(ctx context.Context, rs *v1alpha1.ResultStore, b *v1alpha1.StorageBenchmark) (p Plan, digest string, err error) {
	digest = b.Status.Run.PlanDigest
	if p, ok := r.plans.get(digest); ok && digest != "" {
		return p, digest, nil
	}
	bucket, err := r.Open(ctx, rs)
	if err != nil {
		return Plan{}, "", err
	}
	document, err := readPlan(ctx, bucket, rs, b)
	if err != nil {
		return Plan{}, "", err
	}
	decoded, err := trial.DecodePlan(document, digest)
	if err != nil {
		return Plan{}, "", err
	}
	p = Plan{Plan: decoded, Document: document}
	digest = trial.Digest(document)
	r.plans.add(digest, p)
	return p, digest, nil
}

// readPlan reads the document of the run's plan, which has the digest in the status, if there is one.
func readPlan(ctx context.Context, bucket stores.Bucket, rs *v1alpha1.ResultStore, b *v1alpha1.StorageBenchmark) ([]byte, error) {
	digest := b.Status.Run.PlanDigest
	document, err := bucket.GetLimited(ctx, Keys(b).Plan(), result.MaxPlan)
	switch {
	case errors.Is(err, store.ErrNotFound) && digest == "":
		return nil, ErrNoPlan
	case errors.Is(err, store.ErrNotFound):
		return nil, PlanGone()
	case errors.Is(err, store.ErrTooLarge) && digest != "":
		return nil, planChanged(digest, fmt.Sprintf("that of more than %d bytes", result.MaxPlan))
	case err != nil:
		return nil, unstored(rs, err)
	case digest != "" && trial.Digest(document) != digest:
		return nil, planChanged(digest, trial.Digest(document))
	}
	return document, nil
}

// turn is held while a document is decoded, folded or encoded: several benchmarks are looked at side by
// side, and the peaks of their memory would add up.
var turn sync.Mutex

// inTurn does what takes memory but no time of a store. It is not called within itself.
func inTurn[D any](do func() (D, error)) (D, error) {
	turn.Lock()
	defer turn.Unlock()
	return do()
}

// maxPlans bounds the documents of the plans in memory, in bytes.
const maxPlans = 16 << 20

// planCache keeps the plans that were used last. A plan never changes, so its digest is
// all there is to compare.
type planCache struct {
	mu    sync.Mutex
	bytes int
	order *list.List // of cachedPlan, the last used first
	all   map[string]*list.Element
}

type cachedPlan struct {
	digest string
	plan   Plan
}

func (c *planCache) get(digest string) (Plan, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.all[digest]
	if !ok {
		return Plan{}, false
	}
	c.order.MoveToFront(e)
	cached, _ := e.Value.(cachedPlan)
	return cached.plan, true
}

func (c *planCache) add(digest string, p Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all, c.order = map[string]*list.Element{}, list.New()
	}
	if _, ok := c.all[digest]; ok || len(p.Document) > maxPlans/4 {
		return
	}
	c.all[digest] = c.order.PushFront(cachedPlan{digest: digest, plan: p})
	c.bytes += len(p.Document)
	for c.bytes > maxPlans {
		oldest, _ := c.order.Remove(c.order.Back()).(cachedPlan)
		delete(c.all, oldest.digest)
		c.bytes -= len(oldest.plan.Document)
	}
}

// counts remembers when a worker's stored trials were last counted.
type counts struct {
	mu sync.Mutex
	of map[string]count
}

type count struct {
	at time.Time
	// first is set until the store has answered once.
	first bool
	// lost is how many documents the operator before this one had in its memory.
	lost int
}

// countEvery is how often the store is asked how far a worker is.
const countEvery = 8 * time.Second

func (c *counts) due(key string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.of[key]
	if ok && now.Sub(last.at) < countEvery {
		return false
	}
	if c.of == nil || len(c.of) > 10000 {
		c.of = map[string]count{}
	}
	last.at, last.first = now, !ok || last.first
	c.of[key] = last
	return true
}

// counted returns how many trials are stored, of which found are there. known is how many the status
// says: what the first answer lacks of them is lost, but was measured.
func (c *counts) counted(key string, found, known int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.of[key]
	if of.first {
		of.first, of.lost = false, max(0, known-found)
		c.of[key] = of
	}
	return found + of.lost
}

// CountStored counts the trials that a running worker has stored; known is how many the status says.
// The operator's own store has documents of trials in memory only: after a restart it counts on from
// there. It is for people to look at: an error is logged, and there is no count.
func (r *Results) CountStored(ctx context.Context, rs *v1alpha1.ResultStore, b *v1alpha1.StorageBenchmark, worker string, known int32) (n int32, ok bool) {
	prefix := Keys(b).Trials(worker)
	if !r.counts.due(prefix, r.Clock.Now()) {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	bucket, err := r.Buckets.Open(ctx, rs)
	if err == nil {
		var keys []string
		if keys, err = bucket.List(ctx, prefix, int(b.Status.Run.TrialsPlanned)+maxStrays); err == nil {
			n := min(len(keys), 1<<20)
			if stores.IsInternal(rs) {
				n = r.counts.counted(prefix, n, int(known))
			}
			return int32(n), true
		}
	}
	if errors.Is(err, stores.ErrBusy) {
		return 0, false
	}
	ctrl.LoggerFrom(ctx).Info("cannot count the stored trials", "worker", worker, "error", err.Error())
	return 0, false
}
