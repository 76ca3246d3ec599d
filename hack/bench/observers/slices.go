package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"storagebench.io/storagebench/internal/observe"
	"storagebench.io/storagebench/internal/observe/blockio"
	"storagebench.io/storagebench/internal/workload/tool"
)

const (
	// settle is left between a program's going on and its being counted: the first requests are all
	// observed, which takes a part of a slice that it does not take of a trial.
	settle = 300 * time.Millisecond
	// poll is how often it is looked whether fio reads.
	poll = 50 * time.Millisecond
	// startWithin is how long fio may take to its first I/O.
	startWithin = 30 * time.Second
	// longer than any comparison takes
	forever = 24 * time.Hour
)

// program is a fio that runs all the time, and stands still but for its slices.
type program struct {
	cmd    *exec.Cmd
	ended  chan error
	stderr *bytes.Buffer
}

// start starts fio, waits for its first I/O, and stops it. With notes, it writes those of its
// rates that a worker reads.
func (b bench) start(ctx context.Context, name string, notes bool) (*program, error) {
	args := []string{
		"--name=" + name, "--directory=" + b.volume.Dir, "--size=48m", "--rw=randread", "--bs=" + strconv.Itoa(b.block), "--direct=1", "--ioengine=libaio",
		"--iodepth=" + strconv.Itoa(b.depth), "--numjobs=" + strconv.Itoa(b.jobs), "--thread", "--group_reporting",
		"--time_based", "--runtime=" + strconv.Itoa(int(forever.Seconds())), "--randrepeat=1", "--output=/dev/null", "--eta=never",
	}
	if notes {
		log := filepath.Join(b.scratch, "rate")
		args = append(args, "--write_iops_log="+log, "--write_bw_log="+log, "--log_avg_msec=100", "--per_job_logs=0", "--log_unix_epoch=1")
	}
	before, err := b.reads()
	if err != nil {
		return nil, err
	}
	p := &program{cmd: exec.CommandContext(ctx, "fio", args...), ended: make(chan error, 1), stderr: &bytes.Buffer{}}
	p.cmd.Dir, p.cmd.Stderr = b.scratch, p.stderr
	// The thread that starts it lives as long as this program, and it ends with the thread.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	for deadline := time.Now().Add(startWithin); ; time.Sleep(poll) {
		now, err := b.reads()
		if err == nil && time.Now().After(deadline) {
			err = fmt.Errorf("no read after %s", startWithin)
		}
		if err != nil {
			return p, err
		}
		// More than what a file system reads when it is asked for a file.
		if now > before+100_000 {
			err := p.signal(syscall.SIGSTOP)
			return p, err
		}
	}
}

// signal sends it to fio, which must still be there.
func (p *program) signal(s syscall.Signal) error {
	select {
	case err := <-p.ended:
		p.ended <- err
		return fmt.Errorf("fio ended: %w: %s", err, strings.TrimSpace(p.stderr.String()))
	default:
		return syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// end kills fio, if it was started, and waits for its end.
func (p *program) end() error {
	if p == nil {
		return nil
	}
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		err = nil
	}
	p.ended <- <-p.ended
	return err
}

// sides are two fios: one that is observed, and one that is not.
type sides struct{ observed, bare *program }

// sides starts both, which of them first and with which files by turns.
func (b bench) sides(ctx context.Context, swapped bool) (s sides, err error) {
	for i, name := range []string{"first", "second"} {
		p, err := b.start(ctx, name, (i == 0) != swapped)
		if (i == 0) != swapped {
			s.observed = p
		} else {
			s.bare = p
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s sides) end() error { return errors.Join(s.observed.end(), s.bare.end()) }

// pair measures two new fios in slices, abba and baab by turns, and returns the I/Os per second of
// each side as geometric means.
func (b bench) pair(ctx context.Context, swapped bool) (observed, bare float64, err error) {
	s, err := b.sides(ctx, swapped)
	defer func() { err = errors.Join(err, s.end()) }()
	if err != nil {
		return 0, 0, fmt.Errorf("fio: %w", err)
	}
	for quad := range b.quads {
		for _, first := range []bool{true, false, false, true} {
			var rate float64
			if first == (quad%2 == 0) {
				rate, err = b.observedSlice(ctx, s.observed)
				observed += math.Log(rate)
			} else {
				rate, err = b.slice(ctx, s.bare)
				bare += math.Log(rate)
			}
			if err != nil {
				return 0, 0, err
			}
		}
	}
	n := float64(2 * b.quads)
	return math.Exp(observed / n), math.Exp(bare / n), nil
}

// observedSlice is a slice of the fio that is observed, with all that observes it.
func (b bench) observedSlice(ctx context.Context, p *program) (rate float64, err error) {
	if b.requests {
		c, err := b.open()
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
	}
	sampler := observe.Watch{Root: "/", Target: []string{b.disk()}}.Start(b.length)
	defer sampler.Stop()
	threads := tool.WatchSchedule("/proc", p.cmd.Process.Pid)
	defer threads.End()
	return b.slice(ctx, p)
}

// slice lets a program go on for a slice, and returns its I/Os per second.
func (b bench) slice(ctx context.Context, p *program) (rate float64, err error) {
	if err := p.signal(syscall.SIGCONT); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.signal(syscall.SIGSTOP)) }()
	if err := pause(ctx, settle); err != nil {
		return 0, err
	}
	from, before, err := b.now()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, b.length); err != nil {
		return 0, err
	}
	to, after, err := b.now()
	return float64(after-before) / to.Sub(from).Seconds(), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (b bench) disk() string { return filepath.Base(b.volume.Device) }

// now is how many reads the disk had completed, and when.
func (b bench) now() (time.Time, uint64, error) {
	n, err := b.reads()
	return time.Now(), n, err
}

func (b bench) reads() (uint64, error) {
	text, err := os.ReadFile(filepath.Join("/sys/block", b.disk(), "stat"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.Fields(string(text) + " 0")[0], 10, 64)
}

func (b bench) open() (*blockio.Collector, error) {
	disks, unseen := blockio.Disks("/", []string{b.disk()})
	if len(unseen) > 0 {
		return nil, errors.New(strings.Join(unseen, "; "))
	}
	return blockio.Open(disks)
}
