//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

type runtimeObject = runtime.Object

func newLease(node string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "node-" + node}}
}

func well(*result.WorkerSummary, *trial.Receipt) {}

func TestFromSpecToStatus(t *testing.T) {
	l := newLab(t, 2)
	b := l.benchmark("whole", as)
	for range 2 {
		l.finish(b, well)
	}
	done := l.await(b, reason.Finished)
	if done.Status != metav1.ConditionTrue || !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionResultsStored) {
		t.Errorf("conditions: %+v", b.Status.Conditions)
	}
	if len(b.Status.Summary) != 2 || b.Status.Run.Progress != "4/4" || !strings.HasPrefix(b.Status.Headline, "w: read 1.00k IOPS") {
		t.Errorf("status: %+v", b.Status)
	}
	for i, row := range b.Status.Summary {
		if row.Node != l.nodes[i] || row.Operations[0].IOPS.Median.AsApproximateFloat64() != 1001 || row.Operations[0].Latency.P99.Duration.Round(10*time.Microsecond) != 250*time.Microsecond {
			t.Errorf("row: %+v", row)
		}
	}
	l.nothingLeft()

	keys := trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: b.Status.Run.ID}
	document, err := bucket.Get(l.ctx, keys.Summary())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.Status.Run.SummaryDigest, trial.Digest(document); got != want {
		t.Errorf("the status has the digest %s of the summary, want %s", got, want)
	}
	var summary result.Summary
	if err := result.Decode(document, result.SummarySchema, &summary); err != nil || summary.Stored != 4 || len(summary.Rows) != 2 {
		t.Errorf("summary.json: %v, %+v", err, summary)
	}
	if want := "s3://" + bucketName + "/it/" + keys.Prefix(); b.Status.Run.Location != want {
		t.Errorf("location %s, want %s", b.Status.Run.Location, want)
	}
}

func TestTheGrantOpensTheWorkersOwnObjectsOnly(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("grant", as)
	job := l.job(b)
	secret := &corev1.Secret{}
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(job), secret); err != nil {
		t.Fatal(err)
	}
	var grant trial.Grant
	if err := json.Unmarshal(secret.Data["grant.json"], &grant); err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprintf("%s/%s/%s/workers/%s/", b.Namespace, b.Name, b.Status.Run.ID, job.Labels[jobspec.LabelWorker])
	uploads := grant.Uploads.Keys()
	if len(uploads) != 7 || len(grant.Get) != 3 { // two trials: document, raw output and samples each, and the summary
		t.Errorf("grant: %q to put, %d to get", uploads, len(grant.Get))
	}
	for _, key := range uploads {
		if !strings.HasPrefix(key, own) {
			t.Errorf("%s can be put", key)
		}
	}
	for key, url := range grant.Get {
		if !strings.HasPrefix(key, own) || !strings.Contains(url, key) {
			t.Errorf("%s -> %s", key, url)
		}
	}
	if strings.Contains(string(secret.Data["grant.json"]), secretKey) {
		t.Error("the grant has the bucket's secret key in it")
	}
}

func TestTheFirstToComeIsServedFirst(t *testing.T) {
	l := newLab(t, 1)
	first := l.benchmark("first", as)
	l.job(first)
	second := l.benchmark("second", as)
	if c := l.await(second, reason.Queued); !strings.Contains(c.Message, "is used by the StorageBenchmark first; waiting in the node's queue") {
		t.Error(c.Message)
	}
	third := l.benchmark("a-third", as)
	l.await(third, reason.Queued)
	for _, b := range []*v1alpha1.StorageBenchmark{first, second, third} {
		l.job(b)
		if holder := l.leaseHolder(l.nodes[0]); holder != fmt.Sprintf("%s/%s/%s", b.Namespace, b.Name, b.UID) {
			t.Errorf("%s runs, and the Lease is %s's", b.Name, holder)
		}
		l.finish(b, well)
		l.await(b, reason.Finished)
	}
	l.nothingLeft()
}

