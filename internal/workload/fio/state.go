package fio

import (
	"fmt"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/workload"
)

// Notes are the size that was chosen when the target was still empty, and which
// prefills are done.

func loadNote(env workload.Env, name string, v any) (bool, error) {
	return env.LoadNote("fio-"+name, v)
}

func saveNote(env workload.Env, name string, v any) error { return env.SaveNote("fio-"+name, v) }

type sizeNote struct {
	result.SizeChoice
}

// needsSize reports whether the size is ours to choose: that of a job of parameters
// which gives none.
func needsSize(c config, jobs []job) bool {
	return len(c.Parameters) > 0 && !jobs[0].has("size") && !jobs[0].has("filesize")
}

func loadSize(env workload.Env) (result.SizeChoice, error) {
	var n sizeNote
	ok, err := loadNote(env, "size-"+env.Workload.Name, &n)
	if err == nil && !ok {
		err = fmt.Errorf("fio: the size of workload %s was not chosen: Prepare did not run", env.Workload.Name)
	}
	return n.SizeChoice, err
}
