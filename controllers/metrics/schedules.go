package metrics

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

var scheduleLabels = []string{"namespace", "schedule"}

var (
	descLastTime  = describe("storagebench_schedule_last_time_seconds", "The time of the schedule that the last benchmark was made for, in seconds since 1970.", scheduleLabels...)
	descNextTime  = describe("storagebench_schedule_next_time_seconds", "When the next run of a schedule starts, in seconds since 1970; absent while it is suspended.", scheduleLabels...)
	descSuspended = describe("storagebench_schedule_suspended", "1 if a schedule is suspended, else 0.", scheduleLabels...)
	descStalled   = describe("storagebench_schedule_stalled", "1 if a schedule makes no runs until somebody acts, else 0.", scheduleLabels...)
	descActive    = describe("storagebench_schedule_active", "Benchmarks of a schedule that have not ended.", scheduleLabels...)
	descMissed    = describe("storagebench_schedule_missed_total", "Times of a schedule that had no run because they were missed.", scheduleLabels...)
	descRuns      = describe("storagebench_schedule_runs_total", "Runs of a schedule that have ended: Complete or Failed.", append(slices.Clone(scheduleLabels), "outcome")...)
	descLastRun   = describe("storagebench_schedule_last_run", "1 for how the last run of a schedule has ended: Complete or Failed.", append(slices.Clone(scheduleLabels), "outcome")...)
	descChange    = describe("storagebench_schedule_change", "By how much the medians of a schedule's runs have changed, as a part of what they were: -0.2 is 20 % less. Only changes that are there in the last run and not acknowledged; state is Suspected, Confirmed or Trend.",
		append(slices.Clone(scheduleLabels), "target", "node", "workload", "part", "variant", "metric", "state", "direction")...)

	scheduleDescriptions = []*prometheus.Desc{
		descLastTime, descNextTime, descSuspended, descStalled, descActive, descMissed, descRuns, descLastRun, descChange,
	}
)

// scheduled is when something last happened to a schedule.
func scheduled(s *v1alpha1.StorageBenchmarkSchedule) time.Time {
	if t := s.Status.LastScheduleTime; t != nil {
		return t.Time
	}
	return s.CreationTimestamp.Time
}

func counter(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	for i, l := range labels {
		labels[i] = strings.ToValidUTF8(l, "?")
	}
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

// scheduleMetrics are the series of one schedule: at most 9, and one for each of its 32 changes.
func scheduleMetrics(s *v1alpha1.StorageBenchmarkSchedule) []prometheus.Metric {
	labels := func(more ...string) []string { return append([]string{s.Namespace, s.Name}, more...) }
	stalled := meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled)
	out := []prometheus.Metric{
		gauge(descSuspended, boolean(s.Spec.Suspend), labels()...),
		gauge(descStalled, boolean(stalled), labels()...),
		gauge(descActive, float64(len(s.Status.Active)), labels()...),
		counter(descMissed, float64(s.Status.Missed), labels()...),
		counter(descRuns, float64(s.Status.Succeeded), labels(string(v1alpha1.RunComplete))...),
		counter(descRuns, float64(s.Status.Failed), labels(string(v1alpha1.RunFailed))...),
	}
	if t := s.Status.LastScheduleTime; t != nil {
		out = append(out, gauge(descLastTime, float64(t.Unix()), labels()...))
	}
	if t := s.Status.NextScheduleTime; t != nil {
		out = append(out, gauge(descNextTime, float64(t.Unix()), labels()...))
	}
	if run := s.Status.LastRun; run != nil {
		out = append(out, gauge(descLastRun, 1, labels(string(run.Outcome))...))
	}
	seen := map[v1alpha1.SeriesKey]bool{}
	for i := range s.Status.Changes {
		c := &s.Status.Changes[i]
		// A series has one last change; two equal series would fail the whole scrape.
		if !c.Present || c.Acknowledged || seen[c.SeriesKey] {
			continue
		}
		seen[c.SeriesKey] = true
		change := 0.0
		if from := c.From.AsApproximateFloat64(); from != 0 {
			change = c.To.AsApproximateFloat64()/from - 1
		}
		out = append(out, gauge(descChange, change, labels(c.Target, c.Node, c.Workload, c.Part, c.Variant, c.Metric, string(c.State), string(c.Direction))...))
	}
	return out
}

// fair orders objects so that the latest of each namespace come first, then the second latest of
// each, and so on.
func fair[T any, P interface {
	*T
	client.Object
}](objects []T, latest func(P) time.Time) []P {
	byNamespace := map[string][]P{}
	for i := range objects {
		o := P(&objects[i])
		byNamespace[o.GetNamespace()] = append(byNamespace[o.GetNamespace()], o)
	}
	type ranked struct {
		object P
		rank   int
	}
	all := make([]ranked, 0, len(objects))
	for _, own := range byNamespace {
		slices.SortFunc(own, func(a, b P) int {
			return cmp.Or(latest(b).Compare(latest(a)), cmp.Compare(a.GetName(), b.GetName()))
		})
		for rank, o := range own {
			all = append(all, ranked{o, rank})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.object.GetNamespace(), b.object.GetNamespace()))
	})
	out := make([]P, len(all))
	for i, r := range all {
		out[i] = r.object
	}
	return out
}
