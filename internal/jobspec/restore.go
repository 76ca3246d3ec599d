package jobspec

import (
	"encoding/json"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/internal/trial"
)

// RestorePriority is the PriorityClass of restore Pods, which every cluster has. A kubelet
// refuses other Pods while its disk or memory runs out, and evicts them; settings are put
// back then, too.
const RestorePriority = "system-node-critical"

// LabelRecord is a label of a restore Job and its Pod: the UID of the Job's record.
const LabelRecord = "storagebench.io/record"

// Restore is everything that a restore Job depends on.
type Restore struct {
	Settings  Settings
	Namespace string
	Node      string
	// Record is the UID of the record, and Attempt counts its Jobs from 0. Both are part
	// of the Job's name, so that the ended Job of another record or attempt is never
	// mistaken for it.
	Record  string
	Attempt int
	// Owner is the record, if it exists.
	Owner []metav1.OwnerReference
	// Permit are the settings that the node's journal may contain, each with
	// where it may be set.
	Permit []trial.Tunable
}

// RestoreName returns the name of the Job of an attempt to restore a node.
func RestoreName(record string, attempt int) string {
	return "restore-" + hash(record, strconv.Itoa(attempt))
}

// RestoreJob builds the Job that restores what a node's journal holds. It runs in a
// namespace of the operator's that tenants cannot access, on that node whatever its
// taints and however full it is. The journal says what to restore, and the record says which settings the journal
// may contain.
func RestoreJob(r Restore) (*batchv1.Job, error) {
	pod, err := RestorePod(r)
	if err != nil {
		return nil, err
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: RestoreName(r.Record, r.Attempt), Labels: pod.Labels, OwnerReferences: r.Owner},
		Spec: batchv1.JobSpec{
			// The operator creates another Job after a failure, and reports that in
			// the status.
			BackoffLimit:         new(int32(0)),
			PodReplacementPolicy: new(batchv1.Failed),
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
	}, nil
}

// RestorePod builds the Pod of a restore Job alone, to ask the API server whether it
// would admit it.
func RestorePod(r Restore) (*corev1.Pod, error) {
	permit := r.Permit
	if permit == nil {
		permit = []trial.Tunable{}
	}
	permitted, err := json.Marshal(permit)
	if err != nil {
		return nil, fmt.Errorf("jobspec: %w", err)
	}
	labels := map[string]string{LabelManagedBy: ManagedBy, LabelRecord: r.Record}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: RestoreName(r.Record, r.Attempt), Labels: labels},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			HostPID:                      true,
			Affinity:                     onNode(r.Node),
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			PriorityClassName:            RestorePriority,
			ImagePullSecrets:             pullSecrets(r.Settings),
			SecurityContext:              podSecurity(&trial.Plan{}, trial.Target{Source: trial.HostPath}),
			Volumes:                      []corev1.Volume{journalVolume()},
			Containers: []corev1.Container{{
				Name:            "restore",
				Image:           r.Settings.Image,
				ImagePullPolicy: r.Settings.ImagePullPolicy,
				Command:         []string{"/usr/local/bin/storagebench"},
				Args:            []string{"restore", "--journal", JournalDir, "--host-programs", "--permit", string(permitted)},
				// The operator reads its last lines of output.
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				SecurityContext:          &corev1.SecurityContext{Privileged: new(true), ReadOnlyRootFilesystem: new(true)},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "journal", MountPath: JournalDir}},
			}},
		},
	}, nil
}
