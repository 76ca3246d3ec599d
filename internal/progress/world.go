package progress

import "time"

// JobState is the observed state of a worker's Job.
type JobState int

// States of a Job.
const (
	// JobMissing: there is no Job.
	JobMissing JobState = iota
	// JobPreparing: it is suspended, because not everything it needs exists
	// yet.
	JobPreparing
	// JobParked: it is suspended, because its Pod could not start; everything it
	// needs exists.
	JobParked
	// JobActive: it is not suspended, and its Pod is to be created, waits, or
	// runs.
	JobActive
	// JobEnded: it completed or failed.
	JobEnded
	// JobDeleting: it is being deleted with everything it owns.
	JobDeleting
)

// NodeState is whether a node can be used now.
type NodeState int

// States of a node.
const (
	// NodeReady: the node exists and is Ready.
	NodeReady NodeState = iota
	// NodeAway: the node is not Ready or does not exist.
	NodeAway
	// NodeRestoring: a benchmark may have changed its settings, which have not been
	// restored yet.
	NodeRestoring
)

// Worker is what is recorded and observed of one worker.
type Worker struct {
	Name string
	Node string
	// Ended reports that its end is recorded.
	Ended bool
	Job   JobState
	// Remains reports that something of it besides its Job still exists on a node that
	// answers: a Pod that is ending, a volume that is being removed.
	Remains bool
	// PodLeft reports that a Pod of it still exists, perhaps on a node that does
	// not answer.
	PodLeft bool
	// PodRunning reports that the Pod's container runs.
	PodRunning bool
	// Trouble is what keeps the Pod from running; nil: nothing.
	Trouble *Trouble
	// Last is why the last try to start the worker failed, if it has not run since.
	Last *Trouble
	// Waiting is how long the Job has been active without a running Pod.
	Waiting time.Duration
	// RetryIn is how long to wait before the next attempt with a parked worker, or one
	// whose objects could not be created.
	RetryIn time.Duration
	// Unrecorded reports that the worker may change settings, but its node's record is gone.
	Unrecorded bool
	// NodeState is set for workers that have not ended.
	NodeState NodeState
	// AwayFor is how long the node has been away.
	AwayFor time.Duration
	// RemovedFor is how long ago the Job of an ended worker was deleted; zero: unknown.
	RemovedFor time.Duration
}

// Trouble is an obstacle. Unless it may go away by itself, somebody must remove
// it.
type Trouble struct {
	Reason  string
	Message string
	MayPass bool
	// Remake: what the Job mounts was deleted, and only a new Job gets it again.
	Remake bool
}

// Claim is the state of a node's Lease from this benchmark's view.
type Claim struct {
	// Mine reports that this benchmark holds it.
	Mine bool
	// Busy reports that another benchmark holds it, or is ahead in its queue.
	Busy bool
	// Taken reports that another benchmark holds it.
	Taken bool
	// Holder is that benchmark, if this one's user may know it.
	Holder string
}

// World is everything that a decision depends on.
type World struct {
	// Started reports that some worker of the run has been started.
	Started bool
	// Active is how long the run has been active. It may be active for Timeout.
	Active  time.Duration
	Timeout time.Duration
	// Workers in the order of the plan.
	Workers []Worker
	// Held are the nodes whose Lease this benchmark holds.
	Held []string
	// Claim is the state of the Lease of Current's node.
	Claim Claim
	// StoreTrouble is why the result store cannot be used, or nil.
	StoreTrouble *Trouble
}

// parkedAtOnce limits parked workers, because each keeps its volume.
const parkedAtOnce = 3

// Current returns the worker to advance: the one whose Job exists or, if there is none,
// the first that has not ended and whose node can be used. It returns nil if there is no
// such worker.
func (w World) Current() *Worker {
	parked := 0
	for i := range w.Workers {
		worker := &w.Workers[i]
		if worker.Ended {
			continue
		}
		switch worker.Job {
		case JobPreparing, JobActive, JobEnded, JobDeleting:
			// While its node is away, a Pod that ran may still run. The run
			// measures other nodes meanwhile.
			if worker.NodeState != NodeAway || worker.AwayFor < awayGrace || worker.Job == JobEnded {
				return worker
			}
		case JobParked:
			// A worker whose node is away is withdrawn together with its
			// volume.
			if worker.NodeState != NodeAway {
				parked++
			}
		case JobMissing:
		}
	}
	for i := range w.Workers {
		worker := &w.Workers[i]
		usable := !worker.Ended && worker.NodeState == NodeReady && worker.RetryIn <= 0
		if usable && (worker.Job == JobParked || worker.Job == JobMissing && parked < parkedAtOnce) {
			return worker
		}
	}
	return nil
}
