package workers

import (
	"cmp"
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/controllers/restore"
	"storagebench.io/storagebench/controllers/state"
	"storagebench.io/storagebench/controllers/written"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/trial"
)

// Workers makes and watches the objects of workers.
type Workers struct {
	// Client reads from the cache.
	client.Client
	// Live reads past the cache.
	Live     client.Reader
	Settings jobspec.Settings
	Records  *restore.Records
	Clock    clock.PassiveClock

	retries retries
	left    leftovers
	stuck   undeletable
	events  recentEvents
	jobs    written.Objects
}

// Seen is what is there of one worker.
type Seen struct {
	Job    *batchv1.Job
	Pods   []corev1.Pod
	Claims []corev1.PersistentVolumeClaim
}

// Of finds what is there of a benchmark's workers, by their names. With a run, it finds
// those of that run only. Labels can be forged, so owners decide.
func (w *Workers) Of(ctx context.Context, b *v1alpha1.StorageBenchmark, run string) (map[string]Seen, error) {
	return of(ctx, w.Client, b, run)
}

// OfLive asks the API server for what is there of all workers of a benchmark.
func (w *Workers) OfLive(ctx context.Context, b *v1alpha1.StorageBenchmark) (map[string]Seen, error) {
	return of(ctx, w.Live, b, "")
}

func of(ctx context.Context, reader client.Reader, b *v1alpha1.StorageBenchmark, run string) (map[string]Seen, error) {
	selector := client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelBenchmark: b.Name}
	if run != "" {
		selector[jobspec.LabelRun] = run
	}
	options := []client.ListOption{client.InNamespace(b.Namespace), selector}
	jobs, pods, claims := &batchv1.JobList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}
	for _, list := range []client.ObjectList{jobs, pods, claims} {
		if err := reader.List(ctx, list, options...); err != nil {
			return nil, err
		}
	}
	// The cache lists them in another order each time, and what is said of them would change.
	slices.SortFunc(jobs.Items, func(a, b batchv1.Job) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(claims.Items, func(a, b corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	all := map[string]Seen{}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, b) {
			s := all[job.Labels[jobspec.LabelWorker]]
			s.Job = job
			all[job.Labels[jobspec.LabelWorker]] = s
		}
	}
	// A Job that is gone leaves its Pods and its claim for a moment.
	ofWorker := func(o client.Object) bool {
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.Kind != "Job" {
			return false
		}
		job := all[o.GetLabels()[jobspec.LabelWorker]].Job
		return job == nil || job.UID == owner.UID
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; ofWorker(pod) {
			s := all[pod.Labels[jobspec.LabelWorker]]
			s.Pods = append(s.Pods, *pod)
			all[pod.Labels[jobspec.LabelWorker]] = s
		}
	}
	for i := range claims.Items {
		if claim := &claims.Items[i]; ofWorker(claim) {
			s := all[claim.Labels[jobspec.LabelWorker]]
			s.Claims = append(s.Claims, *claim)
			all[claim.Labels[jobspec.LabelWorker]] = s
		}
	}
	return all, nil
}

// Observe turns what is there of a worker into what a decision is taken on. node is nil for
// a worker that has ended and of which nothing is left.
func (w *Workers) Observe(b *v1alpha1.StorageBenchmark, self trial.Worker, ended bool, seen Seen, node *nodes.View) progress.Worker {
	now := w.Clock.Now()
	out := progress.Worker{Name: self.Name, Node: self.Node, Ended: ended, Job: jobState(seen.Job)}
	if node != nil {
		out.NodeState = nodeState(*node, seen.Job)
		if !node.AwaySince.IsZero() {
			out.AwayFor = now.Sub(node.AwaySince)
		} else if !node.Ready {
			out.AwayFor = time.Hour // there is no such node
		}
	}
	w.observeLeft(b, &out, seen, node == nil || node.Ready)
	if seen.Job != nil {
		if since, ok := w.stuck.of(b.UID, seen.Job.UID, now); ok {
			out.Job, out.RemovedFor = progress.JobDeleting, max(out.RemovedFor, since)
		}
	}
	retry := w.retries.get(b.UID, self.Name)
	out.Last = retry.trouble
	if left := retry.until.Sub(now); left > 0 {
		out.RetryIn, out.Trouble = left, retry.trouble
	}
	if out.Job != progress.JobActive {
		return out
	}
	pod := state.Newest(seen.Pods)
	switch {
	case pod != nil && endedByItself(pod):
		out.Job = progress.JobEnded // the Job says so a second or two later
	case pod != nil && pod.Status.Phase == corev1.PodRunning:
		out.PodRunning = true
	case pod != nil && pod.Status.StartTime == nil || pod != nil && pod.Status.Phase == corev1.PodPending:
		out.Waiting = now.Sub(pod.CreationTimestamp.Time)
	case pod != nil && state.PodEnded(pod):
		// It was killed, perhaps after hours, and the Job will make another one.
		out.Waiting = now.Sub(endOf(pod))
	case seen.Job.Status.StartTime != nil:
		out.Waiting = now.Sub(seen.Job.Status.StartTime.Time)
	}
	return out
}

