package schedule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// begin is when each test's schedule is created.
var begin = time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)

// world is a namespace with one schedule, and a clock.
type world struct {
	t      *testing.T
	ctx    context.Context
	c      client.Client
	clock  *testclock.FakePassiveClock
	r      *Reconciler
	events []string
	// refuse is what the API server answers to a new benchmark.
	refuse error
	tries  int // to make a benchmark
	again  time.Duration
}

// Eventf records an event.
func (w *world) Eventf(_, _ runtime.Object, kind, why, _, format string, args ...any) {
	w.events = append(w.events, kind+" "+why+": "+fmt.Sprintf(format, args...))
}

var key = types.NamespacedName{Namespace: "lab", Name: "s"}

func newWorld(t *testing.T, change func(*v1alpha1.StorageBenchmarkSchedule)) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), clock: testclock.NewFakePassiveClock(begin)}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.StorageBenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "s", UID: "uid", Generation: 1, CreationTimestamp: metav1.NewTime(begin)}}
	s.Spec = v1alpha1.StorageBenchmarkScheduleSpec{Schedule: "* * * * *", ConcurrencyPolicy: v1alpha1.ForbidConcurrent}
	s.Spec.Template.Spec.Workloads = []v1alpha1.Workload{{Name: "w"}}
	change(s)
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).WithStatusSubresource(s, &v1alpha1.StorageBenchmark{})
	if err := Index(w.ctx, indexer(func(o client.Object, field string, f client.IndexerFunc) { builder.WithIndex(o, field, f) })); err != nil {
		t.Fatal(err)
	}
	w.c = builder.WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if w.tries++; w.refuse != nil {
			return w.refuse
		}
		return c.Create(ctx, o, options...)
	}}).Build()
	w.r = &Reconciler{Client: w.c, Live: w.c, Events: w, Clock: w.clock}
	return w
}

type indexer func(client.Object, string, client.IndexerFunc)

func (f indexer) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	f(o, field, extract)
	return nil
}

// pass makes passes at a time after begin, until one wants no other one soon.
func (w *world) pass(after time.Duration) *v1alpha1.StorageBenchmarkSchedule {
	w.t.Helper()
	w.clock.SetTime(begin.Add(after))
	for range 5 {
		result, err := w.r.Reconcile(w.ctx, ctrl.Request{NamespacedName: key})
		if err != nil {
			w.t.Fatal(err)
		}
		if w.again = result.RequeueAfter; w.again == 0 || w.again > time.Second {
			break
		}
	}
	s := &v1alpha1.StorageBenchmarkSchedule{}
	if err := w.c.Get(w.ctx, key, s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// benchmarks are the names of those there are.
func (w *world) benchmarks() (names []string) {
	list := &v1alpha1.StorageBenchmarkList{}
	if err := w.c.List(w.ctx, list); err != nil {
		w.t.Fatal(err)
	}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// named is the benchmark of the n-th minute after begin.
func named(n int) string { return fmt.Sprintf("s-%d", begin.Unix()/60+int64(n)) }

// end ends the run of the n-th minute.
func (w *world) end(n int, well bool, iops int64) {
	w.t.Helper()
	b := &v1alpha1.StorageBenchmark{}
	if err := w.c.Get(w.ctx, types.NamespacedName{Namespace: "lab", Name: named(n)}, b); err != nil {
		w.t.Fatal(err)
	}
	kind := v1alpha1.ConditionComplete
	if !well {
		kind = v1alpha1.ConditionFailed
	} else {
		b.Status.LatestQualified = fmt.Sprintf("r%d", n)
	}
	b.Status.ObservedGeneration = b.Generation
	b.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: "AsTheTestSays"}}
	b.Status.Run = &v1alpha1.RunStatus{ID: fmt.Sprintf("r%d", n), FinishedAt: &metav1.Time{Time: w.clock.Now()}}
	b.Status.Summary = []v1alpha1.SummaryRow{{Target: "t", Workload: "w", Node: "a", Operations: []v1alpha1.OperationSummary{{
		Operation: "read", IOPS: &v1alpha1.Estimate{Median: *resource.NewQuantity(iops, resource.DecimalSI)},
	}}}}
	if err := w.c.Status().Update(w.ctx, b); err != nil {
		w.t.Fatal(err)
	}
}

// stall says that a run makes no progress.
func (w *world) stall(n int) {
	w.t.Helper()
	b := &v1alpha1.StorageBenchmark{}
	if err := w.c.Get(w.ctx, types.NamespacedName{Namespace: "lab", Name: named(n)}, b); err != nil {
		w.t.Fatal(err)
	}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Message: "no class fast"}}
	if err := w.c.Status().Update(w.ctx, b); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) said(what string) bool { return strings.Contains(strings.Join(w.events, "\n"), what) }

