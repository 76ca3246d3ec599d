package v1alpha1

// Sweep measures a workload at several settings, each of which is a workload of its own in rows,
// gates and comparisons. Its name is the workload's with what is set: oltp@iodepth-8. Or it searches
// for the highest rate that keeps a promise.
//
// +kubebuilder:validation:XValidation:rule="has(self.over) != has(self.slo)",message="a sweep needs exactly one of over and slo"
type Sweep struct {
	// over are the parameters and their values. With several, every combination is measured. A
	// sweep has at most 32 settings.
	// +optional
	// +listType=map
	// +listMapKey=parameter
	// +kubebuilder:validation:MaxItems=3
	Over []SweepParameter `json:"over,omitempty"`

	// slo is a promise. The highest rate that keeps it is found by bisection over the offered rate of an
	// open loop, of fio or filesync. The trials are probes, each at a rate of its own, so
	// trials.min and max do not count for them, and the workload has no row, gate or comparison.
	// +optional
	SLO *SLO `json:"slo,omitempty"`
}

// SLO is a promise about a latency.
type SLO struct {
	// metric that is limited: a latency, such as read.latency.p99.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Metric string `json:"metric"`

	// below is the limit, a time with its unit: 2ms.
	// +required
	Below Scalar `json:"below"`

	// rate is where the highest rate is searched for. If it is outside, the answer is a bound.
	// +required
	Rate SLORate `json:"rate"`

	// probes is how many trials the search may take. Default: 24.
	// +optional
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=60
	Probes int32 `json:"probes,omitempty"`
}

// SLORate are rates in operations per second.
type SLORate struct {
	// from is the lowest rate.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	From int64 `json:"from"`

	// to is the highest rate.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	To int64 `json:"to"`
}

// SweepParameter is a parameter with the values that it is given.
//
// +kubebuilder:validation:XValidation:rule="has(self.values) != has(self.range)",message="a parameter of a sweep needs exactly one of values and range"
type SweepParameter struct {
	// parameter is a field of the workload's engine, such as threads of filesync; an option of
	// fio.parameters, such as iodepth, bs or rate_iops; a name in fio.variables of a job file or a
	// command line; or a tunable, such as block.queue.nr_requests. A tunable is swept as variants:
	// the benchmark must have a single workload and no variants of its own.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_]*([.][A-Za-z0-9_]+)*$`
	Parameter string `json:"parameter"`

	// values that it is given: [1, 4, 16, 64]. Fractions need quotes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Values []Scalar `json:"values,omitempty"`

	// range of values that it is given.
	// +optional
	Range *SweepRange `json:"range,omitempty"`
}

// SweepRange are the values from one to another.
//
// +kubebuilder:validation:XValidation:rule="has(self.step) != has(self.factor)",message="a range needs exactly one of step and factor"
type SweepRange struct {
	// from is the first value: a whole number, or one with a unit, such as 4k.
	// +required
	From Scalar `json:"from"`

	// to is the highest value; it is measured only if the steps meet it. It has the same unit as from.
	// +required
	To Scalar `json:"to"`

	// step is added for each next value, in the unit of from.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000000
	Step int64 `json:"step,omitempty"`

	// factor is what each next value is multiplied with.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1000
	Factor int64 `json:"factor,omitempty"`
}
