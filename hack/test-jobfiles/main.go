// Command test-jobfiles runs each of the job files and command lines of package wild twice, with
// fio itself as its author would, in a scratch directory, and through storagebench, and compares
// the I/Os and bytes of each operation, and of each job where fio reports it. How much a job does
// that time bounds cannot be equal: of those, the jobs are compared.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload/fio/wild"
)

const (
	// batch is how many workloads a benchmark has.
	batch = 12
	// together is how many benchmarks run at a time: a trial waits for most of its time.
	together = 4
)

func main() {
	program := flag.String("storagebench", "bin/storagebench", "the program to test")
	only := flag.String("run", "", "only cases whose names contain this")
	flag.Parse()
	begin := time.Now()
	cases, err := wild.Cases()
	if err == nil {
		cases = slices.DeleteFunc(cases, func(c wild.Case) bool { return !strings.Contains(c.Name, *only) })
		err = compare(context.Background(), cases, *program, begin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "test-jobfiles:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, cases []wild.Case, program string, begin time.Time) error {
	scratch, err := os.MkdirTemp("", "test-jobfiles-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()     // of a test
	if err := os.Chmod(scratch, 0o755); err != nil { //nolint:gosec // workloads are another user
		return err
	}
	if program, err = filepath.Abs(program); err != nil {
		return err
	}
	chunks := slices.Collect(slices.Chunk(cases, batch))
	equal, timed := make([]int, len(chunks)), make([]int, len(chunks))
	slots := make(chan struct{}, together)
	var all sync.WaitGroup
	for i, chunk := range chunks {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			equal[i], timed[i] = compareBatch(ctx, chunk, program, filepath.Join(scratch, strconv.Itoa(i)))
		})
	}
	all.Wait()
	verdict := "ok"
	if sum(equal) < len(cases) || len(cases) == 0 {
		verdict = "short"
	}
	fmt.Printf("test-jobfiles: %s: %d of %d equal (%d bounded by time: jobs only) (%.0f s)\n", verdict, sum(equal), len(cases), sum(timed), time.Since(begin).Seconds())
	if verdict != "ok" {
		return errors.New("not all are equal")
	}
	return nil
}

func sum(numbers []int) (n int) {
	for _, one := range numbers {
		n += one
	}
	return n
}

// compareBatch returns how many cases are equal, and how many of these time bounds.
func compareBatch(ctx context.Context, cases []wild.Case, program, dir string) (equal, timed int) {
	ours, err := throughStoragebench(ctx, cases, program, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test-jobfiles:", err)
	}
	for i, c := range cases {
		theirs, err := withFio(ctx, c, filepath.Join(dir, "fio"))
		if err == nil {
			err = differences(theirs, ours[name(i)], c.Timed)
		}
		if err != nil {
			fmt.Printf("test-jobfiles: differs: %s: %v\n", c.Name, err)
			continue
		}
		if equal++; c.Timed {
			timed++
		}
	}
	return equal, timed
}

func name(i int) string { return fmt.Sprintf("case-%d", i) }

// counts are the I/Os and bytes of each operation, as "read.ios", and of each job.
type counts struct {
	total map[string]uint64
	jobs  map[string]map[string]uint64
}

func newCounts() counts {
	return counts{map[string]uint64{}, map[string]map[string]uint64{}}
}

func (c counts) add(job, key string, n uint64) {
	if c.jobs[job] == nil {
		c.jobs[job] = map[string]uint64{}
	}
	if n > 0 {
		c.total[key] += n
		c.jobs[job][key] += n
	}
}

// ofJobs are the counts of the jobs, whatever they are called.
func (c counts) ofJobs() []string {
	var all []string
	for _, job := range c.jobs {
		all = append(all, fmt.Sprint(job))
	}
	slices.Sort(all)
	return all
}

func differences(theirs, ours counts, timed bool) error {
	switch {
	case len(ours.jobs) == 0:
		return errors.New("storagebench measured nothing")
	case len(theirs.total) == 0:
		return errors.New("fio measured nothing")
	case timed && !slices.Equal(slices.Sorted(maps.Keys(theirs.total)), slices.Sorted(maps.Keys(ours.total))):
		return fmt.Errorf("fio did %v, storagebench %v", theirs.total, ours.total)
	case !timed && !maps.Equal(theirs.total, ours.total):
		return fmt.Errorf("fio did %v, storagebench %v", theirs.total, ours.total)
	case !timed && len(theirs.jobs) == len(ours.jobs) && !slices.Equal(theirs.ofJobs(), ours.ofJobs()):
		return fmt.Errorf("of fio's jobs %v, of storagebench's %v", theirs.ofJobs(), ours.ofJobs())
	case timed && len(theirs.jobs) != len(ours.jobs):
		return fmt.Errorf("fio has %d jobs, storagebench %d", len(theirs.jobs), len(ours.jobs))
	}
	return nil
}

// withFio runs a case as its author would. Absolute paths are below the scratch directory.
func withFio(ctx context.Context, c wild.Case, dir string) (counts, error) {
	if err := os.RemoveAll(dir); err != nil {
		return counts{}, err
	}
	for _, sub := range []string{"dev/by-path", "mnt/a", "mnt/b", "mnt/x/y", "mnt/pool/db", "mnt/test", "mnt/etcd"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return counts{}, err
		}
	}
	here := strings.NewReplacer("/dev/", dir+"/dev/", "/mnt/", dir+"/mnt/")
	for file, text := range c.Include {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700); err != nil {
			return counts{}, err
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(here.Replace(text)+"\n"), 0o600); err != nil {
			return counts{}, err
		}
	}
	if c.Before != "" {
		before := exec.CommandContext(ctx, "fio", "--name=before", "--rw=write", "--bs=1m", "--size="+c.BeforeSize, "--filename="+here.Replace(c.Before)) //nolint:gosec // cases of the repository
		if out, err := before.CombinedOutput(); err != nil {
			return counts{}, fmt.Errorf("%w: %s", err, out)
		}
	}
	output := filepath.Join(dir, "output.json")
	cmd := exec.CommandContext(ctx, "fio", "--output-format=json", "--output="+output, "case.fio") //nolint:gosec // a file of our own
	if err := os.WriteFile(filepath.Join(dir, "case.fio"), []byte(here.Replace(c.Text)+"\n"), 0o600); err != nil {
		return counts{}, err
	}
	if c.IsCommand {
		// What is typed is read by a shell here, as by that of its author. The cases are ours.
		line := here.Replace(strings.TrimPrefix(c.Text, "sudo "))
		line = strings.Replace(line, "fio ", "fio --output-format=json ", 1)
		cmd = exec.CommandContext(ctx, "sh", "-c", line) //nolint:gosec // cases of the repository
	}
	cmd.Dir, cmd.Env = dir, os.Environ()
	for key, value := range c.Variables {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return counts{}, fmt.Errorf("fio: %w: %s", err, stderr.String())
	}
	text := stdout.Bytes()
	for _, file := range []string{output, filepath.Join(dir, "out.txt")} {
		if content, err := os.ReadFile(file); err == nil {
			text = content
		}
	}
	return readFio(text)
}

