package progress

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// world has two nodes with two workers each, all pending, and nothing is held.
func world(change func(*World)) World {
	w := World{
		Now:     noon,
		Timeout: time.Hour,
		Claims:  map[string]Claim{"a": {}, "b": {}},
		Workers: []Worker{
			{Name: "fast.a", Node: "a", Phase: Pending},
			{Name: "slow.a", Node: "a", Phase: Pending},
			{Name: "fast.b", Node: "b", Phase: Pending},
			{Name: "slow.b", Node: "b", Phase: Pending},
		},
	}
	change(&w)
	return w
}

func mine(w *World) {
	w.StartedAt = noon.Add(-time.Minute)
	w.Claims["a"] = Claim{Mine: true}
}

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*World)
		want        []Action
		wantReason  string
		wantStalled bool
	}{
		"a free node is taken and its first worker started": {
			change:     func(*World) {},
			want:       []Action{{Verb: Acquire, Node: "a"}, {Verb: Start, Worker: "fast.a"}},
			wantReason: ReasonStarting,
		},
		"a node in use is waited for, with nothing made": {
			change:     func(w *World) { w.Claims["a"] = Claim{Holder: "lab/other"} },
			wantReason: ReasonQueued,
		},
		"a free node is left to whoever came first": {
			change:     func(w *World) { w.Claims["a"] = Claim{Ahead: 1} },
			wantReason: ReasonQueued,
		},
		"a store that takes nothing is waited for before anything is made, and the node is given back": {
			change: func(w *World) {
				mine(w)
				w.StoreTrouble = &Trouble{Reason: "StoreUnavailable", Message: "no bucket"}
			},
			want:        []Action{{Verb: Release, Node: "a"}},
			wantReason:  "StoreUnavailable",
			wantStalled: true,
		},
		"a worker that measures is left alone while the store is away": {
			change: func(w *World) {
				mine(w)
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
				w.StoreTrouble = &Trouble{Reason: "StoreUnavailable"}
			},
			wantReason: ReasonRunning,
		},
		"what an operator that was killed left half made is completed": {
			change:     func(w *World) { mine(w); w.Workers[0].Job = JobPreparing },
			want:       []Action{{Verb: Start, Worker: "fast.a"}},
			wantReason: ReasonStarting,
		},
		"a Job that somebody deleted in mid-run is made again once it is gone": {
			change:     func(w *World) { mine(w); w.Workers[0].Phase, w.Workers[0].Job = Running, JobDeleting },
			wantReason: ReasonStarting,
		},
		"a Job that is gone in mid-run is made again": {
			change:     func(w *World) { mine(w); w.Workers[0].Phase = Running },
			want:       []Action{{Verb: Start, Worker: "fast.a"}},
			wantReason: ReasonStarting,
		},
		"a Pod that cannot run stalls the benchmark": {
			change: func(w *World) {
				mine(w)
				w.Workers[0].Job, w.Workers[0].Trouble = JobActive, &Trouble{Reason: "ImagePullFailed", Message: "no such image"}
			},
			wantReason:  "ImagePullFailed",
			wantStalled: true,
		},
		"a Job that ended is settled": {
			change:     func(w *World) { mine(w); w.Workers[0].Job = JobEnded },
			want:       []Action{{Verb: Settle, Worker: "fast.a"}},
			wantReason: ReasonRunning,
		},
		"a settled worker's Job is removed before the next one starts": {
			change:     func(w *World) { mine(w); w.Workers[0].Phase, w.Workers[0].Job = Done, JobEnded },
			want:       []Action{{Verb: CleanUp, Worker: "fast.a"}},
			wantReason: ReasonRunning,
		},
		"the next worker waits until the last one's volume is gone": {
			change:     func(w *World) { mine(w); w.Workers[0].Phase, w.Workers[0].Job = Done, JobDeleting },
			wantReason: ReasonRunning,
		},
		"a failed worker does not stop the others": {
			change:     func(w *World) { mine(w); w.Workers[0].Phase = Failed },
			want:       []Action{{Verb: Start, Worker: "slow.a"}},
			wantReason: ReasonStarting,
		},
		"a node is given back before the next one is taken": {
			change: func(w *World) {
				mine(w)
				w.Workers[0].Phase, w.Workers[1].Phase = Done, Done
			},
			want:       []Action{{Verb: Release, Node: "a"}, {Verb: Acquire, Node: "b"}, {Verb: Start, Worker: "fast.b"}},
			wantReason: ReasonStarting,
		},
		"a node is given back while the next one is waited for": {
			change: func(w *World) {
				mine(w)
				w.Workers[0].Phase, w.Workers[1].Phase = Done, Done
				w.Claims["b"] = Claim{Holder: "lab/other"}
			},
			want:       []Action{{Verb: Release, Node: "a"}},
			wantReason: ReasonQueued,
		},
		"when every worker has ended, the node is given back and the run concluded": {
			change: func(w *World) {
				w.StartedAt = noon
				w.Claims["b"] = Claim{Mine: true}
				for i := range w.Workers {
					w.Workers[i].Phase = Done
				}
			},
			want:       []Action{{Verb: Release, Node: "b"}, {Verb: Conclude}},
			wantReason: ReasonRunning,
		},
		"at the timeout a measuring worker is given time to store": {
			change: func(w *World) {
				mine(w)
				w.StartedAt = noon.Add(-time.Hour - time.Second)
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
			},
			wantReason: ReasonTimedOut,
		},
		"after that it is settled as it is": {
			change: func(w *World) {
				mine(w)
				w.StartedAt = noon.Add(-time.Hour - settleGrace - time.Second)
				w.Workers[0].Job, w.Workers[0].PodRunning = JobActive, true
			},
			want:       []Action{{Verb: Settle, Worker: "fast.a", Reason: ReasonTimedOut}},
			wantReason: ReasonTimedOut,
		},
		"a worker that never got a Pod is settled at the timeout": {
			change: func(w *World) {
				mine(w)
				w.StartedAt = noon.Add(-time.Hour - time.Second)
				w.Workers[0].Job, w.Workers[0].Trouble = JobActive, &Trouble{Reason: "PodUnschedulable"}
			},
			want:       []Action{{Verb: Settle, Worker: "fast.a", Reason: ReasonTimedOut}},
			wantReason: ReasonTimedOut,
		},
		"workers that have not begun are abandoned at the timeout, also those in a queue": {
			change: func(w *World) {
				w.StartedAt = noon.Add(-2 * time.Hour)
				w.Workers[0].Phase, w.Workers[1].Phase = Done, Done
				w.Claims["b"] = Claim{Holder: "lab/other"}
			},
			want:       []Action{{Verb: Abandon, Worker: "fast.b", Reason: ReasonTimedOut}},
			wantReason: ReasonTimedOut,
		},
		"time in the queue does not count": {
			change:     func(w *World) { w.Claims["a"] = Claim{Holder: "lab/other"}; w.Timeout = time.Nanosecond },
			wantReason: ReasonQueued,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(world(c.change))
			if diff := cmp.Diff(c.want, d.Actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if d.Reason != c.wantReason || d.Stalled != c.wantStalled || d.Message == "" || d.Again == 0 {
				t.Errorf("decision: %+v", d)
			}
		})
	}
}

