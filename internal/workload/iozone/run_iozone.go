package iozone

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/tool"
)

// iozoneBench runs iozone, once for each cell.
type iozoneBench struct {
	program string
	config  config
	// command is that of the first cell.
	command []string
	// output of all cells, and what was said beside it by the last.
	output []byte
	stderr string
}

func (b *iozoneBench) measure(ctx context.Context, env workload.Env, dir string, at pair, m matrix) error {
	r := tool.Run(ctx, tool.Command{Program: b.program, Args: b.arguments(at), Dir: dir, Scratch: env.Scratch})
	if b.command == nil {
		b.command = r.Argv
	}
	b.output, b.stderr = append(b.output, r.Stdout...), r.Stderr
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.Err != nil {
		return refusedProgram(env, "iozone", r, r.Stderr+"\n"+string(r.Stdout))
	}
	cells, err := readCells(r.Stdout)
	if err == nil && len(cells["write"]) == 0 {
		err = errors.New("iozone: the output lacks the test write")
	}
	if err != nil {
		return &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("iozone"), Message: "cannot read the result of iozone: " + err.Error(), Remedy: "see the output stored with the trial, or set tool to Fio", Workload: env.Workload.Name, Err: err}
	}
	for operation, values := range cells {
		v, ok := values[at]
		if !ok {
			return &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("iozone"), Message: fmt.Sprintf("iozone did not measure the sizes it was given: a file of %s with records of %s", sizeName(at.file), sizeName(at.record)), Remedy: "set tool to Fio", Workload: env.Workload.Name}
		}
		if b.config.has(operation) {
			m.set(operation, at, v)
		}
	}
	return nil
}

// readCells reads what iozone printed of one cell.
func readCells(text []byte) (matrix, error) {
	runs, err := parse(text)
	if err != nil {
		return nil, err
	}
	return runs[0].cells, nil
}

// arguments of iozone for one cell. It writes whatever it shall do.
func (b *iozoneBench) arguments(at pair) []string {
	args := []string{"-i", "0"}
	if b.config.has("read") || b.config.has("reread") {
		args = append(args, "-i", "1")
	}
	if b.config.has("random.read") || b.config.has("random.write") {
		args = append(args, "-i", "2")
	}
	kibi := func(n uint64) string { return strconv.FormatUint(n>>10, 10) + "k" }
	args = append(args, "-s", kibi(at.file), "-r", kibi(at.record), "-f", fileName)
	if b.config.IncludeFlush {
		args = append(args, "-e")
	}
	if b.config.Direct {
		args = append(args, "-I")
	}
	return args
}

func (b *iozoneBench) record(m *result.Measurement) {
	m.Command, m.RawOutput, m.Stderr = b.command, b.output, b.stderr
	m.Notes = append(m.Notes,
		"measured by iozone, run once per cell; the command shown is the first one",
		"iozone writes the same bytes again and again: storage that compresses or deduplicates looks faster than it is")
}

// refusedProgram is why a program failed: what a system call said, or what it said itself.
func refusedProgram(env workload.Env, name string, r tool.Result, said string) error {
	words := workload.LastWords(said)
	if !r.Installed() {
		return &trial.Failure{
			Class: reason.InternalError, Field: env.Field("iozone"), Workload: env.Workload.Name, Err: r.Err,
			Message: "cannot start " + name + ": " + r.Err.Error(), Remedy: "install " + name + ", or use the runner's image, which contains fio",
		}
	}
	if errno := workload.ErrnoIn(said); errno != 0 {
		return env.Refused("iozone", words, errno)
	}
	return &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("iozone"), Message: fmt.Sprintf("%s failed: %v: %s", name, r.Err, words), Workload: env.Workload.Name, Err: r.Err}
}
