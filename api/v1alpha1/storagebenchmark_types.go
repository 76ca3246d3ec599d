package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AnnotationRerun runs a benchmark again whenever it has a new value, whichever that is: the spec
// stays as it is.
const AnnotationRerun = "storagebench.io/rerun"

// StorageBenchmarkSpec says what is measured (targets), where (placement), with
// what (workloads), how often (trials), and where the results go (results).
// A changed spec starts a new run, apart from suspend, ttlAfterFinished and timeout.
//
// +kubebuilder:validation:XValidation:rule="self.workloads.map(w, has(w.fio) ? (has(w.fio.jobFile) ? size(bytes(w.fio.jobFile)) : 0) + (has(w.fio.commandLine) ? size(bytes(w.fio.commandLine)) : 0) + (has(w.fio.include) ? w.fio.include.map(k, size(bytes(w.fio.include[k]))).sum() : 0) : 0).sum() <= 131072",message="the workloads' fio.jobFile, commandLine and include are larger than 128 KiB together: leave out what fio does not need, such as comments, or make several benchmarks"
type StorageBenchmarkSpec struct {
	// targets are the storage to measure. Every workload runs on every target.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=12
	Targets []Target `json:"targets"`

	// placement chooses the nodes that measure. Default: one node, any.
	// +optional
	// +kubebuilder:default={}
	Placement Placement `json:"placement,omitempty"`

	// workloads are what runs on each target. They alternate: every workload
	// once, then every workload again.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Workloads []Workload `json:"workloads"`

	// variants are ways in which the storage is set, each of which every workload is
	// measured with. The first is the control, with which the others are compared.
	// They alternate within each repeat. Default: one, the storage as it is.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Variants []Variant `json:"variants,omitempty"`

	// trials says how often each workload is repeated on each target and node.
	// +optional
	// +kubebuilder:default={}
	Trials Trials `json:"trials,omitempty"`

	// baseline is an earlier run of this benchmark that a run must not be worse than. Needs a
	// ResultStore. Default: none.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`

	// compare says what is compared with each other, which metric decides, and what difference
	// matters. Default: variants, if there are any.
	// +optional
	Compare *Compare `json:"compare,omitempty"`

	// gates are limits that decide whether the storage is good enough: the condition Qualified.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Gates []Gate `json:"gates,omitempty"`

	// results says where the results go. Default: the ResultStore named default, if there is
	// one that takes results of the namespace; else nowhere: the answer and the summary are in
	// the status, and every other document is dropped when the run ends.
	// +optional
	Results *Results `json:"results,omitempty"`

	// timeout bounds a run, from its first worker to its end; time in the queue
	// does not count. What was measured by then is kept. A change starts no new run: it applies to
	// the present one, but a worker that runs already keeps what it was started with. Default: 2h.
	// +optional
	// +kubebuilder:default="2h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('144h')",message="timeout must be between 10s and 144h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// runID is any label for a run. Changing it runs the same benchmark again,
	// which is how a rerun is made from Git. It becomes part of the result
	// objects' keys. A new value of the annotation storagebench.io/rerun does the same, but names
	// nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	RunID string `json:"runID,omitempty"`

	// suspend stops the run: its Jobs and generated volumes are removed, its
	// node is released, stored trials are kept. Set it to false to carry on
	// after the last stored trial. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// ttlAfterFinished deletes the StorageBenchmark this long after its run
	// ended. The stored results stay. Default: it is kept.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="ttlAfterFinished must not be negative"
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`
}

// Target is one piece of storage. Exactly one of its sources is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.storageClass), has(self.persistentVolumeClaim), has(self.hostPath), has(self.blockDevice)].filter(x, x).size() == 1",message="a target needs exactly one of storageClass, persistentVolumeClaim, hostPath and blockDevice"
type Target struct {
	// name of the target, in results and object keys.
	// +required
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// storageClass measures a volume that is generated for each node and deleted afterwards.
	// +optional
	StorageClass *StorageClassTarget `json:"storageClass,omitempty"`

	// persistentVolumeClaim measures an existing volume in the benchmark's namespace.
	// +optional
	PersistentVolumeClaim *PersistentVolumeClaimTarget `json:"persistentVolumeClaim,omitempty"`

	// hostPath measures a directory of the node. The operator must allow the
	// path, and the namespace the privileged Pod Security level.
	// +optional
	HostPath *HostPathTarget `json:"hostPath,omitempty"`

	// blockDevice measures a block device of the node, destroying what is on it.
	// The operator must allow the path, and the namespace the privileged Pod
	// Security level.
	// +optional
	BlockDevice *BlockDeviceTarget `json:"blockDevice,omitempty"`
}

// StorageClassTarget describes the volume to generate.
type StorageClassTarget struct {
	// name of the StorageClass.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`

	// size of the volume. It should be larger than the node's memory where a
	// workload can be served from a cache. Default: 10Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isGreaterThan(quantity('1Mi'))",message="size must be more than 1Mi"
	Size *resource.Quantity `json:"size,omitempty"`

	// accessMode of the claim. Default: ReadWriteOnce.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteOncePod;ReadWriteMany
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`

	// volumeMode is Filesystem, or Block to measure the raw device. Default: Filesystem.
	// +optional
	// +kubebuilder:validation:Enum=Filesystem;Block
	VolumeMode corev1.PersistentVolumeMode `json:"volumeMode,omitempty"`
}

// PersistentVolumeClaimTarget names an existing claim. On a file system, the
// workloads write into a directory of their own and remove it at the end.
type PersistentVolumeClaimTarget struct {
	// claimName of a PersistentVolumeClaim in the benchmark's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ClaimName string `json:"claimName"`

	// allowDataDestruction must be true for a claim with volumeMode Block: its
	// content is overwritten. A device on which a file system, a partition table
	// or the like is found is refused all the same. Default: false.
	// +optional
	AllowDataDestruction bool `json:"allowDataDestruction,omitempty"`

	// runAsUser is the user that the worker runs as, so that it may write to the
	// root of the volume: the owner of that directory, for example. It cannot be root.
	// A worker that changes settings of the node runs as root and ignores it.
	// Default: 65532.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// fsGroup of the worker's Pod. Beware: unless the root of the volume has this
	// group already, Kubernetes gives every file on the volume to it and makes it
	// readable and writable for it; programs that want their files private, such as
	// PostgreSQL, do not start again then. Default: none, and nothing on the volume
	// is changed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`
}

