package jobspec

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobOwner returns the owner reference for what the Job owns.
func JobOwner(job *batchv1.Job) metav1.OwnerReference {
	return *metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
}

// Claim builds the volume's claim for a target of a StorageClass.
func Claim(job *batchv1.Job, class string, size resource.Quantity, access corev1.PersistentVolumeAccessMode, mode corev1.PersistentVolumeMode) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: owned(job),
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{access},
			VolumeMode:       &mode,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
}

// PlanConfigMap builds the ConfigMap with the plan.
func PlanConfigMap(job *batchv1.Job, document []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: owned(job), Immutable: new(true), Data: map[string]string{planFile: string(document)}}
}

// GrantSecret builds the Secret with the grant.
func GrantSecret(job *batchv1.Job, grant []byte) (*corev1.Secret, error) {
	if len(grant) > corev1.MaxSecretSize {
		return nil, fmt.Errorf("jobspec: the grant has %d bytes, the limit of a Secret is %d", len(grant), corev1.MaxSecretSize)
	}
	return &corev1.Secret{ObjectMeta: owned(job), Immutable: new(true), Data: map[string][]byte{grantFile: grant}}, nil
}

func owned(job *batchv1.Job) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            job.Name,
		Namespace:       job.Namespace,
		Labels:          job.Labels,
		OwnerReferences: []metav1.OwnerReference{JobOwner(job)},
	}
}
