package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/api/reason"
)

// Verb is what to do.
type Verb string

// Verbs of actions.
const (
	// Acquire takes the Lease of Node.
	Acquire Verb = "Acquire"
	// Release gives the Lease of Node back.
	Release Verb = "Release"
	// Start creates the worker's Job and what it needs, and lets it run.
	Start Verb = "Start"
	// Resume lets a parked Job run again.
	Resume Verb = "Resume"
	// Park suspends the worker's Job: its Pod is removed, and its volume stays.
	Park Verb = "Park"
	// Discard deletes a Job whose preparation was not completed.
	Discard Verb = "Discard"
	// Settle reads the worker's results and records its end.
	Settle Verb = "Settle"
	// Abandon records that the worker has ended for Reason, without reading results.
	Abandon Verb = "Abandon"
	// Record writes the node's record again, after somebody deleted it.
	Record Verb = "Record"
	// CleanUp deletes the worker's Job with everything that the Job owns.
	CleanUp Verb = "CleanUp"
	// Conclude folds the workers' summaries and records the end of the run.
	Conclude Verb = "Conclude"
)

// Action is one thing to do. They are idempotent.
type Action struct {
	Verb   Verb
	Worker string
	Node   string
	// Reason and Message override those in the worker's receipt.
	Reason  string
	Message string
}

// Decision is what to do now, and what the conditions say.
type Decision struct {
	Actions []Action
	Reason  string
	Message string
	// Stalled reports that the run makes no progress until somebody acts.
	Stalled bool
	// Idle reports that the time does not count, because another benchmark has
	// the node.
	Idle bool
	// Current is the worker that runs or that the run waits for; empty: none.
	Current, Node string
	// Again is when to look again if no event arrives; zero: never.
	Again time.Duration
}

// Intervals after which to decide again if no event arrives.
const (
	pollRunning  = 10 * time.Second
	pollStarting = 5 * time.Second
	pollWaiting  = 15 * time.Second
	// pollQueued is long, because releasing a Lease wakes the next benchmark in the
	// queue.
	pollQueued = 5 * time.Minute
)

// Graces.
const (
	// settleGrace is how long a worker may take after its timeout to upload its
	// results.
	settleGrace = 90 * time.Second
	// storeGrace is how long after the timeout the run waits for an unreachable
	// store.
	storeGrace = 10 * time.Minute
	// startGrace is how long a Pod that cannot start keeps its node. After it,
	// somebody must remove the cause. It is long enough for a mount that succeeds
	// at the second try, which takes 20 seconds.
	startGrace = 45 * time.Second
	// slowStartGrace is the same for a Pod without a known cause.
	slowStartGrace = 10 * time.Minute
	// awayGrace is how long a node may be away before the run measures other nodes
	// meanwhile.
	awayGrace = 30 * time.Second
	// receiptGrace is how long a Pod may seem to run after its Job has ended. The two are
	// watched apart, and the Pod's receipt says what became of the worker.
	receiptGrace = 10 * time.Second
	// removalGrace is how long the next worker waits until an ended worker's volume is
	// removed, so that it does not measure the removal.
	removalGrace = 2 * time.Minute
)

// Decide returns the next actions.
func Decide(w World) Decision {
	if d, busy := cleanUpEnded(w); busy {
		return d
	}
	if !slices.ContainsFunc(w.Workers, func(worker Worker) bool { return !worker.Ended }) {
		return conclude(w)
	}
	if w.Started && w.Active >= w.Timeout {
		return timedOut(w)
	}
	current := w.Current()
	if current == nil {
		return wait(w)
	}
	d := advance(w, current)
	d.Current, d.Node = current.Name, current.Node
	d.Actions = slices.Concat(withdraw(w, current), releaseAllBut(w, current.Node), d.Actions)
	return d
}