func asIs(*v1alpha1.StorageBenchmarkSchedule) {}

// wants checks the reason of Ready, and that its message and Stalled go with it.
func wants(t *testing.T, s *v1alpha1.StorageBenchmarkSchedule, why string, words ...string) {
	t.Helper()
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != why {
		t.Fatalf("Ready is %+v, want %s", ready, why)
	}
	for _, word := range words {
		if !strings.Contains(ready.Message, word) {
			t.Errorf("%q does not say %q", ready.Message, word)
		}
	}
	if stalled := meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled); stalled != (ready.Status == metav1.ConditionFalse) {
		t.Errorf("Ready is %s, and Stalled %t", ready.Status, stalled)
	}
	if s.Status.ObservedGeneration != s.Generation {
		t.Errorf("observed %d of %d", s.Status.ObservedGeneration, s.Generation)
	}
}

func TestARunAtItsTimeWithTheBaselineOfTheOneBefore(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) {
		s.Spec.Template.Spec.Baseline = &v1alpha1.Baseline{MaxRegression: "10%"}
		s.Spec.Template.Metadata.Labels = map[string]string{"team": "storage"}
	})
	if s := w.pass(0); len(w.benchmarks()) != 0 || w.again != 30*time.Second {
		t.Errorf("benchmarks %v, again in %s: %+v", w.benchmarks(), w.again, s.Status)
	}
	s := w.pass(30 * time.Second)
	wants(t, s, reason.Scheduled, "2026-01-01T00:02:00Z", "1 run goes on")
	w.end(1, true, 1000)
	w.pass(40 * time.Second)
	s = w.pass(90 * time.Second)
	if diff := cmp.Diff([]string{named(1), named(2)}, w.benchmarks()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	b := &v1alpha1.StorageBenchmark{}
	if err := w.c.Get(w.ctx, types.NamespacedName{Namespace: "lab", Name: named(2)}, b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&v1alpha1.Baseline{From: "r1", Benchmark: named(1), MaxRegression: "10%"}, b.Spec.Baseline); diff != "" {
		t.Errorf("baseline (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{v1alpha1.LabelSchedule: "s", "team": "storage"}, b.Labels); diff != "" || !metav1.IsControlledBy(b, s) {
		t.Errorf("owned by %v, labels (-want +got):\n%s", b.OwnerReferences, diff)
	}
	if s.Status.LastRun == nil || s.Status.LastRun.Benchmark != named(1) || s.Status.Succeeded != 1 || len(s.Status.Series) != 1 {
		t.Errorf("status %+v", s.Status)
	}
}

func TestConcurrency(t *testing.T) {
	for policy, c := range map[v1alpha1.ConcurrencyPolicy]struct {
		want  []string
		event string
	}{
		v1alpha1.ForbidConcurrent:  {[]string{named(1)}, "RunActive"},
		v1alpha1.AllowConcurrent:   {[]string{named(1), named(2)}, "RunStarted"},
		v1alpha1.ReplaceConcurrent: {[]string{named(2)}, "RunReplaced"},
	} {
		w := newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.ConcurrencyPolicy = policy })
		w.pass(30 * time.Second)
		w.pass(90 * time.Second)
		w.pass(91 * time.Second)
		if diff := cmp.Diff(c.want, w.benchmarks()); diff != "" || !w.said(c.event) {
			t.Errorf("%s: events %v; (-want +got):\n%s", policy, w.events, diff)
		}
		if n := strings.Count(strings.Join(w.events, "\n"), "RunActive"); n > 1 {
			t.Errorf("%s: it is said %d times that a run waits", policy, n)
		}
	}
}

