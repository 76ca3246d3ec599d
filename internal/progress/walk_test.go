package progress

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
)

// simNode is a node of the simulated cluster.
type simNode struct {
	name      string
	ready     bool
	awaySince time.Time
	deleted   bool
	// dirty: a worker may have changed its settings, which are not put back yet.
	dirty bool
	// holder: 0 nobody, 1 this run, 2 another benchmark.
	holder int
}

// simWorker is a worker of the simulated run.
type simWorker struct {
	name, node string
	ended      bool
	job        JobState
	// pod: 0 none, 1 pending, 2 running.
	pod       int
	podSince  time.Time
	deletedAt time.Time
	trouble   *Trouble
	// last is the trouble of the last try, until the Pod runs.
	last    *Trouble
	retryAt time.Time
}

// sim is a cluster in which a run is carried out, step by step, while things go wrong.
type sim struct {
	t       *testing.T
	r       *rand.Rand
	seed    uint64
	now     time.Time
	nodes   map[string]*simNode
	workers []*simWorker
	active  time.Duration
	timeout time.Duration
	started bool
	tuned   bool
	store   *Trouble
	// storeGone: it does not come back.
	storeGone bool
	// calm: nothing goes wrong any more, and what was away is back.
	calm      bool
	concluded bool
	log       []string
}

func newSim(t *testing.T, seed uint64) *sim {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	s := &sim{t: t, r: r, seed: seed, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), nodes: map[string]*simNode{}, timeout: time.Duration(5+r.IntN(120)) * time.Minute, tuned: r.IntN(3) == 0}
	for n := range 1 + r.IntN(4) {
		node := &simNode{name: fmt.Sprintf("n%d", n), ready: true}
		s.nodes[node.name] = node
		for k := range 1 + r.IntN(3) {
			s.workers = append(s.workers, &simWorker{name: fmt.Sprintf("t%d.%s", k, node.name), node: node.name})
		}
	}
	return s
}

// world is what the controllers would observe.
func (s *sim) world() World {
	w := World{Started: s.started, Active: s.active, Timeout: s.timeout, StoreTrouble: s.store}
	for _, x := range s.workers {
		n := s.nodes[x.node]
		o := Worker{Name: x.name, Node: x.node, Ended: x.ended, Job: x.job, PodLeft: x.pod > 0, PodRunning: x.pod == 2 && x.job == JobActive, NodeState: NodeReady}
		switch {
		case !n.ready:
			o.NodeState, o.AwayFor = NodeAway, s.now.Sub(n.awaySince)
		case n.dirty && x.job != JobActive:
			o.NodeState = NodeRestoring
		}
		o.Remains = n.ready && x.pod > 0
		if x.job == JobDeleting || x.job == JobMissing && x.pod > 0 {
			o.RemovedFor = s.now.Sub(x.deletedAt)
		}
		o.Last = x.last
		if left := x.retryAt.Sub(s.now); left > 0 {
			o.RetryIn, o.Trouble = left, x.trouble
		}
		if x.job == JobActive && x.pod < 2 {
			o.Waiting = s.now.Sub(x.podSince)
			if n.ready {
				o.Trouble = x.trouble
			}
		}
		w.Workers = append(w.Workers, o)
	}
	for _, n := range s.sorted() {
		if n.holder == 1 {
			w.Held = append(w.Held, n.name)
		}
	}
	if current := w.Current(); current != nil {
		holder := s.nodes[current.Node].holder
		w.Claim = Claim{Mine: holder == 1, Busy: holder == 2}
	}
	return w
}

func (s *sim) sorted() []*simNode {
	var all []*simNode
	for _, n := range s.nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *simNode) int {
		return len(a.name) - len(b.name) + slices.Compare([]byte(a.name), []byte(b.name))
	})
	return all
}

func (s *sim) fatalf(format string, args ...any) {
	s.t.Helper()
	for _, line := range s.log[max(0, len(s.log)-12):] {
		s.t.Log(line)
	}
	s.t.Fatalf("seed %d: "+format, append([]any{s.seed}, args...)...)
}

// step is one pass of the operator, and what the cluster does meanwhile.
func (s *sim) step() {
	s.t.Helper()
	w := s.world()
	d := Decide(w)
	s.log = append(s.log, fmt.Sprintf("%s %s %q %v", s.now.Format(time.TimeOnly), d.Reason, d.Message, d.Actions))
	if d.Reason == "" || d.Message == "" || d.Again <= 0 {
		s.fatalf("a silent decision: %+v", d)
	}
	for _, a := range d.Actions {
		if !s.calm && s.r.IntN(12) == 0 {
			break // the operator is killed here, or the API server refuses
		}
		s.carryOut(a)
	}
	s.rules(d)
	passed := min(d.Again, time.Duration(1+s.r.IntN(60))*time.Second)
	if !d.Idle && s.started {
		s.active += passed
	}
	s.now = s.now.Add(passed)
	s.cluster()
	if !s.calm {
		s.faults()
	}
}