// observeLeft finds what is left of a worker besides its Job, on a node that answers or not.
func (w *Workers) observeLeft(b *v1alpha1.StorageBenchmark, out *progress.Worker, seen Seen, answers bool) {
	now := w.Clock.Now()
	out.PodLeft = slices.ContainsFunc(seen.Pods, func(pod corev1.Pod) bool { return !state.PodEnded(&pod) })
	out.Remains = answers && (out.PodLeft || seen.Job == nil && len(seen.Claims) > 0)
	out.RemovedFor = removedFor(seen, now)
	if out.Remains && (out.Ended || out.Job == progress.JobMissing || out.Job == progress.JobEnded) {
		out.RemovedFor = max(out.RemovedFor, w.left.of(b.UID, out.Name, now))
	} else {
		w.left.gone(b.UID, out.Name)
	}
}

// nodeState: a node with a record is being restored, unless it is that of this Job.
func nodeState(node nodes.View, job *batchv1.Job) progress.NodeState {
	switch {
	case !node.Ready:
		return progress.NodeAway
	case node.BeingRestored() && (job == nil || node.Record.Spec.Job.UID != job.UID || jobState(job) != progress.JobActive):
		return progress.NodeRestoring
	}
	return progress.NodeReady
}

func removedFor(seen Seen, now time.Time) time.Duration {
	var since time.Time
	note := func(t *metav1.Time) {
		if t != nil && (since.IsZero() || t.Time.Before(since)) {
			since = t.Time
		}
	}
	if seen.Job != nil {
		note(seen.Job.DeletionTimestamp)
	}
	for i := range seen.Pods {
		note(seen.Pods[i].DeletionTimestamp)
	}
	for i := range seen.Claims {
		note(seen.Claims[i].DeletionTimestamp)
	}
	if since.IsZero() {
		return 0
	}
	return now.Sub(since)
}

// claimPatience is how long the removal of a volume is waited for.
const claimPatience = 2 * time.Minute

// ClaimsLeft reports whether a volume of the worker is still being removed, for less than
// claimPatience.
func (s Seen) ClaimsLeft(now time.Time) bool {
	return len(s.Claims) > 0 && removedFor(s, now) < claimPatience
}

// endOf is when a Pod that has ended did, or when it was made, if it does not say.
func endOf(pod *corev1.Pod) time.Time {
	end := pod.CreationTimestamp.Time
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && end.Before(t.FinishedAt.Time) {
			end = t.FinishedAt.Time
		}
	}
	for _, c := range pod.Status.Conditions {
		// A Pod that the node evicted may have no container statuses.
		if c.Type == corev1.DisruptionTarget && end.Before(c.LastTransitionTime.Time) {
			end = c.LastTransitionTime.Time
		}
	}
	return end
}

// endedByItself reports whether the worker exited in an orderly way, with or without success:
// with an exit code after which the Job's failure policy does not retry.
func endedByItself(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return t.ExitCode == 0 || t.ExitCode == trial.ExitFailed
		}
	}
	return false
}

func jobState(job *batchv1.Job) progress.JobState {
	switch {
	case job == nil:
		return progress.JobMissing
	case !job.DeletionTimestamp.IsZero():
		return progress.JobDeleting
	}
	switch suspended := state.Suspended(job); {
	case state.JobEnded(job) != "":
		return progress.JobEnded
	case suspended && job.Annotations[jobspec.AnnotationComplete] != "":
		return progress.JobParked
	case suspended:
		return progress.JobPreparing
	}
	return progress.JobActive
}

// Receipt is the newest receipt of a worker's Pods that is one of this worker's, or nil.
// It is what a Pod wrote, so only its counts, its digest and its failure are used.
func (s Seen) Receipt(p *trial.Plan, worker string) *trial.Receipt {
	var last *trial.Receipt
	var ended metav1.Time
	for i := range s.Pods {
		for _, c := range s.Pods[i].Status.ContainerStatuses {
			t := c.State.Terminated
			if t == nil || t.FinishedAt.Before(&ended) {
				continue
			}
			receipt, err := trial.DecodeReceipt(t.Message)
			if err == nil && receipt.Check(p, worker) == nil {
				last, ended = receipt, t.FinishedAt
			}
		}
	}
	return last
}