func TestDeletionInMidRunCleansUpAndLetsTheNextOneIn(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("gone", as)
	job := l.job(b)
	l.pod(job, func(*corev1.Pod) {})
	next := l.benchmark("next", as)
	l.await(next, reason.Queued)
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.job(next)
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
		t.Errorf("the benchmark is still there: %v", err)
	}
	l.finish(next, well)
	l.await(next, reason.Finished)
	l.nothingLeft()
}

func TestSuspendRemovesEverythingAndResumesAfterwards(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("pause", as)
	l.pod(l.job(b), func(*corev1.Pod) {})
	l.await(b, reason.Running)
	run := b.Status.Run.ID
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = true })
	l.await(b, reason.Suspended)
	l.nothingLeft()
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = false })
	l.finish(b, well)
	l.await(b, reason.Finished)
	if b.Status.Run.ID != run {
		t.Errorf("run %s became %s", run, b.Status.Run.ID)
	}
}

func TestANewRunIDRunsAgainAndAChangedSpecReplacesARun(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("again", func(s *v1alpha1.StorageBenchmarkSpec) { s.RunID = "monday" })
	l.finish(b, well)
	l.await(b, reason.Finished)
	monday := b.Status.Run.ID
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.RunID = "tuesday" })
	l.job(b)
	// In mid-run, the spec changes: the Job of the old run goes, another comes.
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 3 })
	l.eventually("the Job is of the new spec", func() error {
		if n := len(l.plan(l.job(b)).Trials); n != 3 {
			return fmt.Errorf("%d trials", n)
		}
		return nil
	})
	l.finish(b, well)
	l.await(b, reason.Finished)
	if b.Status.Run.Progress != "3/3" || !strings.HasPrefix(b.Status.Run.ID, "tuesday-") || b.Status.Run.ID == monday {
		t.Errorf("run: %+v", b.Status.Run)
	}
	l.nothingLeft()
}

func TestANewValueOfTheAnnotationRunsAgainOnce(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("annotated", as)
	l.finish(b, well)
	l.await(b, reason.Finished)
	first := b.Status.Run.ID
	if size := b.Spec.Targets[0].StorageClass.Size; size != nil {
		t.Errorf("the API server has written size %s into a list, which is a difference from what is in Git", size)
	}
	// A value of any kind asks for a run.
	before := b.DeepCopy()
	b.Annotations = map[string]string{v1alpha1.AnnotationRerun: "../" + strings.Repeat("§", 1000)}
	if err := api.Patch(l.ctx, b, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	job := l.job(b)
	pod := l.pod(job, func(*corev1.Pod) {})
	l.await(b, reason.Running)
	if found := violations(b); len(found) > 0 || !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("a benchmark that runs again does not look like it: %v, %+v", found, b.Status.Conditions)
	}
	l.end(job, pod, l.store(job, well))
	l.await(b, reason.Finished)
	second := b.Status.Run.ID
	if second == first || !strings.HasPrefix(b.Status.Run.Rerun, "sha256:") {
		t.Errorf("run %s, then %+v", first, b.Status.Run)
	}
	// Without it, or with something else changed, nothing runs.
	before = b.DeepCopy()
	b.Annotations = map[string]string{"example.com/owner": "me"}
	if err := api.Patch(l.ctx, b, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Timeout = &metav1.Duration{Duration: 3 * time.Hour} })
	l.eventually("the operator has seen the changed timeout", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil || b.Status.ObservedGeneration != b.Generation {
			return fmt.Errorf("observed %d of %d: %v", b.Status.ObservedGeneration, b.Generation, err)
		}
		return nil
	})
	if b.Status.Run.ID != second || b.Status.Run.FinishedAt == nil {
		t.Errorf("run %s became %+v", second, b.Status.Run)
	}
	l.nothingLeft()
}

