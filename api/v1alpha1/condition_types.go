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

	// ConditionComplete is normal-true and terminal, as a Job's: the run has ended, and
	// every trial was measured and stored. It is absent until then.
	ConditionComplete = "Complete"

	// ConditionFailed is abnormal-true and terminal, as a Job's: the run has ended, and
	// not every trial was measured and stored. It is absent until then.
	ConditionFailed = "Failed"

	// ConditionQualified says what the run answers of a benchmark with gates: True if all of
	// them are met, False if one is missed, Unknown as long as they are not decided. It is
	// separate from whether the run went well.
	ConditionQualified = "Qualified"

	// ConditionResultsStored is normal-true: every object of the run is in the
	// result store, the run's summary.json last. Unknown until the run ends.
	ConditionResultsStored = "ResultsStored"
)

// ConditionTunablesRestored is normal-true: every setting that the benchmark has changed
// on a node is what it was before. It is there once a benchmark with tunables has begun. A NodeRestore
// has it as well: False, with the reason, until the record is deleted.
const ConditionTunablesRestored = "TunablesRestored"

// Conditions of a StorageBenchmarkSchedule, besides Ready and Stalled.
const (
	// ConditionSuspended is abnormal-true: spec.suspend is true, and no run is made.
	ConditionSuspended = "Suspended"

	// ConditionRegressed is abnormal-true, and always present: a median has changed for the worse, and
	// two runs or more show it. Unknown while there are too few runs to tell.
	ConditionRegressed = "Regressed"
)

// ConditionAvailable is the condition of a ResultStore. It is normal-true: an
// object could be written, read back and deleted under the store's prefix when
// that was last tried.
const ConditionAvailable = "Available"
