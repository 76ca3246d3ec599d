package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

// seen is the last state of a benchmark.
type seen struct {
	finished bool
	ready    bool
	run      string
	observed int64 // generation
	reason   string
	message  string
}

// tracker watches benchmarks and their Jobs, and keeps what the bench waits for.
type tracker struct {
	mu         sync.Mutex
	benchmarks map[client.ObjectKey]seen
	// jobs that exist, and when the first unsuspended one of a benchmark's run was seen,
	// by namespace, benchmark and run.
	jobs     map[client.ObjectKey]bool
	released map[string]time.Time
	// changed gets a token when anything has changed.
	changed chan struct{}
}

func newTracker(ctx context.Context, c *cluster) (*tracker, error) {
	t := &tracker{
		benchmarks: map[client.ObjectKey]seen{}, jobs: map[client.ObjectKey]bool{}, released: map[string]time.Time{},
		changed: make(chan struct{}, 1),
	}
	for kind, handler := range map[client.Object]toolscache.ResourceEventHandler{
		&v1alpha1.StorageBenchmark{}: toolscache.ResourceEventHandlerFuncs{
			AddFunc: t.see, UpdateFunc: func(_, o any) { t.see(o) }, DeleteFunc: t.forget,
		},
		&batchv1.Job{}: toolscache.ResourceEventHandlerFuncs{
			AddFunc: t.seeJob, UpdateFunc: func(_, o any) { t.seeJob(o) }, DeleteFunc: t.forget,
		},
	} {
		informer, err := c.cache.GetInformer(ctx, kind)
		if err != nil {
			return nil, err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tracker) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func (t *tracker) see(o any) {
	b, ok := o.(*v1alpha1.StorageBenchmark)
	if !ok {
		return
	}
	s := seen{observed: b.Status.ObservedGeneration, ready: meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady)}
	if b.Status.Run != nil {
		s.run, s.finished = b.Status.Run.ID, b.Status.Run.FinishedAt != nil
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		s.reason, s.message = c.Reason, c.Message
	}
	t.mu.Lock()
	t.benchmarks[client.ObjectKeyFromObject(b)] = s
	t.mu.Unlock()
	t.notify()
}

func (t *tracker) seeJob(o any) {
	job, ok := o.(*batchv1.Job)
	if !ok || job.Labels[jobspec.LabelManagedBy] != jobspec.ManagedBy {
		return
	}
	now := time.Now()
	t.mu.Lock()
	t.jobs[client.ObjectKeyFromObject(job)] = true
	if job.Spec.Suspend == nil || !*job.Spec.Suspend {
		key := runKey(client.ObjectKey{Namespace: job.Namespace, Name: job.Labels[jobspec.LabelBenchmark]}, job.Labels[jobspec.LabelRun])
		if _, known := t.released[key]; !known {
			t.released[key] = now
		}
	}
	t.mu.Unlock()
	t.notify()
}

func runKey(benchmark client.ObjectKey, run string) string { return benchmark.String() + "/" + run }

func (t *tracker) forget(o any) {
	if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	t.mu.Lock()
	switch o := o.(type) {
	case *v1alpha1.StorageBenchmark:
		delete(t.benchmarks, client.ObjectKeyFromObject(o))
	case *batchv1.Job:
		delete(t.jobs, client.ObjectKeyFromObject(o))
	}
	t.mu.Unlock()
	t.notify()
}

func (t *tracker) get(key client.ObjectKey) seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.benchmarks[key]
}

// releasedAt returns when the first unsuspended Job of the benchmark's run was
// seen, or zero.
func (t *tracker) releasedAt(key client.ObjectKey, run string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.released[runKey(key, run)]
}

func (t *tracker) jobCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.jobs)
}

// await waits until check returns true. It checks whenever something has
// changed.
func (t *tracker) await(ctx context.Context, limit time.Duration, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		done, err := check()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return ctx.Err() // interrupted
			}
			return fmt.Errorf("waited for %s: %w", limit, ctx.Err())
		case <-t.changed:
		case <-time.After(time.Second): // check may look at more than what the tracker watches
		}
	}
}

// census counts the reasons of Ready of the given benchmarks, for messages.
func (t *tracker) census(keys []client.ObjectKey) (reasons map[string]int, example string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	reasons = map[string]int{}
	for _, key := range keys {
		s := t.benchmarks[key]
		reasons[s.reason]++
		if !s.finished && example == "" && s.message != "" {
			example = fmt.Sprintf("%s: %s: %s", key, s.reason, s.message)
		}
	}
	return reasons, example
}
