package v1alpha1

// Conditions of a StorageBenchmark. Ready, Reconciling and Stalled are read as
// kstatus and Flux read them. Each has a polarity: "normal-true" conditions are
// good when True, "abnormal-true" ones are present only while they are True.
const (
	// ConditionReady is normal-true: the run of the present spec has finished
	// and every trial was measured. While the run goes on it is False, and its
	// reason says what is being done or waited for.
	ConditionReady = "Ready"

	// ConditionReconciling is abnormal-true: the operator is working on the
	// benchmark, or waits for something that needs no action by the user.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is abnormal-true: it goes no further until somebody
	// changes something; reason and message say what. It clears by itself when
	// the obstacle is gone.
	ConditionStalled = "Stalled"

	// ConditionResultsStored is normal-true: every object of the run is in the
	// result store, the run's summary.json last. Unknown until the run ends.
	ConditionResultsStored = "ResultsStored"
)

// ConditionTunablesRestored is normal-true: every setting that the benchmark has changed
// on a node is what it was before. It is there once a benchmark with tunables has begun.
const ConditionTunablesRestored = "TunablesRestored"

// ConditionAvailable is the condition of a ResultStore. It is normal-true: an
// object could be written, read back and deleted under the store's prefix when
// that was last tried.
const ConditionAvailable = "Available"

// Reasons of the conditions of a StorageBenchmark while it is on its way.
const (
	// ReasonPending: the run is recorded and nothing has been created for it yet.
	ReasonPending = "Pending"
	// ReasonQueued: another benchmark holds the Lease of the node, or stands
	// before this one in the queue for it.
	ReasonQueued = "Queued"
	// ReasonStarting: a worker's Job is there and its Pod does not run yet.
	ReasonStarting = "Starting"
	// ReasonRunning: a worker measures.
	ReasonRunning = "Running"
	// ReasonStoreUnavailable: the ResultStore is not Available. The run waits.
	ReasonStoreUnavailable = "StoreUnavailable"
	// ReasonSuspended: spec.suspend is true; Jobs and volumes have been removed.
	ReasonSuspended = "Suspended"
	// ReasonDeleting: the benchmark is being deleted and cleans up.
	ReasonDeleting = "Deleting"
	// ReasonFinished: every trial was measured and stored.
	ReasonFinished = "Finished"
)

// Reasons that need somebody to act. All but the last group are found before
// anything is measured.
const (
	ReasonInvalidSpec                   = "InvalidSpec"
	ReasonInvalidJobFile                = "InvalidJobFile"
	ReasonStorageClassNotFound          = "StorageClassNotFound"
	ReasonPersistentVolumeClaimNotFound = "PersistentVolumeClaimNotFound"
	ReasonResultStoreNotFound           = "ResultStoreNotFound"
	ReasonNoMatchingNodes               = "NoMatchingNodes"
	ReasonHostAccessNotAllowed          = "HostAccessNotAllowed"
	ReasonPodSecurityForbids            = "PodSecurityForbids"

	// ReasonPodRejected: the API server refused the worker's Pod or claim
	// (quota, admission policy, Pod Security).
	ReasonPodRejected = "PodRejected"
	// ReasonPodUnschedulable: the scheduler finds no place for the worker's Pod.
	ReasonPodUnschedulable = "PodUnschedulable"
	// ReasonImagePullFailed: the node cannot get the worker's image.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonVolumeNotReady: the volume could not be attached or mounted.
	ReasonVolumeNotReady = "VolumeNotReady"

	ReasonTargetTooSmall   = "TargetTooSmall"
	ReasonTargetHoldsData  = "TargetHoldsData"
	ReasonTargetUnusable   = "TargetUnusable"
	ReasonNoSpace          = "NoSpace"
	ReasonEngineRefused    = "EngineRefused"
	ReasonWorkloadFailed   = "WorkloadFailed"
	ReasonResultsNotStored = "ResultsNotStored"
	ReasonWorkerLost       = "WorkerLost"
	ReasonTimedOut         = "TimedOut"
	ReasonInternalError    = "InternalError"
	ReasonPlanTampered     = "PlanTampered"

	// ReasonTunableNotPermitted: no TunablePolicy permits a tunable of the spec.
	ReasonTunableNotPermitted = "TunableNotPermitted"
	// ReasonTunableNotApplied: the node did not take a setting; what was set was put back.
	ReasonTunableNotApplied  = "TunableNotApplied"
	ReasonInvalidCredentials = "InvalidCredentials"
)

// Reasons of the condition TunablesRestored.
const (
	// ReasonChanged: a worker measures with settings that it has changed.
	ReasonChanged = "Changed"
	// ReasonRestoring: a worker did not show that it has put them back; a Job does.
	ReasonRestoring = "Restoring"
	// ReasonNodeAway: the node is not there to be restored; it will be when it is back.
	ReasonNodeAway = "NodeAway"
	// ReasonTunablesNotRestored: a setting could not be put back; the message says which.
	ReasonTunablesNotRestored = "TunablesNotRestored"
	// ReasonRestored: all of them are what they were.
	ReasonRestored = "Restored"
)

// Reasons of the condition Available of a ResultStore, besides
// ReasonInvalidCredentials.
const (
	ReasonStoreWritable       = "Writable"
	ReasonSecretNotFound      = "SecretNotFound"
	ReasonEndpointUnreachable = "EndpointUnreachable"
	ReasonBucketNotFound      = "BucketNotFound"
	ReasonAccessDenied        = "AccessDenied"
	ReasonTLSFailed           = "TLSFailed"
	ReasonStoreError          = "StoreError"
)
