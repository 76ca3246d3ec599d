// Command sample-reports writes pages of runs that never were, each with its summary.json, for
// looking at them in a browser (make test-report): small has one of everything that a page shows,
// and large has 1,000 trials.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/report/page"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/trial"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sample-reports DIRECTORY")
		os.Exit(2)
	}
	for name, size := range map[string]size{"small": {targets: 2, nodes: 1, repeats: 16, seconds: 10}, "large": {targets: 5, nodes: 5, repeats: 20, seconds: 60}} {
		if err := write(filepath.Join(os.Args[1], name), size); err != nil {
			fmt.Fprintln(os.Stderr, "sample-reports:", err)
			os.Exit(1)
		}
	}
}

// size of a run. It has two workloads.
type size struct{ targets, nodes, repeats, seconds int }

func write(dir string, n size) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r := newRun(n)
	document, err := json.Marshal(r.summary)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	in := page.Input{Summary: r.summary, Workers: r.workers, Series: r.series, Location: "s3://results/storage-lab/fast-or-bulk/20261125-101500"}
	if err := page.Write(&b, in); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "summary.json"), document, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "report.html"), b.Bytes(), 0o600)
}

type run struct {
	summary result.Summary
	workers []report.WorkerTrials
	series  []page.Series
}

var start = time.Date(2026, 11, 25, 10, 15, 0, 0, time.UTC)

func newRun(n size) run {
	p := &trial.Plan{
		Order:     "Interleaved",
		Benchmark: trial.Benchmark{Namespace: "storage-lab", Name: "fast-or-bulk", UID: "7d1f"}, Run: "20261125-101500",
		Workloads: []trial.Workload{{Name: "oltp"}, {Name: "wal"}}, Variants: []trial.Variant{{Name: "deep"}, {Name: "shallow"}},
	}
	if n.targets > 2 {
		p.Variants = nil
	}
	for i := 1; i <= n.repeats; i++ {
		cells := p.Cells()
		if i%2 == 0 {
			slices.Reverse(cells) // as a plan has it: blocks of two repeats
		}
		for _, c := range cells {
			id := fmt.Sprintf("%s.%s.r%03d", c.Workload, c.Variant, i)
			p.Trials = append(p.Trials, trial.Trial{ID: id, Workload: c.Workload, Variant: c.Variant, Repeat: i, Block: (i + 1) / 2})
		}
	}
	r := run{}
	names := []string{"fast", "bulk", "archive", "scratch", "replica"}
	for t := range n.targets {
		for node := range n.nodes {
			w := trial.Worker{Name: fmt.Sprintf("%s.node-%c", names[t], 'a'+node), Target: names[t], Node: fmt.Sprintf("node-%c", 'a'+node)}
			p.Workers = append(p.Workers, w)
		}
	}
	fold := stats.NewFold(p)
	for i, w := range p.Workers {
		s := result.NewWorkerSummary(p, w)
		s.Environment, s.Attempts = environment(w), []result.Attempt{{Number: 1, Host: w.Name, StartedAt: start}}
		random := rand.New(rand.NewPCG(7, uint64(i))) //nolint:gosec // the pages are the same each time
		for k, t := range p.Trials {
			at := start.Add(time.Duration(k*(n.seconds+4)+i*len(p.Trials)*(n.seconds+4)) * time.Second)
			d := measured(random, w, t, at, n.seconds)
			s.Fold(&d, result.Object{Key: "k", Digest: "sha256:0"})
			r.series = append(r.series, page.NewSeries(w, s.Trials[len(s.Trials)-1], recorded(random, d, n.seconds)))
		}
		if err := fold.Add(s); err != nil {
			panic(err) // it is of the plan
		}
		r.workers = append(r.workers, report.TrialsOf(s, 10_000))
	}
	r.summary = fold.Finish(start.Add(time.Hour))
	r.gate()
	return r
}