func readFio(text []byte) (counts, error) {
	if i := bytes.IndexByte(text, '{'); i > 0 {
		text = text[i:]
	}
	type direction struct {
		Bytes uint64 `json:"io_bytes"`
		IOs   uint64 `json:"total_ios"`
	}
	var d struct {
		Jobs []struct {
			Name  string    `json:"jobname"`
			Read  direction `json:"read"`
			Write direction `json:"write"`
		} `json:"jobs"`
	}
	c := newCounts()
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&d); err != nil {
		return c, fmt.Errorf("fio's output: %w", err)
	}
	for _, j := range d.Jobs {
		c.add(j.Name, "read.ios", j.Read.IOs)
		c.add(j.Name, "read.bytes", j.Read.Bytes)
		c.add(j.Name, "write.ios", j.Write.IOs)
		c.add(j.Name, "write.bytes", j.Write.Bytes)
	}
	return c, nil
}

// throughStoragebench runs cases as the workloads of one benchmark.
func throughStoragebench(ctx context.Context, cases []wild.Case, program, scratch string) (map[string]counts, error) {
	var workloads []map[string]any
	for i, c := range cases {
		fio := map[string]any{"jobFile": c.Text}
		if c.IsCommand {
			fio = map[string]any{"commandLine": c.Text}
		}
		if len(c.Variables) > 0 {
			fio["variables"] = c.Variables
		}
		if len(c.Include) > 0 {
			include := map[string]string{}
			for file, text := range c.Include {
				include[path.Base(file)] = text
			}
			fio["include"] = include
		}
		workloads = append(workloads, map[string]any{"name": name(i), "fio": fio})
	}
	target, out := filepath.Join(scratch, "target"), filepath.Join(scratch, "results")
	benchmark := map[string]any{
		"apiVersion": "storagebench.io/v1alpha1", "kind": "StorageBenchmark", "metadata": map[string]any{"name": "wild"},
		"spec": map[string]any{
			"targets":   []any{map[string]any{"name": "t", "hostPath": map[string]any{"path": target}}},
			"workloads": workloads, "trials": map[string]any{"min": 1}, "timeout": "20m",
		},
	}
	text, err := json.Marshal(benchmark)
	if err == nil {
		err = errors.Join(os.MkdirAll(target, 0o777), os.Chmod(target, 0o777)) //nolint:gosec // workloads are another user
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "run", "-f", "-", "--out", out, "-o", "json") //nolint:gosec // the program to test
	cmd.Stdin = bytes.NewReader(text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	runErr := cmd.Run()
	ours, err := readTrials(out)
	if runErr != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		err = errors.Join(err, fmt.Errorf("storagebench run: %w: %s", runErr, lines[len(lines)-1]))
	}
	return ours, err
}

func readTrials(out string) (map[string]counts, error) {
	files, err := filepath.Glob(filepath.Join(out, "*", "*", "*", "workers", "*", "trials", "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]counts{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var d struct {
			Outcome string `json:"outcome"`
			result.Measurement
		}
		if err := json.Unmarshal(content, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		c := newCounts()
		for _, part := range d.Parts {
			if strings.Contains(part.Name, " + ") {
				continue // a sum
			}
			for _, key := range []string{"read.ios", "read.bytes", "write.ios", "write.bytes"} {
				c.add(part.Name, key, uint64(part.Metrics[key].Value))
			}
		}
		workload, _, _ := strings.Cut(filepath.Base(file), ".")
		all[workload] = c
	}
	return all, nil
}
