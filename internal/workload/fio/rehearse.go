package fio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Which blocks a job uses, and how soon again, follows from many of its options together: distributions, strides, zones,
// alignments, offsets, files that take turns. fio knows best: it rehearses the jobs with its engine that moves
// nothing, and writes down which blocks it would use.

const (
	rehearsalTime  = 100 * time.Millisecond
	rehearsalLimit = time.Minute
	// maxRehearsed bounds how many I/Os of a job are looked at, and about how many all jobs together log. leastRehearsed of
	// each are enough for 8 MiB in blocks of 4 KiB.
	maxRehearsed, leastRehearsed = 200_000, 20_000
)

// choosing are the options that decide which blocks a job uses, and in which order.
var choosing = []string{
	"rw", "bs", "bsrange", "bssplit", "blockalign", "bs_is_seq_rand", "bs_unaligned", "rwmixread", "rwmixwrite",
	"random_distribution", "percentage_random", "norandommap", "softrandommap", "random_generator", "randrepeat", "allrandrepeat", "randseed",
	"rw_sequencer", "zonemode", "zonesize", "zonerange", "zoneskip", "size", "filesize", "nrfiles", "openfiles", "file_service_type",
	"offset", "offset_align",
}

// rehearsal has what a rehearsal has shown, by job and then by operation: within how many bytes a block is used
// again, as reuse says.
type rehearsal struct {
	Reuse []map[string]float64 `json:"reuse"`
}

// rehearsed are the jobs as fio rehearses them, one clone of each. A job without a size takes all of the device.
func rehearsed(jobs []job, mode trial.Mode, device uint64) []job {
	out := make([]job, len(jobs))
	rate := max(leastRehearsed, maxRehearsed/len(jobs)) * int(time.Second/rehearsalTime)
	for i, j := range jobs {
		options := map[string]string{"rate_iops": strconv.Itoa(rate), "ioengine": "null", "time_based": "1", "runtime": fmt.Sprintf("%dms", rehearsalTime.Milliseconds())}
		for _, name := range choosing {
			if j.has(name) {
				options[name] = j.options[name]
			}
		}
		if mode == trial.Block {
			options["filename"] = "device"
			offset := min(device, j.bytesOn("offset", device))
			options["size"] = strconv.FormatUint(min(cmp.Or(j.sizeOn(device), device), device-offset), 10)
			if j.has("offset") {
				options["offset"] = strconv.FormatUint(offset, 10)
			}
		} else if j.has("filename") {
			options["filename"] = j.options["filename"]
		}
		if whole := j.fileSize(); whole > 0 && j.has("offset") && !strings.Contains(j.options["filesize"], "-") {
			// Without files, fio takes their size for what is left of them after the offset.
			delete(options, "filesize")
			options["size"] = strconv.FormatUint(workload.Product(whole-min(whole, j.bytesOn("offset", whole)), j.files()), 10)
			options["offset"] = strconv.FormatUint(j.bytesOn("offset", whole), 10)
		}
		out[i] = job{name: fmt.Sprintf("job-%d", i), options: options}
	}
	return out
}

