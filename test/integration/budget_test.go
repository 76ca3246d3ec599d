//go:build integration

package integration

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Each worker gets an equal part of what those before it left of the budget, in the arguments of its Job.
func TestWhatAWorkerLeavesOfTheBudgetGoesToTheOthers(t *testing.T) {
	th := startAPIServer(t)
	t.Run("plays", func(t *testing.T) {
		for name, play := range map[string]func(*stage){
			"workers one after the other, and an operator that is restarted": budgetOfThree,
			"a parked worker that is the last":                               budgetOfTheParked,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				play(th.stage(t, 1))
			})
		}
	})
}

// budget creates the stage's benchmark, of so many targets, with a budget.
func (s *stage) budget(targets []string, budget time.Duration) {
	s.t.Helper()
	spec := s.spec(s.seeded())
	spec.Targets = nil
	for _, name := range targets {
		spec.Targets = append(spec.Targets, v1alpha1.Target{Name: name, StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}})
	}
	spec.Trials = v1alpha1.Trials{Min: 6, Max: 30, Budget: &metav1.Duration{Duration: budget}}
	s.create(spec)
	s.settle()
}

// begun checks that the worker of a target is let go with this share of the budget.
func (s *stage) begun(target string, want time.Duration) *batchv1.Job {
	s.t.Helper()
	job := s.job()
	if worker := job.Labels[jobspec.LabelWorker]; worker != target+"."+s.nodes[0] {
		s.t.Fatalf("%s is at work, want that of %s", worker, target)
	}
	if got := jobspec.Share(job); got == nil || *got != want {
		s.t.Fatalf("%s has a share of %v, want %s", target, got, want)
	}
	return job
}

// end plays a worker whose trials take so long each, and measure what spread says.
func (s *stage) end(job *batchv1.Job, trials int, each time.Duration, spread float64) {
	s.t.Helper()
	l := &lab{t: s.t, ctx: s.ctx, namespace: s.namespace, api: s.api}
	receipt := l.store(job, func(w *result.WorkerSummary, r *trial.Receipt) {
		w.Trials = w.Trials[:trials]
		for i := range w.Trials {
			x := &w.Trials[i]
			x.Seconds, x.Operations = each.Seconds(), []string{"read"}
			x.Metrics.Set("read.iops", result.PerSecond, 1000*(1+spread*float64(i%2)))
		}
		r.Stored = trials
	})
	message, err := receipt.Encode()
	s.must(err)
	s.pod(job, corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Message: string(message), FinishedAt: metav1.NewTime(s.clock.Now())},
	}}}})
	s.settle()
	s.collect()
	s.settle()
}

// spent checks how much of the budget the status says is spent.
func (s *stage) spent(want time.Duration) *v1alpha1.RunStatus {
	s.t.Helper()
	run := s.benchmark().Status.Run
	if run.BudgetSpent == nil || run.BudgetSpent.Duration != want {
		s.t.Fatalf("the status says that %v of the budget is spent, want %s", run.BudgetSpent, want)
	}
	return run
}

func budgetOfThree(s *stage) {
	s.budget([]string{"a", "b", "c"}, 6*time.Minute)
	// Of two minutes, the first needs one.
	s.end(s.begun("a", 2*time.Minute), 6, 10*time.Second, 0.001)
	s.spent(time.Minute)
	job := s.begun("b", 150*time.Second)

	// Somebody deletes the Job, and the operator is another one: the share is the same.
	s.must(s.api.Delete(s.ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.collect()
	s.operator()
	s.settle()
	job = s.begun("b", 150*time.Second)

	// It wants more than it has: of its own share two steps above the least, of the plan's only one.
	s.end(job, 12, 12500*time.Millisecond, 0.5)
	s.spent(210 * time.Second)
	s.end(s.begun("c", 150*time.Second), 6, 10*time.Second, 0.001)
	run := s.spent(270 * time.Second)
	if run.FinishedAt == nil || run.WorkersDone != 3 || run.WorkersFailed != 0 || run.Progress != "24/24" {
		s.t.Errorf("the run has not ended well: %+v", run)
	}
}

func budgetOfTheParked(s *stage) {
	s.budget([]string{"a", "b", "c"}, 6*time.Minute)
	s.pod(s.begun("a", 2*time.Minute), s.waiting("ImagePullBackOff"))
	s.settle()
	s.step(50 * time.Second)
	s.settle()
	if s.parked() == "" {
		s.t.Fatal("the worker of a is not parked")
	}
	s.must(s.api.DeleteAllOf(s.ctx, &corev1.Pod{}, client.InNamespace(s.namespace), client.GracePeriodSeconds(0)))
	s.settle()
	// Nothing is spent. Two others have not ended.
	s.end(s.begun("b", 2*time.Minute), 6, 10*time.Second, 0.001)
	s.end(s.begun("c", 150*time.Second), 6, 5*time.Second, 0.001)
	s.spent(90 * time.Second)
	s.step(6 * time.Minute)
	s.settle()
	s.collect()
	s.settle()
	// Its first Job would have left two and a half minutes to nobody.
	s.end(s.begun("a", 270*time.Second), 6, 10*time.Second, 0.001)
	run := s.spent(150 * time.Second)
	names := []string{}
	for _, f := range run.Failures {
		names = append(names, f.Worker+": "+f.Message)
	}
	if run.FinishedAt == nil || run.WorkersDone != 3 || !slices.Equal(names, []string{}) {
		s.t.Errorf("the run has not ended well: %+v, %q", run, names)
	}
	s.says(reason.Finished, false)
}
