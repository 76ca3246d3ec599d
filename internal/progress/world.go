package progress

import "time"

// Phase of a worker as it is recorded in the status.
type Phase string

// Phases; the words are those of the API.
const (
	Pending Phase = "Pending"
	Running Phase = "Running"
	Done    Phase = "Done"
	Failed  Phase = "Failed"
)

// Final says that the worker's end is recorded.
func (p Phase) Final() bool { return p == Done || p == Failed }

// JobState is what is seen of a worker's Job.
type JobState int

// States of a Job.
const (
	// JobMissing: there is none.
	JobMissing JobState = iota
	// JobPreparing: it is suspended, as not all it needs has been made.
	JobPreparing
	// JobActive: its Pod is wanted, waits, or runs.
	JobActive
	// JobEnded: it has completed or failed.
	JobEnded
	// JobDeleting: it is being deleted, and what it owns with it.
	JobDeleting
)

// Worker is what is recorded and seen of one worker.
type Worker struct {
	Name  string
	Node  string
	Phase Phase
	Job   JobState
	// PodRunning says that the Pod's container runs.
	PodRunning bool
	// Trouble is what keeps the Pod from running, if anything.
	Trouble *Trouble
	// Unrestored: settings of its node may have been changed, and nobody has shown
	// that they were put back.
	Unrestored bool
}

// Trouble is an obstacle. Unless it may pass by itself, somebody must remove it.
type Trouble struct {
	Reason  string
	Message string
	MayPass bool
}

// Claim is how a node's Lease stands, as this benchmark sees it.
type Claim struct {
	// Mine: this benchmark holds it.
	Mine bool
	// Holder is the benchmark that holds it, or empty.
	Holder string
	// Ahead is how many benchmarks wait before this one.
	Ahead int
}

// World is all that a decision depends on.
type World struct {
	Now time.Time
	// StartedAt is when the run got its first node; zero before.
	StartedAt time.Time
	Timeout   time.Duration
	// Workers in the order in which they run.
	Workers []Worker
	// Claims by node.
	Claims map[string]Claim
	// StoreTrouble is why the result store takes nothing, or nil.
	StoreTrouble *Trouble
}
