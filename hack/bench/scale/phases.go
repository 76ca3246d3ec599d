package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// measure runs a mix and returns what that cost the operator, which must be one
// replica.
func (b *bench) measure(ctx context.Context, mix mixed) (cost, error) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", mix.name, mix)
	leader, err := b.operator.awaitLeader(ctx)
	if err != nil {
		return cost{}, err
	}
	before, err := b.operator.read(ctx, leader)
	if err != nil {
		return cost{}, err
	}
	if _, _, err := b.cluster.audit.read(); err != nil {
		return cost{}, err
	}
	l := &load{bench: b, mix: mix, inflight: b.inflight}
	if err := l.run(ctx); err != nil {
		return cost{}, fmt.Errorf("%s: %w", mix.name, err)
	}
	after, err := b.operator.read(ctx, leader)
	if err != nil {
		return cost{}, err
	}
	c := cost{mix: mix, took: after.at.Sub(before.at), cpu: after.CPU - before.CPU, counted: after.requests - before.requests}
	if c.requests, c.refused, err = b.cluster.audit.read(); err != nil {
		return cost{}, err
	}
	b.keys = append(b.keys, l.keys...)
	b.expected += mix.workers() * mix.trials
	fmt.Fprintf(os.Stderr, "%s\n%s in %s\n", c, c.table(), c.took.Round(time.Second))
	return c, nil
}

// idle measures the operator while nothing changes, and returns its share of a
// core.
func (b *bench) idle(ctx context.Context, over time.Duration) (share float64, err error) {
	leader, err := b.operator.awaitLeader(ctx)
	if err != nil {
		return 0, err
	}
	before, err := b.operator.read(ctx, leader)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, over); err != nil {
		return 0, err
	}
	after, err := b.operator.read(ctx, leader)
	if err != nil {
		return 0, err
	}
	all, _, err := b.cluster.audit.read()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(os.Stderr, "idle: %s CPU in %s, requests %v\n", after.CPU-before.CPU, over, all)
	return (after.CPU - before.CPU).Seconds() / after.at.Sub(before.at).Seconds(), nil
}

// changes starts one benchmark after another, while nothing else happens. It returns how
// many seconds each took until the Job of the new run was resumed, with volume, plan and
// grant created.
func (b *bench) changes(ctx context.Context, n int) (seconds []float64, err error) {
	mix := newMix("changes", n, b.nodes, b.trials, 1)
	for i := range n {
		sb := mix.benchmark(suspended, i)
		key := client.ObjectKeyFromObject(sb)
		if i%2 == 0 {
			// A suspended benchmark is resumed.
			if err := b.cluster.api.Create(ctx, sb); err != nil {
				return nil, err
			}
			if err := b.tracker.await(ctx, time.Minute, func() (bool, error) { return b.tracker.get(key).observed == sb.Generation, b.alive() }); err != nil {
				return nil, fmt.Errorf("%s is suspended: %w", key, err)
			}
			b.keys = append(b.keys, key)
			b.expected += b.trials
		} else {
			// Run some finished benchmark again.
			sb = mix.benchmark(suspended, i-1)
			key = client.ObjectKeyFromObject(sb)
		}
		was, spec := b.tracker.get(key).run, `{"suspend":false}`
		if i%2 == 1 {
			spec = `{"runID":"again"}`
			b.expected += b.trials
		}
		begun := time.Now()
		if err := patchSpec(ctx, b.cluster.api, sb, spec); err != nil {
			return nil, err
		}
		var acted time.Time
		err := b.tracker.await(ctx, time.Minute, func() (bool, error) {
			if run := b.tracker.get(key).run; run != was {
				acted = b.tracker.releasedAt(key, run)
			}
			return !acted.IsZero(), b.alive()
		})
		if err != nil {
			return nil, fmt.Errorf("%s was changed to %s: %w", key, spec, err)
		}
		seconds = append(seconds, acted.Sub(begun).Seconds())
		if err := b.tracker.await(ctx, stall, func() (bool, error) {
			s := b.tracker.get(key)
			return s.finished && s.run != was && b.tracker.jobCount() == 0, b.alive()
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return seconds, nil
}

// failover runs benchmarks under two replicas and repeatedly kills the leader. It
// returns how often.
func (b *bench) failover(ctx context.Context, mix mixed) (killed int, err error) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", mix.name, mix)
	if err := b.operator.add(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loadErr error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		loadErr = b.loadUntilKilled(ctx, mix)
	}()
	err = b.killLeaders(ctx, ended)
	if err != nil {
		cancel() // nobody waits for what is under way
	}
	<-ended
	return int(b.killed.Load()), errors.Join(err, loadErr)
}

// loadUntilKilled runs one mix after another until enough leaders have been killed.
func (b *bench) loadUntilKilled(ctx context.Context, mix mixed) error {
	name := mix.name
	for i := 0; b.killed.Load() < int64(b.kills); i++ {
		mix.name = fmt.Sprintf("%s-%d", name, i)
		l := &load{bench: b, mix: mix, inflight: b.inflight}
		if err := l.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", mix.name, err)
		}
		b.keys = append(b.keys, l.keys...)
		b.expected += mix.workers() * mix.trials
	}
	return nil
}

// killLeaders kills leaders, and starts another replica for each, until ended.
func (b *bench) killLeaders(ctx context.Context, ended <-chan struct{}) error {
	for b.killed.Load() < int64(b.kills) {
		select {
		case <-ended:
			return nil // too early, of which its error tells
		case <-time.After(b.every):
		}
		leader, err := b.operator.awaitLeader(ctx)
		if err != nil {
			return err
		}
		b.operator.remove(leader, true)
		if err := b.operator.add(); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "killed the leader, %d of %d\n", b.killed.Add(1), b.kills)
	}
	return nil
}