// rehearse lets fio rehearse the jobs, once. If it cannot, nothing is known of their blocks, which is no failure.
func (e Engine) rehearse(ctx context.Context, env workload.Env, jobs []job, room uint64) error {
	players := rehearsed(jobs, env.Target.Mode, room)
	name := rehearsalNote(players)
	if done, err := loadNote(env, name, &rehearsal{}); err != nil || done {
		return err
	}
	dir, err := os.MkdirTemp(env.Scratch, "rehearsal-")
	if err != nil {
		return fmt.Errorf("fio: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the scratch directory goes with the Pod
	for i := range players {
		players[i].options["write_iolog"] = filepath.Join(dir, strconv.Itoa(i))
	}
	limited, cancel := context.WithTimeout(ctx, rehearsalLimit)
	defer cancel()
	inv, err := execute(limited, e.program(), env, dir, render(players, map[string]string{"thread": "1"}), clones(players))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err = errors.Join(err, inv.err); err != nil {
		env.Log.Warn("fio cannot say which blocks the jobs use", "workload", env.Workload.Name, "error", err, "stderr", inv.stderr)
		return nil
	}
	found := rehearsal{}
	for i, j := range jobs {
		of, err := readBlocks(filepath.Join(dir, strconv.Itoa(i)), max(j.maxBlock(), 4096))
		if err != nil {
			env.Log.Warn("cannot read which blocks the jobs use", "workload", env.Workload.Name, "error", err)
			return nil
		}
		found.Reuse = append(found.Reuse, of)
	}
	return saveNote(env, name, found)
}

func rehearsalNote(players []job) string { return noteOf("rehearsal", render(players, nil)) }

// readBlocks reads fio's log of the blocks that a job used.
func readBlocks(path string, unit uint64) (map[string]float64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return reuse(f, unit)
}

// reuse says of each operation: result.HotShare of its I/Os use what is among the last so many bytes that the job used.
// An operation of which that cannot be said is absent. A cache of so many bytes serves these I/Os, if it drops
// what was used longest ago. The lines of the log are [MILLISECONDS] FILE OPERATION OFFSET LENGTH; blocks of unit bytes are told apart.
func reuse(log io.Reader, unit uint64) (map[string]float64, error) {
	type place struct {
		file  string
		block uint64
	}
	type use struct {
		operation string
		distance  int // in blocks; 0: it had not been used
	}
	var uses []use
	last, recent := map[place]int{}, newRecency(maxRehearsed)
	lines := bufio.NewScanner(log)
	for lines.Scan() && len(uses) < maxRehearsed {
		fields := bytes.Fields(lines.Bytes())
		if len(fields) < 4 {
			continue
		}
		fields = fields[len(fields)-4:]
		operation := string(fields[1])
		offset, err := strconv.ParseUint(string(fields[2]), 10, 64)
		if err != nil || !slices.Contains(operations, operation) {
			continue
		}
		at, now := place{string(fields[0]), offset / unit}, len(uses)
		u := use{operation: operation}
		if before, ok := last[at]; ok {
			u.distance = recent.since(before)
			recent.drop(before)
		}
		recent.add(now)
		last[at] = now
		uses = append(uses, u)
	}
	distances := map[string][]int{}
	for _, u := range uses[len(uses)/2:] { // in the first half, blocks are new because the rehearsal has just begun
		distances[u.operation] = append(distances[u.operation], u.distance)
	}
	out := map[string]float64{}
	for operation, of := range distances {
		slices.SortFunc(of, func(a, b int) int { return cmp.Compare(uint(a)-1, uint(b)-1) }) // what had not been used last
		if d := of[int(float64(len(of)-1)*result.HotShare)]; d > 0 {
			out[operation] = float64(d) * float64(unit)
		}
	}
	return out, lines.Err()
}

// recency counts at how many of the times from one on a block was used that has not been used since: sums over a Fenwick tree.
type recency struct {
	tree []int
	now  int
}

func newRecency(times int) *recency { return &recency{tree: make([]int, times+1)} }

func (r *recency) add(at int) {
	r.now = at
	r.change(at, 1)
}

func (r *recency) drop(at int) { r.change(at, -1) }

func (r *recency) change(at, by int) {
	for i := at + 1; i < len(r.tree); i += i & -i {
		r.tree[i] += by
	}
}

// since is how many blocks have been used since a time, with the one of then.
func (r *recency) since(at int) int { return r.until(r.now) - r.until(at-1) }

func (r *recency) until(at int) (sum int) {
	for i := at + 1; i > 0; i -= i & -i {
		sum += r.tree[i]
	}
	return sum
}

// shownBy loads what the rehearsal of the jobs has shown.
func shownBy(env workload.Env, jobs []job) (shown rehearsal, err error) {
	room := uint64(0)
	if env.Target.Mode == trial.Block {
		if room, err = env.Room(); err != nil {
			return shown, err
		}
	}
	_, err = loadNote(env, rehearsalNote(rehearsed(jobs, env.Target.Mode, room)), &shown)
	return shown, err
}
