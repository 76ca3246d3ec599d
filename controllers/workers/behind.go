package workers

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/controllers/written"
	"storagebench.io/storagebench/internal/jobspec"
)

// A cache that works shows a write within some milliseconds. Only later is the API server asked,
// and then not in every pass.
const (
	behindSoon  = 20 * time.Millisecond
	behindLater = time.Second
)

// behindPatience is how long a cache may take to show what the operator did. After that a pass
// goes by what the cache has, as one does after a restart.
const behindPatience = time.Minute

// Behind returns when to look again if the cache does not show yet what the operator did last to
// the Jobs of a benchmark, or else 0. Who goes by such a cache takes a Job that was let go for one
// that is half made, and a worker whose Job is not there yet for one that has none.
func (w *Workers) Behind(ctx context.Context, benchmark types.UID) (again time.Duration, err error) {
	for key, wrote := range w.jobs.Of(benchmark) {
		age := w.Clock.Now().Sub(wrote.At)
		shown, err := w.shows(ctx, key, wrote, age >= behindLater)
		switch {
		case err != nil:
			return 0, err
		case !shown && age < behindLater:
			return behindSoon, nil
		case !shown && age < behindPatience:
			return behindLater, nil
		case !shown:
			ctrl.LoggerFrom(ctx).Info("the cache has not shown for a minute what the operator did to a Job", "job", key.String())
		}
		w.jobs.Shown(benchmark, key)
	}
	return 0, nil
}

// shows reports whether the cache shows an own write, or, if the API server is asked, never will.
func (w *Workers) shows(ctx context.Context, key types.NamespacedName, wrote written.Write, ask bool) (bool, error) {
	job := &batchv1.Job{}
	err := w.Get(ctx, key, job)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	if err == nil && job.UID == wrote.UID {
		return !wrote.Older(job.ResourceVersion), nil
	}
	if !ask {
		return false, nil
	}
	// It has none of the name, or an earlier one. The Job may be gone by now, or somebody has
	// taken off the label by which the cache knows the operator's own.
	err = w.Live.Get(ctx, key, job)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	return apierrors.IsNotFound(err) || job.UID != wrote.UID || job.Labels[jobspec.LabelManagedBy] != jobspec.ManagedBy, nil
}

// wrote remembers what the operator did to a Job.
func (w *Workers) wrote(owner types.UID, job *batchv1.Job) {
	w.jobs.Set(owner, client.ObjectKeyFromObject(job), written.Write{UID: job.UID, Version: job.ResourceVersion, At: w.Clock.Now()})
}