// advance takes the current worker a step further.
func advance(w World, current *Worker) Decision {
	switch current.Job {
	case JobMissing, JobParked:
		return begin(w, current)
	case JobPreparing:
		return Decision{Actions: []Action{{Verb: Discard, Worker: current.Name}}, Reason: reason.Starting, Message: "preparing worker " + current.Name + " again, because the first attempt was interrupted", Again: pollStarting}
	case JobEnded:
		if current.Remains && current.RemovedFor <= receiptGrace {
			return Decision{Reason: reason.Running, Message: "waiting for the receipt of worker " + current.Name, Again: pollStarting}
		}
		return Decision{Actions: []Action{{Verb: Settle, Worker: current.Name}}, Reason: reason.Running, Message: "reading the results of worker " + current.Name, Again: pollStarting}
	case JobDeleting:
		return Decision{Reason: reason.Starting, Message: "somebody deleted the Job of worker " + current.Name + "; the operator will create it again", Again: pollStarting}
	}
	if current.NodeState == NodeAway {
		return Decision{Reason: reason.NodeAway, Message: fmt.Sprintf("waiting for node %s of worker %s, which is not ready", current.Node, current.Name), Again: pollWaiting}
	}
	d := Decision{Reason: reason.Running, Message: "worker " + current.Name + " is measuring", Again: pollRunning}
	if !current.PodRunning {
		d = waitForPod(w, current)
	}
	if len(d.Actions) == 0 { // it is neither parked nor discarded
		d.Actions = claimAgain(w, current)
	}
	if w.Claim.Taken {
		d.Reason, d.Message, d.Again = reason.Starting, "somebody deleted the Lease of node "+current.Node+", and another benchmark has it now; worker "+current.Name+" will start again after that", pollStarting
	}
	return d
}

// claimAgain takes the node's Lease again, and writes its record again, if somebody has
// deleted them under a worker that is there. If another benchmark was quicker, the worker goes:
// two must not measure at once.
func claimAgain(w World, current *Worker) []Action {
	if w.Claim.Taken {
		return []Action{{Verb: Discard, Worker: current.Name}}
	}
	var actions []Action
	if !w.Claim.Mine {
		actions = append(actions, Action{Verb: Acquire, Node: current.Node})
	}
	if current.Unrecorded {
		actions = append(actions, Action{Verb: Record, Worker: current.Name})
	}
	return actions
}

// begin starts a worker whose node can be used, as soon as this benchmark holds
// the node.
func begin(w World, current *Worker) Decision {
	if w.StoreTrouble != nil {
		// Others may use the node while this one waits.
		return Decision{Actions: release(w, current.Node), Reason: w.StoreTrouble.Reason, Message: w.StoreTrouble.Message, Stalled: !w.StoreTrouble.MayPass, Again: pollWaiting}
	}
	if current.Job == JobMissing && current.Remains && current.RemovedFor <= removalGrace {
		// The new objects would have the names of the old ones, and the new Pod would
		// measure beside the old one.
		return Decision{Reason: reason.Starting, Message: "waiting for the removal of what is left of worker " + current.Name + ", whose Job was deleted", Again: pollStarting}
	}
	if w.Claim.Busy {
		return Decision{Reason: reason.Queued, Message: queueMessage(current.Node, w.Claim), Idle: true, Again: pollQueued}
	}
	var actions []Action
	if !w.Claim.Mine {
		actions = append(actions, Action{Verb: Acquire, Node: current.Node})
	}
	verb := Start
	if current.Job == JobParked {
		verb = Resume
	}
	actions = append(actions, Action{Verb: verb, Worker: current.Name})
	d := Decision{Actions: actions, Reason: reason.Starting, Message: "starting worker " + current.Name, Again: pollStarting}
	return d.stillIn(current.Last)
}

