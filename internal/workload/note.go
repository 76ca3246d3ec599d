package workload

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/trial"
)

// Notes hold what must be the same in every attempt of a worker, such as a size that was
// chosen when the target was still empty. They are beside the workload's files or, for a
// device, in the worker's state directory. Their names begin with a dot; those of a
// workload's files never do.
func (e Env) notePath(name string) string {
	if e.Target.Mode == trial.Block {
		return filepath.Join(e.State, name+".json")
	}
	return filepath.Join(e.Dir, "."+name+".json")
}

// LoadNote reads a note into v. It reports whether there is a readable one.
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

// SaveNote writes a note as a whole or not at all.
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

// Room returns how many bytes can be written to the target: the free space of the file
// system, or the size of the device. If the file system does not report its size, it is
// assumed to have room for anything.
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

// Seed returns the trial's seed, from 1 to 2^31-1. Each run, worker (target and node),
// workload, variant and repeat has another one, so that a cache that one trial filled does
// not answer the next, and a median is over several sequences. A trial that is repeated after
// its worker was killed has the same one again.
func (e Env) Seed() uint32 {
	// Names contain no line break.
	h := sha256.Sum256([]byte(strings.Join([]string{e.Run, e.Worker, e.Workload.Name, e.Trial.Variant, strconv.Itoa(e.Trial.Repeat)}, "\n")))
	return max(1, binary.BigEndian.Uint32(h[:])>>1)
}