// gate adds limits that one row meets and another does not.
func (r *run) gate() {
	for _, row := range r.summary.Rows {
		e, ok := row.Metrics["sync.latency.p99"]
		if !ok || len(r.summary.Gates) == 2 || len(r.summary.Gates) == 1 && row.Target == r.summary.Gates[0].Target {
			continue
		}
		g := result.Gate{
			Target: row.Target, Node: row.Node, Workload: row.Workload, Variant: row.Variant, Metric: "sync.latency.p99", Unit: result.Seconds,
			Limit: 0.031, AtMost: true, Text: "31ms", N: e.N, Value: &e.Median, Low: e.Low, High: e.High, Outcome: result.GateMet,
		}
		switch {
		case e.Low != nil && *e.Low > g.Limit:
			g.Outcome = result.GateMissed
		case e.High == nil || *e.High > g.Limit:
			g.Outcome = result.GateInconclusive
		}
		if len(row.Verdicts) > 0 && row.Verdicts[0].Effect == result.Invalidates {
			g.Outcome, g.InvalidatedBy = result.GateInconclusive, []string{row.Verdicts[0].Name}
		}
		g.Sentence = report.GateNumber(g) + " is to be " + report.GateLimit(g) + "."
		r.summary.Gates = append(r.summary.Gates, g)
	}
	r.summary.Answer = &result.Answer{
		Answer: result.Inconclusive, Sentence: "fast meets its gate; on bulk, syncs reach no disk, so their latency says nothing (UnsafeConfiguration).",
		SpeaksFor: "these two volumes on node-a, within this hour",
	}
}

// measured is a trial: bulk is slower, and so is a shallow queue; one in eight is disturbed.
func measured(random *rand.Rand, w trial.Worker, t trial.Trial, at time.Time, seconds int) result.Trial {
	rate := 24_000.0
	if w.Target != "fast" {
		rate = 15_500
	}
	if t.Variant == "shallow" {
		rate *= 0.88
	}
	rate *= 1 + 0.03*random.NormFloat64()
	d := result.Trial{Schema: result.TrialSchema, Trial: t, Worker: w, Outcome: result.Measured, Attempt: 1, StartedAt: at, EndedAt: at.Add(time.Duration(seconds) * time.Second)}
	d.Metrics, d.Histograms, d.Operations = result.Metrics{}, result.Histograms{}, []string{"read", "write"}
	if t.Workload == "wal" {
		rate, d.Operations = rate/12, []string{"sync"}
	}
	for _, op := range d.Operations {
		h := &histogram.Histogram{}
		for range 4000 {
			latency := 16 / rate * 1e9 * (0.7 + 0.5*random.ExpFloat64())
			if random.Float64() < 0.004 {
				latency *= 8
			}
			h.Add(uint64(latency), 5)
		}
		d.Histograms[op] = h
		d.Metrics.Set(op+".iops", result.PerSecond, rate)
		d.Metrics.Set(op+".bandwidth", result.BytesPerSecond, rate*4096)
		d.Metrics.SetLatency(op, 16/rate*1e9, float64(h.Percentile(100)), h)
	}
	d.Metrics.Set("device.write.count", result.Count, rate*float64(seconds))
	d.Metrics.Set("device.write.await", result.Seconds, 8/rate)
	if t.Workload == "wal" && w.Target == "bulk" {
		d.Verdicts = append(d.Verdicts, result.Verdict{
			Name: "UnsafeConfiguration", Effect: result.Invalidates, Operation: "sync",
			Sentence: "The file system is mounted with barrier=0, so a sync does not wait for the disk's cache: no flush arrived there, for 25,000 syncs.",
			Evidence: result.Metrics{"syncs": {Unit: result.Count, Value: 25_000}, "flushes": {Unit: result.Count, Value: 0}},
			Settle:   "Mount it with barriers and measure again.",
		})
	}
	if t.Repeat%16 == 3 && t.Workload == "oltp" {
		d.Verdicts = append(d.Verdicts, result.Verdict{
			Name: "CPUThrottled", Effect: result.Qualifies,
			Sentence: "A CPU quota stopped the worker for 6 % of the time.",
			Evidence: result.Metrics{"throttled": {Unit: result.Ratio, Value: 0.06}},
			Settle:   "Raise the limit of the namespace, or measure without one.",
		})
	}
	if t.Variant == "shallow" {
		d.Tunables = []result.Tunable{{Name: "block.queue.nr_requests", On: "nvme-" + w.Target, Asked: "4", Before: "256", During: "4", Restored: true}}
	}
	return d
}

