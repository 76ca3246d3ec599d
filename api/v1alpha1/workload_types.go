package v1alpha1

// Arrivals is how the operations of an open loop are spread over time.
type Arrivals string

const (
	// ArrivalsPoisson are independent of each other.
	ArrivalsPoisson Arrivals = "Poisson"
	// ArrivalsEven have the same time between them.
	ArrivalsEven Arrivals = "Even"
)

// Workload is one engine with its settings. Exactly one engine is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.fio), has(self.postmark), has(self.filesync), has(self.bandwidth), has(self.bonnie), has(self.iozone), has(self.flushLadder)].filter(x, x).size() == 1",message="a workload needs exactly one engine: fio, postmark, filesync, bandwidth, bonnie, iozone or flushLadder"
type Workload struct {
	// name of the workload, in results and object keys.
	// +required
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// fio runs fio, with a job file, with parameters, or with a preset.
	// +optional
	Fio *FioWorkload `json:"fio,omitempty"`

	// postmark runs transactions on many small files, as a mail server would.
	// +optional
	Postmark *PostmarkWorkload `json:"postmark,omitempty"`

	// filesync creates files that are durable before the next one is begun.
	// +optional
	Filesync *FilesyncWorkload `json:"filesync,omitempty"`

	// bandwidth writes and reads one file, or a device, from its start to its end.
	// +optional
	Bandwidth *BandwidthWorkload `json:"bandwidth,omitempty"`

	// bonnie runs bonnie++.
	// +optional
	Bonnie *BonnieWorkload `json:"bonnie,omitempty"`

	// iozone measures a matrix of record sizes and file sizes.
	// +optional
	Iozone *IozoneWorkload `json:"iozone,omitempty"`

	// flushLadder measures each way of making a block durable, and whether a disk may ignore
	// flushes.
	// +optional
	FlushLadder *FlushLadderWorkload `json:"flushLadder,omitempty"`

	// sweep measures the workload at several settings, and says which is best. Default: as it is.
	// +optional
	Sweep *Sweep `json:"sweep,omitempty"`

	// precondition runs the workload in rounds that are not measured before its first trial, until the
	// storage is steady. Default: the first trial is measured at once.
	// +optional
	Precondition *Precondition `json:"precondition,omitempty"`
}

// Precondition is what runs before the first trial of a workload, on each volume, and again after a worker
// was killed. A round is what a trial is, but its numbers do not count. No tunables are set. The rounds end when
// the last five are steady as SNIA's Performance Test Specification says: the rate of the workload's first operation
// stays within 20 % of its mean, and a line through it moves by at most 10 % of the mean. If that does not happen,
// the trials are measured all the same, and have the verdict NotSteady.
type Precondition struct {
	// maxRounds is the highest number of rounds, from 1 to 100. Fewer than 5 are a plain warm-up of exactly
	// so many rounds, of which nothing is said to be steady. Default: 25.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxRounds int32 `json:"maxRounds,omitempty"`
}
