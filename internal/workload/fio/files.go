package fio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// directory holds the workload's files: another workload may have jobs of the same name. It is
// empty for a device.
func directory(env workload.Env) string {
	if env.Target.Mode == trial.Block {
		return ""
	}
	return filepath.Join(env.Dir, "fio-"+env.Workload.FilesName())
}

func makeDirectory(env workload.Env) error {
	if env.Target.Mode == trial.Block {
		return nil
	}
	if err := os.Mkdir(directory(env), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return env.Refused("fio", "make a directory", err)
	}
	return nil
}

// chooseFiles decides for each job what a trial finds: no file (Fresh), or files of which every
// block was written before the first trial (Overwrite). It refuses a choice that a job cannot
// work with. It is pure.
func chooseFiles(c config, jobs []job, mode trial.Mode) error {
	for i := range jobs {
		j := &jobs[i]
		switch {
		case c.Files == string(result.Fresh):
			if err := j.checkFresh(mode); err != nil {
				return err
			}
			j.found = result.FileChoice{Files: result.Fresh, Why: "files is Fresh"}
		case c.Files == string(result.Overwrite):
			if err := j.checkOverwrite(); err != nil {
				return err
			}
			j.found = result.FileChoice{Files: result.Overwrite, Why: "files is Overwrite"}
		case c.Prefill == prefillNever:
			j.found = result.FileChoice{Files: result.AsFound, Why: "prefill is Never"}
		case mode == trial.Block:
			j.found = j.chooseOnDevice()
		default:
			j.found = j.choose()
		}
		j.found.Job = j.name
	}
	shareFiles(jobs)
	return nil
}

// choose decides for a job of a file system.
func (j job) choose() result.FileChoice {
	overwrite := func(why string) result.FileChoice { return result.FileChoice{Files: result.Overwrite, Why: why} }
	fresh := func(why string) result.FileChoice { return result.FileChoice{Files: result.Fresh, Why: why} }
	removes := j.on("unlink") || j.on("unlink_each_loop")
	switch {
	case j.has("verify"):
		return fresh("verify checks only what the job itself wrote")
	case removes && j.reads():
		return result.FileChoice{Files: result.AsFound, Why: "the job removes its files, and fio writes them again before it reads"}
	case removes:
		return fresh("the job removes its files")
	case j.on("overwrite"):
		return overwrite("overwrite=1")
	case j.reads():
		return overwrite("the job reads, and blocks that were never written read as zeros without any I/O")
	case j.pattern() != "write":
		return overwrite("the job writes at random, over what is there")
	case j.syncs():
		return fresh("the job writes in sequence and syncs, as a log or a backup does")
	case !j.direct():
		return fresh("the job writes in sequence through the page cache, as a log or a backup does")
	default:
		return overwrite("the job writes in sequence with direct=1 and without a sync, so that allocation is not what it measures")
	}
}

// chooseOnDevice decides for a job of a block device, which has no files that could be new.
func (j job) chooseOnDevice() result.FileChoice {
	switch {
	case strings.Contains(j.pattern(), "trim"):
		return result.FileChoice{Files: result.AsFound, Why: "the job trims"}
	case j.has("verify"):
		return result.FileChoice{Files: result.AsFound, Why: "verify checks only what the job itself wrote"}
	case j.reads():
		return result.FileChoice{Files: result.Overwrite, Why: "the job reads, and blocks that were never written read as zeros without any I/O"}
	case !j.has("size"):
		return result.FileChoice{Files: result.AsFound, Why: "the job gives no size, and writing all of the device before the first trial may take hours"}
	default:
		return result.FileChoice{Files: result.Overwrite, Why: "a device that was never written may allocate blocks in its first trial only"}
	}
}

// shareFiles gives jobs that name the same file what one of them needs: what is read or
// overwritten by one must be there for all.
func shareFiles(jobs []job) {
	names, users, shared := make([][]string, len(jobs)), map[string][]int{}, sharedNames(jobs)
	var laying []int // jobs whose files are laid out, and which nobody has asked for others that share them
	for i, j := range jobs {
		names[i] = j.names(shared)
		for _, name := range names[i] {
			users[name] = append(users[name], i)
		}
		if j.found.Files == result.Overwrite {
			laying = append(laying, i)
		}
	}
	for len(laying) > 0 {
		laid, sharing := map[string]string{}, map[int]bool{}
		for _, i := range laying {
			for _, name := range names[i] {
				laid[name] = jobs[i].name
				for _, user := range users[name] {
					sharing[user] = sharing[user] || jobs[user].found.Files != result.Overwrite
				}
				delete(users, name) // all of them are known now
			}
		}
		laying = nil
		for _, i := range slices.Sorted(maps.Keys(sharing)) {
			if !sharing[i] {
				continue
			}
			at := slices.IndexFunc(names[i], func(name string) bool { return laid[name] != "" })
			jobs[i].found.Files, jobs[i].found.Why = result.Overwrite, "it shares file "+names[i][at]+" with job "+laid[names[i][at]]
			laying = append(laying, i)
		}
	}
}

