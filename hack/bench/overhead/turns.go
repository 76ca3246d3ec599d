package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// poll is how often a turn of the worker is looked for.
const poll = 20 * time.Millisecond

// fios are the processes of fio in workers that were seen.
type fios map[int]bool

// next waits for the next trial of a worker. Its fio waits for its start delay from
// then on. Closing ended says that there will be none.
func (seen fios) next(ctx context.Context, ended <-chan struct{}) error {
	for {
		pids, err := delayed()
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if !seen[pid] {
				seen[pid] = true
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("the worker has ended before its last trial")
		case <-time.After(poll):
		}
	}
}

// delayed returns the processes of fio whose job has a start delay. A worker's are
// seen from here, as this machine is its node; the job file is in the worker's file
// system. fio's helpers are threads, as the job says thread=1.
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
