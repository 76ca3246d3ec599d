package progress

import (
	"testing"
	"time"
)

func TestTheCurrentWorkerIsTheOneWhoseJobIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*World)
		want   string
	}{
		"none has begun: the first of the plan": {func(*World) {}, "fast.a"},
		"the one with a Job":                    {func(w *World) { w.Workers[2].Job = JobActive }, "fast.b"},
		"the one whose Job is being deleted":    {func(w *World) { w.Workers[2].Job = JobDeleting }, "fast.b"},
		"not one that has ended":                {func(w *World) { endAll(w, 0, 1); w.Workers[0].Job = JobDeleting }, "fast.b"},
		"not one whose node is away":            {func(w *World) { w.Workers[0].NodeState, w.Workers[1].NodeState = NodeAway, NodeAway }, "fast.b"},
		"not one whose node is being restored":  {func(w *World) { w.Workers[0].NodeState = NodeRestoring }, "slow.a"},
		"not one that is tried again later":     {func(w *World) { w.Workers[0].RetryIn = 1 }, "slow.a"},
		"an ended Job is read although its node is away": {func(w *World) {
			w.Workers[3].Job, w.Workers[3].NodeState, w.Workers[3].AwayFor = JobEnded, NodeAway, time.Hour
		}, "slow.b"},
		"none, if all have ended":                            {func(w *World) { endAll(w, 0, 1, 2, 3) }, ""},
		"none, if every node is away":                        {func(w *World) { setNodes(w, NodeAway) }, ""},
		"a running worker on a node that has just gone away": {func(w *World) { setNodes(w, NodeAway); w.Workers[1].Job = JobActive }, "slow.a"},
		"another, when a running worker's node has been away longer": {func(w *World) {
			w.Workers[0].Job, w.Workers[0].NodeState, w.Workers[0].AwayFor = JobActive, NodeAway, awayGrace
		}, "slow.a"},
	} {
		t.Run(name, func(t *testing.T) {
			w, got := world(c.change), ""
			if current := w.Current(); current != nil {
				got = current.Name
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func setNodes(w *World, state NodeState) {
	for i := range w.Workers {
		w.Workers[i].NodeState = state
	}
}
