package benchmark

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/controllers/state"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/status"
)

// stop removes the workers of a run that is not to go on: the benchmark is suspended, its
// spec asks for another run, or its namespace is being deleted.
func (r *Reconciler) stop(ctx context.Context, p *pass) (done bool, err error) {
	namespace, err := state.OfNamespace(ctx, r.Client, p.Namespace)
	if err != nil {
		return true, err
	}
	terminating := namespace == state.NamespaceTerminating
	if !p.Spec.Suspend && !terminating && p.unchanged() {
		return false, nil
	}
	left, err := r.clear(ctx, p)
	if err != nil || left != "" {
		p.outcome = status.Underway(reason.Pending, "removing the Jobs and volumes of the last run: waiting for "+left, poll)
		return true, err
	}
	if p.Status.Run != nil {
		status.SetCurrent(p.Status.Run, "", "")
	}
	switch {
	case terminating:
		p.outcome = status.Underway(reason.NamespaceTerminating, "namespace "+p.Namespace+" is being deleted, so nothing can start in it", 0)
		return true, nil
	case p.Spec.Suspend:
		p.outcome = status.Underway(reason.Suspended, "spec.suspend is true; set it to false to continue after the last stored trial", 0)
		return true, nil
	}
	return false, nil
}

// removalPatience is how long the removal of a benchmark's objects is waited for. A worker's Pod
// ends within a minute; what stays for longer is held by somebody's finalizer or grace period,
// or is a Pod that somebody made look like a worker's. It keeps neither the nodes from others,
// nor the benchmark from going or from starting its next run.
const removalPatience = 2 * time.Minute

// clear deletes the Jobs of every run of the benchmark. It returns what is left of them on
// nodes that answer. When nothing is, or after removalPatience, it gives the nodes back. The
// cache may not have what was started last, so the API server is asked too, once.
func (r *Reconciler) clear(ctx context.Context, p *pass) (left string, err error) {
	all, err := r.Workers.Of(ctx, p.StorageBenchmark, "")
	if err != nil {
		return "", err
	}
	left, err = r.clearAll(ctx, all)
	if err == nil && left == "" && p.Status.Run != nil && !r.memory.isEmpty(p.UID) {
		if all, err = r.Workers.OfLive(ctx, p.StorageBenchmark); err == nil {
			left, err = r.clearAll(ctx, all)
		}
		r.memory.setEmpty(p.UID, err == nil && left == "")
	}
	if err != nil {
		return "", err
	}
	if left != "" {
		if r.memory.clearing(p.UID, r.Clock.Now()) < removalPatience {
			return left, nil
		}
		ctrl.LoggerFrom(ctx).Info("no longer waiting for what somebody keeps of a run", "left", left)
	} else {
		r.memory.cleared(p.UID)
	}
	r.Workers.Forget(p.UID)
	return "", r.Leases.ReleaseAll(ctx, p.StorageBenchmark)
}

// clearAll deletes the Jobs of all, and returns what is left of them on nodes that answer.
func (r *Reconciler) clearAll(ctx context.Context, all map[string]workers.Seen) (left string, err error) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		seen := all[name]
		what, err := r.leftOnNode(ctx, seen)
		if err != nil {
			return "", err
		}
		if seen.Job != nil {
			if err := r.Workers.Discard(ctx, seen.Job); err != nil {
				return "", err
			}
			if what == "" {
				what = "Job " + seen.Job.Name
			}
		}
		if left == "" {
			left = what
		}
	}
	return left, nil
}

// leftOnNode names a Pod of a worker that is still there on a node that answers, or its
// volume, if that is still being removed and no Pod holds it up.
func (r *Reconciler) leftOnNode(ctx context.Context, seen workers.Seen) (string, error) {
	for i := range seen.Pods {
		pod := &seen.Pods[i]
		if pod.Spec.NodeName == "" {
			return "Pod " + pod.Name, nil
		}
		node, err := nodes.Look(ctx, r.Client, pod.Spec.NodeName)
		if err != nil || node.Ready {
			return fmt.Sprintf("Pod %s on node %s to end", pod.Name, pod.Spec.NodeName), err
		}
	}
	if len(seen.Pods) == 0 && seen.Job == nil && seen.ClaimsLeft(r.Clock.Now()) {
		return "the volume of claim " + seen.Claims[0].Name, nil
	}
	return "", nil
}
