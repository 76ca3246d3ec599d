package progress

import (
	"fmt"
	"slices"
	"time"
)

// Reasons that a decision gives; the words are those of the API's conditions.
const (
	ReasonQueued   = "Queued"
	ReasonStarting = "Starting"
	ReasonRunning  = "Running"
	ReasonTimedOut = "TimedOut"
	// ReasonRestoring: see the API.
	ReasonRestoring = "Restoring"
)

// Verb is what to do.
type Verb string

// Verbs of actions.
const (
	// Acquire takes the Lease of Node.
	Acquire Verb = "Acquire"
	// Release gives the Lease of Node back.
	Release Verb = "Release"
	// Start makes the worker's Job and what it needs, or completes them.
	Start Verb = "Start"
	// Settle reads what the worker stored and records its end.
	Settle Verb = "Settle"
	// Abandon records that the worker ended without a Job, for Reason.
	Abandon Verb = "Abandon"
	// CleanUp deletes the worker's Job and with it all that the Job owns.
	CleanUp Verb = "CleanUp"
	// Restore puts back the settings of Node.
	Restore Verb = "Restore"
	// Conclude folds the workers' summaries and records the end of the run.
	Conclude Verb = "Conclude"
)

// Action is one thing to do. They are idempotent.
type Action struct {
	Verb   Verb
	Worker string
	Node   string
	// Reason overrides what the worker itself says of its end.
	Reason string
}

// Decision is what to do now, and what to say.
type Decision struct {
	Actions []Action
	Reason  string
	Message string
	// Stalled: it goes no further until somebody acts.
	Stalled bool
	// Again is when to look again if nothing is seen to change; zero for never.
	Again time.Duration
}

// Times after which a decision is taken again without being called for.
const (
	pollRunning  = 10 * time.Second
	pollStarting = 2 * time.Second
	pollWaiting  = 15 * time.Second
	// settleGrace is how long a worker that has reached its timeout may take to
	// upload what it has.
	settleGrace = 90 * time.Second
)

// Decide returns the next actions.
func Decide(w World) Decision {
	if d, busy := cleanUpEnded(w); busy {
		return d
	}
	if d, busy := restore(w); busy {
		return d
	}
	current := next(w)
	if current == nil {
		return conclude(w)
	}
	if d, late := timedOut(w, current); late {
		return d
	}
	if claim := w.Claims[current.Node]; !claim.Mine && (claim.Holder != "" || claim.Ahead > 0) {
		return Decision{Actions: releaseAllBut(w, current.Node), Reason: ReasonQueued, Message: queueMessage(current.Node, claim), Again: pollWaiting}
	}
	return advance(w, current)
}

// advance takes the current worker, whose node is ours or free, a step further.
func advance(w World, current *Worker) Decision {
	switch current.Job {
	case JobMissing, JobPreparing:
		if w.StoreTrouble != nil {
			// Others may use the node while this one waits.
			return Decision{Actions: releaseAllBut(w, ""), Reason: w.StoreTrouble.Reason, Message: w.StoreTrouble.Message, Stalled: !w.StoreTrouble.MayPass, Again: pollWaiting}
		}
		actions := releaseAllBut(w, current.Node)
		if !w.Claims[current.Node].Mine {
			actions = append(actions, Action{Verb: Acquire, Node: current.Node})
		}
		actions = append(actions, Action{Verb: Start, Worker: current.Name})
		return Decision{Actions: actions, Reason: ReasonStarting, Message: "starting worker " + current.Name, Again: pollStarting}
	case JobEnded:
		return Decision{Actions: []Action{{Verb: Settle, Worker: current.Name}}, Reason: ReasonRunning, Message: "reading the results of worker " + current.Name, Again: pollStarting}
	case JobDeleting:
		// Somebody deleted it in mid-run: once it is gone, it is started again.
		return Decision{Reason: ReasonStarting, Message: "the Job of worker " + current.Name + " was deleted and will be made again", Again: pollStarting}
	}
	switch {
	case current.Trouble != nil:
		return Decision{Reason: current.Trouble.Reason, Message: current.Trouble.Message, Stalled: !current.Trouble.MayPass, Again: pollStarting}
	case current.PodRunning:
		return Decision{Reason: ReasonRunning, Message: "worker " + current.Name + " is measuring", Again: pollRunning}
	default:
		return Decision{Reason: ReasonStarting, Message: "waiting for the Pod of worker " + current.Name, Again: pollStarting}
	}
}

