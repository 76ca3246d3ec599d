package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/hack/bench/paired"
	"storagebench.io/storagebench/hack/bench/volume"
)

// postmarkEntries compare the postmark engine with NetApp's program, which makes the
// same decisions, and with itself; and tell how much memory many files take.
func postmarkEntries(flags *flag.FlagSet) []entry {
	const files = 20000
	transactions := flags.Int64("postmark-transactions", 1000000, "transactions of a run that is compared with NetApp's PostMark")
	modern := flags.Int64("postmark-transactions-modern", 200000, "transactions of a run of mode Modern")
	many := flags.Int64("postmark-files-memory", 5000000, "files of the run whose memory is measured")
	return []entry{
		comparison{
			name: "postmark-original", a: "postmark", b: "NetApp's PostMark", unit: "transactions/s", wanted: 1.3, halfWidth: 0.1,
			sides: func(ctx context.Context, l *lab) (a, b paired.Side, err error) {
				run, err := l.engine(ctx, "postmark", l.memory, map[string]any{"mode": "Compatible", "files": files, "transactions": *transactions})
				if err != nil {
					return nil, nil, err
				}
				dir, err := l.dir(l.memory)
				if err != nil {
					return nil, nil, err
				}
				// The whole run is timed, from outside: the original knows whole seconds only.
				a = perSecond(*transactions, func(ctx context.Context) error {
					_, err := run(ctx)
					return err
				})
				b = perSecond(*transactions, func(ctx context.Context) error {
					return originalPostmark(ctx, dir, files, *transactions)
				})
				return a, b, nil
			},
		},
		comparison{
			name: "postmark-threads", a: "2 threads", b: "1 thread", unit: "transactions/s", wanted: 1.7, halfWidth: 0.1,
			sides: func(ctx context.Context, l *lab) (a, b paired.Side, err error) {
				side := func(threads int) (paired.Side, error) {
					return l.engineRate(ctx, "postmark", l.memory, "transactions.rate", map[string]any{"files": files, "transactions": *modern, "threads": threads})
				}
				if a, err = side(2); err != nil {
					return nil, nil, err
				}
				b, err = side(1)
				return a, b, err
			},
		},
		check{name: "postmark-memory", do: func(ctx context.Context, l *lab) (string, bool, error) {
			return postmarkMemory(ctx, l, *many)
		}},
	}
}

// perSecond is a side that does n things each time.
func perSecond(n int64, do func(context.Context) error) paired.Side {
	return func(ctx context.Context) (float64, error) {
		begin := time.Now()
		err := do(ctx)
		return float64(n) / time.Since(begin).Seconds(), err
	}
}

// originalPostmark runs NetApp's program (Debian's package postmark) in dir.
func originalPostmark(ctx context.Context, dir string, files, transactions int64) error {
	cmd := exec.CommandContext(ctx, "postmark")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(fmt.Sprintf("set location %s\nset number %d\nset transactions %d\nrun\nquit\n", dir, files, transactions))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	// Its exit status is what a register held: the report tells whether it ran.
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || !strings.Contains(out.String(), "Data:") {
		return fmt.Errorf("postmark (Debian's package): %w: %s", errors.Join(err, ctx.Err()), out.String())
	}
	return nil
}

// postmarkMemory is the most memory that this process takes for a run with so many
// files, beyond what it takes before.
func postmarkMemory(ctx context.Context, l *lab, files int64) (string, bool, error) {
	const limit = 1 << 30
	dir, err := l.manyFiles(ctx, files)
	if err != nil {
		return "", false, err
	}
	run, err := l.engine(ctx, "postmark", dir, map[string]any{
		"files": files, "transactions": 100000, "minSize": 1, "maxSize": 1, "subdirectories": 1000,
	})
	if err != nil {
		return "", false, err
	}
	debug.FreeOSMemory()
	// From here on, the peak is that of this run (proc_pid_clear_refs(5)).
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return "", false, err
	}
	before, err := peak()
	if err != nil {
		return "", false, err
	}
	m, err := run(ctx)
	if err != nil {
		return "", false, err
	}
	after, err := peak()
	figure := fmt.Sprintf("%d files, of which %.0f were there at the end: %.1f MiB at most, %.1f MiB of them for this run, %.1f bytes a file (wanted less than 1 GiB)",
		files, m.Metrics["delete.alone.count"].Value, mebi(after), mebi(after-before), float64(after-before)/float64(files))
	return figure, after < limit, err
}

func mebi(n int64) float64 { return float64(n) / (1 << 20) }

// peak is the most memory that this process has held, in bytes.
func peak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) < 2 || fields[1] != "kB" {
		return 0, errors.New("/proc/self/status has no VmHWM")
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	return n << 10, err
}

// manyFiles returns the root of a file system in memory with inodes for that many
// files, in which they take no more than those.
func (l *lab) manyFiles(ctx context.Context, files int64) (string, error) {
	image := filepath.Join(l.memory, "many.img")
	f, err := os.Create(image)
	if err == nil {
		err = errors.Join(f.Truncate(files*5000+1<<30), f.Close())
	}
	if err != nil {
		return "", err
	}
	inodes := strconv.FormatInt(files+files/50+10000, 10)
	if _, err := volume.Output(ctx, "mkfs.ext4", "-q", "-F", "-O", "inline_data,^has_journal", "-N", inodes, image); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "storagebench-bench-")
	if err != nil {
		return "", err
	}
	l.undo = append(l.undo, func() error { return os.Remove(dir) })
	if _, err := volume.Output(ctx, "mount", "-o", "loop", image, dir); err != nil {
		return "", err
	}
	l.undo = append(l.undo, func() error {
		_, err := volume.Output(context.Background(), "umount", dir)
		return err
	})
	return dir, nil
}