func TestARunThatWaitedStartsLate(t *testing.T) {
	w := newWorld(t, asIs)
	w.pass(30 * time.Second)
	w.pass(90 * time.Second)
	w.end(1, true, 1)
	w.pass(100 * time.Second)
	if diff := cmp.Diff([]string{named(1), named(2)}, w.benchmarks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAScheduleSaysThatItsRunIsStalled(t *testing.T) {
	w := newWorld(t, asIs)
	w.pass(30 * time.Second)
	w.stall(1)
	wants(t, w.pass(40*time.Second), reason.Scheduled)
	wants(t, w.pass(95*time.Second), reason.RunStalled, named(1), "no class fast")
}

func TestMissedTimes(t *testing.T) {
	deadline := func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.StartingDeadlineSeconds = new(int64(10)) }
	for name, c := range map[string]struct {
		change func(*v1alpha1.StorageBenchmarkSchedule)
		at     time.Duration
		want   []string
		event  string
		missed int64
	}{
		"the last of several is made up": {asIs, 5*time.Minute + 31*time.Second, []string{named(6)}, "RunStarted", 0},
		"more than a hundred":            {asIs, 3*time.Hour + 31*time.Second, []string{named(181)}, "TooManyMissedTimes", 0},
		"none after the deadline":        {deadline, 5*time.Minute + 50*time.Second, nil, "MissSchedule", 6},
		"one before the deadline":        {deadline, 5*time.Minute + 35*time.Second, []string{named(6)}, "RunStarted", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.change)
			w.pass(c.at)
			s := w.pass(c.at + time.Second)
			if diff := cmp.Diff(c.want, w.benchmarks()); diff != "" || !w.said(c.event) || s.Status.Missed != c.missed {
				t.Errorf("missed %d, events %v; (-want +got):\n%s", s.Status.Missed, w.events, diff)
			}
			if n := strings.Count(strings.Join(w.events, "\n"), c.event); n != 1 {
				t.Errorf("%s is said %d times", c.event, n)
			}
		})
	}
}

func TestAClockThatWentBackDoesNotWedge(t *testing.T) {
	w := newWorld(t, asIs)
	w.pass(24 * time.Hour)
	w.end(1440, true, 1)
	s := w.pass(2 * time.Minute)
	if !w.said("ClockWentBack") || s.Status.LastScheduleTime.After(w.clock.Now()) {
		t.Errorf("events %v, last %v", w.events, s.Status.LastScheduleTime)
	}
	if at := s.Status.Runs[0].ScheduledAt; at.After(w.clock.Now()) {
		t.Errorf("a run of %v is recorded, and every one before would look recorded too", at)
	}
	w.pass(3 * time.Minute)
	if got := w.benchmarks(); len(got) != 2 {
		t.Errorf("benchmarks %v", got)
	}
}

func TestSuspendedAndQuiet(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.Suspend = true })
	s := w.pass(10 * time.Minute)
	wants(t, s, reason.Suspended)
	if len(w.benchmarks()) != 0 || !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionSuspended) || s.Status.NextScheduleTime != nil {
		t.Errorf("benchmarks %v, status %+v", w.benchmarks(), s.Status)
	}
	w = newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) {
		s.Spec.QuietWindows = []v1alpha1.QuietWindow{{From: "00:00", To: "01:00"}}
	})
	w.pass(10 * time.Minute)
	if len(w.benchmarks()) != 0 {
		t.Errorf("in a quiet window: %v", w.benchmarks())
	}
	w.pass(61 * time.Minute)
	if len(w.benchmarks()) != 1 {
		t.Errorf("after a quiet window: %v", w.benchmarks())
	}
}

func TestHistoryAndTimeToLive(t *testing.T) {
	w := newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) {
		s.Spec.SuccessfulHistoryLimit, s.Spec.FailedHistoryLimit = new(int32(2)), new(int32(1))
	})
	for n := 1; n <= 8; n++ {
		w.pass(time.Duration(n)*time.Minute - 30*time.Second)
		w.end(n, n%3 != 0, int64(1000+n))
		w.pass(time.Duration(n)*time.Minute - 20*time.Second)
	}
	if diff := cmp.Diff([]string{named(6), named(7), named(8)}, w.benchmarks()); diff != "" {
		t.Errorf("kept by outcome (-want +got):\n%s", diff)
	}
	s := w.pass(8*time.Minute - 10*time.Second)
	if s.Status.Succeeded != 6 || s.Status.Failed != 2 || len(s.Status.Runs) != 8 || len(s.Status.Series[0].Points) != 6 {
		t.Errorf("the history ends with its benchmarks: %+v", s.Status)
	}

	w = newWorld(t, func(s *v1alpha1.StorageBenchmarkSchedule) {
		s.Spec.Schedule = "1 0 * * *"
		s.Spec.Template.Spec.TTLAfterFinished = &metav1.Duration{Duration: time.Hour}
	})
	w.pass(time.Minute)
	w.end(1, true, 1)
	w.pass(30 * time.Minute)
	if w.again > 31*time.Minute || len(w.benchmarks()) != 1 {
		t.Errorf("again in %s, benchmarks %v", w.again, w.benchmarks())
	}
	if w.pass(62 * time.Minute); len(w.benchmarks()) != 0 {
		t.Errorf("after its time to live: %v", w.benchmarks())
	}
}

