package workers

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/controllers/state"
	"storagebench.io/storagebench/internal/progress"
)

// patience is how long a Pod may wait before it is asked why: scheduling and
// provisioning report failures that pass within seconds.
const patience = 8 * time.Second

// Why says what keeps the Pod of a worker's Job from running, or nil if nothing is known.
func (w *Workers) Why(ctx context.Context, seen Seen, node string) (*progress.Trouble, error) {
	now, job, pod := w.Clock.Now(), seen.Job, state.Newest(seen.Pods)
	if pod == nil {
		if job.Status.StartTime == nil || now.Sub(job.Status.StartTime.Time) < patience {
			return nil, nil
		}
		return w.warning(ctx, job.Namespace, string(job.UID))
	}
	if state.PodEnded(pod) {
		// What its events tell of is over; the Job makes another one, or says why it cannot.
		if now.Sub(endOf(pod)) < patience {
			return nil, nil
		}
		return w.warning(ctx, job.Namespace, string(job.UID))
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
			t, err := w.claimWarning(ctx, seen)
			if t != nil || err != nil {
				return t, err
			}
			return &progress.Trouble{
				Reason:  reason.PodUnschedulable,
				Message: fmt.Sprintf("spec.placement: the Pod %s cannot be scheduled on node %s: %s; free resources there, or change placement.nodeSelector or placement.tolerations", pod.Name, node, c.Message),
			}, nil
		}
	}
	if t, err := w.warning(ctx, pod.Namespace, string(pod.UID)); t != nil || err != nil {
		return t, err
	}
	return w.claimWarning(ctx, seen)
}

func containerTrouble(c corev1.ContainerStatus, image, node string) *progress.Trouble {
	if c.State.Waiting == nil {
		return nil
	}
	switch why := c.State.Waiting.Reason; why {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		return &progress.Trouble{
			Reason:  reason.ImagePullFailed,
			Message: fmt.Sprintf("node %s cannot get the image %s (%s: %s); make it available there, or ask your cluster administrator to correct the chart's values workerImage (or image, which its name is made from) and imagePullSecrets", node, image, why, c.State.Waiting.Message),
		}
	case "CreateContainerError", "CreateContainerConfigError", "RunContainerError":
		return &progress.Trouble{
			Reason:  reason.PodRejected,
			Message: fmt.Sprintf("node %s cannot start the worker (%s: %s)", node, why, c.State.Waiting.Message),
		}
	}
	return nil
}

// claimWarning looks for trouble with the volume that was asked for.
func (w *Workers) claimWarning(ctx context.Context, seen Seen) (*progress.Trouble, error) {
	for i := range seen.Claims {
		claim := &seen.Claims[i]
		if claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		t, err := w.warning(ctx, claim.Namespace, string(claim.UID))
		if t != nil || err != nil {
			return t, err
		}
		if w.Clock.Now().Sub(claim.CreationTimestamp.Time) < provisionPatience {
			return nil, nil
		}
		return w.unprovisioned(ctx, claim)
	}
	return nil, nil
}

// provisionPatience is how long a volume may take whose provisioner says nothing.
const provisionPatience = 20 * time.Second

// unprovisioned returns what a claim without events waits for: usually a provisioner that is
// not installed.
func (w *Workers) unprovisioned(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*progress.Trouble, error) {
	name := ""
	if claim.Spec.StorageClassName != nil {
		name = *claim.Spec.StorageClassName
	}
	class := &storagev1.StorageClass{}
	err := w.Get(ctx, types.NamespacedName{Name: name}, class)
	if apierrors.IsNotFound(err) {
		return &progress.Trouble{
			Reason:  reason.StorageClassNotFound,
			Message: fmt.Sprintf("the claim %s waits for a volume of StorageClass %s, which does not exist any more; create it again", claim.Name, name),
		}, nil
	}
	if err != nil {
		return nil, err
	}
	return &progress.Trouble{
		Reason: reason.VolumeNotReady,
		Message: fmt.Sprintf("the claim %s waits for a volume: the provisioner %q of StorageClass %s has not provisioned one and has reported no error; check that it is installed and running",
			claim.Name, class.Provisioner, name),
	}, nil
}

// ownGone matches what the kubelet says of a plan or a grant that is not there: the operator
// makes both before it lets a Job go.
var ownGone = regexp.MustCompile(`(configmap|secret) "[^"]+" not found`)

// warning returns the newest warning event about an object as trouble, or nil.
func (w *Workers) warning(ctx context.Context, namespace, uid string) (*progress.Trouble, error) {
	return w.events.of(uid, w.Clock.Now(), func() (*progress.Trouble, error) { return w.readWarning(ctx, namespace, uid) })
}

func (w *Workers) readWarning(ctx context.Context, namespace, uid string) (*progress.Trouble, error) {
	list := &corev1.EventList{}
	err := w.Live.List(ctx, list, client.InNamespace(namespace),
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
	switch {
	case last.Reason == "FailedMount" && ownGone.MatchString(last.Message):
		return &progress.Trouble{Reason: reason.VolumeNotReady, Message: message + "; somebody deleted it, so the operator creates the worker's Job again", MayPass: true, Remake: true}, nil
	case last.Reason == "FailedCreate":
		return &progress.Trouble{Reason: reason.PodRejected, Message: message + "; change the namespace's quota, policies or Pod Security level to allow it"}, nil
	case last.Reason == "FailedScheduling":
		return &progress.Trouble{Reason: reason.PodUnschedulable, Message: message + "; free resources there, or change spec.placement"}, nil
	default:
		return &progress.Trouble{Reason: reason.VolumeNotReady, Message: message + "; check the target, its StorageClass and the node"}, nil
	}
}

func eventTime(e *corev1.Event) time.Time {
	if !e.LastTimestamp.IsZero() {
		return e.LastTimestamp.Time
	}
	return e.EventTime.Time
}
