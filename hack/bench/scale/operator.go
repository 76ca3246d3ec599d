package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// memoryLimit is the chart's default limit for the operator.
const memoryLimit = 256 << 20

// replica is one process of the operator.
type replica struct {
	*process
	metrics string // address
}

// operator runs replicas; one of them leads.
type operator struct {
	cluster *cluster
	mu      sync.Mutex
	started int
	// replicas that run.
	replicas []*replica
	// peak of the resident memory and of the heap of all replicas that ran
	peakMemory, peakHeap uint64
}

// add starts one more replica.
func (o *operator) add() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	manifest, err := os.ReadFile(policies)
	if err != nil {
		return err
	}
	image, err := allowedImage(manifest)
	if err != nil {
		return err
	}
	metrics, err := freeAddress()
	if err != nil {
		return err
	}
	probes, err := freeAddress()
	if err != nil {
		return err
	}
	o.started++
	p, err := start(o.cluster.dir, fmt.Sprintf("manager-%d", o.started), o.cluster.programs.manager,
		[]string{"KUBECONFIG=" + o.cluster.kubeconfig, fmt.Sprintf("GOMEMLIMIT_BYTES=%d", memoryLimit)},
		"--namespace="+operatorNamespace, "--worker-image="+image,
		"--metrics-bind-address="+metrics, "--metrics-insecure", "--health-probe-bind-address="+probes)
	if err != nil {
		return err
	}
	o.replicas = append(o.replicas, &replica{process: p, metrics: metrics})
	return nil
}

// remove stops a replica, with SIGKILL if crash is set.
func (o *operator) remove(r *replica, crash bool) {
	o.recordPeaks(r)
	// First of all, so that alive does not miss it.
	o.mu.Lock()
	o.replicas = slices.DeleteFunc(o.replicas, func(other *replica) bool { return other == r })
	o.mu.Unlock()
	if crash {
		r.kill()
	} else {
		r.stop()
	}
}

// close ends all replicas.
func (o *operator) close() {
	for _, r := range o.running() {
		o.remove(r, false)
	}
}

func (o *operator) running() []*replica {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.replicas)
}

// alive returns an error if a replica has ended that nobody removed.
func (o *operator) alive() error {
	for _, r := range o.running() {
		if err := r.died(); err != nil {
			return err
		}
	}
	return nil
}

// recordPeaks records the peaks of a replica's memory.
func (o *operator) recordPeaks(r *replica) {
	u, err := r.usage()
	if err != nil {
		return // it has ended
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.peakMemory = max(o.peakMemory, u.PeakMemory)
}

// state is what a replica has used so far.
type state struct {
	usage
	at time.Time
	// requests by the client's own count; watches count when they begin.
	requests float64
	heap     uint64
}

// read returns what the replica has used, and records the peaks.
func (o *operator) read(ctx context.Context, r *replica) (state, error) {
	u, err := r.usage()
	if err != nil {
		return state{}, err
	}
	s, err := scrape(ctx, r.metrics)
	if err != nil {
		return state{}, fmt.Errorf("/metrics: %w", err)
	}
	now := state{usage: u, at: time.Now(), requests: s.sum("rest_client_requests_total"), heap: uint64(s.sum("go_memstats_heap_inuse_bytes"))}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.peakMemory, o.peakHeap = max(o.peakMemory, u.PeakMemory), max(o.peakHeap, now.heap)
	return now, nil
}

// leader returns the replica that leads, or nil.
func (o *operator) leader(ctx context.Context) *replica {
	for _, r := range o.running() {
		s, err := scrape(ctx, r.metrics)
		if err == nil && s.sum("leader_election_master_status", `name="`+leaderLease+`"`) == 1 {
			return r
		}
	}
	return nil
}

// awaitLeader waits until a replica leads.
func (o *operator) awaitLeader(ctx context.Context) (r *replica, err error) {
	err = await(ctx, 2*time.Minute, func() (bool, error) {
		r = o.leader(ctx)
		return r != nil, o.alive()
	})
	if err != nil {
		return nil, fmt.Errorf("no replica of the operator leads: %w", err)
	}
	return r, nil
}