// waitForPod waits for a Pod that does not run yet. A Pod that cannot start does not
// keep its node for long.
func waitForPod(w World, current *Worker) Decision {
	d := Decision{Reason: reason.Starting, Message: "waiting for the Pod of worker " + current.Name, Again: pollStarting}
	d = d.stillIn(current.Last)
	grace := slowStartGrace
	if t := current.Trouble; t != nil {
		d.Reason, d.Message = t.Reason, t.Message
		d.Stalled = d.Stalled && !t.MayPass
		grace = startGrace
		if t.Remake {
			d.Actions = []Action{{Verb: Discard, Worker: current.Name}}
			return d
		}
	}
	if current.Waiting >= grace {
		if t := current.Trouble; t != nil {
			d.Stalled = !t.MayPass
		}
		d.Actions = []Action{{Verb: Park, Worker: current.Name, Reason: d.Reason, Message: d.Message}}
		if slices.Contains(w.Held, current.Node) {
			d.Actions = append(d.Actions, Action{Verb: Release, Node: current.Node})
		}
	}
	return d
}

// stillIn keeps saying what the last try failed for, until it is seen to be over: a try that
// goes the way of the last one changes nothing for whoever reads the conditions.
func (d Decision) stillIn(last *Trouble) Decision {
	if last != nil {
		d.Reason, d.Message, d.Stalled = last.Reason, last.Message, !last.MayPass
	}
	return d
}

// withdraw discards the Jobs of workers whose node is away while another node is
// measured. They start again when their node is back.
func withdraw(w World, current *Worker) []Action {
	var actions []Action
	for i := range w.Workers {
		worker := &w.Workers[i]
		if worker == current || worker.Ended || worker.NodeState != NodeAway {
			continue
		}
		if worker.Job == JobActive || worker.Job == JobPreparing || worker.Job == JobParked {
			actions = append(actions, Action{Verb: Discard, Worker: worker.Name})
		}
	}
	return actions
}

// wait says what the run waits for when no worker can proceed.
func wait(w World) Decision {
	d := Decision{Actions: releaseAllBut(w, ""), Reason: reason.NodeAway, Again: pollWaiting}
	var away, restoring []string
	for i := range w.Workers {
		worker := &w.Workers[i]
		if worker.Ended {
			continue
		}
		if d.Current == "" {
			d.Current, d.Node = worker.Name, worker.Node
		}
		switch t := worker.Trouble; {
		case t != nil:
			// The trouble itself stays in the conditions until the next try.
			d.Reason, d.Message, d.Stalled = t.Reason, t.Message, !t.MayPass
			d.Current, d.Node = worker.Name, worker.Node
			d.Again = max(min(worker.RetryIn, pollWaiting), time.Second)
			return d
		case worker.NodeState == NodeRestoring && !slices.Contains(restoring, worker.Node):
			restoring = append(restoring, worker.Node)
		case worker.NodeState == NodeAway && !slices.Contains(away, worker.Node):
			away = append(away, worker.Node)
		}
	}
	switch {
	case len(restoring) > 0:
		d.Reason, d.Message = reason.Restoring, "waiting until the operator has restored the settings of node "+joinNodes(restoring)
		d.Again = pollStarting
	case len(away) > 0:
		d.Message = "waiting for node " + joinNodes(away) + ", which is not ready"
	default:
		d.Reason, d.Message, d.Again = reason.Starting, "waiting before the next attempt to start worker "+d.Current, pollStarting
	}
	return d
}

// joinNodes names at most three nodes.
func joinNodes(nodes []string) string {
	if more := len(nodes) - 3; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(nodes[:3], ", "), more)
	}
	return strings.Join(nodes, ", ")
}

// cleanUpEnded removes the Jobs of workers whose end is recorded. The next worker
// waits for it, so that it does not measure the removal of the last one's volume.
func cleanUpEnded(w World) (Decision, bool) {
	var d Decision
	for _, worker := range w.Workers {
		if !worker.Ended {
			continue
		}
		switch {
		case worker.Job != JobMissing && worker.Job != JobDeleting:
			d.Actions = append(d.Actions, Action{Verb: CleanUp, Worker: worker.Name})
		case worker.Job == JobDeleting, worker.Remains:
			if worker.RemovedFor > removalGrace {
				continue
			}
		default:
			continue
		}
		d.Current, d.Node = worker.Name, worker.Node
		d.Reason, d.Message, d.Again = reason.Running, "removing the Job and the volume of worker "+worker.Name, pollStarting
	}
	return d, d.Reason != ""
}

