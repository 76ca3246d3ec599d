package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StorageBenchmarkStatus holds the conditions, the present run, and the summary
// of what it measured. Everything else is in the result store.
type StorageBenchmarkStatus struct {
	// observedGeneration is the generation of the spec that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Ready, Reconciling, Stalled, Complete, Failed, Qualified, ResultsStored, TunablesRestored
	// (their reasons are in docs/reference/conditions.md).
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// answer is what the run answers; absent until it has ended with a summary.
	// +optional
	Answer *AnswerStatus `json:"answer,omitempty"`

	// gates on each of their rows, of at most 64, those that are missed first; summary.json has
	// all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Gates []GateStatus `json:"gates,omitempty"`

	// headline is the summary in one line, for kubectl get.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Headline string `json:"headline,omitempty"`

	// run is the present run, or the last one.
	// +optional
	Run *RunStatus `json:"run,omitempty"`

	// summary has one row for each target, workload, part of a workload and node, of at
	// most 64; the result store's summary.json has them all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Summary []SummaryRow `json:"summary,omitempty"`

	// summaryOmitted is the number of rows that the summary has no room for.
	// +optional
	SummaryOmitted int32 `json:"summaryOmitted,omitempty"`

	// sweeps are what workloads measured at the points of their sweeps; summary.json has them all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Sweeps []SweepStatus `json:"sweeps,omitempty"`

	// baseline is the comparison with an earlier run, if spec.baseline asks for one.
	// +optional
	Baseline *BaselineStatus `json:"baseline,omitempty"`

	// latestQualified is the last run that was complete, met its gates if there are any, and was no
	// regression: the baseline of later ones.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	LatestQualified string `json:"latestQualified,omitempty"`

	// latestQualifiedDigest is the SHA-256 of that run's summary.json.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	LatestQualifiedDigest string `json:"latestQualifiedDigest,omitempty"`

	// facts of the run's configuration and environment that make numbers differ, of at most 64: what a
	// StorageBenchmarkSchedule compares from run to run.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Facts map[string]string `json:"facts,omitempty"`

	// comparisons of variants with the control, of at most 64; the result store's
	// summary.json has them all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Comparisons []ComparisonRow `json:"comparisons,omitempty"`
}

// AcceptedWorkers makes sure that what the operator accepted of workers is what it reads again when the run ends.
// Whoever can write to the bucket can replace the documents, but not this.
type AcceptedWorkers struct {
	// workers whose documents were accepted, as positions in the plan, in this order: "0-3,7,5-6".
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:Pattern=`^[0-9,-]*$`
	Workers string `json:"workers,omitempty"`

	// digest is the SHA-256 of a line with the digest before it, the position of the last worker, and the SHA-256 of
	// its document.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest,omitempty"`
}