// syncs reports whether the job makes what it wrote durable.
func (j job) syncs() bool {
	return slices.ContainsFunc([]string{"fsync", "fdatasync", "sync", "end_fsync", "fsync_on_close"}, j.asks)
}

// asks reports whether an option asks for what it is named after: it is there, and not turned off.
func (j job) asks(name string) bool {
	v := j.options[name]
	return v != "" && v != "0" && v != "none"
}

func (j job) checkFresh(mode trial.Mode) error {
	switch {
	case mode == trial.Block:
		return invalid(fieldFiles, "files is Fresh, but a target is a block device, which has no files", "remove it, or use a target with a file system")
	case j.on("overwrite"):
		return invalid(fieldFiles, fmt.Sprintf("files is Fresh, but %s has overwrite=1", j.title()), "remove one of them")
	case j.reads() && !j.has("verify"):
		return invalid(fieldFiles, fmt.Sprintf("files is Fresh, but %s has rw=%s and would have nothing to read", j.title(), j.pattern()), "remove it: Auto decides for each job; or set it to Overwrite")
	}
	return nil
}

func (j job) checkOverwrite() error {
	switch {
	case j.reads() && j.has("verify"):
		return invalid(fieldFiles, fmt.Sprintf("files is Overwrite, but %s has verify=%s, which finds no checksums in what was written before", j.title(), j.options["verify"]), "remove it")
	case j.on("unlink") || j.on("unlink_each_loop"):
		return invalid(fieldFiles, fmt.Sprintf("files is Overwrite, but %s removes its files (unlink)", j.title()), "remove unlink and unlink_each_loop, or set files to Fresh")
	}
	return nil
}

// fileChoices are those of all jobs, for the trial's document.
func fileChoices(jobs []job) []result.FileChoice {
	out := make([]result.FileChoice, len(jobs))
	for i, j := range jobs {
		out[i] = j.found
	}
	return out
}

// fileNotes say what a reader of the numbers must know of the files.
func fileNotes(jobs []job) []string {
	var out []string
	for _, j := range jobs {
		if j.found.Files == result.Fresh && j.on("time_based") && !j.has("verify") {
			out = append(out, fmt.Sprintf("job %s begins with new files; when it has written their size, it overwrites them until its runtime ends", j.name))
		}
	}
	return out
}

// freshFiles are the names of files that a trial must not find.
func freshFiles(jobs []job) extents {
	fresh := extents{}
	for _, j := range jobs {
		if j.found.Files == result.Fresh {
			fresh.add(j, defaultSize)
		}
	}
	return fresh
}

// Clean removes the files that the next trial must not find.
func (e Engine) Clean(_ context.Context, env workload.Env) error {
	if env.Target.Mode == trial.Block {
		return nil
	}
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	c.machine = env.Machine
	jobs, err := resolve(c, env.Target.Mode, env.Workload.FilesName())
	if err != nil {
		return env.InSpec(err)
	}
	return removeFresh(env, jobs)
}

func removeFresh(env workload.Env, jobs []job) error {
	if env.Target.Mode == trial.Block {
		return nil
	}
	for name := range freshFiles(jobs) {
		if err := os.Remove(filepath.Join(directory(env), name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return env.Refused("fio", "remove the files of the trial before", err)
		}
	}
	return nil
}

// dropCached has the kernel drop the cached pages of the files that a trial finds, as fio itself does when it opens a file, unless a
// job says otherwise (invalidate=0, pre_read). By then fio's clock runs: of 384 MiB that had just been written, it took 22 ms in which
// no I/O was in flight. What cannot be dropped is left to fio.
func dropCached(env workload.Env, jobs []job) {
	if env.Target.Mode == trial.Block {
		return // the runner drops those of a device
	}
	found, kept := extents{}, extents{}
	for _, j := range jobs {
		if j.options["invalidate"] == "0" || j.on("pre_read") {
			kept.add(j, defaultSize)
		} else {
			found.add(j, defaultSize)
		}
	}
	for name := range found {
		if _, keep := kept[name]; keep {
			continue
		}
		fd, err := unix.Open(filepath.Join(directory(env), name), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // fio makes it
		}
		_ = unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED)
		_ = unix.Close(fd)
	}
}
