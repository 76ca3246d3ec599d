package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/trial"
)

// patience is how long a Pod may wait before it is asked why: scheduling and
// provisioning report failures that pass within seconds.
const patience = 8 * time.Second

// observed is what a decision is taken on, and what carrying it out needs.
type observed struct {
	world progress.World
	store *v1alpha1.ResultStore
	jobs  map[string]*batchv1.Job // by worker
	pods  map[string][]corev1.Pod // by worker
}

// observe gathers the world of a run that is recorded and has not ended.
func (r *StorageBenchmarkReconciler) observe(ctx context.Context, b *v1alpha1.StorageBenchmark) (*observed, error) {
	run := b.Status.Run
	o := &observed{world: progress.World{Now: r.Clock.Now(), Timeout: b.Spec.Timeout.Duration}}
	if run.StartedAt != nil {
		o.world.StartedAt = run.StartedAt.Time
	}
	var err error
	if o.world.Claims, err = r.claims(ctx, b); err != nil {
		return nil, err
	}
	if err := r.observeStore(ctx, b, o); err != nil {
		return nil, err
	}
	if err := r.observeJobs(ctx, b, o); err != nil {
		return nil, err
	}
	for i := range run.Workers {
		w := &run.Workers[i]
		seen := progress.Worker{Name: w.Name, Node: w.Node, Phase: progress.Phase(w.Phase), Job: jobState(o.jobs[w.Name]), Unrestored: slices.Contains(run.Unrestored, w.Node)}
		if seen.Job == progress.JobActive && !seen.Phase.Final() {
			if err := r.observePod(ctx, b, o, w, &seen); err != nil {
				return nil, err
			}
		}
		o.world.Workers = append(o.world.Workers, seen)
	}
	return o, nil
}

// observePod looks at the Pod of a worker whose Job is active.
func (r *StorageBenchmarkReconciler) observePod(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed, w *v1alpha1.WorkerStatus, seen *progress.Worker) (err error) {
	pod := newest(o.pods[w.Name])
	switch {
	case pod != nil && endedByItself(pod):
		// The Job says so a second or two later.
		seen.Job = progress.JobEnded
	case pod != nil && pod.Status.Phase == corev1.PodRunning:
		seen.PodRunning, w.Phase = true, v1alpha1.WorkerRunning
		r.countStored(ctx, b, o, w)
	default:
		seen.Trouble, err = r.trouble(ctx, o.jobs[w.Name], pod, w.Node)
	}
	return err
}

// endedByItself says that the worker exited in an orderly way, with or without
// success: the exit codes that the Job's failure policy does not try again after.
func endedByItself(pod *corev1.Pod) bool {
	for _, c := range pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return t.ExitCode >= 0 && t.ExitCode <= 2
		}
	}
	return false
}

func (r *StorageBenchmarkReconciler) observeStore(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed) error {
	rs, err := r.resultStore(ctx, b)
	failure, isFailure := errors.AsType[*trial.Failure](err)
	switch {
	case err == nil:
		o.store = rs
		failure = storeNotAvailable(rs)
	case !isFailure:
		return err
	}
	if failure != nil {
		o.world.StoreTrouble = &progress.Trouble{
			Reason: string(failure.Class), Message: failure.Error(), MayPass: errors.Is(failure, errWait),
		}
	}
	return nil
}

// observeJobs finds the run's Jobs and Pods. Labels can be forged; the owner
// references decide.
func (r *StorageBenchmarkReconciler) observeJobs(ctx context.Context, b *v1alpha1.StorageBenchmark, o *observed) error {
	o.jobs, o.pods = map[string]*batchv1.Job{}, map[string][]corev1.Pod{}
	ofRun := []client.ListOption{
		client.InNamespace(b.Namespace),
		client.MatchingLabels{jobspec.LabelBenchmark: b.Name, jobspec.LabelRun: b.Status.Run.ID},
	}
	jobs := &batchv1.JobList{}
	if err := r.List(ctx, jobs, ofRun...); err != nil {
		return err
	}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, b) {
			o.jobs[job.Labels[jobspec.LabelWorker]] = job
		}
	}
	pods := &corev1.PodList{}
	if err := r.List(ctx, pods, ofRun...); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := pods.Items[i]
		worker := pod.Labels[jobspec.LabelWorker]
		if job := o.jobs[worker]; job != nil && metav1.IsControlledBy(&pod, job) {
			o.pods[worker] = append(o.pods[worker], pod)
		}
	}
	return nil
}

