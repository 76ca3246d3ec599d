package jobspec

import (
	"crypto/sha256"
	"encoding/hex"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/internal/trial"
)

// LabelNode names the node of a restore Job, as a hash, since a node's name can be
// longer than a label.
const LabelNode = "storagebench.io/node"

// RestoreName is the name of the Job that restores a node.
func RestoreName(node string) string {
	sum := sha256.Sum256([]byte(node))
	return "restore-" + hex.EncodeToString(sum[:6])
}

// RestoreJob builds the Job that puts back what a node's journal holds. It runs in the
// operator's namespace, where no tenant can touch it, on that node whatever its taints,
// and is told nothing of the benchmark: the journal says what to restore.
func RestoreJob(s Settings, namespace, node string) *batchv1.Job {
	labels := map[string]string{LabelManagedBy: ManagedBy, LabelNode: RestoreName(node)}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: RestoreName(node), Labels: labels},
		Spec: batchv1.JobSpec{
			// One that failed is made again by the operator, which says so meanwhile.
			BackoffLimit:         new(int32(0)),
			PodReplacementPolicy: new(batchv1.Failed),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy:                corev1.RestartPolicyNever,
					AutomountServiceAccountToken: new(false),
					EnableServiceLinks:           new(false),
					HostPID:                      true,
					Affinity:                     onNode(node),
					Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					ImagePullSecrets:             pullSecrets(s),
					SecurityContext:              podSecurity(&trial.Plan{}, trial.Target{Source: trial.HostPath}),
					Volumes:                      []corev1.Volume{journalVolume()},
					Containers: []corev1.Container{{
						Name:            "restore",
						Image:           s.Image,
						ImagePullPolicy: s.ImagePullPolicy,
						Command:         []string{"/usr/local/bin/storagebench"},
						Args:            []string{"restore", "--journal", JournalDir, "--host-programs"},
						// What it prints last is what the operator reads.
						TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
						SecurityContext:          &corev1.SecurityContext{Privileged: new(true), ReadOnlyRootFilesystem: new(true)},
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU:    resource.MustParse("10m"),
							corev1.ResourceMemory: resource.MustParse("32Mi"),
						}},
						VolumeMounts: []corev1.VolumeMount{{Name: "journal", MountPath: JournalDir}},
					}},
				},
			},
		},
	}
}
