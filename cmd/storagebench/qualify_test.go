package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/qualify"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/engines"
)

// playedCluster plays an API server with one benchmark, and the operator: each time that the benchmark
// is read, it has the next of the statuses.
type playedCluster struct {
	client.Client
	refuse   error
	statuses []v1alpha1.StorageBenchmarkStatus
	created  *v1alpha1.StorageBenchmark
	deleted  bool
	// onGet is called when the benchmark is read.
	onGet func()
	// readErrors are those of the first reads.
	readErrors []error
}

func (c *playedCluster) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if c.refuse == nil {
		c.created = o.(*v1alpha1.StorageBenchmark).DeepCopy()
	}
	return c.refuse
}

func (c *playedCluster) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c.onGet != nil {
		c.onGet()
	}
	if len(c.readErrors) > 0 {
		err := c.readErrors[0]
		c.readErrors = c.readErrors[1:]
		return err
	}
	b := c.created.DeepCopy()
	b.Status = c.statuses[0]
	if len(c.statuses) > 1 {
		c.statuses = c.statuses[1:]
	}
	*o.(*v1alpha1.StorageBenchmark) = *b
	return nil
}

func (c *playedCluster) Delete(ctx context.Context, _ client.Object, _ ...client.DeleteOption) error {
	c.deleted = ctx.Err() == nil
	return ctx.Err()
}

// state is a status with Ready's reason, and with other conditions that are True.
func state(why string, others ...string) v1alpha1.StorageBenchmarkStatus {
	s := v1alpha1.StorageBenchmarkStatus{Run: &v1alpha1.RunStatus{TrialsPlanned: 6, TrialsStored: 3, Progress: "3/6"}}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: why, Message: "says the operator"})
	for _, kind := range others {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: why})
	}
	return s
}

func answering(answer string) v1alpha1.StorageBenchmarkStatus {
	s := state(reason.Finished, v1alpha1.ConditionComplete)
	at := time.Unix(1000, 0)
	s.Run.TrialsStored, s.Run.StartedAt, s.Run.FinishedAt = 6, new(metav1.NewTime(at)), new(metav1.NewTime(at.Add(41*time.Second)))
	s.Answer = &v1alpha1.AnswerStatus{Answer: answer, Sentence: "why", SpeaksFor: "6 trials"}
	q := func(text string) *resource.Quantity { return new(resource.MustParse(text)) }
	s.Gates = []v1alpha1.GateStatus{{
		Target: "volume", Node: "a", Workload: "etcd", Metric: "sync.latency.p99", Limit: "at most 10ms", Outcome: "Missed",
		Value: q("12800u"), Low: q("11900u"), High: q("13600u"), Message: "sync p99 12.8ms (95 % interval 11.9ms–13.6ms, 6 trials); at most 10ms",
	}}
	s.Summary = []v1alpha1.SummaryRow{{Verdicts: []v1alpha1.VerdictSummary{{Name: "Throttled", Effect: "Qualifies", Message: "500 IOPS, flat"}}}}
	return s
}

