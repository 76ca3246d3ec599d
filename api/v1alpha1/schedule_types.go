package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConcurrencyPolicy says what happens at a time of a schedule while an earlier run goes on.
type ConcurrencyPolicy string

// Policies of concurrency, as a CronJob's.
const (
	// ForbidConcurrent: the new run waits for the earlier one, as long as no later time comes.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// AllowConcurrent: both go on, one at a time on each node.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ReplaceConcurrent: the earlier run is deleted.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// StorageBenchmarkScheduleSpec says when benchmarks are made (schedule), and which (template).
// A change applies to the runs that are made from then on.
type StorageBenchmarkScheduleSpec struct {
	// schedule in cron's five fields, such as "30 2 * * *" for every day at half past two, or one of
	// @hourly, @daily, @weekly, @monthly and @yearly.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ=')",message="schedule must not have a time zone: set spec.timeZone"
	// +kubebuilder:validation:XValidation:rule="!self.contains('@every')",message="schedule cannot be @every: write the five fields of cron, such as */30 * * * *"
	Schedule string `json:"schedule"`

	// timeZone in which schedule and quietWindows are read, as the IANA database names it, such as
	// Europe/Berlin. A time that daylight saving skips has no run. Default: Etc/UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+/-]*$`
	// +kubebuilder:validation:XValidation:rule="self != 'Local'",message="timeZone cannot be Local: name the zone, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`

	// jitter delays every run of this schedule by the same time, which is drawn from 0 to jitter once
	// and for all, so that many schedules of one time do not start at once. Default: 0s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="jitter must be between 0s and 24h"
	Jitter *metav1.Duration `json:"jitter,omitempty"`

	// quietWindows are times of the day at which no run starts, in timeZone. What would start within is
	// left out; what goes on already goes on. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	QuietWindows []QuietWindow `json:"quietWindows,omitempty"`

	// concurrencyPolicy says what happens at a time of the schedule while an earlier run goes on. Forbid:
	// the new run starts when the earlier one has ended, unless its time has passed. Allow: both go
	// on; on each node one waits for the other. Replace: the earlier one is deleted. Default: Forbid.
	// +optional
	// +kubebuilder:default=Forbid
	// +kubebuilder:validation:Enum=Forbid;Allow;Replace
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// startingDeadlineSeconds is how late a run may start, in seconds after its time (with jitter). A
	// time that is missed by more has no run. Of several missed times only the last one is made
	// up. Default: however late.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=31536000
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// suspend makes no new runs; those that go on already go on. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// successfulHistoryLimit is how many benchmarks are kept whose run was complete. The history of
	// their medians in the status outlives them, as do results in a ResultStore. Default: 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SuccessfulHistoryLimit *int32 `json:"successfulHistoryLimit,omitempty"`

	// failedHistoryLimit is how many benchmarks are kept whose run failed. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	FailedHistoryLimit *int32 `json:"failedHistoryLimit,omitempty"`

	// minChange is the smallest change of a median that the status tells of, as a percentage.
	// Default: 3%.
	// +optional
	// +kubebuilder:validation:MaxLength=6
	// +kubebuilder:validation:Pattern=`^[0-9]{1,2}(\.[0-9]{1,2})?%$`
	MinChange string `json:"minChange,omitempty"`

	// template of the benchmarks. Each is named after the schedule and its time.
	// +required
	Template BenchmarkTemplate `json:"template"`
}

// QuietWindow is a time of the day at which no run starts.
//
// +kubebuilder:validation:XValidation:rule="self.from != self.to",message="a quiet window must end at another time than it begins: for a whole day, use from: \"00:00\" and to: \"24:00\""
type QuietWindow struct {
	// from is when it begins, such as "08:00".
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	From string `json:"from"`

	// to is when it ends, such as "18:30" or "24:00"; if that is earlier than from, on the next day.
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	To string `json:"to"`

	// days on which it begins. Default: every day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:items:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
	Days []string `json:"days,omitempty"`
}

// BenchmarkTemplate is what the benchmarks of a schedule are made from.
type BenchmarkTemplate struct {
	// metadata of the benchmarks.
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitempty"`

	// spec of the benchmarks. With spec.baseline from LatestQualified, each run is compared with the
	// last qualified one of the schedule, whichever benchmark it was. The schedule applies
	// ttlAfterFinished itself, when it has recorded the run.
	// +required
	Spec StorageBenchmarkSpec `json:"spec"`
}

// TemplateMetadata are labels and annotations.
type TemplateMetadata struct {
	// labels of the benchmarks, besides storagebench.io/schedule.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63 && !k.startsWith('storagebench.io/'))",message="a label has a key of at most 317 characters that does not begin with storagebench.io/, and a value of at most 63"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations of the benchmarks.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 1024 && !k.startsWith('storagebench.io/'))",message="an annotation has a key of at most 317 characters that does not begin with storagebench.io/, and a value of at most 1024"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Labels and annotations of schedules and their benchmarks.
const (
	// LabelSchedule of a benchmark names the schedule that made it.
	LabelSchedule = "storagebench.io/schedule"
	// AnnotationScheduledAt of a benchmark is the time that it was made for, as RFC 3339 has it.
	AnnotationScheduledAt = "storagebench.io/scheduled-at"
	// AnnotationAcknowledge of a schedule names benchmarks, separated by commas: changes that began
	// with one of them no longer count as a regression.
	AnnotationAcknowledge = "storagebench.io/acknowledge"
)

// StorageBenchmarkSchedule makes StorageBenchmarks at the times of a schedule, keeps the history of
// their medians, and says since when they have changed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=sbs,categories=storagebench
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 43",message="the name must not be longer than 43 characters, as benchmarks are named after it and their time"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastScheduleTime`
// +kubebuilder:printcolumn:name="Outcome",type=string,JSONPath=`.status.lastRun.outcome`
// +kubebuilder:printcolumn:name="Regressed",type=string,JSONPath=`.status.conditions[?(@.type=="Regressed")].status`
// +kubebuilder:printcolumn:name="Headline",type=string,JSONPath=`.status.lastRun.headline`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type StorageBenchmarkSchedule struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is when to measure, and what.
	// +required
	Spec StorageBenchmarkScheduleSpec `json:"spec"`
	// status is what was measured. Until the operator has seen the schedule, observedGeneration is -1.
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status StorageBenchmarkScheduleStatus `json:"status,omitempty"`
}

// StorageBenchmarkScheduleList is a list of StorageBenchmarkSchedules.
//
// +kubebuilder:object:root=true
type StorageBenchmarkScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StorageBenchmarkSchedule `json:"items"`
}