func TestRegressionAndItsAcknowledgement(t *testing.T) {
	w := newWorld(t, asIs)
	for n := 1; n <= 10; n++ {
		w.pass(time.Duration(n)*time.Minute - 30*time.Second)
		iops := int64(1000 + n)
		if n >= 8 {
			iops = int64(400 + n)
		}
		w.end(n, true, iops)
		s := w.pass(time.Duration(n)*time.Minute - 20*time.Second)
		if n == 8 && (len(s.Status.Changes) != 1 || s.Status.Changes[0].Since != named(8) || s.Status.Changes[0].State != v1alpha1.ChangeSuspected) {
			t.Errorf("at the run that is slower: %+v", s.Status.Changes)
		}
	}
	s := w.pass(10*time.Minute - 15*time.Second)
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRegressed)
	if c == nil || c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, named(8)) || !w.said(reason.MediansWorse) {
		t.Fatalf("%+v, events %v", c, w.events)
	}
	for annotation, want := range map[string]struct {
		status metav1.ConditionStatus
		words  string
	}{
		"not a name!": {metav1.ConditionTrue, "write names of benchmarks"},
		named(8):      {metav1.ConditionFalse, "acknowledged"},
	} {
		s.Annotations = map[string]string{v1alpha1.AnnotationAcknowledge: annotation}
		if err := w.c.Update(w.ctx, s); err != nil {
			t.Fatal(err)
		}
		s = w.pass(10*time.Minute - 10*time.Second)
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRegressed)
		if c.Status != want.status || !strings.Contains(c.Message, want.words) {
			t.Errorf("%q: %+v", annotation, c)
		}
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	forbidden := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("storagebenchmarks").GroupResource(), "x", errors.New("exceeded quota"))
	for name, c := range map[string]struct {
		change func(*v1alpha1.StorageBenchmarkSchedule)
		refuse error
		why    string
		words  []string
	}{
		"no cron expression": {func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.Schedule = "at noon" }, nil, reason.InvalidSchedule, []string{"spec.schedule", "at noon", "write minute"}},
		"no time zone":       {func(s *v1alpha1.StorageBenchmarkSchedule) { s.Spec.TimeZone = "Europe/Bärlin" }, nil, reason.InvalidSchedule, []string{"spec.timeZone", "Europe/Berlin"}},
		"always quiet": {func(s *v1alpha1.StorageBenchmarkSchedule) {
			s.Spec.QuietWindows = []v1alpha1.QuietWindow{{From: "00:00", To: "24:00"}}
		}, nil, reason.InvalidSchedule, []string{"spec.quietWindows"}},
		"a webhook that is down": {asIs, apierrors.NewInternalError(errors.New("failed calling webhook")), reason.RunRejected, []string{"spec.template", "failed calling webhook"}},
		"a quota":                {asIs, forbidden, reason.RunRejected, []string{"spec.template", "exceeded quota"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.change)
			w.refuse = c.refuse
			wants(t, w.pass(time.Minute), c.why, c.words...)
			if !w.said("Warning " + c.why) {
				t.Errorf("events %v", w.events)
			}
		})
	}
}

func TestABenchmarkOfThatNameThatIsSomebodyElses(t *testing.T) {
	w := newWorld(t, asIs)
	if err := w.c.Create(w.ctx, &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: named(1)}}); err != nil {
		t.Fatal(err)
	}
	wants(t, w.pass(30*time.Second), reason.RunRejected, named(1), "delete or rename it")
}