func (s *sim) carryOut(a Action) {
	s.t.Helper()
	var x *simWorker
	if i := slices.IndexFunc(s.workers, func(x *simWorker) bool { return x.name == a.Worker }); i >= 0 {
		x = s.workers[i]
	}
	switch a.Verb {
	case Acquire:
		if s.nodes[a.Node].holder == 2 {
			s.fatalf("node %s was taken from another benchmark", a.Node)
		}
		s.nodes[a.Node].holder = 1
	case Release:
		if s.nodes[a.Node].holder == 1 {
			s.nodes[a.Node].holder = 0
		}
	case Start, Resume:
		s.begin(a, x)
	case Park:
		x.job, x.retryAt = JobParked, s.now.Add(time.Duration(5+s.r.IntN(60))*time.Second)
		x.trouble = &Trouble{Reason: a.Reason, Message: a.Message}
		x.last = x.trouble
		if s.nodes[x.node].ready {
			x.pod = 0
		}
	case Discard:
		s.deleteJob(x)
	case CleanUp:
		if !x.ended {
			s.fatalf("the Job of %s was removed before its end was recorded", x.name)
		}
		s.deleteJob(x)
	case Settle:
		if s.store == nil {
			x.ended = true
		}
	case Abandon:
		x.ended = true
	case Conclude:
		s.concluded = true
	}
}

func (s *sim) begin(a Action, x *simWorker) {
	s.t.Helper()
	n := s.nodes[x.node]
	if n.holder != 1 {
		s.fatalf("worker %s is started on node %s, which is not held", x.name, x.node)
	}
	if !n.ready || n.dirty {
		s.fatalf("worker %s is started on node %s: ready %v, settings to be put back %v", x.name, x.node, n.ready, n.dirty)
	}
	if a.Verb == Start && x.pod > 0 && s.now.Sub(x.deletedAt) <= removalGrace {
		s.fatalf("worker %s is started while its last Pod is there", x.name)
	}
	s.started = true
	if !s.calm && s.r.IntN(8) == 0 { // it is refused: quota, a policy
		x.trouble, x.retryAt = &Trouble{Reason: "PodRejected", Message: "quota"}, s.now.Add(time.Duration(5+s.r.IntN(60))*time.Second)
		x.last = x.trouble
		n.holder = 0
		return
	}
	x.trouble, x.retryAt = nil, time.Time{}
	if !s.calm && s.r.IntN(4) == 0 {
		x.trouble = &Trouble{Reason: "VolumeNotReady", Message: "mount", MayPass: s.r.IntN(2) == 0}
	}
	x.job, x.pod, x.podSince, n.dirty = JobActive, 0, s.now, s.tuned
}

// deleteJob deletes a Job in the background: its Pod outlives it.
func (s *sim) deleteJob(x *simWorker) {
	if x.job == JobMissing || x.job == JobDeleting {
		return
	}
	x.job, x.deletedAt = JobMissing, s.now
	if s.r.IntN(3) == 0 {
		x.job = JobDeleting
	}
}

// rules are what holds after every pass.
func (s *sim) rules(d Decision) {
	s.t.Helper()
	var measuring []string
	for _, x := range s.workers {
		n := s.nodes[x.node]
		if x.job == JobActive && n.ready && !x.ended {
			measuring = append(measuring, x.name)
			if n.holder == 1 && d.Reason == reason.Queued {
				s.fatalf("node %s is held by a run that is queued for %s", n.name, d.Node)
			}
		}
	}
	if len(measuring) > 1 {
		s.fatalf("several workers measure at once: %v", measuring)
	}
	if d.Stalled || d.Idle { // parked, refused, or queued: others may have the nodes
		for _, n := range s.sorted() {
			left := slices.ContainsFunc(s.workers, func(x *simWorker) bool { return x.node == n.name && (x.pod > 0 || x.job == JobActive) })
			if n.holder == 1 && !left && s.calm {
				s.fatalf("node %s is held while %s", n.name, d.Reason)
			}
		}
	}
}

// cluster is what kubelets and controllers do between two passes.
func (s *sim) cluster() {
	for _, x := range s.workers {
		n := s.nodes[x.node]
		if !n.ready {
			if n.deleted && s.r.IntN(3) == 0 {
				x.pod = 0 // PodGC
			}
			continue
		}
		switch {
		case x.job == JobActive && x.pod == 0 && s.r.IntN(2) == 0:
			x.pod = 1
		case x.job == JobActive && x.pod == 1 && (x.trouble == nil || x.trouble.MayPass) && s.r.IntN(2) == 0:
			x.pod, x.trouble, x.last = 2, nil, nil
		case x.job == JobActive && x.pod == 1 && s.calm:
			x.trouble = nil
		case x.job == JobActive && x.pod == 2 && s.r.IntN(6) == 0:
			x.job, x.pod = JobEnded, 0
		case (x.job == JobMissing || x.job == JobDeleting || x.job == JobParked) && x.pod > 0 && s.r.IntN(3) > 0:
			x.pod = 0
		}
	}
	for _, x := range s.workers {
		if x.job == JobDeleting && s.r.IntN(2) == 0 {
			x.job = JobMissing
		}
	}
	for _, n := range s.sorted() {
		inUse := slices.ContainsFunc(s.workers, func(x *simWorker) bool { return x.node == n.name && (x.job == JobActive || x.pod > 0) })
		if n.dirty && n.ready && !inUse && s.r.IntN(2) == 0 {
			n.dirty = false
		}
		if n.holder != 1 && s.r.IntN(3) == 0 {
			n.holder = 0
		}
	}
}

