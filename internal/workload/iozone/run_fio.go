package iozone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/tool"
)

const (
	// maxOutput bounds what is read of fio's output: about 10 KB a job.
	maxOutput = 4 << 20
	// unmeasured is the shortest time that fio reports; less is 0.
	unmeasured = 0.001
	// short is a time of which fio, which counts milliseconds, says little.
	short = 0.1
)

// fioBench measures with fio, run once for each cell.
type fioBench struct {
	program string
	config  config
	// instead reports that it stands in for an iozone that is not there.
	instead bool
	seed    uint32
	command []string
	// jobFiles and output of all cells, and what was said beside it.
	jobFiles strings.Builder
	output   []byte
	stderr   string
	version  string
	// absent and rough are cells that took less than 1 ms, and less than 0.1 s.
	absent, rough []string
	// bounds are the cells of which only a lower bound is known, measured counts the others, and
	// heads are the largest cells of operations.
	bounds   map[cellOf]bool
	measured int
	heads    map[string]pair
}

// cellOf is a cell of an operation.
type cellOf struct {
	operation string
	at        pair
}

// name of the cell, as that of its metric begins.
func (c cellOf) name() string {
	return fmt.Sprintf("%s.%s.%s", c.operation, sizeName(c.at.file), sizeName(c.at.record))
}

func newFioBench(program string, c config, instead bool) *fioBench {
	return &fioBench{program: program, config: c, instead: instead, bounds: map[cellOf]bool{}, heads: map[string]pair{}}
}

// fioOutput is what is read of fio's output.
type fioOutput struct {
	Version string `json:"fio version"`
	Jobs    []struct {
		Name  string  `json:"jobname"`
		Error int     `json:"error"` // an errno
		Read  fioTest `json:"read"`
		Write fioTest `json:"write"`
	} `json:"jobs"`
}

type fioTest struct {
	Bytes   uint64  `json:"io_bytes"`
	Runtime float64 `json:"runtime"` // milliseconds; with the fsync at the end
}

// fioTests are the tests as jobs of fio. Each has what differs from the others: fio
// drops a file's pages from the page cache when it opens it, unless invalidate=0.
var fioTests = []struct{ operation, options string }{
	{"write", "rw=write"},
	{"rewrite", "rw=write\ninvalidate=0"},
	{"read", "rw=read"},
	{"reread", "rw=read\ninvalidate=0"},
	{"random.read", "rw=randread"},
	{"random.write", "rw=randwrite\ninvalidate=0"},
}

// needed reports whether a test is done: it was asked for, or what it leaves is.
func (c config) needed(operation string) bool {
	switch operation {
	case "write":
		return true
	case "read":
		return c.has("read") || c.has("reread")
	default:
		return c.has(operation)
	}
}

// jobFile of one cell. The tests run one after the other, and each finds the file as the
// one before has left it: with create_serialize=0 fio looks at it only then.
func (c config) jobFile(at pair, seed uint32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[global]\nfilename=%s\nsize=%d\nbs=%d\nioengine=psync\nthread=1\ncreate_serialize=0\nfallocate=none\nrandrepeat=0\nrandseed=%d\n",
		fileName, at.file, at.record, seed)
	if c.Direct {
		b.WriteString("direct=1\n")
	}
	for _, t := range fioTests {
		if !c.needed(t.operation) {
			continue
		}
		fmt.Fprintf(&b, "[%s]\nstonewall\n%s\n", t.operation, t.options)
		if c.IncludeFlush && strings.Contains(t.options, "write") {
			b.WriteString("end_fsync=1\n")
		}
	}
	return b.String()
}

func (b *fioBench) measure(ctx context.Context, env workload.Env, dir string, at pair, m matrix) error {
	b.seed = env.Seed()
	jobFile := b.config.jobFile(at, b.seed)
	input, output := filepath.Join(env.Scratch, "cell.fio"), filepath.Join(env.Scratch, "cell.json")
	if err := os.WriteFile(input, []byte(jobFile), 0o600); err != nil {
		return fmt.Errorf("iozone: %w", err)
	}
	if err := os.Remove(output); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("iozone: %w", err)
	}
	r := tool.Run(ctx, tool.Command{
		Program: b.program,
		Args:    []string{"--output-format=json", "--output=" + output, "--eta=never", fmt.Sprintf("--max-jobs=%d", len(fioTests)+1), input},
		Dir:     dir, Scratch: env.Scratch,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text, err := tool.ReadBounded(output, maxOutput)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("iozone: fio's output: %w", err)
	}
	if b.command == nil {
		b.command = r.Argv
	}
	b.jobFiles.WriteString(jobFile + "\n")
	b.output, b.stderr = append(b.output, text...), r.Stderr
	return b.take(env, at, r, text, m)
}

