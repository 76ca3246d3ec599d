package benchmark

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/leases"
	"storagebench.io/storagebench/controllers/restore"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/controllers/trim"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/store/inbox"
)

// Finalizer keeps a benchmark until its workers are gone and its nodes are given back.
const Finalizer = trim.Finalizer

// Reconciler takes StorageBenchmarks from spec to status.
type Reconciler struct {
	// Client reads from the cache.
	client.Client
	// Live reads past the cache what must not be overlooked, and whole specs.
	Live    client.Reader
	Leases  *leases.Leases
	Workers *workers.Workers
	Records *restore.Records
	Results *results.Results
	Limits  admission.Limits
	Rules   admission.Rules
	Events  events.EventRecorder
	Clock   clock.PassiveClock

	memory memory
	turns  stores.Turns
}

// pass is one look at a benchmark.
type pass struct {
	*v1alpha1.StorageBenchmark
	before  *v1alpha1.StorageBenchmark
	outcome status.Outcome
	// turn is what the pass needs to go on, and to use a ResultStore.
	turn *stores.Turn
	// gone: there is no benchmark any more whose status could be written.
	gone bool
}

// step does what there is to do at one stage of a benchmark's life. It returns false if
// that is nothing, and the next step has its turn.
type step func(context.Context, *pass) (done bool, err error)

// Reconcile takes one benchmark a step further.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	ctx, turn := r.turns.Pass(ctx, req.Namespace)
	defer turn.Leave()
	if err := turn.Enter(); err != nil {
		return ctrl.Result{RequeueAfter: turn.Again()}, nil // others of the namespace have their turn
	}
	b := &v1alpha1.StorageBenchmark{}
	if err := r.Get(ctx, req.NamespacedName, b); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		r.memory.forget(req.NamespacedName)
		if err := r.Results.Drop(ctx, req.Namespace, req.Name, inbox.Keep{}); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.Leases.ReleaseStrays(ctx, req.NamespacedName, "")
	}
	if r.memory.writes.After(b.UID, b.ResourceVersion) {
		return ctrl.Result{RequeueAfter: staleRetry}, nil
	}
	if again, err := r.Workers.Behind(ctx, b.UID); again > 0 || err != nil {
		return ctrl.Result{RequeueAfter: again}, err
	}
	if err := r.Leases.ReleaseStrays(ctx, req.NamespacedName, b.UID); err != nil {
		return ctrl.Result{}, err
	}
	p := &pass{StorageBenchmark: b, before: b.DeepCopy(), turn: turn}
	defer func() { result, err = r.summarize(ctx, p, err) }()
	for _, step := range []step{r.adopt, r.remove, r.protect, r.rest, r.stop, r.start, r.run} {
		if done, err := step(ctx, p); done || err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// unchanged reports whether the recorded run measures the present spec, and no annotation asks for
// another. With the same
// generation, nobody has changed the spec: a different hash then means that a release has
// added a default, which is no reason to measure again.
func (p *pass) unchanged() bool {
	run := p.Status.Run
	if run == nil || plan.RerunAsked(p.StorageBenchmark) {
		return false
	}
	hash := SpecHash(p.StorageBenchmark)
	if run.Generation != p.Generation && run.SpecHash != hash && !isLegacySpecHash(run.SpecHash, p.StorageBenchmark) {
		return false
	}
	run.Generation, run.SpecHash = p.Generation, hash
	return true
}

// annotationSpecHash exists in the cache only. It holds the hash of a spec whose large parts
// the cache has dropped. Each process picks a random name for it, so that nobody can forge it.
var annotationSpecHash = "cache.storagebench.io/spec-hash-" + strings.ToLower(rand.Text())

// isLegacySpecHash reports whether an earlier release recorded the hash of the same spec. If the cache
// has dropped a part of that, another generation counts as another spec.
func isLegacySpecHash(hash string, b *v1alpha1.StorageBenchmark) bool {
	if b.Annotations[annotationSpecHash] != "" {
		return false
	}
	return hash == plan.LegacySpecHash(b.Spec) || hash == plan.LegacySpecHash(plan.WithDefaults(b.Spec))
}

// SpecHash is the hash of a benchmark's whole spec.
func SpecHash(b *v1alpha1.StorageBenchmark) string {
	if hash := b.Annotations[annotationSpecHash]; hash != "" {
		return hash
	}
	return plan.SpecHash(b.Spec)
}

// keptInCache is the length in bytes of the specs, as JSON, that the cache keeps whole.
const keptInCache = 4096

// Strip drops from a benchmark with a long spec what is read only when its run or a worker
// starts. It is a transform of the cache; whoever needs the whole spec reads it from the API server.
func Strip(object any) (any, error) {
	b, ok := object.(*v1alpha1.StorageBenchmark)
	if !ok {
		return object, nil
	}
	known := b.Annotations[annotationSpecHash]
	if rerun := plan.Rerun(b); rerun != "" {
		b.Annotations[v1alpha1.AnnotationRerun] = rerun // it stands for itself
	}
	trim.Meta(b)
	hash := known
	if hash == "" {
		spec, err := json.Marshal(b.Spec)
		if err != nil {
			return nil, fmt.Errorf("the spec of StorageBenchmark %s/%s: %w", b.Namespace, b.Name, err)
		}
		if len(spec) <= keptInCache {
			return b, nil
		}
		hash = plan.SpecHash(b.Spec)
	}
	b.Spec = v1alpha1.StorageBenchmarkSpec{
		Baseline: b.Spec.Baseline, Results: b.Spec.Results, Timeout: b.Spec.Timeout, RunID: b.Spec.RunID,
		Suspend: b.Spec.Suspend, TTLAfterFinished: b.Spec.TTLAfterFinished,
		Gates: make([]v1alpha1.Gate, len(b.Spec.Gates)), // how many
	}
	if b.Annotations == nil {
		b.Annotations = map[string]string{}
	}
	b.Annotations[annotationSpecHash] = hash
	return b, nil
}

// whole returns the benchmark with its whole spec.
func (r *Reconciler) whole(ctx context.Context, p *pass) (*v1alpha1.StorageBenchmark, error) {
	if p.Annotations[annotationSpecHash] == "" {
		return p.StorageBenchmark, nil
	}
	b := &v1alpha1.StorageBenchmark{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(p.StorageBenchmark), b); err != nil {
		return nil, err
	}
	if b.Generation != p.Generation || b.UID != p.UID {
		return nil, apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("storagebenchmarks").GroupResource(), p.Name, errChanged)
	}
	return b, nil
}

// staleRetry is how soon a benchmark is looked at again whose last write by the operator
// itself has not come back yet.
const staleRetry = 20 * time.Millisecond

// poll is how often a benchmark that waits for something of its own is looked at.
const poll = 2 * time.Second
