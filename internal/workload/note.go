package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/trial"
)

// Notes are what must be the same in every attempt of a worker, such as a size that
// was chosen when the target was still empty. They lie beside the workload's files,
// and for a device in the worker's state directory. Their names begin with a dot, as
// no workload's files do.
func (e Env) notePath(name string) string {
	if e.Target.Mode == trial.Block {
		return filepath.Join(e.State, name+".json")
	}
	return filepath.Join(e.Dir, "."+name+".json")
}

// LoadNote reads a note into v. It reports whether there is one that can be read.
func (e Env) LoadNote(name string, v any) (bool, error) {
	b, err := os.ReadFile(e.notePath(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("workload: %w", err)
	}
	return json.Unmarshal(b, v) == nil, nil
}

// SaveNote writes a note so that it is there as a whole or not at all.
func (e Env) SaveNote(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	path := e.notePath(name)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("workload: %w", err)
	}
	return nil
}

// Room is what may still be written to the target: what is free in the file system,
// or the size of the device. A file system that does not know has room for anything.
func (e Env) Room() (uint64, error) {
	if e.Target.Mode == trial.Block {
		n, err := device.Size(e.Device)
		if err != nil {
			return 0, e.Unusable(err)
		}
		return n, nil
	}
	size, free, err := device.Space(e.Dir)
	if err != nil {
		return 0, e.Unusable(err)
	}
	if size == 0 {
		return math.MaxUint64, nil
	}
	return free, nil
}

// Seed of a repeat, below 2^31: the same on every target and node, so that they see
// the same offsets, and another for each repeat, so that a cache that remembers the
// last trial does not answer this one, and the median is over sequences and not over
// one.
func (e Env) Seed() uint32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", e.Workload.Name, e.Trial.Repeat)
	return h.Sum32()&0x7fffffff | 1
}
