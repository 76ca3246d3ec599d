package workload

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Engine runs one kind of workload.
type Engine interface {
	// Name is the name of the engine's field in the API.
	Name() string

	// Check finds what is wrong with a configuration without touching a target.
	// It is pure. Its errors are *trial.Failure with Field relative to the
	// workload, such as "fio.jobFile".
	Check(config json.RawMessage, mode trial.Mode) error

	// Estimate says how long a trial takes and how much of the target it uses.
	// Zero means unknown. It is pure.
	Estimate(config json.RawMessage) (Estimate, error)

	// Prepare makes the target ready for all trials of the workload: it checks that the
	// target is large enough, lays out files, and writes the data that trials will read.
	// Each attempt calls it once, before the workload's first trial. It does not repeat what
	// an earlier call has done.
	Prepare(ctx context.Context, env Env) error

	// Run executes one trial. If it fails after it measured something, it returns
	// both the measurement, for the record, and the error.
	Run(ctx context.Context, env Env) (*result.Measurement, error)

	// Tools returns the versions of the programs that the engine runs.
	Tools(ctx context.Context) map[string]string
}

// Allocator is an engine whose configurations decide how much memory it allocates.
type Allocator interface {
	// Memory is how many bytes a configuration that Check accepts may allocate on targets of
	// a mode, and the field that says so. It is pure.
	Memory(config json.RawMessage, mode trial.Mode) (bytes uint64, field string)
}

// Timer is an engine that says how long a trial measures with less work than Estimate, which lists files, too.
type Timer interface {
	// Duration is that of Estimate. It is pure.
	Duration(config json.RawMessage) time.Duration
}

// Pacer is an engine whose configurations can choose how fast a workload is.
type Pacer interface {
	// Pace is the field or the option with which a configuration that Check accepts chooses its rate;
	// empty: the workload is as fast as the storage. It is pure.
	Pace(config json.RawMessage) (option string)
}

// Cleaner is an engine whose trials leave files that the next one must not find.
type Cleaner interface {
	// Clean removes them. It is called after each trial, whatever its outcome, when what the
	// trial wrote has reached the disk.
	Clean(ctx context.Context, env Env) error
}

// Estimate of one trial.
type Estimate struct {
	Duration time.Duration
	// Bytes of the target that must be free (a file system) or there (a device).
	Bytes uint64
}

// Env is where an engine works.
type Env struct {
	// Workload is the workload's name and configuration.
	Workload trial.Workload
	Target   trial.Target
	// Dir is the attempt's own directory on the target, for Mode Filesystem. Nobody can
	// predict its name. It stays for all trials of the attempt.
	Dir string
	// Opened is Dir, opened; nil if nobody else can write to the target.
	Opened *os.File `json:"-"`
	// Device is the block device, for Mode Block.
	Device string
	// Scratch is an empty directory off the target, for the tool's own files.
	Scratch string
	// State is a directory off the target where an engine may note what it did to a
	// device, because it cannot leave a file there. It lasts as long as the worker's spool.
	// Losing a note costs only time.
	State string
	// Trial is the trial to run; the zero value in Prepare.
	Trial trial.Trial
	// Run and Worker are their names. With the trial, they make its seed.
	Run, Worker string
	// Machine is what sizes are chosen from.
	Machine Machine
	// Log is for people. The engine logs nothing while it measures.
	Log *slog.Logger `json:"-"`
}