// timedOut ends the run after its timeout. A running worker then ends by itself
// and gets time to upload. Workers that have not begun are abandoned.
func timedOut(w World) Decision {
	d := Decision{Reason: reason.TimedOut, Message: fmt.Sprintf("spec.timeout (%s) has passed", w.Timeout), Again: pollStarting}
	over := w.Active - w.Timeout
	message := fmt.Sprintf("timed out after %s; raise spec.timeout, or measure fewer trials, rounds, workloads or nodes", w.Timeout)
	for _, worker := range w.Workers {
		if worker.Ended {
			continue
		}
		ran := worker.Job == JobActive || worker.Job == JobEnded
		measuring := worker.Job == JobActive && worker.PodRunning && worker.NodeState != NodeAway
		switch {
		case measuring && over < settleGrace:
			d.Message += "; waiting for worker " + worker.Name + " to store its results"
			d.Current, d.Node = worker.Name, worker.Node
		case ran && w.StoreTrouble != nil && over < storeGrace:
			d.Reason, d.Message = w.StoreTrouble.Reason, d.Message+"; waiting for the result store: "+w.StoreTrouble.Message
			d.Current, d.Node = worker.Name, worker.Node
		case ran && w.StoreTrouble == nil:
			d.Actions = append(d.Actions, Action{Verb: Settle, Worker: worker.Name, Reason: reason.TimedOut, Message: message})
		case ran:
			d.Actions = append(d.Actions, Action{Verb: Abandon, Worker: worker.Name, Reason: reason.ResultsNotStored, Message: "spec.results.storeRef: timed out waiting for the result store: " + w.StoreTrouble.Message})
		default:
			why := Action{Verb: Abandon, Worker: worker.Name, Reason: reason.TimedOut, Message: message}
			switch {
			case worker.Trouble != nil:
				why.Message = worker.Trouble.Message + fmt.Sprintf(" (timed out after %s)", w.Timeout)
			case worker.NodeState == NodeAway:
				why.Reason, why.Message = reason.NodeAway, fmt.Sprintf("node %s was not ready before the timeout of %s; check the node, then change spec.runID to run again", worker.Node, w.Timeout)
			}
			d.Actions = append(d.Actions, why)
		}
	}
	return d
}

func conclude(w World) Decision {
	if w.StoreTrouble != nil && w.Active < w.Timeout+storeGrace {
		return Decision{Actions: releaseAllBut(w, ""), Reason: w.StoreTrouble.Reason, Message: w.StoreTrouble.Message, Stalled: !w.StoreTrouble.MayPass, Again: pollWaiting}
	}
	return Decision{
		Actions: append(releaseAllBut(w, ""), Action{Verb: Conclude}),
		Reason:  reason.Running,
		Message: "combining the results of all workers",
		Again:   pollStarting,
	}
}

// releaseAllBut releases every node that this benchmark holds, except keep and those on
// which a Pod is left: on a node that does not answer, the Pod may still run.
func releaseAllBut(w World, keep string) []Action {
	var actions []Action
	for _, node := range w.Held {
		if node != keep {
			actions = append(actions, release(w, node)...)
		}
	}
	return actions
}

// release gives a node back, if it is ours and no Pod is left on it. A Pod that stays for long
// on a node that answers is not waited for: somebody holds it, or made it look like a worker's,
// and two benchmarks that each held the other's node would wait for ever.
func release(w World, node string) []Action {
	left := slices.ContainsFunc(w.Workers, func(worker Worker) bool {
		stays := worker.Remains && worker.RemovedFor > removalGrace
		return worker.Node == node && worker.PodLeft && !stays
	})
	if left || !slices.Contains(w.Held, node) {
		return nil
	}
	return []Action{{Verb: Release, Node: node}}
}

func queueMessage(node string, c Claim) string {
	if c.Holder != "" {
		return fmt.Sprintf("node %s is used by %s; waiting in the node's queue", node, c.Holder)
	}
	return fmt.Sprintf("another benchmark uses node %s; waiting in the node's queue", node)
}