func TestAFailedWorkerKeepsItsTrialsAndLetsTheOthersMeasure(t *testing.T) {
	l := newLab(t, 2)
	b := l.benchmark("half", as)
	l.finish(b, func(s *result.WorkerSummary, r *trial.Receipt) {
		failure := &trial.Failure{Class: reason.NoSpace, Field: "spec.targets[t].storageClass.size", Message: "the volume is full", Remedy: "make it larger"}
		s.Trials, s.Failure = s.Trials[:1], failure
		r.Stored, r.Failure = 1, failure
	})
	l.finish(b, well)
	c := l.await(b, reason.NoSpace)
	if c.Status != metav1.ConditionFalse || !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled) ||
		!strings.Contains(c.Message, "spec.targets[t].storageClass.size: the volume is full; make it larger") {
		t.Errorf("%+v", b.Status.Conditions)
	}
	if b.Status.Run.Progress != "3/4" || len(b.Status.Summary) != 2 || b.Status.Summary[0].Trials != 1 {
		t.Errorf("what was measured is lost: %+v", b.Status)
	}
	l.nothingLeft()
}

func TestAWorkerWithoutAReceiptIsJudgedByWhatItStored(t *testing.T) {
	l := newLab(t, 2)
	b := l.benchmark("killed", as)
	// Its Pods were killed, again and again; the last one had stored everything.
	job := l.job(b)
	l.store(job, well)
	l.end(job, l.pod(job, func(*corev1.Pod) {}), nil)
	// The other node's were killed after the first trial, before the summary knew it.
	l.eventually("the second worker starts", func() error {
		if next := l.job(b); next.Name == job.Name {
			return fmt.Errorf("it is still %s", next.Name)
		}
		return nil
	})
	job = l.job(b)
	l.store(job, func(s *result.WorkerSummary, _ *trial.Receipt) { s.Trials = s.Trials[:1] })
	p := l.plan(job)
	self, _, err := p.Worker(job.Labels[jobspec.LabelWorker])
	if err != nil {
		t.Fatal(err)
	}
	l.put(job, p.Keys().WorkerSummary(self.Name), result.NewWorkerSummary(p, self))
	l.end(job, l.pod(job, func(*corev1.Pod) {}), nil)
	c := l.await(b, reason.WorkerLost)
	if len(b.Status.Summary) != 2 || b.Status.Summary[1].Trials != 1 || b.Status.Summary[1].Operations[0].Latency == nil {
		t.Errorf("the stored trial is not in the summary: %+v", b.Status.Summary)
	}
	if b.Status.Run.Progress != "3/4" || b.Status.Run.WorkersDone != 1 || b.Status.Run.WorkersFailed != 1 || !strings.Contains(c.Message, "without a receipt") {
		t.Errorf("%+v %+v", c, b.Status.Run)
	}
}

func TestTheTimeoutEndsARunAndKeepsWhatItHas(t *testing.T) {
	l := newLab(t, 2)
	b := l.benchmark("slow", func(s *v1alpha1.StorageBenchmarkSpec) { s.Timeout = &metav1.Duration{Duration: 10 * time.Second} })
	l.finish(b, well)
	l.eventually("the second worker has a Job", func() error {
		if job := l.job(b); job.Labels[jobspec.LabelWorker] != "t."+l.nodes[1] {
			return fmt.Errorf("%s", job.Name)
		}
		return nil
	})
	c := l.await(b, reason.TimedOut)
	l.eventually("the run has ended", func() error {
		if l.await(b, reason.TimedOut); b.Status.Run.FinishedAt == nil {
			return fmt.Errorf("%+v", b.Status.Run)
		}
		return nil
	})
	if b.Status.Run.Progress != "2/4" || len(b.Status.Summary) != 1 || b.Status.Run.Failures[0].Worker != "t."+l.nodes[1] || b.Status.Run.Failures[0].Reason != reason.TimedOut {
		t.Errorf("%+v %+v", c, b.Status)
	}
	l.nothingLeft()
}

func TestAFinishedBenchmarkGoesWhenItsTimeIsOver(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("brief", func(s *v1alpha1.StorageBenchmarkSpec) { s.TTLAfterFinished = &metav1.Duration{Duration: time.Second} })
	l.finish(b, well)
	l.eventually("it is gone", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
}

// Otherwise whoever waits for the present generation would wait for ever.
func TestAChangeThatStartsNoRunIsObserved(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("kept", as)
	l.finish(b, well)
	l.await(b, reason.Finished)
	run := b.Status.Run.ID
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.TTLAfterFinished = &metav1.Duration{Duration: time.Hour} })
	l.await(b, reason.Finished) // of this generation
	if b.Status.ObservedGeneration != b.Generation || b.Status.Run.ID != run {
		t.Errorf("status: %+v", b.Status)
	}
}

