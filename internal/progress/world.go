package progress

import "time"

// JobState is what is seen of a worker's Job.
type JobState int

// States of a Job.
const (
	// JobMissing: there is none.
	JobMissing JobState = iota
	// JobPreparing: it is suspended, as not all it needs has been made.
	JobPreparing
	// JobParked: it is suspended, as its Pod could not start; all it needs is there.
	JobParked
	// JobActive: its Pod is wanted, waits, or runs.
	JobActive
	// JobEnded: it has completed or failed.
	JobEnded
	// JobDeleting: it is being deleted, and what it owns with it.
	JobDeleting
)

// NodeState is whether a node can be used now.
type NodeState int

// States of a node.
const (
	// NodeReady: the node is there and Ready.
	NodeReady NodeState = iota
	// NodeAway: the node is not Ready, or is not there.
	NodeAway
	// NodeRestoring: its settings may have been changed, by whomever, and have not been
	// put back yet.
	NodeRestoring
)

// Worker is what is recorded and seen of one worker.
type Worker struct {
	Name string
	Node string
	// Ended: its end is recorded.
	Ended bool
	Job   JobState
	// Remains: something of it is still there besides its Job, on a node that answers: a
	// Pod that ends, a volume that is being removed.
	Remains bool
	// PodLeft: a Pod of it is still there, perhaps on a node that does not answer.
	PodLeft bool
	// PodRunning: the Pod's container runs.
	PodRunning bool
	// Trouble is what keeps the Pod from running, if anything.
	Trouble *Trouble
	// Last is the trouble of the last try to start it, if that failed and it has not run since.
	Last *Trouble
	// Waiting is for how long the Pod has been wanted and has not run.
	Waiting time.Duration
	// RetryIn is how long a parked worker, or one that could not be made, stays aside.
	RetryIn time.Duration
	// Unrecorded: it may change settings, and its node's record is gone.
	Unrecorded bool
	// NodeState is known of the workers that have not ended.
	NodeState NodeState
	// AwayFor is how long the node has been away.
	AwayFor time.Duration
	// RemovedFor is how long ago the Job of an ended worker was deleted; zero if it is unknown.
	RemovedFor time.Duration
}

// Trouble is an obstacle. Unless it may pass by itself, somebody must remove it.
type Trouble struct {
	Reason  string
	Message string
	MayPass bool
	// Remake: what the Job mounts was deleted, and only a new Job gets it again.
	Remake bool
}

// Claim is how a node's Lease stands, as this benchmark sees it.
type Claim struct {
	// Mine: this benchmark holds it.
	Mine bool
	// Busy: another benchmark holds it, or waits for it and came first.
	Busy bool
	// Holder says who does, if that may be told.
	Holder string
}

// World is all that a decision depends on.
type World struct {
	// Started: a worker of the run was started once.
	Started bool
	// Active is for how long the run has been active, of at most Timeout.
	Active  time.Duration
	Timeout time.Duration
	// Workers in the order of the plan.
	Workers []Worker
	// Held are the nodes whose Lease is this benchmark's.
	Held []string
	// Claim is how the Lease of the node of Current stands.
	Claim Claim
	// StoreTrouble is why the result store takes nothing, or nil.
	StoreTrouble *Trouble
}

// parkedAtOnce is how many workers may be parked: each keeps its volume.
const parkedAtOnce = 3

// Current is the worker to take a step further: the one whose Job is there or, if none is,
// the first that has not ended and whose node can be used. It is nil if there is none.
func (w World) Current() *Worker {
	parked := 0
	for i := range w.Workers {
		worker := &w.Workers[i]
		if worker.Ended {
			continue
		}
		switch worker.Job {
		case JobPreparing, JobActive, JobEnded, JobDeleting:
			// While its node is away, a Pod that ran may run still; the others are
			// measured meanwhile.
			if worker.NodeState != NodeAway || worker.AwayFor < awayGrace || worker.Job == JobEnded {
				return worker
			}
		case JobParked:
			// One whose node is away is withdrawn, and its volume goes with it.
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
