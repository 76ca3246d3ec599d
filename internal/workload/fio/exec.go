package fio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/tool"
)

const (
	// maxOutput bounds what is read of fio's output: about 100 KB a clone.
	maxOutput = 256 << 20
)

// invocation is one finished run of fio.
type invocation struct {
	argv   []string
	output []byte // the --output file
	stderr string
	err    error // of the process; nil for exit status 0
	// schedule of its threads.
	schedule tool.Schedule
}

// execute runs fio with a job file, in dir, and waits for it. If ctx ends, fio
// is stopped first. Whatever happens, no process of it is left.
func execute(ctx context.Context, program string, env workload.Env, dir, jobFile string, threads uint64) (invocation, error) {
	input := filepath.Join(env.Scratch, "job.fio")
	output := filepath.Join(env.Scratch, "output.json")
	if err := os.WriteFile(input, []byte(jobFile), 0o600); err != nil {
		return invocation{}, fmt.Errorf("fio: %w", err)
	}
	if err := os.Remove(output); err != nil && !errors.Is(err, os.ErrNotExist) {
		return invocation{}, fmt.Errorf("fio: %w", err)
	}
	r := tool.Run(ctx, tool.Command{
		Program: program,
		Args: []string{
			"--output-format=json+", "--output=" + output, "--eta=never",
			"--max-jobs=" + strconv.FormatUint(threads+1, 10), input,
		},
		Dir: dir, Scratch: env.Scratch, Watch: true,
	})
	inv := invocation{argv: r.Argv, stderr: r.Stderr, err: r.Err, schedule: r.Schedule}

	var err error
	inv.output, err = tool.ReadBounded(output, maxOutput)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return inv, fmt.Errorf("fio: reading its output: %w", err)
	}
	return inv, nil
}