// faults are what goes wrong between two passes.
func (s *sim) faults() {
	for _, n := range s.sorted() {
		switch k := s.r.IntN(60); {
		case k == 0 && n.ready:
			n.ready, n.awaySince = false, s.now
		case k < 6 && !n.ready && !n.deleted:
			n.ready = true
		case k == 7:
			n.ready, n.deleted, n.awaySince = false, s.r.IntN(4) == 0, s.now
		case k == 8 && n.holder == 0:
			n.holder = 2
		}
	}
	for _, x := range s.workers {
		if x.job != JobMissing && s.r.IntN(80) == 0 {
			s.deleteJob(x) // somebody else deletes it
		}
		if x.job == JobActive && x.pod == 2 && s.r.IntN(40) == 0 {
			x.pod, x.podSince = 0, s.now // killed; the Job makes another
		}
	}
	switch k := s.r.IntN(40); {
	case k == 0:
		s.store = &Trouble{Reason: "StoreUnavailable", Message: "no answer", MayPass: s.r.IntN(2) == 0}
	case k < 8 && !s.storeGone:
		s.store = nil
	case k == 9 && s.r.IntN(5) == 0:
		s.store, s.storeGone = &Trouble{Reason: "StoreUnavailable", Message: "no bucket"}, true
	}
}

// neverBegins: a run that has not begun has no timeout. If none of its nodes, or its store, comes back,
// it waits, says so, and holds nothing.
func (s *sim) neverBegins() bool {
	if s.started || s.store != nil {
		return s.storeGone && !s.started
	}
	d := Decide(s.world())
	for _, n := range s.nodes {
		if n.ready || n.holder == 1 {
			return false
		}
	}
	return d.Reason == reason.NodeAway
}

// settleDown ends the faults; nodes that were deleted stay away.
func (s *sim) settleDown() {
	s.calm = true
	if !s.storeGone {
		s.store = nil
	}
	for _, n := range s.nodes {
		if !n.deleted {
			n.ready = true
		}
		if n.holder == 2 {
			n.holder = 0
		}
	}
}

// Whatever goes wrong, for as long as it does: when it is over, the run ends. On the way no
// worker is started on a node that is not held, not ready or not restored, no two measure at
// once, and every decision says what it does or waits for.
func TestEveryRunEndsWhateverHappensToIt(t *testing.T) {
	ends := map[string]int{}
	for seed := range uint64(600) {
		s := newSim(t, seed)
		for range s.r.IntN(150) {
			if s.step(); s.concluded {
				break
			}
		}
		s.settleDown()
		for steps := 0; !s.concluded; steps++ {
			if s.neverBegins() {
				ends["never began: its nodes, or its store, are gone"]++
				break
			}
			// At most a look every second until the longest timeout, and what comes after it.
			if steps > 20000 {
				s.fatalf("the run does not end: %+v", s.world())
			}
			s.step()
		}
		for _, x := range s.workers {
			if s.concluded && !x.ended {
				s.fatalf("the run was concluded while %s had not ended", x.name)
			}
		}
		switch {
		case !s.concluded:
		case s.active >= s.timeout:
			ends["by its timeout"]++
		default:
			ends["before its timeout"]++
		}
	}
	t.Logf("%v", ends)
	for _, how := range []string{"by its timeout", "before its timeout"} {
		if ends[how] == 0 {
			t.Errorf("no run ended %s: the simulation is not what it should be", how)
		}
	}
}

// A fault that is never over does not keep a run beyond its timeout: not a node that stays
// away, not a Pod that cannot start, not a store that is gone.
func TestATimeoutEndsARunThatNothingElseWould(t *testing.T) {
	for seed := range uint64(150) {
		s := newSim(t, seed)
		s.calm = true
		for range s.r.IntN(20) {
			s.step()
		}
		forever := func() {
			for i, n := range s.sorted() {
				if seed%3 == 0 && (seed>>2)&(1<<i) != 0 && n.ready {
					n.ready, n.awaySince = false, s.now
				}
			}
			for _, x := range s.workers {
				if seed%3 == 1 && x.job == JobActive && x.pod < 2 {
					x.trouble = &Trouble{Reason: "ImagePullFailed", Message: "no image"}
				}
			}
			if seed%3 == 2 && s.started {
				s.store, s.storeGone = &Trouble{Reason: "StoreUnavailable", Message: "no bucket"}, true
			}
		}
		for !s.concluded {
			forever()
			s.step()
			if s.active > s.timeout+storeGrace+settleGrace+10*time.Minute {
				s.fatalf("the run does not end: %+v", s.world())
			}
			if s.neverBegins() {
				break
			}
		}
	}
}
