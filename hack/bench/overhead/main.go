// Command overhead compares what storagebench measures with what fio prints when
// it is run by hand, so that nobody has to believe that the one does not disturb
// the other.
//
// Both run the same job, on files that were written in the same way just before,
// in a directory that is given or temporary. They alternate in pairs, and the order
// within a pair changes from pair to pair, so that a drift of the machine falls on
// both. What is reported is the median over pairs of the relative difference, with
// its 95 % interval; an interval that holds 0 means that no difference was seen.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
)

type settings struct {
	program, dir string
	pairs        int
	runtime      time.Duration
	rw           string
	iodepth      int
	size         string
}

func main() {
	s := settings{}
	flag.StringVar(&s.dir, "dir", "", "directory to measure (default: a temporary one)")
	flag.IntVar(&s.pairs, "pairs", 12, "pairs of trials; an interval needs 6")
	flag.DurationVar(&s.runtime, "runtime", 5*time.Second, "duration of a trial")
	flag.StringVar(&s.rw, "rw", "randrw", "fio's rw")
	flag.IntVar(&s.iodepth, "iodepth", 8, "fio's iodepth")
	flag.StringVar(&s.size, "size", "128M", "fio's size")
	flag.Parse()
	if err := compare(context.Background(), s); err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, s settings) (err error) {
	work, err := os.MkdirTemp(s.dir, "overhead-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	s.dir, s.program = work, filepath.Join(work, "storagebench")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", s.program, "./cmd/storagebench").CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	var byHand, ours []map[string]float64
	for pair := range s.pairs {
		fmt.Fprintf(os.Stderr, "pair %d of %d\n", pair+1, s.pairs)
		order := []func() error{
			func() error { return collect(ctx, &byHand, s.byHand) },
			func() error { return collect(ctx, &ours, s.withStoragebench) },
		}
		if pair%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, run := range order {
			if err := run(); err != nil {
				return err
			}
		}
	}
	return report(byHand, ours)
}

func collect(ctx context.Context, into *[]map[string]float64, run func(context.Context) (map[string]float64, error)) error {
	m, err := run(ctx)
	*into = append(*into, m)
	return err
}

// names are the metrics that are compared.
func names() []string {
	var out []string
	for _, op := range []string{"read", "write"} {
		for _, quantity := range []string{"iops", "latency.mean", "latency.p50", "latency.p99"} {
			out = append(out, op+"."+quantity)
		}
	}
	return out
}

// byHand writes the file and runs the job as somebody would at a shell.
func (s settings) byHand(ctx context.Context) (map[string]float64, error) {
	file := filepath.Join(s.dir, "by-hand")
	defer func() { _ = os.Remove(file) }() // with the directory, otherwise
	common := []string{"--name=job", "--filename=" + file, "--size=" + s.size, "--direct=1", "--ioengine=libaio", "--thread=1"}
	prefill := append([]string{"--rw=write", "--bs=1M", "--iodepth=8", "--refill_buffers=1", "--end_fsync=1"}, common...)
	if _, err := fio(ctx, prefill); err != nil {
		return nil, err
	}
	out, err := fio(ctx, append([]string{
		"--rw=" + s.rw, "--bs=4k", fmt.Sprintf("--iodepth=%d", s.iodepth),
		fmt.Sprintf("--runtime=%d", int(s.runtime.Seconds())), "--time_based=1", "--output-format=json",
	}, common...))
	if err != nil {
		return nil, err
	}
	type direction struct {
		IOPS    float64 `json:"iops"`
		Latency struct {
			Mean        float64            `json:"mean"`
			Percentiles map[string]float64 `json:"percentile"`
		} `json:"clat_ns"`
	}
	var document struct {
		Jobs []struct{ Read, Write direction }
	}
	if err := json.Unmarshal(out[bytes.IndexByte(out, '{'):], &document); err != nil {
		return nil, fmt.Errorf("fio by hand: %w", err)
	}
	m := map[string]float64{}
	for op, d := range map[string]direction{"read": document.Jobs[0].Read, "write": document.Jobs[0].Write} {
		m[op+".iops"], m[op+".latency.mean"] = d.IOPS, d.Latency.Mean/1e9
		m[op+".latency.p50"], m[op+".latency.p99"] = d.Latency.Percentiles["50.000000"]/1e9, d.Latency.Percentiles["99.000000"]/1e9
	}
	return m, nil
}

func fio(ctx context.Context, arguments []string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "fio", arguments...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("fio by hand: %w\n%s", err, stderr.Bytes())
	}
	return out, nil
}

// withStoragebench runs the same job as a benchmark of one trial.
func (s settings) withStoragebench(ctx context.Context) (map[string]float64, error) {
	target := filepath.Join(s.dir, "target")
	if err := os.MkdirAll(target, 0o755); err != nil {
		return nil, err
	}
	spec := fmt.Sprintf(`
apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmark
metadata: {name: overhead}
spec:
  targets: [{name: here, storageClass: {name: none}}]
  workloads:
  - name: job
    fio: {parameters: {rw: %s, bs: 4k, size: %s, iodepth: "%d", runtime: "%d", time_based: "1"}}
  trials: {min: 1}
`, s.rw, s.size, s.iodepth, int(s.runtime.Seconds()))
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, s.program, "run", "-f", "-", "--target", "here="+target, "--out", filepath.Join(s.dir, "out"), "-o", "json")
	cmd.Stdin, cmd.Stderr = strings.NewReader(spec), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("storagebench: %w\n%s", err, stderr.Bytes())
	}
	var summary result.Summary
	if err := json.Unmarshal(out, &summary); err != nil {
		return nil, fmt.Errorf("storagebench: %w", err)
	}
	m := map[string]float64{}
	for name, estimate := range summary.Rows[0].Metrics {
		m[name] = estimate.Median
	}
	return m, nil
}

func report(byHand, ours []map[string]float64) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "METRIC\tBY HAND\tSTORAGEBENCH\tDIFFERENCE\t95% INTERVAL")
	for _, name := range names() {
		var a, b, differences []float64
		for i := range byHand {
			if byHand[i][name] == 0 || ours[i][name] == 0 {
				continue // an operation that the job has not
			}
			a, b = append(a, byHand[i][name]), append(b, ours[i][name])
			differences = append(differences, 100*(ours[i][name]/byHand[i][name]-1))
		}
		if len(a) == 0 {
			continue
		}
		interval := "too few pairs"
		if low, high, ok := stats.MedianInterval(differences, stats.Confidence); ok {
			interval = fmt.Sprintf("%+.1f %% … %+.1f %%", low, high)
		}
		fmt.Fprintf(w, "%s\t%.6g\t%.6g\t%+.1f %%\t%s\n", name, stats.Median(a), stats.Median(b), stats.Median(differences), interval)
	}
	var cpu []float64
	for _, m := range ours {
		cpu = append(cpu, m["runner.cpu"])
	}
	fmt.Fprintf(w, "runner.cpu\t\t%.4f\t\tof one core\n", stats.Median(cpu))
	return w.Flush()
}
