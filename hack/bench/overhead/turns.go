package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// side is the processes of one of the two that take turns.
type side []*os.Process

// signal sends a signal to all processes that still run, and reports whether
// any does.
func (s side) signal(sig os.Signal) (alive bool, err error) {
	for _, p := range s {
		switch e := p.Signal(sig); {
		case e == nil:
			alive = true
		case !errors.Is(e, os.ErrProcessDone):
			err = errors.Join(err, e)
		}
	}
	return alive, err
}

// workerOf opens a worker's processes: fio and its parent, the runner.
func workerOf(fio int) (runner, child *os.Process, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", fio))
	if err != nil {
		return nil, nil, err
	}
	// "pid (name) state parent …", and the name may hold anything.
	_, rest, _ := strings.Cut(string(stat), ") ")
	var state string
	var parent int
	if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
		return nil, nil, fmt.Errorf("/proc/%d/stat: %w", fio, err)
	}
	if runner, err = os.FindProcess(parent); err != nil {
		return nil, nil, err
	}
	child, err = os.FindProcess(fio)
	return runner, child, err
}

// beside waits for the worker's next trial and runs the bare job at the same time. The
// two take turns: while one runs, all processes of the other are stopped. It returns
// the rate of the bare run.
func (b *bench) beside(ctx context.Context, ended <-chan struct{}, workerFirst bool) (float64, error) {
	pid, err := b.fios.next(ctx, ended)
	if err != nil {
		return 0, err
	}
	runner, fio, err := workerOf(pid)
	if err != nil {
		return 0, err
	}
	file, err := b.file()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := b.command(ctx, file)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	worker, bare := side{runner, fio}, side{cmd.Process}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	failed := b.takeTurns(ctx, worker, bare, workerFirst, func() bool {
		alive, _ := side{fio}.signal(syscall.Signal(0))
		return alive || len(exited) == 0
	})
	// Whatever happened, let the worker continue.
	_, err = worker.signal(syscall.SIGCONT)
	if failed = errors.Join(failed, err); failed != nil {
		cancel()
	}
	if err := errors.Join(failed, <-exited); err != nil {
		return 0, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return rate(stdout.Bytes())
}

// takeTurns lets the sides run alternately for equal times, while running returns
// true. In the end both run.
func (b *bench) takeTurns(ctx context.Context, worker, bare side, workerFirst bool, running func() bool) error {
	now, then := bare, worker
	if workerFirst {
		now, then = worker, bare
	}
	end := time.Now()
	for running() {
		if _, err := then.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		if _, err := now.signal(syscall.SIGCONT); err != nil {
			return err
		}
		// Turns follow the clock, so that the time for signals does not add up
		// on one side.
		end = end.Add(b.turn)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(end)):
		}
		now, then = then, now
	}
	_, err := bare.signal(syscall.SIGCONT)
	return err
}

// poll is the interval between two searches for the worker's next trial.
const poll = 20 * time.Millisecond

// fios are the fio processes of workers that were already seen.
type fios map[int]bool

// next waits for the next trial of a worker and returns at the beginning of its
// fio's start delay. A closed ended means that there will be none.
func (seen fios) next(ctx context.Context, ended <-chan struct{}) (pid int, err error) {
	for {
		pids, err := delayed()
		if err != nil {
			return 0, err
		}
		for _, pid := range pids {
			if !seen[pid] {
				seen[pid] = true
				return pid, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ended:
			return 0, errors.New("the worker has ended before its last trial")
		case <-time.After(poll):
		}
	}
}

// delayed returns the fio processes whose job has a start delay. A worker's
// processes are visible here, because this machine is its node; the job file is in
// the worker's file system. fio's helpers are threads, because the job sets
// thread=1.
func delayed() (pids []int, err error) {
	comms, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, err
	}
	for _, file := range comms {
		dir := filepath.Dir(file)
		if comm, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(comm)) != "fio" {
			continue // also one that has ended
		}
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		argv := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		job, err := os.ReadFile(filepath.Join(dir, "root", argv[len(argv)-1]))
		if err != nil || !strings.Contains(string(job), "startdelay=") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids, nil
}
