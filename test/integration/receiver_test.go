//go:build integration

package integration

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store/presigned"
	"storagebench.io/storagebench/internal/trial"
)

// withoutStore makes the lab's namespace one of which the default ResultStore takes nothing.
func (l *lab) withoutStore() {
	l.t.Helper()
	ns := &corev1.Namespace{}
	if err := api.Get(l.ctx, client.ObjectKey{Name: l.namespace}, ns); err != nil {
		l.t.Fatal(err)
	}
	before := ns.DeepCopy()
	ns.Labels[noResults] = "true"
	if err := api.Patch(l.ctx, ns, client.MergeFrom(before)); err != nil {
		l.t.Fatal(err)
	}
}

func withoutResults(s *v1alpha1.StorageBenchmarkSpec) { s.Results = nil }

// storeByGrant plays a worker that stores what it measured with the grant of its Job, and nothing else.
func (l *lab) storeByGrant(job *batchv1.Job) *trial.Receipt {
	l.t.Helper()
	objects, err := presigned.New(l.grant(job))
	if err != nil {
		l.t.Fatal(err)
	}
	l.upload = func(key string, document []byte) {
		l.t.Helper()
		// The operator may be starting again.
		l.eventually("the operator takes "+key, func() error { return objects.Put(l.ctx, key, document) })
	}
	defer func() { l.upload = nil }()
	return l.store(job, func(*result.WorkerSummary, *trial.Receipt) {})
}

// documents returns an error that names what the operator holds of a namespace, if it does, but objects of
// these names.
func (l *lab) documents(but ...string) error {
	list := &corev1.ConfigMapList{}
	if err := api.List(l.ctx, list, client.InNamespace(operatorNamespace), client.MatchingLabels{stores.LabelDocument: "true"}); err != nil {
		return err
	}
	for i := range list.Items {
		if key := list.Items[i].Data["key"]; len(key) > len(l.namespace) && key[:len(l.namespace)] == l.namespace && !slices.Contains(but, path.Base(key)) {
			return fmt.Errorf("the operator still holds %s", key)
		}
	}
	return nil
}

func TestABenchmarkWithoutAResultStoreHasItsAnswerInItsStatus(t *testing.T) {
	l := newLab(t, 2)
	l.withoutStore()
	b := l.benchmark("answer", withoutResults)
	for range l.nodes {
		job := l.job(b)
		pod := l.pod(job, func(*corev1.Pod) {})
		receipt := l.storeByGrant(job)
		l.end(job, pod, receipt)
		l.eventually("the worker has ended", func() error {
			err := api.Get(l.ctx, client.ObjectKeyFromObject(job), job)
			if apierrors.IsNotFound(err) || err == nil && job.DeletionTimestamp != nil {
				return nil
			}
			return errNotYet(err)
		})
	}
	l.await(b, reason.Finished)
	run := b.Status.Run
	if !run.StatusOnly || run.Location != "" || run.Progress != "4/4" {
		t.Errorf("the run: statusOnly %v, location %q, progress %q; want true, none, 4/4", run.StatusOnly, run.Location, run.Progress)
	}
	if len(b.Status.Summary) != 2 || b.Status.Summary[0].Trials != 2 {
		t.Errorf("the summary: %+v", b.Status.Summary)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionResultsStored); c != nil {
		t.Errorf("nothing is stored, and a condition speaks of it: %+v", c)
	}
	const baseline = "baseline.json"
	l.eventually("the operator holds nothing but what later runs are compared with", func() error { return l.documents(baseline) })
	if l.documents() == nil {
		t.Error("the operator holds nothing that later runs can be compared with")
	}
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.eventually("the operator holds no document of it", func() error { return l.documents() })
}

func TestTheDefaultResultStoreIsUsedIfThereIsOne(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("stored", withoutResults)
	l.finish(b, func(*result.WorkerSummary, *trial.Receipt) {})
	l.await(b, reason.Finished)
	run := b.Status.Run
	if run.StatusOnly || run.ResultStore != "default" || run.Location == "" {
		t.Errorf("the run: statusOnly %v, store %q, location %q", run.StatusOnly, run.ResultStore, run.Location)
	}
	keys := trial.Keys{Namespace: l.namespace, Name: b.Name, Run: run.ID}
	if _, err := bucket.Get(l.ctx, keys.Summary()); err != nil {
		t.Error(err)
	}
}

func TestABenchmarkWithAGateIsQualifiedOrNot(t *testing.T) {
	for limit, want := range map[string]struct{ status, why string }{"500": {"True", reason.GatesMet}, "5k": {"False", reason.GateMissed}} {
		t.Run("at least "+limit, func(t *testing.T) {
			l := newLab(t, 1)
			l.withoutStore()
			b := l.benchmark("gated", func(s *v1alpha1.StorageBenchmarkSpec) {
				withoutResults(s)
				s.Trials.Min = 6
				s.Gates = []v1alpha1.Gate{{Workload: "w", Metric: "read.iops", Min: &v1alpha1.Scalar{Text: limit}}}
			})
			job := l.job(b)
			pod := l.pod(job, func(*corev1.Pod) {})
			l.end(job, pod, l.storeByGrant(job))
			l.await(b, reason.Finished) // a gate that is missed is no failure
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionQualified)
			if c == nil || string(c.Status) != want.status || c.Reason != want.why {
				t.Errorf("Qualified is %+v, want %s/%s", c, want.status, want.why)
			}
			if len(b.Status.Gates) != 1 || b.Status.Answer == nil {
				t.Errorf("gates %+v, answer %+v", b.Status.Gates, b.Status.Answer)
			}
		})
	}
}

// Nobody may take a run for good that was to be compared with one that is lost.
func TestALostBaselineIsTheAnswerOfTheRun(t *testing.T) {
	for name, prepare := range map[string]func(*lab) func(*v1alpha1.StorageBenchmarkSpec){
		"without a ResultStore": func(l *lab) func(*v1alpha1.StorageBenchmarkSpec) { l.withoutStore(); return withoutResults },
		"in a ResultStore":      func(*lab) func(*v1alpha1.StorageBenchmarkSpec) { return func(*v1alpha1.StorageBenchmarkSpec) {} },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			change := prepare(l)
			b := l.benchmark("compared", func(s *v1alpha1.StorageBenchmarkSpec) {
				change(s)
				s.Trials.Min = 6
				s.Gates = []v1alpha1.Gate{{Workload: "w", Metric: "read.iops", Min: &v1alpha1.Scalar{Text: "500"}}} // which is met
				s.Baseline = &v1alpha1.Baseline{From: "g1-gone"}
			})
			if name == "in a ResultStore" {
				l.finish(b, func(*result.WorkerSummary, *trial.Receipt) {})
			} else {
				job := l.job(b)
				pod := l.pod(job, func(*corev1.Pod) {})
				l.end(job, pod, l.storeByGrant(job))
			}
			l.await(b, reason.Finished)
			if a := b.Status.Answer; a == nil || a.Answer != "Inconclusive" || !strings.Contains(a.Sentence, "cannot be compared with run g1-gone") {
				t.Errorf("the answer is %+v", a)
			}
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionQualified)
			if c == nil || c.Status != "Unknown" || c.Reason != reason.GatesNotDecided {
				t.Errorf("Qualified is %+v", c)
			}
			if b.Status.LatestQualified != "" {
				t.Errorf("later runs are compared with %s", b.Status.LatestQualified)
			}
		})
	}
}
