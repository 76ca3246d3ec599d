package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationAbandon gives a node up: its value must be the NodeRestore's UID, a slash and
// the word Abandon. The operator then stops trying to restore the node, and says so.
const AnnotationAbandon = "storagebench.io/abandon"

// NodeRestoreSpec says which settings of a node a benchmark may have changed. The operator
// writes it before the worker that changes them may start, and nobody else does.
type NodeRestoreSpec struct {
	// nodeUID is the UID that the node had, whose name is the object's.
	// +required
	NodeUID types.UID `json:"nodeUID"`

	// benchmark that changes the settings.
	// +required
	Benchmark BenchmarkReference `json:"benchmark"`

	// run of the benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Run string `json:"run"`

	// worker of the run.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Worker string `json:"worker"`

	// job that runs the worker, in the benchmark's namespace. When it can start no more
	// Pods and none of them is left, the node is restored.
	// +required
	Job JobReference `json:"job"`

	// settings that may have been changed, and so may be put back.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Settings []RestorableSetting `json:"settings,omitempty"`

	// since is when the worker was allowed to start.
	// +required
	Since metav1.Time `json:"since"`
}

// BenchmarkReference names a StorageBenchmark.
type BenchmarkReference struct {
	// namespace of the benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name of the benchmark.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the benchmark.
	// +required
	UID types.UID `json:"uid"`
}

// JobReference names a Job in the benchmark's namespace.
type JobReference struct {
	// name of the Job.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// uid of the Job.
	// +required
	UID types.UID `json:"uid"`
}

// RestorableSetting is a tunable, and where it may have been set.
type RestorableSetting struct {
	// name of the tunable.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name"`
	// devices are patterns of the names of disks, as in /sys/block.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=64
	Devices []string `json:"devices,omitempty"`
	// datasets are patterns of ZFS datasets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=255
	Datasets []string `json:"datasets,omitempty"`
}

// RestorePhase is how far the restoring of a node is.
type RestorePhase string

// Phases of a NodeRestore. A node that is restored has no NodeRestore any more.
const (
	// RestoreInUse: the worker may still run.
	RestoreInUse RestorePhase = "InUse"
	// RestoreRunning: the worker has ended, and a Job puts the settings back.
	RestoreRunning RestorePhase = "Restoring"
	// RestoreNodeAway: the node is not ready; it is restored when it is back.
	RestoreNodeAway RestorePhase = "NodeAway"
	// RestoreFailed: a setting could not be put back; it is tried again.
	RestoreFailed RestorePhase = "Failed"
	// RestoreGone: the node was deleted. Nothing waits for it; it is restored if it comes back.
	RestoreGone RestorePhase = "Gone"
	// RestoreAbandoned: an administrator has given the node up.
	RestoreAbandoned RestorePhase = "Abandoned"
)

// Over reports whether nobody waits for the record any more.
func (p RestorePhase) Over() bool { return p == RestoreGone || p == RestoreAbandoned }

// NodeRestoreStatus says how far the restoring is.
type NodeRestoreStatus struct {
	// phase is InUse, Restoring, NodeAway, Failed, Gone or Abandoned.
	// +optional
	// +kubebuilder:validation:Enum=InUse;Restoring;NodeAway;Failed;Gone;Abandoned
	Phase RestorePhase `json:"phase,omitempty"`

	// attempts is how many restore Jobs have failed.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// failedAt is when the last of them failed.
	// +optional
	FailedAt *metav1.Time `json:"failedAt,omitempty"`

	// message says what is done, or what is in the way.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message,omitempty"`

	// conditions: TunablesRestored.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeRestore records that a benchmark may have changed settings of a node, and how far
// they are put back. Its name is the node's. The operator deletes it when the node is as it
// was; as long as it is there, no benchmark starts on the node. If the node will never come
// back, annotate the NodeRestore with storagebench.io/abandon=UID/Abandon, with its own UID.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=storagebench
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.benchmark.namespace`
// +kubebuilder:printcolumn:name="Benchmark",type=string,JSONPath=`.spec.benchmark.name`
// +kubebuilder:printcolumn:name="Attempts",type=integer,JSONPath=`.status.attempts`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
type NodeRestore struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what may have been changed.
	// +required
	Spec NodeRestoreSpec `json:"spec"`
	// status is how far it is put back.
	// +optional
	Status NodeRestoreStatus `json:"status,omitempty"`
}

// NodeRestoreList is a list of NodeRestores.
//
// +kubebuilder:object:root=true
type NodeRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeRestore `json:"items"`
}
