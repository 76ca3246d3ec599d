//go:build integration

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// tenfold replaces a document of the bucket by one whose rates are ten times as high, as whoever has the access key can.
func (l *lab) tenfold(key string) {
	l.t.Helper()
	document, err := bucket.Get(l.ctx, key)
	if err != nil {
		l.t.Fatal(err)
	}
	forged := strings.NewReplacer(`"value":100`, `"value":1000`, `"value": 100`, `"value": 1000`, `"median":100`, `"median":1000`, `"median": 100`, `"median": 1000`).Replace(string(document))
	if forged == string(document) {
		l.t.Fatalf("%s has no rate to forge: %.2000s", key, document)
	}
	if err := bucket.Put(l.ctx, key, []byte(forged)); err != nil {
		l.t.Fatal(err)
	}
}

// What the operator accepted of a worker is what it summarizes when the run ends, or the run has no summary.
func TestWhatWasAcceptedIsReplacedInTheBucket(t *testing.T) {
	for name, replace := range map[string]func(l *lab, keys trial.Keys, first string){
		"by higher rates":                 func(l *lab, keys trial.Keys, first string) { l.tenfold(keys.Accepted(first)) },
		"by nothing":                      func(l *lab, keys trial.Keys, first string) { l.write(keys.Accepted(first), nil) },
		"by a run without trials":         func(l *lab, keys trial.Keys, first string) { l.write(keys.Accepted(first), []byte("{}")) },
		"but only the worker's documents": func(l *lab, keys trial.Keys, first string) { l.tenfold(keys.WorkerSummary(first)) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 2)
			b := l.benchmark("replaced", as)
			l.finish(b, well)
			job := l.job(b)
			keys, first := l.plan(job).Keys(), l.plan(job).Workers[0].Name
			replace(l, keys, first)
			l.finish(b, well)
			if strings.HasPrefix(name, "but") {
				l.await(b, reason.Finished)
				if len(b.Status.Summary) != 2 || b.Status.Summary[0].Operations[0].IOPS.Median.AsApproximateFloat64() != 1001 {
					t.Errorf("the summary is %+v", b.Status.Summary)
				}
				return
			}
			failed := l.await(b, reason.ResultsRejected)
			if failed.Status != metav1.ConditionFalse || !strings.Contains(failed.Message, "changed in the result store") || !strings.Contains(failed.Message, "who else can write") {
				t.Errorf("%+v", failed)
			}
			if len(b.Status.Summary) != 0 || b.Status.LatestQualified != "" {
				t.Errorf("forged numbers are in the status: %+v", b.Status)
			}
			l.nothingLeft()
		})
	}
}

func (l *lab) write(key string, document []byte) {
	l.t.Helper()
	if err := bucket.Put(l.ctx, key, document); err != nil {
		l.t.Fatal(err)
	}
}

// A run is compared with the summary that the operator stored of the earlier one, or with none: of the latest that
// qualified, and of one that the spec names with its digest.
func TestTheBaselineIsReplacedInTheBucket(t *testing.T) {
	l := newLab(t, 1)
	change := func(from, digest string) func(*v1alpha1.StorageBenchmarkSpec) {
		return func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Trials.Min = 6
			s.Baseline = &v1alpha1.Baseline{From: from, SummaryDigest: digest}
		}
	}
	b := l.benchmark("compared", change("", ""))
	l.finish(b, well)
	l.await(b, reason.Finished)
	first, digest := b.Status.Run.ID, b.Status.Run.SummaryDigest
	if b.Status.LatestQualified != first || b.Status.LatestQualifiedDigest != digest || digest == "" {
		t.Fatalf("the latest that qualified is %s, %s; want %s, %s", b.Status.LatestQualified, b.Status.LatestQualifiedDigest, first, digest)
	}
	// again runs it again, and checks what the comparison says.
	again := func(run, from, digest, outcome, text string) {
		t.Helper()
		l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { change(from, digest)(s); s.RunID = run })
		l.finish(b, well)
		l.await(b, reason.Finished)
		if c := b.Status.Baseline; c == nil || string(c.Outcome) != outcome || !strings.Contains(c.Message, text) {
			t.Errorf("%s: %+v", run, c)
		}
	}
	again("named", first, digest, "NoWorse", "within 5 %")
	again("latest", "", "", "NoWorse", "within 5 %")
	second := trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: b.Status.Run.ID}
	l.tenfold(second.Summary())
	again("forged", "", "", "Inconclusive", "is not the one that the operator stored")
	l.tenfold(trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: first}.Summary())
	again("forged-named", first, digest, "Inconclusive", "is not the one that the operator stored")
	if a := b.Status.Answer; a != nil && a.Answer == result.Regression {
		t.Errorf("%+v", a)
	}
	if b.Status.LatestQualified == b.Status.Run.ID {
		t.Error("a run that was to be compared with a lost one is compared with")
	}
}

// A worker is killed, and leaves no receipt. What somebody with the access key put beside its trials, or in the place of its
// summary, is not taken for its own.
func TestTrialsArePlantedBesideThoseOfAKilledWorker(t *testing.T) {
	for name, c := range map[string]struct {
		plant  func(l *lab, keys trial.Keys, worker string)
		want   int32 // trials in the status
		reason string
	}{
		"a trial that it had not measured": {func(l *lab, keys trial.Keys, worker string) {
			l.write(keys.Trial(worker, "w.r002"), l.unsealed(keys.Trial(worker, "w.r001"), "w.r001", "w.r002"))
		}, 1, reason.WorkerLost},
		"the same seal on another trial": {func(l *lab, keys trial.Keys, worker string) {
			document, err := bucket.Get(l.ctx, keys.Trial(worker, "w.r001"))
			if err != nil {
				l.t.Fatal(err)
			}
			l.write(keys.Trial(worker, "w.r002"), []byte(strings.ReplaceAll(string(document), "w.r001", "w.r002")))
		}, 1, reason.WorkerLost},
		"its summary": {func(l *lab, keys trial.Keys, worker string) {
			l.write(keys.WorkerSummary(worker), l.unsealed(keys.WorkerSummary(worker), "w.r001", "w.r001"))
		}, 0, reason.ResultsRejected},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			b := l.benchmark("planted", as)
			job := l.job(b)
			l.store(job, func(s *result.WorkerSummary, _ *trial.Receipt) { s.Trials = s.Trials[:1] })
			c.plant(l, l.plan(job).Keys(), l.plan(job).Workers[0].Name)
			l.end(job, l.pod(job, func(*corev1.Pod) {}), nil)
			l.await(b, c.reason)
			trials := int32(0)
			for _, row := range b.Status.Summary {
				trials += row.Trials
			}
			if trials != c.want {
				t.Errorf("%d trials are in the status, want %d: %+v", trials, c.want, b.Status.Summary)
			}
			l.nothingLeft()
		})
	}
}

// unsealed returns a document of the bucket without its seal, with another text in it.
func (l *lab) unsealed(key, old, with string) []byte {
	l.t.Helper()
	document, err := bucket.Get(l.ctx, key)
	if err != nil {
		l.t.Fatal(err)
	}
	return []byte("{" + strings.ReplaceAll(string(document[result.SealBytes+1:]), old, with))
}
