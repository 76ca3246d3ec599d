package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/presigned"
	"storagebench.io/storagebench/internal/trial"
)

// worker does what "storagebench worker" does, except that it measures nothing: it
// stores documents of the size and shape of fio's results.
type worker struct {
	plan    *trial.Plan
	self    trial.Worker
	objects store.Objects
	// ran is called with each trial that is executed.
	ran func(p *trial.Plan, worker, id string)
}

// argument returns the value of a flag in a container's arguments.
func argument(args []string, flag string) string {
	for i := range len(args) - 1 {
		if args[i] == flag {
			return args[i+1]
		}
	}
	return ""
}

// newWorker takes the documents as a Pod mounts them and checks them as its arguments say.
func newWorker(args []string, plan, grant []byte) (*worker, error) {
	p, err := trial.DecodePlan(plan, argument(args, "--plan-digest"))
	if err != nil {
		return nil, err
	}
	self, _, err := p.Worker(argument(args, "--worker"))
	if err != nil {
		return nil, err
	}
	if want := argument(args, "--grant-digest"); want != "" && want != trial.Digest(grant) {
		return nil, fmt.Errorf("the grant has digest %s, but the Job expects %s", trial.Digest(grant), want)
	}
	g := trial.Grant{}
	if err := json.Unmarshal(grant, &g); err != nil {
		return nil, fmt.Errorf("the grant: %w", err)
	}
	objects, err := presigned.New(g)
	if err != nil {
		return nil, err
	}
	return &worker{plan: p, self: self, objects: objects}, nil
}

// run stores every trial that is not stored yet and returns the receipt.
func (w *worker) run(ctx context.Context, last time.Duration) (trial.Receipt, error) {
	receipt := trial.Receipt{Run: w.plan.Run, Worker: w.self.Name, Planned: len(w.plan.Trials), Restored: true}
	keys := w.plan.Keys()
	summary := result.NewWorkerSummary(w.plan, w.self)
	before := &result.WorkerSummary{}
	switch body, err := w.objects.Get(ctx, keys.WorkerSummary(w.self.Name)); {
	case err == nil:
		if err := result.Decode(body, result.WorkerSchema, before); err != nil {
			return receipt, err
		}
		summary.Attempts = before.Attempts
	case !errors.Is(err, store.ErrNotFound):
		return receipt, err
	}
	summary.Attempts = append(summary.Attempts, result.Attempt{Number: len(before.Attempts) + 1, Host: w.self.Node, StartedAt: time.Now()})
	summary.Environment = environment(w.self)
	if _, err := w.put(ctx, keys.WorkerSummary(w.self.Name), summary); err != nil {
		return receipt, err
	}
	for _, t := range w.plan.Trials {
		if err := pause(ctx, last/time.Duration(len(w.plan.Trials))); err != nil {
			return receipt, err
		}
		if err := w.trial(ctx, t, summary, len(before.Attempts) > 0); err != nil {
			return receipt, err
		}
		receipt.Stored++
	}
	var err error
	receipt.SummaryDigest, err = w.put(ctx, keys.WorkerSummary(w.self.Name), summary)
	return receipt, err
}

// trial executes one trial, unless an earlier attempt has stored it.
func (w *worker) trial(ctx context.Context, t trial.Trial, summary *result.WorkerSummary, resumed bool) error {
	keys := w.plan.Keys()
	key := keys.Trial(w.self.Name, t.ID)
	if resumed {
		body, err := w.objects.Get(ctx, key)
		d := &result.Trial{}
		if err == nil && result.Decode(body, result.TrialSchema, d) == nil && d.BelongsTo(w.plan, w.self, t) {
			summary.Fold(d, result.Object{Key: key, Bytes: len(body), Digest: trial.Digest(body)})
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	d := &result.Trial{
		Schema: result.TrialSchema, Benchmark: w.plan.Benchmark, Run: w.plan.Run, Worker: w.self, Trial: t,
		Engine: "fio", Attempt: len(summary.Attempts), StartedAt: time.Now(), Outcome: result.Measured,
		Measurement: measurement(),
	}
	d.EndedAt = time.Now()
	raw := make([]byte, 2<<10) // as large as fio's output, compressed
	if err := w.objects.Put(ctx, keys.Raw(w.self.Name, t.ID), raw); err != nil {
		return err
	}
	d.Raw = &result.Object{Key: keys.Raw(w.self.Name, t.ID), Bytes: len(raw), Digest: trial.Digest(raw)}
	digest, err := w.put(ctx, key, d)
	if err != nil {
		return err
	}
	w.ran(w.plan, w.self.Name, t.ID)
	summary.Fold(d, result.Object{Key: key, Digest: digest})
	return nil
}

// put stores a document and returns its digest.
func (w *worker) put(ctx context.Context, key string, document any) (string, error) {
	body, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return "", err
	}
	return trial.Digest(body), w.objects.Put(ctx, key, body)
}

// measurement is one of reads, with the latencies of a common SSD.
func measurement() result.Measurement {
	h := &histogram.Histogram{}
	mean := 0.0
	const values = 300
	for range values {
		v := 200e3 * (0.5 + rand.ExpFloat64()) //nolint:gosec // simulated latencies
		mean += v / values
		h.Add(uint64(v), 1000)
	}
	m := result.Metrics{}
	m.Set("read.iops", result.PerSecond, 20000+5000*rand.Float64())             //nolint:gosec // as above
	m.Set("read.bandwidth", result.BytesPerSecond, 4096*(20000+rand.Float64())) //nolint:gosec // as above
	m.SetLatency("read", mean, float64(h.Percentile(100)), h)
	return result.Measurement{
		Metrics: m, Histograms: result.Histograms{"read": h}, Operations: []string{"read"},
		DirectIO: &result.DirectIO{Requested: true, Effective: result.Direct, Evidence: "simulated"},
		Command:  []string{"fio", "--output-format=json+", "job.fio"},
		Input:    "[job]\nrw=randread\nbs=4k\nsize=1GiB\nruntime=10\ntime_based=1\n",
	}
}

func environment(self trial.Worker) *result.Environment {
	return &result.Environment{
		Hostname: self.Node, Kernel: "6.1.0", Architecture: "amd64",
		CPU:    result.CPU{Model: "simulated", Count: 64},
		Memory: result.Memory{TotalBytes: 256 << 30},
		Target: result.TargetEnvironment{
			Path: "/target", Mode: trial.Filesystem, FilesystemType: "ext4", MountOptions: "rw,relatime", SizeBytes: 1 << 30, FreeBytes: 1 << 30,
			Devices: []result.Device{{Name: "nvme0n1", Model: "simulated", SizeBytes: 1 << 40, Queue: map[string]string{"scheduler": "none", "nr_requests": "1023", "write_cache": "write back"}}},
		},
		Tools: map[string]string{"fio": "fio-3.33"},
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