func etcdAsk(t *testing.T, keep bool) qualify.Ask {
	t.Helper()
	f := qualifyFlags{class: "fast", purpose: "etcd", size: "1Gi", nodes: 1, volumes: 1, timeout: time.Minute, output: "table", keep: keep}
	a, err := f.ask()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestQualifyAnswersAndCleansUp(t *testing.T) {
	gone := state(reason.NoSpace, v1alpha1.ConditionFailed)
	gone.Run.FinishedAt = new(metav1.NewTime(time.Unix(1, 0)))
	gone.Answer = &v1alpha1.AnswerStatus{Answer: result.Inconclusive}
	for name, c := range map[string]struct {
		statuses []v1alpha1.StorageBenchmarkStatus
		keep     bool
		code     int
		says     []string
	}{
		"qualified":                   {[]v1alpha1.StorageBenchmarkStatus{{}, state(reason.Starting), state(reason.Running), answering(result.Qualified)}, false, 0, []string{"QUALIFIED for etcd on class fast (6 trials, 41s)\n", "speaks for: 6 trials"}},
		"not qualified":               {[]v1alpha1.StorageBenchmarkStatus{answering(result.NotQualified)}, false, 3, []string{"NOT QUALIFIED for etcd", "missed: sync p99 12.8ms", "sync.latency.p99 at most 20ms: OpenShift's check etcd-perf, met", "verdict Throttled qualifies: 500 IOPS, flat"}},
		"open":                        {[]v1alpha1.StorageBenchmarkStatus{answering(result.Inconclusive)}, false, 4, []string{"INCONCLUSIVE for etcd"}},
		"worthless":                   {[]v1alpha1.StorageBenchmarkStatus{answering(result.Invalid)}, false, 4, []string{"INVALID"}},
		"kept":                        {[]v1alpha1.StorageBenchmarkStatus{answering(result.Qualified)}, true, 0, []string{"see: storagebench get qualify-fast-etcd-"}},
		"failed":                      {[]v1alpha1.StorageBenchmarkStatus{gone}, false, 1, []string{"the run failed: NoSpace"}},
		"a class that does not exist": {[]v1alpha1.StorageBenchmarkStatus{state(reason.StorageClassNotFound, v1alpha1.ConditionStalled)}, false, 2, []string{"StorageClassNotFound: says the operator"}},
		"what passes by itself":       {[]v1alpha1.StorageBenchmarkStatus{state(reason.PodUnschedulable, v1alpha1.ConditionStalled), answering(result.Qualified)}, false, 0, []string{"QUALIFIED"}},
		"no operator":                 {[]v1alpha1.StorageBenchmarkStatus{{}}, false, 1, []string{"has not looked at the benchmark"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &playedCluster{statuses: c.statuses}
			var out, progress bytes.Buffer
			q := qualification{client: server, namespace: "lab", ask: etcdAsk(t, c.keep), progress: &progress, every: time.Millisecond, patience: 50 * time.Millisecond}
			err := q.run(t.Context(), &out, "table")
			if got := exitCode(err); got != c.code {
				t.Errorf("exit code %d (%v), want %d", got, err, c.code)
			}
			text := out.String()
			if err != nil {
				text += err.Error()
			}
			for _, want := range c.says {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %q:\n%s", want, text)
				}
			}
			if server.deleted == c.keep {
				t.Errorf("deleted: %v, kept: %v", server.deleted, c.keep)
			}
		})
	}
}

func TestQualifyThatIsStoppedCleansUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := &playedCluster{statuses: []v1alpha1.StorageBenchmarkStatus{state(reason.Running)}, onGet: cancel}
	var out, progress bytes.Buffer
	q := qualification{client: server, namespace: "lab", ask: etcdAsk(t, false), progress: &progress, every: time.Millisecond, patience: time.Minute}
	err := q.run(ctx, &out, "table")
	if err == nil || !server.deleted {
		t.Errorf("deleted: %v, error: %v", server.deleted, err)
	}
}

func TestWhatCannotBeCreatedIsExplained(t *testing.T) {
	group := schema.GroupResource{Group: "storagebench.io", Resource: "storagebenchmarks"}
	for name, c := range map[string]struct {
		err  error
		code int
		says string
	}{
		"no CRD":        {&meta.NoKindMatchError{}, 1, "install storagebench first"},
		"no namespace":  {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "lab"), 2, "there is no namespace lab"},
		"no permission": {apierrors.NewForbidden(group, "x", errors.New("no")), 1, "ClusterRole edit"},
		"a bad spec":    {apierrors.NewInvalid(schema.GroupKind{Kind: "StorageBenchmark"}, "x", nil), 2, "correct the field"},
	} {
		q := qualification{client: &playedCluster{refuse: c.err}, namespace: "lab", ask: etcdAsk(t, false)}
		err := q.run(t.Context(), &bytes.Buffer{}, "table")
		if got := exitCode(err); got != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: exit code %d (%v), want %d and %q", name, got, err, c.code, c.says)
		}
	}
}

