package workload

import (
	"encoding/json"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Place is where a workload is to run, as far as that is known beforehand.
type Place struct {
	Mode    trial.Mode
	Machine Machine
	// Room is what the target has free; MaxUint64: unknown.
	Room uint64
}

// Outline is what a workload will do at a place.
type Outline struct {
	// Files is what trials find of each job's files.
	Files []result.FileChoice
	// Size that is chosen, if the workload gives none.
	Size *result.SizeChoice
	// Changes are what of the workload is not done as it is written, one line each.
	Changes []string
	// Needs is how much room the workload takes, Prepares how much is written once, before its
	// first trial.
	Needs, Prepares uint64
	// Keeps is how much of that other workloads of the target cannot use between trials.
	Keeps uint64
	// Writes is what a trial writes in a number of bytes that is known beforehand.
	Writes uint64
	// WritesFor is how long a trial writes as fast as the storage lets it, beside Writes.
	WritesFor time.Duration
	// AtLeast reports that a trial may write more than Writes.
	AtLeast bool
	// Duration of a trial; 0: as long as it needs.
	Duration time.Duration
}

// Outliner is an engine that can say what it will do.
type Outliner interface {
	// Outline is pure. Its errors are those of Check.
	Outline(name string, config json.RawMessage, at Place) (Outline, error)
}