// cleanUpEnded removes the Jobs of workers whose end is recorded. The next worker
// waits for it, so that it does not measure the removal of the last one's volume.
func cleanUpEnded(w World) (Decision, bool) {
	var d Decision
	for _, worker := range w.Workers {
		if !worker.Phase.Final() || worker.Job == JobMissing {
			continue
		}
		if worker.Job != JobDeleting {
			d.Actions = append(d.Actions, Action{Verb: CleanUp, Worker: worker.Name})
		}
		d.Reason, d.Message, d.Again = ReasonRunning, "removing the Job and the volume of worker "+worker.Name, pollStarting
	}
	return d, d.Reason != ""
}

// restore puts the settings of a node back when no Job is there that could: before
// another worker starts on it, and before the node is given back.
func restore(w World) (Decision, bool) {
	for i := range w.Workers {
		worker := &w.Workers[i]
		if !worker.Unrestored || jobOn(w, worker.Node) {
			continue
		}
		return Decision{
			Actions: []Action{{Verb: Restore, Node: worker.Node}},
			Reason:  ReasonRestoring, Message: "putting the settings of node " + worker.Node + " back",
			Again: pollStarting,
		}, true
	}
	return Decision{}, false
}

func jobOn(w World, node string) bool {
	return slices.ContainsFunc(w.Workers, func(other Worker) bool { return other.Node == node && other.Job != JobMissing })
}

func next(w World) *Worker {
	for i := range w.Workers {
		if !w.Workers[i].Phase.Final() {
			return &w.Workers[i]
		}
	}
	return nil
}

// timedOut ends the run after its timeout. A worker ends by itself then, and is
// given time to upload; workers that have not begun are abandoned.
func timedOut(w World, current *Worker) (Decision, bool) {
	if w.StartedAt.IsZero() || w.Now.Before(w.StartedAt.Add(w.Timeout)) {
		return Decision{}, false
	}
	d := Decision{Reason: ReasonTimedOut, Message: fmt.Sprintf("spec.timeout (%s) has passed", w.Timeout), Again: pollStarting}
	switch {
	case current.Job == JobMissing || current.Job == JobPreparing || current.Job == JobDeleting:
		d.Actions = []Action{{Verb: Abandon, Worker: current.Name, Reason: ReasonTimedOut}}
	case current.Job == JobEnded || w.Now.After(w.StartedAt.Add(w.Timeout+settleGrace)) || !current.PodRunning:
		d.Actions = []Action{{Verb: Settle, Worker: current.Name, Reason: ReasonTimedOut}}
	default:
		d.Message += ": waiting for worker " + current.Name + " to store what it measured"
	}
	return d, true
}

func conclude(w World) Decision {
	return Decision{
		Actions: append(releaseAllBut(w, ""), Action{Verb: Conclude}),
		Reason:  ReasonRunning,
		Message: "folding the results of all workers",
		Again:   pollStarting,
	}
}

// releaseAllBut gives back every node that is ours but one, in the workers' order.
func releaseAllBut(w World, keep string) []Action {
	var actions []Action
	released := map[string]bool{}
	for _, worker := range w.Workers {
		if worker.Node != keep && w.Claims[worker.Node].Mine && !released[worker.Node] {
			released[worker.Node] = true
			actions = append(actions, Action{Verb: Release, Node: worker.Node})
		}
	}
	return actions
}

func queueMessage(node string, c Claim) string {
	switch {
	case c.Holder != "" && c.Ahead > 0:
		return fmt.Sprintf("node %s is used by %s, and %d more wait before this one", node, c.Holder, c.Ahead)
	case c.Holder != "":
		return fmt.Sprintf("node %s is used by %s; this one is next", node, c.Holder)
	default:
		return fmt.Sprintf("%d wait for node %s before this one", c.Ahead, node)
	}
}
