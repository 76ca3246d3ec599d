package fio

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Notes are what must be the same in every attempt of a worker: the size that was
// chosen when the target was still empty, and which prefills are done. They lie
// beside the files they speak of, and for a device in the worker's state
// directory. Their names begin with a dot, which a job's files cannot.

func notePath(env workload.Env, name string) string {
	if env.Target.Mode == trial.Block {
		return filepath.Join(env.State, "fio-"+name+".json")
	}
	return filepath.Join(env.Dir, ".fio-"+name+".json")
}

// loadNote reads a note into v. It reports whether there is one that can be read.
func loadNote(env workload.Env, name string, v any) (bool, error) {
	b, err := os.ReadFile(notePath(env, name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("fio: %w", err)
	}
	return json.Unmarshal(b, v) == nil, nil
}

// saveNote writes a note so that it is there as a whole or not at all.
func saveNote(env workload.Env, name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("fio: %w", err)
	}
	path := notePath(env, name)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("fio: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("fio: %w", err)
	}
	return nil
}

type sizeNote struct {
	Size uint64 `json:"size"`
}

// needsSize says whether the size is ours to choose: that of a job of parameters
// which gives none.
func needsSize(c config, jobs []job) bool {
	return len(c.Parameters) > 0 && !jobs[0].has("size") && !jobs[0].has("filesize")
}

func loadSize(env workload.Env) (uint64, error) {
	var n sizeNote
	ok, err := loadNote(env, "size-"+env.Workload.Name, &n)
	if err == nil && !ok {
		err = fmt.Errorf("fio: the size of workload %s was not chosen: Prepare did not run", env.Workload.Name)
	}
	return n.Size, err
}