// take reads fio's output of one cell.
func (b *fioBench) take(env workload.Env, at pair, r tool.Result, text []byte, m matrix) error {
	d := fioOutput{}
	start := bytes.IndexByte(text, '{')
	parseErr := errors.New("fio printed no result")
	if start >= 0 {
		parseErr = json.NewDecoder(bytes.NewReader(text[start:])).Decode(&d)
	}
	for _, job := range d.Jobs {
		if job.Error != 0 {
			return env.Refused("iozone", fmt.Sprintf("%s of a file of %s with records of %s", job.Name, sizeName(at.file), sizeName(at.record)), syscall.Errno(job.Error))
		}
	}
	if r.Err != nil {
		return refusedProgram(env, "fio", r, string(text[:max(start, 0)])+"\n"+r.Stderr)
	}
	if parseErr == nil && len(d.Jobs) != strings.Count(b.config.jobFile(at, 0), "stonewall") {
		parseErr = fmt.Errorf("fio reports %d jobs", len(d.Jobs))
	}
	if parseErr != nil {
		return &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("iozone"), Message: "cannot read fio's result: " + parseErr.Error(), Remedy: "see the output stored with the trial", Workload: env.Workload.Name, Err: parseErr}
	}
	b.version = strings.TrimPrefix(d.Version, "fio-")
	for _, job := range d.Jobs {
		if b.config.has(job.Name) {
			b.put(job.Name, at, fioTest{Bytes: job.Read.Bytes + job.Write.Bytes, Runtime: job.Read.Runtime + job.Write.Runtime}, m)
		}
	}
	return nil
}

func (b *fioBench) put(operation string, at pair, t fioTest, m matrix) {
	c := cellOf{operation, at}
	cell := c.name()
	seconds := t.Runtime / 1e3
	switch {
	case seconds <= 0 || t.Bytes == 0:
		b.absent = append(b.absent, cell)
		if t.Bytes > 0 {
			b.bounds[c] = true
			b.add(c, m, float64(t.Bytes)/unmeasured)
		}
		return
	case seconds < short:
		b.rough = append(b.rough, cell)
	}
	b.measured++
	b.add(c, m, float64(t.Bytes)/seconds)
}

func (b *fioBench) add(c cellOf, m matrix, bandwidth float64) {
	m.set(c.operation, c.at, bandwidth)
	if head, ok := b.heads[c.operation]; !ok || larger(c.at, head) > 0 {
		b.heads[c.operation] = c.at
	}
}

// markBounds marks the metrics of cells that were too fast to be measured. If all were, nothing
// was measured.
func (b *fioBench) markBounds(m *result.Measurement) {
	for c := range b.bounds {
		names := []string{c.name()}
		if b.heads[c.operation] == c.at {
			names = append(names, c.operation)
		}
		for _, name := range names {
			metric := m.Metrics[name+".bandwidth"]
			m.Metrics.SetAtLeast(name+".bandwidth", metric.Unit, metric.Value)
		}
	}
	if b.measured == 0 {
		m.Operations = nil
	}
}

func (b *fioBench) record(m *result.Measurement) {
	b.markBounds(m)
	m.Seed, m.Command, m.Input, m.RawOutput, m.Stderr = b.seed, b.command, b.jobFiles.String(), b.output, b.stderr
	who := "measured by fio " + b.version
	if b.instead {
		who += " because iozone is not installed"
	}
	m.Notes = append(m.Notes, who+", run once per cell; the command shown is the first one")
	if !b.config.Direct && slices.ContainsFunc([]string{"read", "random.read"}, b.config.has) {
		m.Notes = append(m.Notes, "before read and random.read the file was dropped from this node's page cache, which iozone does not do; before reread it was not")
	}
	if len(b.rough) > 0 {
		m.Notes = append(m.Notes, "took less than 0.1 s, which fio measures in whole milliseconds: "+list(b.rough))
	}
	if len(b.absent) > 0 {
		m.Notes = append(m.Notes, "took less than 1 ms, of which only a lower bound is known: "+list(b.absent))
	}
}

// list names the first few.
func list(names []string) string {
	const most = 6
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