func TestQualifyAnswersPrograms(t *testing.T) {
	a := qualify.Of(etcdAsk(t, false), &v1alpha1.StorageBenchmark{Status: answering(result.NotQualified)}, plan.LimitOf)
	for _, format := range []string{"json", "yaml"} {
		var out bytes.Buffer
		if err := printAnswer(&out, format, a); exitCode(err) != 3 {
			t.Fatal(err)
		}
		for _, want := range []string{"NotQualified", "https://etcd.io/docs/v3.6/faq/", "sync.latency.p99"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s lacks %s:\n%s", format, want, out.String())
			}
		}
		if format == "json" && !json.Valid(out.Bytes()) {
			t.Error("it is not JSON")
		}
	}
}

// The engine takes every purpose's workload, and the planner its gates.
func TestPurposesCanBePlanned(t *testing.T) {
	for _, p := range qualify.Purposes() {
		a := etcdAsk(t, false)
		a.Purpose = p
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: a.Name() + "abcde"}, Spec: a.Spec()}
		built, err := plan.Build(plan.Input{Benchmark: b, Run: "r", Nodes: []string{"a"}, Engines: engines.All()})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if len(built.Trials) != qualify.MostTrials || built.Stop.Min != qualify.Trials || built.Stop.Gates != trial.GatesAlone || len(built.Gates) != len(p.Decides) || len(b.Name) > 52 {
			t.Errorf("%s: %d trials, %d gates, name %s", p.Name, len(built.Trials), len(built.Gates), b.Name)
		}
		if d := plan.Duration(built, engines.All()); d > time.Minute {
			t.Errorf("%s takes %s, which is more than a minute", p.Name, d)
		}
		for _, l := range append(p.Decides, p.Others...) {
			if l.Who == "" || l.Source == "" || (l.Max == "") == (l.Min == "") {
				t.Errorf("%s: a limit without its source, or without one of max and min: %+v", p.Name, l)
			}
			if _, err := plan.LimitOf(l.Max+l.Min, l.Metric); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}

func TestBadFlagsOfQualify(t *testing.T) {
	good := qualifyFlags{class: "fast", purpose: "etcd", size: "1Gi", nodes: 1, volumes: 1, timeout: time.Minute, output: "table"}
	for name, c := range map[string]struct {
		change func(*qualifyFlags)
		says   string
	}{
		"a purpose misspelt": {func(f *qualifyFlags) { f.purpose = "postgers" }, "did you mean postgres"},
		"a size of nothing":  {func(f *qualifyFlags) { f.size = "0" }, "--size"},
		"a word as a size":   {func(f *qualifyFlags) { f.size = "big" }, "for example 10Gi"},
		"no class":           {func(f *qualifyFlags) { f.class = "" }, "--storage-class"},
		"no nodes":           {func(f *qualifyFlags) { f.nodes = 0 }, "--nodes"},
		"no volumes":         {func(f *qualifyFlags) { f.volumes = 0 }, "--volumes"},
		"a node and nodes":   {func(f *qualifyFlags) { f.node, f.nodes = "a", 2 }, "--nodes must be 1"},
		"no time":            {func(f *qualifyFlags) { f.timeout = time.Second }, "--timeout"},
		"a format":           {func(f *qualifyFlags) { f.output = "jsn" }, "did you mean json"},
	} {
		f := good
		c.change(&f)
		_, err := f.ask()
		if exitCode(err) != 2 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQualifySurvivesAReadThatFails(t *testing.T) {
	broken := errors.New("connection refused")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "storagebenchmarks"}, "b", nil)
	for name, c := range map[string]struct {
		errs     []error
		patience time.Duration
		code     int
		says     string
	}{
		"twice":                {[]error{broken, apierrors.NewServiceUnavailable("restarting")}, time.Minute, 0, ""},
		"that stays forbidden": {[]error{forbidden}, time.Minute, 1, "forbidden"},
		"for too long":         {slices.Repeat([]error{broken}, 10_000), 50 * time.Millisecond, 1, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &playedCluster{statuses: []v1alpha1.StorageBenchmarkStatus{answering(result.Qualified)}, readErrors: c.errs}
			var out, progress bytes.Buffer
			q := qualification{client: server, namespace: "lab", ask: etcdAsk(t, false), progress: &progress, every: time.Millisecond, patience: c.patience}
			err := q.run(t.Context(), &out, "table")
			if got := exitCode(err); got != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d (%v), want %d", got, err, c.code)
			}
			if !server.deleted {
				t.Error("the benchmark is left")
			}
		})
	}
}
