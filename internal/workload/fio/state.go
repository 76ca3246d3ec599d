package fio

import (
	"fmt"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Notes are the size that was chosen when the target was still empty, and which
// prefills are done.

func loadNote(env workload.Env, name string, v any) (bool, error) {
	return env.LoadNote("fio-"+name, v)
}

func saveNote(env workload.Env, name string, v any) error { return env.SaveNote("fio-"+name, v) }

// noteOf names the note of what was done with a job file.
func noteOf(what, jobFile string) string {
	return what + "-" + strings.TrimPrefix(trial.Digest([]byte(jobFile)), "sha256:")[:16]
}

type sizeNote struct {
	result.SizeChoice
}

// unsized are the jobs whose size is ours to choose: those that give none, of parameters or
// in a file system. A job of a job file has all of a device.
func unsized(c config, jobs []job, mode trial.Mode) []int {
	var out []int
	for i, j := range jobs {
		if !j.sized() && (len(c.Parameters) > 0 || mode == trial.Filesystem) {
			out = append(out, i)
		}
	}
	return out
}

// setSize gives the jobs the size that was chosen.
func setSize(jobs []job, which []int, choice result.SizeChoice) {
	for _, i := range which {
		j := &jobs[i]
		if j.size = &choice; len(j.percents) > 0 {
			j.takePercents(choice.Bytes / j.files())
			continue
		}
		j.options["size"] = fmt.Sprint(choice.Bytes)
	}
}

// sizeOf is the size that was chosen for any of the jobs, or nil.
func sizeOf(jobs []job) *result.SizeChoice {
	for _, j := range jobs {
		if j.size != nil {
			return j.size
		}
	}
	return nil
}

func loadSize(env workload.Env) (result.SizeChoice, error) {
	var n sizeNote
	ok, err := loadNote(env, "size-"+env.Workload.FilesName(), &n)
	if err == nil && !ok {
		err = fmt.Errorf("fio: the size of workload %s was not chosen: Prepare did not run", env.Workload.Name)
	}
	return n.SizeChoice, err
}
