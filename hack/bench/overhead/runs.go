package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"storagebench.io/storagebench/hack/bench/volume"
	"storagebench.io/storagebench/internal/result"
)

// seed of both, as storagebench would choose another than fio does by itself, and
// another sequence of offsets is another job.
const seed = "4242"

// bench runs the job in both ways.
type bench struct {
	settings
	volume  *volume.Volume
	program string
}

func newBench(ctx context.Context, s settings, v *volume.Volume) (*bench, error) {
	b := &bench{settings: s, volume: v, program: v.Path("storagebench")}
	if _, err := volume.Output(ctx, "go", "build", "-o", b.program, "./cmd/storagebench"); err != nil {
		return nil, err
	}
	return b, nil
}

// trialRun is what storagebench measured of one trial.
type trialRun struct {
	rate float64 // reads and writes per second
	cpu  float64 // of one core, the runner without fio
}

// byHand writes the file and runs the job as somebody would at a shell.
func (b *bench) byHand(ctx context.Context) (float64, error) {
	file := b.volume.Path("by-hand")
	defer func() { _ = os.Remove(file) }() // with the volume, otherwise
	common := []string{"--name=job", "--filename=" + file, "--size=" + b.size, "--direct=1", "--ioengine=libaio", "--thread=1"}
	if _, err := volume.Output(ctx, "fio", append([]string{"--rw=write", "--bs=1M", "--iodepth=8", "--refill_buffers=1", "--end_fsync=1"}, common...)...); err != nil {
		return 0, err
	}
	out, err := volume.Output(ctx, "fio", append([]string{
		"--rw=" + b.rw, "--bs=" + b.bs, "--iodepth=" + b.depth, fmt.Sprintf("--runtime=%d", int(b.runtime.Seconds())),
		"--time_based=1", "--randseed=" + seed, "--output-format=json+",
	}, common...)...)
	if err != nil {
		return 0, err
	}
	var document struct {
		Jobs []struct {
			Read, Write struct {
				IOPS float64 `json:"iops"`
			}
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(out[max(strings.IndexByte(out, '{'), 0):]), &document); err != nil || len(document.Jobs) != 1 {
		return 0, fmt.Errorf("fio by hand: %d jobs, %w", len(document.Jobs), err)
	}
	return document.Jobs[0].Read.IOPS + document.Jobs[0].Write.IOPS, nil
}

// withStoragebench runs the same job as a benchmark of one trial.
func (b *bench) withStoragebench(ctx context.Context) (trialRun, error) {
	spec := fmt.Sprintf(`
apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmark
metadata: {name: overhead}
spec:
  targets: [{name: here, storageClass: {name: none}}]
  workloads:
  - name: job
    fio: {parameters: {rw: %s, bs: %s, size: %s, iodepth: "%s", runtime: "%d", time_based: "1", randseed: "%s"}}
  trials: {min: 1}
`, b.rw, b.bs, b.size, b.depth, int(b.runtime.Seconds()), seed)
	out, err := os.MkdirTemp("", "storagebench-overhead-out-")
	if err != nil {
		return trialRun{}, err
	}
	defer func() { _ = os.RemoveAll(out) }()
	cmd := exec.CommandContext(ctx, b.program, "run", "-f", "-", "--target", "here="+b.volume.Dir, "--out", filepath.Join(out, "results"), "-o", "json")
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(spec), &stderr
	document, err := cmd.Output()
	if err != nil {
		return trialRun{}, fmt.Errorf("storagebench: %w\n%s", err, stderr.String())
	}
	var summary result.Summary
	if err := result.Decode(document, result.SummarySchema, &summary); err != nil {
		return trialRun{}, err
	}
	m := summary.Rows[0].Metrics
	return trialRun{rate: m["read.iops"].Median + m["write.iops"].Median, cpu: m["runner.cpu"].Median}, nil
}
