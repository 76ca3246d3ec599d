package restore

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

func TestAWorkerEndsFromWhenItWasFirstSeenTo(t *testing.T) {
	var e endings
	start := time.Unix(1000, 0)
	for i, step := range []struct {
		worker worker
		after  time.Duration
		want   time.Duration
	}{
		{workerActive, 0, 0},
		{workerEnding, time.Second, 0},
		{workerEnding, 4 * time.Second, 3 * time.Second},
		{workerActive, 5 * time.Second, 0}, // it was let go again
		{workerEnding, 7 * time.Second, 0},
		{workerEnding, 9 * time.Second, 2 * time.Second},
		{workerEnded, 10 * time.Second, 0},
	} {
		if got := e.of("record", step.worker, start.Add(step.after)); got != step.want {
			t.Errorf("step %d: ending for %s, want %s", i, got, step.want)
		}
	}
}

func TestAJobIsLostWithoutItsLabelsOrItsOwner(t *testing.T) {
	owned := func(change func(*batchv1.Job)) *batchv1.Job {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{
				jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelBenchmark: "b", jobspec.LabelRun: "r1", jobspec.LabelWorker: "w1",
			},
			OwnerReferences: []metav1.OwnerReference{{Kind: "StorageBenchmark", Name: "b", UID: "b1", Controller: new(true)}},
		}}
		change(job)
		return job
	}
	spec := v1alpha1.NodeRestoreSpec{Run: "r1", Worker: "w1"}
	spec.Benchmark.Name, spec.Benchmark.UID = "b", "b1"
	for name, c := range map[string]struct {
		change func(*batchv1.Job)
		want   bool
	}{
		"the operator's":          {func(*batchv1.Job) {}, false},
		"without labels":          {func(j *batchv1.Job) { j.Labels = nil }, true},
		"of another run":          {func(j *batchv1.Job) { j.Labels[jobspec.LabelRun] = "r2" }, true},
		"of another worker":       {func(j *batchv1.Job) { j.Labels[jobspec.LabelWorker] = "w2" }, true},
		"of another name":         {func(j *batchv1.Job) { j.Labels[jobspec.LabelBenchmark] = "c" }, true},
		"without an owner":        {func(j *batchv1.Job) { j.OwnerReferences = nil }, true},
		"of another benchmark":    {func(j *batchv1.Job) { j.OwnerReferences[0].UID = "b2" }, true},
		"of an owner that is one": {func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil }, true},
	} {
		if got := lost(owned(c.change), spec); got != c.want {
			t.Errorf("%s: lost is %t", name, got)
		}
	}
}