// recorded are samples that fit a trial.
func recorded(random *rand.Rand, d result.Trial, seconds int) *samples.Table {
	table := &samples.Table{}
	rate := d.Metrics[d.Operations[0]+".iops"].Value
	for i := range seconds {
		at, now := d.StartedAt.Add(time.Duration(i+1)*time.Second), rate*(1+0.05*random.NormFloat64())
		if len(d.Verdicts) > 0 && i == seconds/2 {
			now *= 0.55
		}
		for _, op := range d.Operations {
			row := table.Add(at, samples.Workload, op)
			table.Set(row, samples.Seconds, 1)
			table.Set(row, samples.Count, now)
		}
		row := table.Add(at, samples.Disk, "nvme-"+d.Worker.Target)
		table.Set(row, samples.Seconds, 1)
		for column, v := range map[samples.Column]float64{samples.ReadBytes: now * 4096, samples.WriteBytes: now * 4300, samples.ReadAwait: 6 / now, samples.WriteAwait: 9 / now} {
			table.Set(row, column, v)
		}
		row = table.Add(at, samples.Machine, "")
		table.Set(row, samples.Seconds, 1)
		for column, v := range map[samples.Column]float64{samples.PressureIO: 0.4, samples.CPUSteal: 0.01, samples.CPUUser: 0.2, samples.CPUSystem: 0.1} {
			table.Set(row, column, v*(1+0.1*random.Float64()))
		}
		if i == seconds/2 && d.Trial.Workload == "oltp" && len(d.Verdicts) > 0 {
			table.Set(row, samples.CgroupThrottledPeriods, 4)
		}
	}
	return table
}

func environment(w trial.Worker) *result.Environment {
	disk := "nvme-" + w.Target
	return &result.Environment{
		Hostname: w.Node, Kernel: "6.1.0-42-amd64", Architecture: "x86_64", CPU: result.CPU{Model: "Example CPU 3.0 GHz", Count: 16},
		Memory: result.Memory{TotalBytes: 64 << 30, LimitBytes: 2 << 30}, Tools: map[string]string{"storagebench": "0.3.0", "fio": "fio-3.33"},
		Target: result.TargetEnvironment{
			Path: "/target", Mode: trial.Filesystem, FilesystemType: "ext4", MountOptions: "rw,relatime", MountSource: "/dev/mapper/vg-" + w.Target, SizeBytes: 20 << 30, FreeBytes: 19 << 30,
			Devices: []result.Device{{Name: disk, Model: "Example NVMe 2 TB", SizeBytes: 2 << 40, Queue: map[string]string{"scheduler": "none", "nr_requests": "256", "write_cache": "write back"}}},
			Layers: []result.Layer{
				{ID: "fs:/target", Kind: result.FilesystemLayer, Type: "ext4", Below: []string{"dm-3"}},
				{ID: "dm-3", Kind: result.MappedLayer, Type: "linear", Source: "vg-" + w.Target, SizeBytes: 20 << 30, Below: []string{disk}},
				{ID: disk, Kind: result.DiskLayer, Type: "nvme", Model: "Example NVMe 2 TB", SizeBytes: 2 << 40, WriteCache: "write back"},
			},
		},
	}
}
