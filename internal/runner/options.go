package runner

import (
	"context"
	"log/slog"
	"time"

	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/workload"
)

// Engines finds engines by name.
type Engines interface {
	Engine(name string) (workload.Engine, error)
	Tools(ctx context.Context) map[string]string
}

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the real clock.
type SystemClock struct{}

// Now returns the present time.
func (SystemClock) Now() time.Time { return time.Now() }

// After waits.
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Options configure a worker.
type Options struct {
	Plan   *trial.Plan
	Worker string
	// TargetPath is a block device, or a directory whose path holds no symbolic link.
	TargetPath string
	// Objects is where results go.
	Objects store.Objects
	// SealingKey seals what the worker stores, and tells what its earlier Pods stored from what
	// others did; empty: nobody else can write there.
	SealingKey result.SealingKey
	// Spool is a directory for what could not be uploaded yet. What an earlier
	// process left in it is uploaded first.
	Spool string
	// Scratch is a directory for the tools' own files.
	Scratch string
	Engines Engines
	// Timeout bounds the worker; 0: none.
	Timeout time.Duration
	// Share of the run's budget that the worker's trials may take; nil: the plan's. Every attempt
	// of a worker must get the same one, to come to the same end.
	Share *time.Duration
	// StopGrace is how long a worker that is stopped may take to upload what it has; 0: 15s,
	// which is part of StopLimit.
	StopGrace time.Duration
	// TrialGrace is how much longer than expected a trial may take; 0: 15m. A trial whose
	// duration is unknown may take until the worker's deadline.
	TrialGrace time.Duration
	// Version of storagebench, for the record.
	Version string
	// Journal is the directory of the node's journal of changed settings, and of the records
	// of who has claimed its devices. A plan with tunables needs one. Without one, a worker
	// that was killed cannot continue on a device of the node.
	Journal string
	// Host reads and writes settings.
	Host tunable.Host
	// Hook is called at each step of the journal, for tests that end the process there; may
	// be nil.
	Hook func(journal.Step)

	// ObserveRequests observes the requests of the target's disks with eBPF, if the kernel and the
	// worker's privileges allow it.
	ObserveRequests bool

	System device.System
	Clock  Clock
	Log    *slog.Logger
	// Progress is called with each event; may be nil.
	Progress func(Event)
}

// Step is what an Event reports.
type Step string

// Steps of a trial.
const (
	Preparing Step = "preparing"
	// Preconditioning: a round of the workload, which is not measured, before its first trial.
	Preconditioning Step = "preconditioning"
	Running         Step = "running"
	Measured        Step = "measured"
	Failed          Step = "failed"
	Reused          Step = "stored before"
	Skipped         Step = "skipped"
	// Enough: the workload needs no more trials. Its Trial has no more than the cell, and the number
	// of repeats that were needed.
	Enough    Step = "needs no more trials"
	Uploading Step = "uploading"
)

// Event is something that happened to a trial.
type Event struct {
	Step  Step
	Trial trial.Trial
	// Index of the trial in the plan, from 1, and how many there are.
	Index, Total int
	// Round of a precondition, from 1, and the most that there may be.
	Round, MaxRounds int
	// Expected is how long the step takes, if that is known.
	Expected time.Duration
	// Err of a trial that failed.
	Err error
}
