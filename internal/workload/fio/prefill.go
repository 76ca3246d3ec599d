package fio

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// prefillNote reports that a prefill was done.
type prefillNote struct {
	JobFile string `json:"jobFile"`
}

// prefill writes everything that the jobs will read or overwrite, with random data, once.
func (e Engine) prefill(ctx context.Context, env workload.Env, jobs []job, room uint64) error {
	var writers []job
	if env.Target.Mode == trial.Block {
		writers = deviceWriters(jobs, room)
	} else {
		writers = fileWriters(jobs)
	}
	if len(writers) == 0 {
		return nil
	}
	jobFile := render(writers, always())
	name := noteOf("prefill", jobFile)
	if done, err := loadNote(env, name, &prefillNote{}); err != nil || done && filesAreThere(env, jobs) {
		return err
	}
	env.Log.Info("writing what will be read or overwritten", "workload", env.Workload.Name, "bytes", footprint(writers, 0))
	inv, err := execute(ctx, e.program(), env, directory(env), jobFile, clones(writers))
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d, messages, parseErr := parseOutput(inv.output)
	if err := diagnose(env, writers, endingOf(inv.err, d, said(messages, inv.stderr))); err != nil {
		return err
	}
	if parseErr != nil {
		return &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("fio"), Message: "writing the files before the first trial: " + parseErr.Error(), Workload: env.Workload.Name, Err: parseErr}
	}
	for _, w := range writers {
		if !slices.ContainsFunc(d.Jobs, func(c jobOutput) bool { return c.Name == w.name && c.Write.IOs > 0 }) {
			return &trial.Failure{
				Class: reason.WorkloadFailed, Field: env.Field("fio"), Workload: env.Workload.Name,
				Message: fmt.Sprintf("fio ended without an error, but wrote nothing when it was to fill %s before the first trial: reads of it would need no I/O", cmp.Or(w.options["filename"], "the files of job "+w.name)),
				Remedy:  "raise size or lower nrfiles; if that changes nothing, report it as a fault of storagebench",
			}
		}
	}
	return saveNote(env, name, prefillNote{jobFile})
}

// wantsPrefill reports whether what a job finds must have been written before.
func (j job) wantsPrefill() bool { return j.found.Files == result.Overwrite }

// data are the options that decide what data looks like.
var data = []string{"buffer_compress_percentage", "buffer_compress_chunk", "dedupe_percentage", "zero_buffers"}

func (j job) writer(name string, extra map[string]string) job {
	w := job{name: name, options: map[string]string{
		"rw": "write", "end_fsync": "1", "randseed": "1", "stonewall": "1",
		"ioengine": "psync",
	}}
	if j.direct() {
		w.options["direct"], w.options["ioengine"], w.options["iodepth"] = "1", "libaio", "8"
	}
	if !j.on("zero_buffers") {
		w.options["refill_buffers"] = "1"
	}
	for _, name := range data {
		if j.has(name) {
			w.options[name] = j.options[name]
		}
	}
	maps.Copy(w.options, extra)
	return w
}

// fileWriters are jobs that write the files of those that read or overwrite. Files that fio
// names are written by a job of the same name; files that the user names, by one
// job each, as several jobs may use parts of the same.
func fileWriters(jobs []job) []job {
	var writers []job
	named := extents{}
	owner := map[string]job{}
	for _, j := range jobs {
		if !j.wantsPrefill() {
			continue
		}
		if j.has("filename") {
			named.add(j, defaultSize)
			for _, name := range j.fileNames() {
				owner[name] = j
			}
			continue
		}
		if slices.ContainsFunc(writers, j.writtenBy) {
			continue
		}
		extra := map[string]string{"file_service_type": "sequential", "openfiles": strconv.FormatUint(min(j.files(), 64), 10)}
		for _, name := range []string{"size", "filesize", "nrfiles", "numjobs", "offset", "offset_increment", "filename_format"} {
			if j.has(name) {
				extra[name] = j.options[name]
			}
		}
		w := j.writer(j.name, extra)
		if w.has("iodepth") { // 256 blocks of all clones: at most 256 MiB of memory
			w.options["iodepth"] = strconv.FormatUint(max(1, min(8, 256/w.clones())), 10)
		}
		if strings.Contains(j.options["filesize"], "-") {
			w.setBlockOf(j.minBlock())
		} else {
			w.setBlock(j.perFile(defaultSize))
		}
		writers = append(writers, w)
	}
	for i, name := range slices.Sorted(maps.Keys(named)) {
		w := owner[name].writer(fmt.Sprintf("prefill-%d", i), map[string]string{
			"filename": name, "size": strconv.FormatUint(named[name], 10),
		})
		w.setBlock(named[name])
		writers = append(writers, w)
	}
	return writers
}

// writtenBy reports whether a job writes just those files that this one needs.
func (j job) writtenBy(w job) bool {
	if j.filesOf == "" || w.name != j.filesOf && w.options["filename_format"] != j.options["filename_format"] {
		return false
	}
	for _, name := range []string{"size", "filesize", "nrfiles", "numjobs", "offset", "offset_increment"} {
		if w.options[name] != j.options[name] {
			return false
		}
	}
	return true
}

// deviceWriters is one job that writes the device from its start to the last
// byte that is read or overwritten.
func deviceWriters(jobs []job, size uint64) []job {
	var end uint64
	var like *job
	for i, j := range jobs {
		if !j.wantsPrefill() {
			continue
		}
		like = &jobs[i]
		jobEnd := size
		if j.sizeOn(size) > 0 {
			jobEnd = deviceEnd([]job{j}, size)
		}
		end = max(end, min(jobEnd, size))
	}
	if like == nil {
		return nil
	}
	w := like.writer("prefill", map[string]string{
		"filename": like.options["filename"], "size": strconv.FormatUint(end, 10),
	})
	w.setBlock(end)
	return []job{w}
}

// setBlock writes in blocks of up to 1 MiB that divide the size, as fio writes
// whole blocks only and would leave the rest unwritten.
func (j job) setBlock(size uint64) {
	block := min(uint64(1)<<20, uint64(1)<<bits.TrailingZeros64(size|1<<20))
	if block < 4096 {
		block = 4096
		if size < 1<<20 {
			block = size // in one piece
		}
		j.buffer()
	}
	j.options["bs"] = strconv.FormatUint(block, 10)
}

// setBlockOf writes files whose sizes fio draws from a range, in the smallest block of the job whose files they
// are. fio refuses blocks that are larger than the smallest file may be.
func (j job) setBlockOf(smallest uint64) {
	block := min(1<<20, smallest)
	if block%4096 != 0 {
		j.buffer()
	}
	j.options["bs"] = strconv.FormatUint(block, 10)
}

// buffer has a job write through the page cache, as its blocks are not multiples of what direct I/O can do.
func (j job) buffer() {
	j.options["direct"], j.options["ioengine"] = "0", "psync"
	delete(j.options, "iodepth")
}

// filesAreThere reports whether no file that was prefilled has gone since, as the
// option unlink makes them.
func filesAreThere(env workload.Env, jobs []job) bool {
	if env.Target.Mode == trial.Block {
		return true
	}
	e := extents{}
	for _, j := range jobs {
		if j.wantsPrefill() {
			e.add(j, defaultSize)
		}
	}
	for name, end := range e {
		info, err := os.Lstat(filepath.Join(directory(env), name))
		if err != nil || uint64(info.Size()) < end-end%4096 {
			return false
		}
	}
	return true
}
