package progress

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
)

// world has two nodes with two workers each. Nothing has begun, and nothing is held.
func world(change func(*World)) World {
	w := World{
		Timeout: time.Hour,
		Workers: []Worker{
			{Name: "fast.a", Node: "a"}, {Name: "slow.a", Node: "a"},
			{Name: "fast.b", Node: "b"}, {Name: "slow.b", Node: "b"},
		},
	}
	change(&w)
	return w
}

// begun: the run was started, and node a is held.
func begun(w *World) {
	w.Started, w.Active = true, time.Minute
	w.Held, w.Claim = []string{"a"}, Claim{Mine: true}
}

// endAll records the end of the workers at these positions.
func endAll(w *World, positions ...int) {
	for _, i := range positions {
		w.Workers[i].Ended = true
	}
}

func TestDecide(t *testing.T) {
	noStore := &Trouble{Reason: "StoreUnavailable", Message: "no bucket"}
	noImage := &Trouble{Reason: "ImagePullFailed", Message: "no such image"}
	for name, c := range map[string]struct {
		change      func(*World)
		want        []Action
		wantReason  string
		wantStalled bool
		wantIdle    bool
		wantCurrent string
		says        string
	}{
		"a free node is taken and its first worker started": {
			change:     func(*World) {},
			want:       []Action{{Verb: Acquire, Node: "a"}, {Verb: Start, Worker: "fast.a"}},
			wantReason: reason.Starting, wantCurrent: "fast.a",
		},
		"a node in use is waited for, with nothing made, and the time does not count": {
			change:     func(w *World) { w.Claim = Claim{Busy: true, Holder: "the StorageBenchmark other"} },
			wantReason: reason.Queued, wantIdle: true, wantCurrent: "fast.a", says: "the StorageBenchmark other",
		},
		"whoever uses a node is not named if it may not be told": {
			change:     func(w *World) { w.Claim = Claim{Busy: true} },
			wantReason: reason.Queued, wantIdle: true, wantCurrent: "fast.a", says: "another benchmark uses node a",
		},
		"a store that takes nothing is waited for before anything is made, and the node is given back": {
			change:     func(w *World) { begun(w); w.StoreTrouble = noStore },
			want:       []Action{{Verb: Release, Node: "a"}},
			wantReason: "StoreUnavailable", wantStalled: true, wantCurrent: "fast.a",
		},
		"a worker that measures is left alone while the store is away": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
				w.StoreTrouble = noStore
			},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"what an operator that was killed left half made is discarded": {
			change:     func(w *World) { begun(w); w.Workers[0].Job = JobPreparing },
			want:       []Action{{Verb: Discard, Worker: "fast.a"}},
			wantReason: reason.Starting, wantCurrent: "fast.a",
		},
		"a Job that somebody deleted in mid-run is waited for until it is gone": {
			change:     func(w *World) { begun(w); w.Workers[0].Job = JobDeleting },
			wantReason: reason.Starting, wantCurrent: "fast.a",
		},
		"a Job that is gone in mid-run is made again": {
			change:     func(w *World) { begun(w) },
			want:       []Action{{Verb: Start, Worker: "fast.a"}},
			wantReason: reason.Starting, wantCurrent: "fast.a",
		},
		"a Job is not made again while its last Pod or volume is there": {
			change:     func(w *World) { begun(w); w.Workers[0].Remains = true },
			wantReason: reason.Starting, wantCurrent: "fast.a", says: "what is left of worker fast.a",
		},
		"what is left of a Job is waited for, but not without end": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Remains, w.Workers[0].RemovedFor = true, removalGrace+time.Second
			},
			want:       []Action{{Verb: Start, Worker: "fast.a"}},
			wantReason: reason.Starting, wantCurrent: "fast.a",
		},
		"trouble that may pass within seconds does not stall": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].Trouble, w.Workers[0].Waiting = JobActive, noImage, startGrace-time.Second
			},
			wantReason: "ImagePullFailed", wantCurrent: "fast.a",
		},
		"a Pod that cannot start is parked, and the node is given back": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].Trouble, w.Workers[0].Waiting = JobActive, noImage, startGrace
			},
			want:       []Action{{Verb: Park, Worker: "fast.a", Reason: "ImagePullFailed", Message: "no such image"}, {Verb: Release, Node: "a"}},
			wantReason: "ImagePullFailed", wantStalled: true, wantCurrent: "fast.a",
		},
		"a slow Pod of which no trouble is known has longer": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].Waiting = JobActive, slowStartGrace-time.Second
			},
			wantReason: reason.Starting, wantCurrent: "fast.a",
		},
		"a parked worker stays aside for a while, and the next one is measured": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].RetryIn, w.Workers[0].Trouble = JobParked, time.Second, noImage
			},
			want:       []Action{{Verb: Start, Worker: "slow.a"}},
			wantReason: reason.Starting, wantCurrent: "slow.a",
		},
		"a parked worker is tried again when its time has come": {
			change:     func(w *World) { w.Started = true; w.Workers[0].Job = JobParked },
			want:       []Action{{Verb: Acquire, Node: "a"}, {Verb: Resume, Worker: "fast.a"}},
			wantReason: reason.Starting, wantCurrent: "fast.a",
		},
		"when it is tried again, what it failed for is said until it runs": {
			change:     func(w *World) { w.Started = true; w.Workers[0].Job, w.Workers[0].Last = JobParked, noImage },
			want:       []Action{{Verb: Acquire, Node: "a"}, {Verb: Resume, Worker: "fast.a"}},
			wantReason: "ImagePullFailed", wantStalled: true, wantCurrent: "fast.a", says: "no such image",
		},
		"also while its Pod waits and nothing is known of it yet": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].Last, w.Workers[0].Waiting = JobActive, noImage, time.Second
			},
			wantReason: "ImagePullFailed", wantStalled: true, wantCurrent: "fast.a", says: "no such image",
		},
		"another trouble at the next try is another matter, and may pass": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].Last, w.Workers[0].Waiting = JobActive, noImage, time.Second
				w.Workers[0].Trouble = &Trouble{Reason: "VolumeNotReady", Message: "mounting", MayPass: true}
			},
			wantReason: "VolumeNotReady", wantCurrent: "fast.a",
		},
		"a worker that measures has no trouble, whatever it had": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].PodRunning, w.Workers[0].Last = JobActive, true, noImage
			},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"not more than three workers are parked: each keeps its volume": {
			change: func(w *World) {
				begun(w)
				for i := range 3 {
					w.Workers[i].Job, w.Workers[i].RetryIn, w.Workers[i].Trouble = JobParked, time.Minute, noImage
				}
			},
			want:       []Action{{Verb: Release, Node: "a"}},
			wantReason: "ImagePullFailed", wantStalled: true, wantCurrent: "fast.a",
		},
		"workers that are parked on nodes that are away do not keep the others from being measured": {
			change: func(w *World) {
				w.Started = true
				for i := range 3 {
					w.Workers[i].Job, w.Workers[i].NodeState, w.Workers[i].AwayFor = JobParked, NodeAway, time.Hour
				}
			},
			want: []Action{
				{Verb: Discard, Worker: "fast.a"}, {Verb: Discard, Worker: "slow.a"}, {Verb: Discard, Worker: "fast.b"},
				{Verb: Acquire, Node: "b"}, {Verb: Start, Worker: "slow.b"},
			},
			wantReason: reason.Starting, wantCurrent: "slow.b",
		},
		"a parked worker whose node is away is said to wait for the node": {
			change: func(w *World) {
				w.Started = true
				w.Workers = w.Workers[:1]
				w.Workers[0].Job, w.Workers[0].NodeState, w.Workers[0].AwayFor = JobParked, NodeAway, time.Hour
			},
			wantReason: reason.NodeAway, wantCurrent: "fast.a", says: "waiting for node a, which is not ready",
		},
		"while a node is away for a moment its worker is waited for": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].PodRunning, w.Workers[0].PodLeft = JobActive, true, true
				w.Workers[0].NodeState, w.Workers[0].AwayFor = NodeAway, awayGrace-time.Second
			},
			wantReason: reason.NodeAway, wantCurrent: "fast.a", says: "node a of worker fast.a, which is not ready",
		},
		"after that its worker is withdrawn, others are measured, and its node stays taken as its Pod may run": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].PodRunning, w.Workers[0].PodLeft = JobActive, true, true
				w.Workers[0].NodeState, w.Workers[0].AwayFor = NodeAway, awayGrace
				w.Workers[1].NodeState, w.Workers[1].AwayFor = NodeAway, awayGrace
				w.Claim = Claim{}
			},
			want:       []Action{{Verb: Discard, Worker: "fast.a"}, {Verb: Acquire, Node: "b"}, {Verb: Start, Worker: "fast.b"}},
			wantReason: reason.Starting, wantCurrent: "fast.b",
		},
		"a node that was kept for a dead Pod is given back when that is gone, whatever is measured meanwhile": {
			change: func(w *World) {
				begun(w)
				w.Held = []string{"a", "b"}
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
			},
			want:       []Action{{Verb: Release, Node: "b"}},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"a Lease and a record that somebody deletes under a worker are written again": {
			change: func(w *World) {
				begun(w)
				w.Held, w.Claim = nil, Claim{}
				w.Workers[0].Job, w.Workers[0].PodRunning, w.Workers[0].Unrecorded = JobActive, true, true
			},
			want:       []Action{{Verb: Acquire, Node: "a"}, {Verb: Record, Worker: "fast.a"}},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"a worker whose Lease was deleted and taken by another benchmark is discarded": {
			change: func(w *World) {
				begun(w)
				w.Held, w.Claim = nil, Claim{Busy: true, Taken: true}
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
			},
			want:       []Action{{Verb: Discard, Worker: "fast.a"}},
			wantReason: reason.Starting, wantCurrent: "fast.a", says: "somebody deleted the Lease of node a",
		},
		"a Lease that was deleted is taken again before those who wait for the node can": {
			change: func(w *World) {
				begun(w)
				w.Held, w.Claim = nil, Claim{Busy: true}
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
			},
			want:       []Action{{Verb: Acquire, Node: "a"}},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"a Job that ended while its Pod seems to run is settled when its receipt is there": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].Remains, w.Workers[0].PodLeft = JobEnded, true, true
			},
			wantReason: reason.Running, wantCurrent: "fast.a", says: "the receipt of worker fast.a",
		},
		"or after some seconds without one": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job, w.Workers[0].Remains, w.Workers[0].PodLeft = JobEnded, true, true
				w.Workers[0].RemovedFor = receiptGrace + time.Second
			},
			want:       []Action{{Verb: Settle, Worker: "fast.a"}},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"a Pod that somebody keeps does not keep the node of a worker that has ended": {
			change: func(w *World) {
				begun(w)
				endAll(w, 0, 1)
				w.Workers[0].Remains, w.Workers[0].PodLeft, w.Workers[0].RemovedFor = true, true, removalGrace+time.Second
				w.Claim = Claim{Busy: true}
			},
			want:       []Action{{Verb: Release, Node: "a"}},
			wantReason: reason.Queued, wantIdle: true, wantCurrent: "fast.b",
		},
		"a Job whose plan or grant was deleted is made again": {
			change: func(w *World) {
				begun(w)
				w.Workers[0].Job = JobActive
				w.Workers[0].Trouble = &Trouble{Reason: "VolumeNotReady", Message: "secret not found", MayPass: true, Remake: true}
			},
			want:       []Action{{Verb: Discard, Worker: "fast.a"}},
			wantReason: "VolumeNotReady", wantCurrent: "fast.a",
		},
		"nodes that are being restored are waited for": {
			change: func(w *World) {
				for i := range w.Workers {
					w.Workers[i].NodeState = NodeRestoring
				}
			},
			wantReason: reason.Restoring, wantCurrent: "fast.a", says: "restored the settings of node a, b",
		},
		"a Job that ended is settled": {
			change:     func(w *World) { begun(w); w.Workers[0].Job = JobEnded },
			want:       []Action{{Verb: Settle, Worker: "fast.a"}},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"a settled worker's Job is removed before the next one starts": {
			change:     func(w *World) { begun(w); endAll(w, 0); w.Workers[0].Job = JobEnded },
			want:       []Action{{Verb: CleanUp, Worker: "fast.a"}},
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"the next worker waits until the last one's volume is gone": {
			change:     func(w *World) { begun(w); endAll(w, 0); w.Workers[0].Remains = true },
			wantReason: reason.Running, wantCurrent: "fast.a",
		},
		"a volume that is never removed holds up the next worker for two minutes": {
			change: func(w *World) {
				begun(w)
				endAll(w, 0)
				w.Workers[0].Remains, w.Workers[0].RemovedFor = true, removalGrace+time.Second
			},
			want:       []Action{{Verb: Start, Worker: "slow.a"}},
			wantReason: reason.Starting, wantCurrent: "slow.a",
		},
		"a node is given back before the next one is taken": {
			change:     func(w *World) { begun(w); endAll(w, 0, 1); w.Claim = Claim{} },
			want:       []Action{{Verb: Release, Node: "a"}, {Verb: Acquire, Node: "b"}, {Verb: Start, Worker: "fast.b"}},
			wantReason: reason.Starting, wantCurrent: "fast.b",
		},
		"a node is given back while the next one is waited for": {
			change:     func(w *World) { begun(w); endAll(w, 0, 1); w.Claim = Claim{Busy: true} },
			want:       []Action{{Verb: Release, Node: "a"}},
			wantReason: reason.Queued, wantIdle: true, wantCurrent: "fast.b",
		},
		"when every worker has ended, the node is given back and the run concluded": {
			change:     func(w *World) { begun(w); endAll(w, 0, 1, 2, 3) },
			want:       []Action{{Verb: Release, Node: "a"}, {Verb: Conclude}},
			wantReason: reason.Running,
		},
		"a store that is away is waited for before the run is concluded": {
			change:     func(w *World) { begun(w); endAll(w, 0, 1, 2, 3); w.StoreTrouble = noStore },
			want:       []Action{{Verb: Release, Node: "a"}},
			wantReason: "StoreUnavailable", wantStalled: true,
		},
		"a store that stays away does not keep the run for ever": {
			change: func(w *World) {
				begun(w)
				endAll(w, 0, 1, 2, 3)
				w.StoreTrouble, w.Active = noStore, w.Timeout+storeGrace
			},
			want:       []Action{{Verb: Release, Node: "a"}, {Verb: Conclude}},
			wantReason: reason.Running,
		},
		"at the timeout a measuring worker is given time to store": {
			change: func(w *World) {
				begun(w)
				w.Workers = w.Workers[:1]
				w.Active = time.Hour
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
			},
			wantReason: reason.TimedOut, wantCurrent: "fast.a", says: "waiting for worker fast.a to store",
		},
		"a worker on a node that is away is not waited for at the timeout": {
			change: func(w *World) {
				begun(w)
				w.Workers = w.Workers[:1]
				w.Active = time.Hour
				w.Workers[0].Job, w.Workers[0].PodRunning, w.Workers[0].NodeState = JobActive, true, NodeAway
			},
			want:       []Action{{Verb: Settle, Worker: "fast.a", Reason: reason.TimedOut}},
			wantReason: reason.TimedOut,
		},
		"workers that have not begun are abandoned at the timeout, also those in a queue": {
			change: func(w *World) {
				w.Started, w.Active = true, 2*time.Hour
				endAll(w, 0, 1)
				w.Claim = Claim{Busy: true}
			},
			want:       []Action{{Verb: Abandon, Worker: "fast.b", Reason: reason.TimedOut}, {Verb: Abandon, Worker: "slow.b", Reason: reason.TimedOut}},
			wantReason: reason.TimedOut,
		},
		"a worker whose node was away until the timeout is said to have failed for that": {
			change: func(w *World) {
				w.Started, w.Active = true, 2*time.Hour
				w.Workers = w.Workers[:1]
				w.Workers[0].NodeState = NodeAway
			},
			want:       []Action{{Verb: Abandon, Worker: "fast.a", Reason: reason.NodeAway}},
			wantReason: reason.TimedOut,
		},
		"a run none of whose workers has started never times out": {
			change:     func(w *World) { w.Active = 2 * time.Hour; w.Claim = Claim{Busy: true} },
			wantReason: reason.Queued, wantIdle: true, wantCurrent: "fast.a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(world(c.change))
			got := slices.Clone(d.Actions)
			for i := range got {
				if got[i].Verb != Park {
					got[i].Message = ""
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			type said struct {
				Reason, Current string
				Stalled, Idle   bool
			}
			want, is := said{c.wantReason, c.wantCurrent, c.wantStalled, c.wantIdle}, said{d.Reason, d.Current, d.Stalled, d.Idle}
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if !strings.Contains(d.Message, c.says) {
				t.Errorf("message %q does not say %q", d.Message, c.says)
			}
		})
	}
}