// RunStatus is what the operator must remember of a run. Its size does not grow with
// the number of workers: the plan in the result store lists them.
type RunStatus struct {
	// id of the run: spec.runID, the generation of the spec that it runs, and a
	// hash of the benchmark's UID. It is a segment of the result objects' keys.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	ID string `json:"id"`

	// specHash is the hash of the spec that the run was started for.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	SpecHash string `json:"specHash"`

	// generation of the benchmark that specHash was computed from. As long as it is the
	// benchmark's generation, nobody has changed the spec.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// rerun is the value of the annotation storagebench.io/rerun that the run was started with, or
	// a hash of it if it is long. Another value there starts another run.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Rerun string `json:"rerun,omitempty"`

	// planDigest is the SHA-256 of the run's plan.json. The plan is built once, when the
	// run starts; every later step loads it and checks it against this digest.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	PlanDigest string `json:"planDigest,omitempty"`

	// summaryDigest is the SHA-256 of the run's summary.json as the operator stored it. Whoever can
	// write to the bucket can replace the file, but not this digest.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	SummaryDigest string `json:"summaryDigest,omitempty"`

	// resultStore is the ResultStore that a run of a benchmark without spec.results uses.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ResultStore string `json:"resultStore,omitempty"`

	// statusOnly reports that the run has no ResultStore: the operator holds its documents until
	// it ends, and then its results are in this status only.
	// +optional
	StatusOnly bool `json:"statusOnly,omitempty"`

	// location of the results, s3://bucket/prefix/…; absent if there is only the status.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Location string `json:"location,omitempty"`

	// queuedAt is when the run was recorded. It is the place in a node's queue.
	// +required
	QueuedAt metav1.MicroTime `json:"queuedAt"`

	// startedAt is when the first worker of the run was started.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// finishedAt is when the run ended, well or not.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// activeFor is how long the run was active before activeSince. spec.timeout bounds
	// the active time: time in a queue and time in which the benchmark is suspended do not count.
	// +optional
	ActiveFor *metav1.Duration `json:"activeFor,omitempty"`

	// activeSince is since when the run has been active; absent while it is not.
	// +optional
	ActiveSince *metav1.Time `json:"activeSince,omitempty"`

	// progress is stored trials of planned trials, "12/24".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Progress string `json:"progress,omitempty"`

	// trialsPlanned is the number of trials of all workers.
	// +optional
	TrialsPlanned int32 `json:"trialsPlanned,omitempty"`

	// trialsStored is the number of trials that are in the result store.
	// +optional
	TrialsStored int32 `json:"trialsStored,omitempty"`

	// budgetSpent is how much of spec.trials.budget the trials of the workers that have ended took.
	// Absent if there is no budget, or no worker has ended.
	// +optional
	BudgetSpent *metav1.Duration `json:"budgetSpent,omitempty"`

	// workersTotal is the number of workers, the (target, node) pairs of the run.
	// +optional
	WorkersTotal int32 `json:"workersTotal,omitempty"`

	// workersDone is the number of workers that have ended and measured every trial.
	// +optional
	WorkersDone int32 `json:"workersDone,omitempty"`

	// workersFailed is the number of workers that have ended without that.
	// +optional
	WorkersFailed int32 `json:"workersFailed,omitempty"`

	// ended are the workers that have ended, as positions in the plan: "0-3,7".
	// +optional
	// +kubebuilder:validation:MaxLength=8192
	// +kubebuilder:validation:Pattern=`^[0-9,-]*$`
	Ended string `json:"ended,omitempty"`

	// accepted is what the operator accepted of workers that have ended; absent in runs that release 0.2 began.
	// +optional
	Accepted *AcceptedWorkers `json:"accepted,omitempty"`

	// current is the worker that runs, or that the run waits for.
	// +optional
	Current *CurrentWorker `json:"current,omitempty"`

	// failures are the first 8 workers that failed; summary.json in the result store
	// has what each worker stored.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Failures []WorkerFailure `json:"failures,omitempty"`

	// notes tell what the run leaves behind or does otherwise than one might expect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Notes []string `json:"notes,omitempty"`

	// unrestored is read from runs that release 0.1 began, and never written:
	// NodeRestore objects hold the nodes whose settings may be changed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	Unrestored []string `json:"unrestored,omitempty"`

	// workers is read from runs that release 0.1 began, and never written: ended,
	// current and failures replace it.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Workers []WorkerStatus `json:"workers,omitempty"`
}

// CurrentWorker is the worker that runs, or that the run waits for.
type CurrentWorker struct {
	// worker is its name, as in the result objects' keys.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Worker string `json:"worker"`

	// node that it measures on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// trialsStored is the number of its trials that are in the result store.
	// +optional
	TrialsStored int32 `json:"trialsStored,omitempty"`
}

// WorkerFailure says why a worker failed.
type WorkerFailure struct {
	// worker is its name, as in the result objects' keys.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Worker string `json:"worker"`

	// node that it was to measure on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// reason is one of the reasons of the condition Stalled.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// message says what failed and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// WorkerPhase is how far a worker of release 0.1 was. Done and Failed are final.
type WorkerPhase string

// Phases of a worker of release 0.1.
const (
	WorkerRunning WorkerPhase = "Running"
	WorkerDone    WorkerPhase = "Done"
	WorkerFailed  WorkerPhase = "Failed"
)

// WorkerStatus is how release 0.1 recorded one (target, node) of a run.
type WorkerStatus struct {
	// name of the worker, as in the result objects' keys.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// target that the worker measures.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Target string `json:"target"`

	// node that it measures on.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// phase is Pending, Running, Done or Failed.
	// +required
	// +kubebuilder:validation:Enum=Pending;Running;Done;Failed
	Phase WorkerPhase `json:"phase"`

	// trialsStored is the number of its trials that are in the result store.
	// +optional
	TrialsStored int32 `json:"trialsStored,omitempty"`

	// attempts is how many Pods have run for it.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`

	// reason it failed for, one of the reasons of the condition Stalled.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message says what failed and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
