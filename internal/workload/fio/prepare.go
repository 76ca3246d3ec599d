package fio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Prepare chooses the size of a job that gives none, checks that the target is
// large enough, and writes what the jobs will read or overwrite.
func (e Engine) Prepare(ctx context.Context, env workload.Env) error {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	c.machine = env.Machine
	jobs, err := resolve(c, env.Target.Mode, env.Workload.FilesName())
	if err != nil {
		return env.InSpec(err)
	}
	if err := makeDirectory(env); err != nil {
		return err
	}
	room, err := roomOn(env, jobs)
	if err != nil {
		return err
	}
	if which := unsized(c, jobs, env.Target.Mode); len(which) > 0 {
		if err := chooseSize(env, jobs, which, room); err != nil {
			return err
		}
	}
	if jobs, _, err = e.jobs(env); err != nil {
		return err
	}
	if err := checkRoom(env, jobs, room); err != nil {
		return err
	}
	if env.Target.Mode == trial.Block {
		// Only now is it known how large what has no size, or one in percent, is.
		if err := checkMemory(c.field(), jobs, room, max(workload.MaxMemory, allocated(jobs, 0))); err != nil {
			return env.InSpec(err)
		}
	}
	if jobs[0].offer == nil { // an open loop chooses its blocks itself
		if err := e.rehearse(ctx, env, jobs, room); err != nil {
			return err
		}
	}
	return e.prefill(ctx, env, jobs, room)
}

// roomOn is how many bytes the jobs' files may have, counting as free what they
// hold already, or the size of the device.
func roomOn(env workload.Env, jobs []job) (uint64, error) {
	room, err := env.Room()
	if err != nil || env.Target.Mode == trial.Block || room == math.MaxUint64 {
		return room, err
	}
	own, err := existing(env, jobs)
	return room + own, err
}

// existing is what the files of the jobs occupy.
func existing(env workload.Env, jobs []job) (uint64, error) {
	e := extents{}
	for _, j := range jobs {
		e.add(j, defaultSize)
	}
	var sum uint64
	for name := range e {
		info, err := os.Lstat(filepath.Join(directory(env), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("fio: %w", err)
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += uint64(s.Blocks) * 512
		}
	}
	return sum, nil
}

// chooseSize chooses the size once, as what is free changes.
func chooseSize(env workload.Env, jobs []job, which []int, room uint64) error {
	if ok, err := loadNote(env, "size-"+env.Workload.FilesName(), &sizeNote{}); ok || err != nil {
		return err
	}
	choice := chosenSize(jobs, which, env.Target.Mode, env.Machine, room)
	if least := leastSize(jobs, which); choice.Bytes < least {
		return tooSmall(env, least*choice.Parts*10/8, room)
	}
	return saveNote(env, "size-"+env.Workload.FilesName(), sizeNote{choice})
}

// chosenSize of jobs that give none, for each clone that has files of its own. Jobs with a size
// have theirs first.
func chosenSize(jobs []job, which []int, mode trial.Mode, machine workload.Machine, room uint64) result.SizeChoice {
	parts, buffered := uint64(0), false
	shared := map[string]bool{}
	var others []job
	for i, j := range jobs {
		name := j.options["filename"]
		switch {
		case !slices.Contains(which, i):
			others = append(others, j)
			continue
		case mode == trial.Block:
			parts = 1
		case name == "":
			if key := cmp.Or(j.filesOf, j.name) + "."; !shared[key] {
				shared[key] = true
				parts += j.clones()
			}
		case !shared[name]:
			shared[name] = true
			parts++
		}
		buffered = buffered || !j.direct()
	}
	if taken := footprint(others, 0); mode == trial.Filesystem && room != math.MaxUint64 {
		room -= min(room, taken)
	}
	return workload.Size(workload.SizeFacts{
		Machine: machine, Buffered: buffered, Room: room, Parts: parts, Unit: leastSize(jobs, which), Floor: defaultSize,
	})
}

// leastSize is a block of each file of the job that has most of them.
func leastSize(jobs []job, which []int) uint64 {
	least := uint64(4096)
	for _, i := range which {
		of := jobs[i].minBlock()
		if percent := jobs[i].percents["size"]; percent > 0 {
			of = workload.Product(of, 100) / percent
		}
		least = max(least, workload.Product(of, jobs[i].files()))
	}
	return least
}

func checkRoom(env workload.Env, jobs []job, room uint64) error {
	need := footprint(jobs, defaultSize)
	if env.Target.Mode == trial.Block {
		need = deviceEnd(jobs, room)
	}
	if need > room {
		return tooSmall(env, need, room)
	}
	return nil
}

// deviceEnd is the last byte of a device that jobs ask for. A job without size
// takes what there is, and one with a percentage no more than that.
func deviceEnd(jobs []job, size uint64) uint64 {
	var end uint64
	for _, j := range jobs {
		own := j.bytesOn("offset", size) + (j.clones()-1)*j.bytesOn("offset_increment", size) + j.sizeOn(size)
		if strings.HasSuffix(j.options["size"], "%") {
			own = min(own, size)
		}
		end = max(end, own)
	}
	return end
}

// sizeOn is the size of a job on a device of the given size: its own, a
// percentage, or 0 for what there is.
func (j job) sizeOn(device uint64) uint64 { return j.bytesOn("size", device) }

// bytesOn is an option in bytes, which may be a percentage of a device of the given size.
func (j job) bytesOn(name string, device uint64) uint64 {
	if percent, ok := strings.CutSuffix(j.options[name], "%"); ok {
		return device / 100 * number(percent)
	}
	return number(j.options[name])
}

func tooSmall(env workload.Env, need, have uint64) error {
	remedy := "make it larger, or lower size or numjobs of the workload"
	if c, err := decode(env.Workload.Config); err == nil && c.Preset != "" {
		remedy = "make it larger, or copy the preset's job file from docs/reference/fio-presets.md into fio.jobFile and lower its sizes"
	}
	return env.TooSmall(need, have, remedy)
}