// HostPathTarget names a directory of the node. The workloads write into a
// directory of their own below it and remove it at the end.
type HostPathTarget struct {
	// path of an existing directory, absolute.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9_.:@+-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '..' || s == '.')",message="path must not contain . or .. as a segment"
	Path string `json:"path"`
}

// BlockDeviceTarget names a block device of the node.
//
// +kubebuilder:validation:XValidation:rule="self.allowDataDestruction",message="a block device is overwritten: set allowDataDestruction: true if nothing on it is needed"
type BlockDeviceTarget struct {
	// path of the device below /dev.
	// +required
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/dev(/[A-Za-z0-9_.:@+-]+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.split('/').exists(s, s == '..' || s == '.')",message="path must not contain . or .. as a segment"
	Path string `json:"path"`

	// allowDataDestruction must be true. A device that is mounted, or on which a
	// file system, a partition table or the like is found, is refused all the same.
	// +required
	AllowDataDestruction bool `json:"allowDataDestruction"`
}

// PlacementMode says how the workers of a benchmark follow each other.
type PlacementMode string

// PlacementSequential: one worker at a time, node after node.
const PlacementSequential PlacementMode = "Sequential"

// Placement chooses nodes.
type Placement struct {
	// nodeSelector restricts the nodes to those with all these labels. Default: every node.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)",message="a label of nodeSelector is longer than labels can be: 317 characters of its key, 63 of its value"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// nodes is how many of the matching nodes measure, or All. They are taken in
	// the order of their names; nodes that are not ready, or unschedulable, or
	// have a taint that is not tolerated, do not match. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 1000 : self == 'All'",message="nodes must be a number from 1 to 1000, or All"
	Nodes *intstr.IntOrString `json:"nodes,omitempty"`

	// tolerations of the worker Pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, (!has(t.key) || size(t.key) <= 317) && (!has(t.value) || size(t.value) <= 63) && (!has(t.operator) || size(t.operator) <= 16) && (!has(t.effect) || size(t.effect) <= 32))",message="a toleration is longer than taints can be: 317 characters of its key, 63 of its value"
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// mode Sequential runs one worker at a time, so that workers do not share a
	// backend. Default: Sequential.
	// +optional
	// +kubebuilder:default=Sequential
	// +kubebuilder:validation:Enum=Sequential
	Mode PlacementMode `json:"mode,omitempty"`
}

// AllNodes is the value of Placement.Nodes that takes every matching node.
const AllNodes = "All"

// TrialOrder is the order of a worker's trials.
type TrialOrder string

// Orders of trials.
const (
	// OrderInterleaved: in blocks of two repeats, the first in random order and the second
	// in its reverse.
	OrderInterleaved TrialOrder = "Interleaved"
	// OrderRandom: each repeat in a random order of its own.
	OrderRandom TrialOrder = "Random"
	// OrderSequential: all trials of one variant, then all of the next.
	OrderSequential TrialOrder = "Sequential"
)

// Trials says how often a workload is repeated, and in which order.
type Trials struct {
	// min is the number of trials of each workload (with each variant) on each target and node.
	// Without max, halfWidth and budget it is the exact number. The interval of a median at 95 %
	// needs at least 6; a comparison of two variants needs 6 blocks of two repeats, and one or two
	// more for every doubling of the rows. Default: as many as that takes; plan shows it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Min int32 `json:"min,omitempty"`

	// max is the highest number of trials: from min on, a workload is measured no more when all
	// of its gates are decided, or no trial that is left could decide one; when halfWidth is
	// reached; or when the budget is spent; never because a difference seems significant. Gates end no workload where variants or targets are compared,
	// or with several volumes. Default: min; with halfWidth or budget 30, or min if that is more.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Max int32 `json:"max,omitempty"`

	// halfWidth is how narrow an interval is to be, as a share of the median: 5% for ±5 %. It
	// is about the rate of each workload's first operation; where variants are compared, about
	// the difference between them, judged by the spread of equal trials alone. Default: 5%, if
	// max is more than min; a workload with gates then goes on until these are decided.
	// +optional
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^[0-9]+([.][0-9]+)?%$`
	HalfWidth string `json:"halfWidth,omitempty"`

	// budget is how long the trials of the run may take in all, on all nodes and targets, one after
	// the other; rounds of a precondition do not count. A worker that begins has an equal part of
	// what is left: the budget less what the trials of the workers before it took, divided by the
	// number of workers that have not ended. It runs the minimum in any case, and spends the rest on
	// the workload whose interval is widest for its cost. Default: none; timeout ends the run.
	// +optional
	Budget *metav1.Duration `json:"budget,omitempty"`

	// volumes is how many volumes of each storageClass target are measured on each node, one after
	// the other, each provisioned anew. Trials on one volume speak for that volume, however many they
	// are; an interval for the class needs 3 volumes or more. Where targets are compared
	// (compare.by: target), each of these rounds has all targets, in random order; a target that
	// is not provisioned is measured once in each. Default: 1; where targets are
	// compared, as many as that takes, 6 or more.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Volumes int32 `json:"volumes,omitempty"`

	// order of the trials. Interleaved: every workload once, then every workload again, with
	// the variants of a workload side by side in blocks of two repeats, the first in a random
	// order and the second in its reverse (ABBA or BAAB with two variants), so that a drift of
	// the machine affects all of them alike. Random: the same, with a random order in each
	// repeat. Sequential: all trials of one workload and variant, then all of the next; a drift
	// then cannot be told from a difference. The seed of the order is in the run's plan.json.
	// Default: Interleaved.
	// +optional
	// +kubebuilder:validation:Enum=Interleaved;Random;Sequential
	Order TrialOrder `json:"order,omitempty"`
}

// Results says where results go.
type Results struct {
	// storeRef names the ResultStore.
	// +required
	StoreRef ResultStoreReference `json:"storeRef"`
}

// ResultStoreReference names a ResultStore.
type ResultStoreReference struct {
	// name of the ResultStore.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// StorageBenchmark measures storage on nodes and keeps the results.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sb;sbench,categories=storagebench
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="the name must not be longer than 52 characters, as Jobs and labels are named after it"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Answer",type=string,JSONPath=`.status.answer.answer`
// +kubebuilder:printcolumn:name="Trials",type=string,JSONPath=`.status.run.progress`
// +kubebuilder:printcolumn:name="Duration",type=string,JSONPath=`.status.run.activeFor`
// +kubebuilder:printcolumn:name="Headline",type=string,JSONPath=`.status.headline`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Results",type=string,JSONPath=`.status.run.location`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type StorageBenchmark struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to measure.
	// +required
	Spec StorageBenchmarkSpec `json:"spec"`
	// status is how far it is, and what was measured. Until the operator has seen the benchmark,
	// observedGeneration is -1, so that nobody takes one without conditions for a finished one.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status StorageBenchmarkStatus `json:"status,omitempty"`
}

// StorageBenchmarkList is a list of StorageBenchmarks.
//
// +kubebuilder:object:root=true
type StorageBenchmarkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StorageBenchmark `json:"items"`
}