// A run ends, whatever happens to it: the operator's passes are repeated or lost,
// Jobs vanish, other benchmarks take and give back nodes. On the way no two
// Jobs are there at once, none is there without the node, and nothing of a worker
// is deleted before its end is recorded.
func TestEveryRunEndsAndKeepsItsRules(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := world(func(*World) {})
		concluded := false
		for steps := 0; !concluded; steps++ {
			if steps > 2000 {
				t.Fatalf("seed %d: the run does not end: %+v", seed, w)
			}
			d := Decide(w)
			for _, a := range d.Actions {
				if r.IntN(10) == 0 {
					break // the operator is killed here
				}
				concluded = carryOut(t, &w, a)
			}
			disturb(r, &w)
			checkRules(t, seed, w)
		}
		for node, c := range w.Claims {
			if c.Mine {
				t.Fatalf("seed %d: node %s was kept", seed, node)
			}
		}
	}
}

func carryOut(t *testing.T, w *World, a Action) (concluded bool) {
	t.Helper()
	i := slices.IndexFunc(w.Workers, func(x Worker) bool { return x.Name == a.Worker })
	switch a.Verb {
	case Acquire:
		if c := w.Claims[a.Node]; c.Holder != "" {
			t.Fatalf("node %s was taken from %s", a.Node, c.Holder)
		}
		w.Claims[a.Node] = Claim{Mine: true}
		if w.StartedAt.IsZero() {
			w.StartedAt = w.Now
		}
	case Release:
		w.Claims[a.Node] = Claim{}
	case Start:
		w.Workers[i].Job = JobActive
	case Settle:
		w.Workers[i].Phase = Done
	case Abandon:
		w.Workers[i].Phase = Failed
	case CleanUp:
		if !w.Workers[i].Phase.Final() {
			t.Fatalf("worker %s was deleted before its end was recorded", a.Worker)
		}
		w.Workers[i].Job = JobDeleting
	case Conclude:
		return true
	}
	return false
}

// disturb is the world going on by itself.
func disturb(r *rand.Rand, w *World) {
	w.Now = w.Now.Add(time.Duration(r.IntN(120)) * time.Second)
	for i := range w.Workers {
		x := &w.Workers[i]
		switch {
		case x.Job == JobActive && r.IntN(3) == 0:
			x.PodRunning, x.Phase = true, Running
		case x.Job == JobActive && x.PodRunning && r.IntN(3) == 0:
			x.Job = JobEnded
		case x.Job == JobActive && r.IntN(20) == 0:
			x.Job, x.PodRunning = JobDeleting, false // somebody deletes it
		case x.Job == JobDeleting && r.IntN(2) == 0:
			x.Job, x.PodRunning = JobMissing, false
		}
	}
	for node, c := range w.Claims {
		if !c.Mine {
			w.Claims[node] = []Claim{{}, {}, {Holder: "lab/other"}, {Ahead: 1}}[r.IntN(4)]
		}
	}
}

func checkRules(t *testing.T, seed uint64, w World) {
	t.Helper()
	var there []string
	for _, x := range w.Workers {
		if x.Job == JobMissing {
			continue
		}
		there = append(there, x.Name)
		if !w.Claims[x.Node].Mine {
			t.Fatalf("seed %d: worker %s has a Job on a node that is not held", seed, x.Name)
		}
	}
	if len(there) > 1 {
		t.Fatalf("seed %d: several Jobs at once: %v", seed, there)
	}
}