func TestWhatKeepsAPodFromRunningIsSaidAndForgotten(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("stuck", as)
	job := l.job(b)
	pod := l.pod(job, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodPending
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
		}}}
	})
	if c := l.await(b, reason.ImagePullFailed); !strings.Contains(c.Message, "storagebench:test") || !strings.Contains(c.Message, "chart's values") {
		t.Error(c.Message)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu"},
	}}
	if err := api.Status().Update(l.ctx, pod); err != nil {
		t.Fatal(err)
	}
	if c := l.await(b, reason.PodUnschedulable); !strings.Contains(c.Message, "Insufficient cpu") || !strings.Contains(c.Message, "spec.placement") {
		t.Error(c.Message)
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
	if err := api.Status().Update(l.ctx, pod); err != nil {
		t.Fatal(err)
	}
	l.await(b, reason.Running)
	if meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled) != nil {
		t.Error("it runs and is stalled")
	}
	l.end(job, pod, l.store(job, well))
	l.await(b, reason.Finished)
}

func TestNodesAreChosenByWhatTheyCanDo(t *testing.T) {
	l := newLab(t, 0)
	l.addNode(l.namespace+"-a-cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	l.addNode(l.namespace+"-b-tainted", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	})
	l.addNode(l.namespace+"-c", func(*corev1.Node) {})
	two := func(s *v1alpha1.StorageBenchmarkSpec) { s.Placement.Nodes = new(intstr.FromInt32(2)) }
	b := l.benchmark("choosy", two)
	if c := l.await(b, reason.NoMatchingNodes); !strings.Contains(c.Message, "1 cordoned, 1 tainted") {
		t.Error(c.Message)
	}
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Placement.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	})
	l.finish(b, well)
	l.finish(b, well)
	l.await(b, reason.Finished)
	if rows := b.Status.Summary; rows[0].Node != l.nodes[1] || rows[1].Node != l.nodes[2] {
		t.Errorf("rows: %+v", rows)
	}
}

// The operator takes a node's Lease before it writes that the run has started; it
// can be killed between the two.
func TestARunThatHoldsItsNodeAndNeverStartedIsCarriedOn(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("torn", func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = true })
	l.await(b, reason.Suspended)
	lease := newLease(l.nodes[0])
	lease.Labels = map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy}
	lease.Spec.HolderIdentity = new(fmt.Sprintf("%s/%s/%s", b.Namespace, b.Name, b.UID))
	if err := api.Create(l.ctx, lease); err != nil {
		t.Fatal(err)
	}
	l.update(b, func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = false })
	l.finish(b, well)
	l.await(b, reason.Finished)
	l.nothingLeft()
}

// A Lease whose holder is gone, as its operator was killed for good, is free.
func TestALeaseOfABenchmarkThatIsGoneIsFree(t *testing.T) {
	l := newLab(t, 1)
	lease := newLease(l.nodes[0])
	lease.Labels = map[string]string{jobspec.LabelManagedBy: jobspec.ManagedBy}
	lease.Spec.HolderIdentity = new(l.namespace + "/gone/00000000-0000-0000-0000-000000000000")
	if err := api.Create(l.ctx, lease); err != nil {
		t.Fatal(err)
	}
	b := l.benchmark("next", as)
	l.finish(b, well)
	l.await(b, reason.Finished)
	l.nothingLeft()
}

// What the plan was made from can be gone when the run ends; the results are there.
func TestARunConcludesWithoutWhatItWasPlannedFrom(t *testing.T) {
	l := newLab(t, 1)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Provisioner: "example.com/none"}
	if err := api.Create(l.ctx, class); err != nil {
		t.Fatal(err)
	}
	b := l.benchmark("orphan", func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = class.Name })
	l.job(b)
	if err := api.Delete(l.ctx, class); err != nil {
		t.Fatal(err)
	}
	l.finish(b, well)
	l.await(b, reason.Finished)
	l.nothingLeft()
}
