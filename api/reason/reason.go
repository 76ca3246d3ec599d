// Package reason is the one vocabulary of storagebench: the reasons of conditions, which
// are also the classes of failures in receipts and result documents. Whoever reads a
// condition, a receipt or a document finds the same words.
//
// It imports nothing, so that the operator, the runner and other programs can share it.
package reason

// Reasons of the conditions of a StorageBenchmark while it is on its way.
const (
	// Pending: the run is recorded and nothing has been created for it yet.
	Pending = "Pending"
	// Queued: another benchmark holds the Lease of the node, or stands
	// before this one in the queue for it.
	Queued = "Queued"
	// Starting: a worker's Job is there and its Pod does not run yet.
	Starting = "Starting"
	// Running: a worker measures.
	Running = "Running"
	// StoreUnavailable: the ResultStore is not Available. The run waits.
	StoreUnavailable = "StoreUnavailable"
	// Suspended: spec.suspend is true; Jobs and volumes have been removed.
	Suspended = "Suspended"
	// Deleting: the benchmark is being deleted and cleans up.
	Deleting = "Deleting"
	// NamespaceTerminating: the namespace is being deleted, and nothing can be started in it.
	NamespaceTerminating = "NamespaceTerminating"
	// Finished: every trial was measured and stored.
	Finished = "Finished"
)

// Reasons that need somebody to act. All but the last group are found before
// anything is measured.
const (
	InvalidSpec                   = "InvalidSpec"
	InvalidJobFile                = "InvalidJobFile"
	StorageClassNotFound          = "StorageClassNotFound"
	PersistentVolumeClaimNotFound = "PersistentVolumeClaimNotFound"
	ResultStoreNotFound           = "ResultStoreNotFound"
	NoMatchingNodes               = "NoMatchingNodes"
	HostAccessNotAllowed          = "HostAccessNotAllowed"
	PodSecurityForbids            = "PodSecurityForbids"

	// PodRejected: the API server refused the worker's Pod or claim
	// (quota, admission policy, Pod Security).
	PodRejected = "PodRejected"
	// PodUnschedulable: the scheduler finds no place for the worker's Pod.
	PodUnschedulable = "PodUnschedulable"
	// ImagePullFailed: the node cannot get the worker's image.
	ImagePullFailed = "ImagePullFailed"
	// VolumeNotReady: the volume could not be attached or mounted.
	VolumeNotReady = "VolumeNotReady"

	TargetTooSmall   = "TargetTooSmall"
	TargetHoldsData  = "TargetHoldsData"
	TargetUnusable   = "TargetUnusable"
	NoSpace          = "NoSpace"
	EngineRefused    = "EngineRefused"
	WorkloadFailed   = "WorkloadFailed"
	ResultsNotStored = "ResultsNotStored"
	WorkerLost       = "WorkerLost"
	TimedOut         = "TimedOut"
	InternalError    = "InternalError"
	PlanTampered     = "PlanTampered"
	// GrantTampered: the worker's grant is not the one that the operator signed.
	GrantTampered = "GrantTampered"
	// ResultsRejected: a worker's documents are forged, too large or unreadable.
	ResultsRejected = "ResultsRejected"
	// LimitExceeded: the spec asks for more than the operator allows.
	LimitExceeded = "LimitExceeded"
	// NamespaceNotAllowed: the ResultStore does not take results of this namespace.
	NamespaceNotAllowed = "NamespaceNotAllowed"
	// RestoreNotPossible: settings would be changed that the operator could not put back.
	RestoreNotPossible = "RestoreNotPossible"

	// TunableNotPermitted: no TunablePolicy permits a tunable of the spec.
	TunableNotPermitted = "TunableNotPermitted"
	// TunableNotApplied: the node did not take a setting; what was set was put back.
	TunableNotApplied  = "TunableNotApplied"
	InvalidCredentials = "InvalidCredentials"
)

// Reasons of the condition Qualified, besides Running.
const (
	// GatesMet: every gate is met.
	GatesMet = "GatesMet"
	// GateMissed: at least one gate is missed.
	GateMissed = "GateMissed"
	// Regression: no gate is missed, but the run is worse than its baseline.
	Regression = "Regression"
	// GatesNotDecided: an interval contains the limit, or something was not measured.
	GatesNotDecided = "GatesNotDecided"
	// NumbersInvalid: a verdict makes the number of a gate worthless.
	NumbersInvalid = "NumbersInvalid"
)

// Reasons of the condition TunablesRestored.
const (
	// Changed: a worker measures with settings that it has changed.
	Changed = "Changed"
	// Restoring: a worker did not show that it has put them back; a Job does.
	Restoring = "Restoring"
	// NodeAway: the node is not there to be restored; it will be when it is back.
	NodeAway = "NodeAway"
	// NodeGone: the node was deleted, or installed anew, before it could be restored.
	NodeGone = "NodeGone"
	// GivenUp: an administrator has given the node up; nobody restores it.
	GivenUp = "GivenUp"
	// TunablesNotRestored: a setting could not be put back; the message says which.
	TunablesNotRestored = "TunablesNotRestored"
	// Restored: all of them are what they were.
	Restored = "Restored"
)

// Reasons of the conditions of a StorageBenchmarkSchedule, besides Suspended.
const (
	// Scheduled: runs are made at their times.
	Scheduled = "Scheduled"
	// InvalidSchedule: schedule, timeZone or quietWindows give no times.
	InvalidSchedule = "InvalidSchedule"
	// RunRejected: the API server refused the benchmark of a run.
	RunRejected = "RunRejected"
	// RunStalled: the next run waits for one that makes no progress until somebody acts.
	RunStalled = "RunStalled"
	// HistoryTooShort: there are too few runs to tell a change.
	HistoryTooShort = "HistoryTooShort"
	// NoRegression: no median that is still measured has changed for the worse, or somebody has
	// acknowledged that.
	NoRegression = "NoRegression"
	// MediansWorse: a median is worse since a run, and later runs confirm it.
	MediansWorse = "MediansWorse"
	// InvalidAcknowledgement: the annotation storagebench.io/acknowledge cannot be read.
	InvalidAcknowledgement = "InvalidAcknowledgement"
)

// Reasons of the condition Available of a ResultStore, besides
// InvalidCredentials.
const (
	StoreWritable       = "Writable"
	SecretNotFound      = "SecretNotFound"
	EndpointUnreachable = "EndpointUnreachable"
	BucketNotFound      = "BucketNotFound"
	AccessDenied        = "AccessDenied"
	TLSFailed           = "TLSFailed"
	StoreError          = "StoreError"
)
