package v1alpha1

// LatestQualified is the last run of the benchmark whose numbers may be relied on.
const LatestQualified = "LatestQualified"

// Baseline is an earlier run of the benchmark that this one must not be worse than.
//
// +kubebuilder:validation:XValidation:rule="!has(self.benchmark) || has(self.from) && self.from != 'LatestQualified'",message="baseline.benchmark names another benchmark: set baseline.from to the ID of its run, as its status.run.id shows it"
// +kubebuilder:validation:XValidation:rule="!has(self.summaryDigest) || has(self.from) && self.from != 'LatestQualified'",message="baseline.summaryDigest is that of one run: set baseline.from to the ID of the run, as its status.run.id shows it"
type Baseline struct {
	// from is LatestQualified, the last run of this benchmark that was complete, met its gates if it has any, and
	// was no regression; or the ID of a run, as status.run.id showed it. Its summary is read from
	// the result store; without one, the operator holds those of the last run, of the latest that
	// qualified and of this one. Default: LatestQualified.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^(LatestQualified|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$`
	From string `json:"from,omitempty"`

	// benchmark of the same namespace that the run from is of; its results must be in the ResultStore of
	// this one. It need not exist any more. A StorageBenchmarkSchedule sets it. Default: this benchmark.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Benchmark string `json:"benchmark,omitempty"`

	// summaryDigest is the SHA-256 of the summary.json of the run from, as the run's status.run.summaryDigest shows it:
	// another file is not compared with, whoever put it there. A StorageBenchmarkSchedule sets it. Default: of
	// this benchmark's latest qualified run, what its status has; of other runs, any file.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	SummaryDigest string `json:"summaryDigest,omitempty"`

	// maxRegression is the worst acceptable change of a metric, as a percentage. Default: 5%.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[0-9]{1,2}(\.[0-9]{1,2})?%$`
	MaxRegression string `json:"maxRegression,omitempty"`
}

// Follow makes a schedule's latest qualified run, if there is one, the baseline of a benchmark made from its
// template, unless the template names a run.
func (b *Baseline) Follow(qualified *RunReference) {
	if b != nil && qualified != nil && (b.From == "" || b.From == LatestQualified) {
		b.Benchmark, b.From, b.SummaryDigest = qualified.Benchmark, qualified.Run, qualified.SummaryDigest
	}
}

// BaselineOutcome is what a comparison with the baseline shows.
// +kubebuilder:validation:Enum=NoWorse;Regression;Inconclusive
type BaselineOutcome string

// BaselineStatus is the comparison with the baseline.
type BaselineStatus struct {
	// run that this one was compared with; absent: there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Run string `json:"run,omitempty"`

	// outcome is NoWorse if every metric is shown to be within maxRegression, Regression if one is
	// shown to be beyond, else Inconclusive.
	// +required
	Outcome BaselineOutcome `json:"outcome"`

	// message says why.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// differences between the environments and configurations of the two runs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}
