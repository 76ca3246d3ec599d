package v1alpha1

// FioPrefill says whether files and devices are written before they are read.
type FioPrefill string

const (
	// FioPrefillAuto writes everything that a job reads or overwrites (see FioFiles) once
	// before the first trial, with random data, as unwritten blocks read as zeros without I/O.
	FioPrefillAuto FioPrefill = "Auto"
	// FioPrefillNever leaves files and devices as they are.
	FioPrefillNever FioPrefill = "Never"
)

// FioFiles says what each trial finds of the files that it writes.
type FioFiles string

const (
	// FioFilesAuto decides for each job by what it does.
	FioFilesAuto FioFiles = "Auto"
	// FioFilesFresh begins each trial without files, and removes them after it.
	FioFilesFresh FioFiles = "Fresh"
	// FioFilesOverwrite writes every block of the files once, before the first trial.
	FioFilesOverwrite FioFiles = "Overwrite"
)

// FioText is the text of a file that a job file includes.
//
// +kubebuilder:validation:MaxLength=16384
type FioText string

// FioWorkload is a fio job. Only options that stay inside the target are
// accepted; docs/reference/fio-options.md lists them.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.files) && self.files == 'Overwrite' && has(self.prefill) && self.prefill == 'Never')",message="files: Overwrite contradicts prefill: Never, which writes nothing before the first trial: remove one of them"
// +kubebuilder:validation:XValidation:rule="[has(self.jobFile), has(self.parameters), has(self.preset), has(self.commandLine)].filter(x, x).size() == 1",message="fio needs exactly one of jobFile, parameters, preset and commandLine"
// +kubebuilder:validation:XValidation:rule="!has(self.include) || has(self.jobFile) || has(self.commandLine)",message="only a jobFile or a commandLine can include files: remove include"
type FioWorkload struct {
	// jobFile is a fio job file. The directory or device of the target takes the place of those
	// that it names. runtime implies time_based=1. Each thing that is not done as it is written
	// is a line of the plan and of the trial's document.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=32768
	JobFile string `json:"jobFile,omitempty"`

	// parameters are the options of a single job: {rw: randread, bs: 4k, iodepth: 32}.
	// A value is a whole number or a string; fractions need quotes. Defaults: ioengine
	// libaio, direct 1, bs 4k, runtime 30s. runtime implies time_based 1. A size that is left out
	// is chosen by the worker: 1GiB for each clone, or together twice what the caches in the path
	// can hold (with direct 0 the page cache; a loop device's; the ARC of ZFS), at most 64GiB and
	// 80 % of what is free. The trial's document says why.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="'rw' in self || 'readwrite' in self",message="parameters needs rw: read, write, randread, randwrite, readwrite, randrw, trim or randtrim"
	Parameters map[string]Scalar `json:"parameters,omitempty"`

	// commandLine is a command line of fio, as it would be typed: fio --name=a --rw=read
	// --size=1GiB. No shell reads it. Job files among its arguments are in include.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=16384
	CommandLine string `json:"commandLine,omitempty"`

	// include are files that the jobFile includes, or that the commandLine names: their text by
	// their name as it is written there, or by the last element of that. With the jobFile they
	// have at most 32 KiB.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=8
	Include map[string]FioText `json:"include,omitempty"`

	// variables are what ${NAME} stands for in values of the jobFile, of parameters and of the
	// commandLine: {SIZE: 4g}. Without a value here $ncpus, $mb_memory and $pagesize are those of
	// the node. fio never sees a variable.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Variables map[string]Scalar `json:"variables,omitempty"`

	// preset is the name of a job file that comes with storagebench, for what storage
	// is often qualified for; docs/reference/fio-presets.md lists them.
	// +optional
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Preset string `json:"preset,omitempty"`

	// prefill is Auto or Never. Default: Auto.
	// +optional
	// +kubebuilder:validation:Enum=Auto;Never
	Prefill FioPrefill `json:"prefill,omitempty"`

	// files is Auto, Fresh or Overwrite: whether each trial begins without files, or overwrites
	// files of which every block was written before the first trial. Auto decides for each job:
	// one that writes in sequence and syncs, or goes through the page cache, is Fresh, as logs
	// and backups append; one that reads, or writes at random, is Overwrite. The trial's document
	// says which, and why. Default: Auto.
	// +optional
	// +kubebuilder:validation:Enum=Auto;Fresh;Overwrite
	Files FioFiles `json:"files,omitempty"`

	// offeredRate in operations per second makes the job an open loop: its reads and writes begin at
	// times that are fixed before the trial, and the latency of each counts from its time. fio
	// itself measures from when it got around to an I/O, so storagebench makes the I/O of the
	// job by itself, on the files that fio has prepared. iodepth, 64 if it is not set, is how many
	// I/Os are outstanding at most. The workload must have a single job without numjobs, and a
	// runtime; docs/reference/open-loop.md lists the options. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	OfferedRate int64 `json:"offeredRate,omitempty"`

	// arrivals is Poisson, as requests of many users come, or Even, with the same time between
	// them. It needs offeredRate. Default: Poisson.
	// +optional
	// +kubebuilder:validation:Enum=Poisson;Even
	Arrivals Arrivals `json:"arrivals,omitempty"`
}
