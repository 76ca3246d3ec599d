package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

// stall is how long no benchmark may end before the bench gives up.
const stall = 5 * time.Minute

// countEvery is the interval between two counts of all benchmarks.
const countEvery = 200 * time.Millisecond

// load runs all benchmarks of a mix.
type load struct {
	bench    *bench
	mix      mixed
	inflight int
	keys     []client.ObjectKey
	// waiting are the benchmarks still to be released, in order.
	waiting []func(context.Context) error
	// paced are the benchmarks that were released one by one.
	paced []client.ObjectKey
}

// run creates the benchmarks, releases them, and returns when all have finished and
// their Jobs are gone.
func (l *load) run(ctx context.Context) error {
	if err := l.create(ctx); err != nil {
		return err
	}
	finished, since, reported := 0, time.Now(), time.Now()
	begun, counted := time.Now(), time.Time{}
	err := l.bench.tracker.await(ctx, l.bench.limit, func() (bool, error) {
		if err := l.bench.alive(); err != nil {
			return false, err
		}
		if time.Since(counted) < countEvery {
			return false, nil
		}
		counted = time.Now()
		now, flying := l.count()
		if now > finished {
			finished, since = now, time.Now()
		}
		if time.Since(since) > stall {
			reasons, example := l.bench.tracker.census(l.keys)
			return false, fmt.Errorf("no benchmark has ended for %s, with %d of %d finished: %v; %s", stall, finished, l.mix.total(), reasons, example)
		}
		if time.Since(reported) > 10*time.Second {
			reported = time.Now()
			l.report(ctx, begun, finished)
		}
		for flying < l.inflight && len(l.waiting) > 0 {
			if err := l.waiting[0](ctx); err != nil {
				return false, err
			}
			l.waiting = l.waiting[1:]
			flying++
		}
		return finished == l.mix.total() && l.bench.tracker.jobCount() == 0, nil
	})
	if err != nil {
		return err
	}
	return l.allReady()
}

// create creates all benchmarks except those that are created one by one.
func (l *load) create(ctx context.Context) error {
	var now []*v1alpha1.StorageBenchmark
	for _, c := range []class{suspended, wide, hot} {
		for i := range l.mix.counts[c] {
			now = append(now, l.mix.benchmark(c, i))
		}
	}
	for _, b := range now {
		l.keys = append(l.keys, client.ObjectKeyFromObject(b))
	}
	// Mix resumed and new ones in proportion to their numbers.
	resumed, freshes := 0, 0
	for resumed < l.mix.counts[suspended] || freshes < l.mix.counts[fresh] {
		if resumed*l.mix.counts[fresh] <= freshes*l.mix.counts[suspended] && resumed < l.mix.counts[suspended] {
			l.later(l.mix.benchmark(suspended, resumed), l.resume)
			resumed++
		} else {
			b := l.mix.benchmark(fresh, freshes)
			l.keys = append(l.keys, client.ObjectKeyFromObject(b))
			l.later(b, func(ctx context.Context, b *v1alpha1.StorageBenchmark) error {
				return l.bench.cluster.api.Create(ctx, b)
			})
			freshes++
		}
	}
	for i, b := range now {
		if err := l.bench.cluster.api.Create(ctx, b); err != nil {
			return err
		}
		if (i+1)%1000 == 0 {
			fmt.Fprintf(os.Stderr, "%s: %d of %d created\n", l.mix.name, i+1, len(now))
		}
	}
	return nil
}

func (l *load) later(b *v1alpha1.StorageBenchmark, release func(context.Context, *v1alpha1.StorageBenchmark) error) {
	l.waiting = append(l.waiting, func(ctx context.Context) error {
		l.paced = append(l.paced, client.ObjectKeyFromObject(b))
		return release(ctx, b)
	})
}

func (l *load) resume(ctx context.Context, b *v1alpha1.StorageBenchmark) error {
	return patchSpec(ctx, l.bench.cluster.api, b, `{"suspend":false}`)
}

// patchSpec changes a benchmark's spec with a merge patch, and stores the answer in
// it.
func patchSpec(ctx context.Context, api client.Client, b *v1alpha1.StorageBenchmark, spec string) error {
	return api.Patch(ctx, b, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`)))
}

// count returns how many benchmarks have finished, and how many of the paced
// ones have not.
func (l *load) count() (finished, flying int) {
	l.bench.tracker.mu.Lock()
	defer l.bench.tracker.mu.Unlock()
	for _, key := range l.keys {
		if l.bench.tracker.benchmarks[key].finished {
			finished++
		}
	}
	for _, key := range l.paced {
		if !l.bench.tracker.benchmarks[key].finished {
			flying++
		}
	}
	return finished, flying
}

func (l *load) report(ctx context.Context, begun time.Time, finished int) {
	line := fmt.Sprintf("%s: %s: %d of %d finished, %d to come, %d Jobs", l.mix.name, time.Since(begun).Round(time.Second), finished, l.mix.total(), len(l.waiting), l.bench.tracker.jobCount())
	if leader := l.bench.operator.leader(ctx); leader != nil {
		if s, err := l.bench.operator.read(ctx, leader); err == nil {
			line += fmt.Sprintf("; manager %s CPU, %s, heap %s", s.CPU, megabytes(s.Memory), megabytes(s.heap))
		}
	}
	fmt.Fprintln(os.Stderr, line)
}

// allReady returns an error if a run has failed.
func (l *load) allReady() error {
	var failed []error
	for _, key := range l.keys {
		if s := l.bench.tracker.get(key); !s.ready {
			failed = append(failed, fmt.Errorf("%s: %s: %s", key, s.reason, s.message))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d benchmarks failed: %w", len(failed), len(l.keys), errors.Join(failed[:min(3, len(failed))]...))
	}
	return nil
}