func jobState(job *batchv1.Job) progress.JobState {
	switch {
	case job == nil:
		return progress.JobMissing
	case !job.DeletionTimestamp.IsZero():
		return progress.JobDeleting
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return progress.JobEnded
		}
	}
	if job.Spec.Suspend != nil && *job.Spec.Suspend {
		return progress.JobPreparing
	}
	return progress.JobActive
}

func newest(pods []corev1.Pod) *corev1.Pod {
	var found *corev1.Pod
	for i := range pods {
		if found == nil || found.CreationTimestamp.Before(&pods[i].CreationTimestamp) {
			found = &pods[i]
		}
	}
	return found
}

// trouble says what keeps a worker's Pod from running, or nil.
func (r *StorageBenchmarkReconciler) trouble(ctx context.Context, job *batchv1.Job, pod *corev1.Pod, node string) (*progress.Trouble, error) {
	now := r.Clock.Now()
	if pod == nil {
		if job.Status.StartTime == nil || now.Sub(job.Status.StartTime.Time) < patience {
			return nil, nil
		}
		return r.warning(ctx, job.Namespace, string(job.UID))
	}
	for _, c := range pod.Status.ContainerStatuses {
		if t := containerTrouble(c, pod.Spec.Containers[0].Image, node); t != nil {
			return t, nil
		}
	}
	if now.Sub(pod.CreationTimestamp.Time) < patience {
		return nil, nil
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			t, err := r.claimWarning(ctx, job)
			if t != nil || err != nil {
				return t, err
			}
			return &progress.Trouble{
				Reason:  v1alpha1.ReasonPodUnschedulable,
				Message: fmt.Sprintf("spec.placement: the Pod %s cannot be scheduled on node %s: %s; make room there, or change placement.nodeSelector or placement.tolerations", pod.Name, node, c.Message),
			}, nil
		}
	}
	if t, err := r.warning(ctx, pod.Namespace, string(pod.UID)); t != nil || err != nil {
		return t, err
	}
	return r.claimWarning(ctx, job)
}

func containerTrouble(c corev1.ContainerStatus, image, node string) *progress.Trouble {
	if c.State.Waiting == nil {
		return nil
	}
	switch reason := c.State.Waiting.Reason; reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		return &progress.Trouble{
			Reason:  v1alpha1.ReasonImagePullFailed,
			Message: fmt.Sprintf("node %s cannot get the image %s (%s: %s); make it available there, or ask whoever installed storagebench to correct the chart's values image and imagePullSecrets", node, image, reason, c.State.Waiting.Message),
		}
	case "CreateContainerError", "CreateContainerConfigError", "RunContainerError":
		return &progress.Trouble{
			Reason:  v1alpha1.ReasonPodRejected,
			Message: fmt.Sprintf("node %s cannot start the worker (%s: %s)", node, reason, c.State.Waiting.Message),
		}
	}
	return nil
}

// claimWarning looks for trouble with the volume that was asked for.
func (r *StorageBenchmarkReconciler) claimWarning(ctx context.Context, job *batchv1.Job) (*progress.Trouble, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(job), claim); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if claim.Status.Phase == corev1.ClaimBound {
		return nil, nil
	}
	return r.warning(ctx, claim.Namespace, string(claim.UID))
}

// warning returns the newest warning event about an object as trouble, or nil.
func (r *StorageBenchmarkReconciler) warning(ctx context.Context, namespace, uid string) (*progress.Trouble, error) {
	list := &corev1.EventList{}
	err := r.Live.List(ctx, list, client.InNamespace(namespace), client.Limit(50),
		client.MatchingFieldsSelector{Selector: fields.Set{"involvedObject.uid": uid, "type": corev1.EventTypeWarning}.AsSelector()})
	if err != nil {
		return nil, err
	}
	var last *corev1.Event
	for i := range list.Items {
		if e := &list.Items[i]; last == nil || eventTime(last).Before(eventTime(e)) {
			last = e
		}
	}
	if last == nil {
		return nil, nil
	}
	message := fmt.Sprintf("%s %s: %s: %s", last.InvolvedObject.Kind, last.InvolvedObject.Name, last.Reason, strings.TrimSpace(last.Message))
	switch last.Reason {
	case "FailedCreate":
		return &progress.Trouble{Reason: v1alpha1.ReasonPodRejected, Message: message + "; make the namespace's quota, policies and Pod Security level allow it"}, nil
	case "FailedScheduling":
		return &progress.Trouble{Reason: v1alpha1.ReasonPodUnschedulable, Message: message + "; change spec.placement or make room"}, nil
	default:
		return &progress.Trouble{Reason: v1alpha1.ReasonVolumeNotReady, Message: message + "; see to the target, its StorageClass and the node"}, nil
	}
}

func eventTime(e *corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
