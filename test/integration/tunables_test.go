//go:build integration

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// tuned is a benchmark with a control and a variant that sets a scheduler.
func tuned(s *v1alpha1.StorageBenchmarkSpec) {
	s.Variants = []v1alpha1.Variant{
		{Name: "control"},
		{Name: "none", Tunables: []v1alpha1.Tunable{{Name: "block.queue.scheduler", Value: v1alpha1.Text("none")}}},
	}
}

// privileged labels the lab's namespace for privileged Pods.
func (l *lab) privileged() {
	l.t.Helper()
	ns := &corev1.Namespace{}
	if err := api.Get(l.ctx, types.NamespacedName{Name: l.namespace}, ns); err != nil {
		l.t.Fatal(err)
	}
	before := ns.DeepCopy()
	ns.Labels["pod-security.kubernetes.io/enforce"] = "privileged"
	if err := api.Patch(l.ctx, ns, client.MergeFrom(before)); err != nil {
		l.t.Fatal(err)
	}
}

// policy permits the lab's namespace the tunables of block queues on loop devices.
func (l *lab) policy(change func(*v1alpha1.TunablePolicySpec)) {
	l.t.Helper()
	p := &v1alpha1.TunablePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: l.namespace},
		Spec: v1alpha1.TunablePolicySpec{
			NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: l.namespace}},
			Devices:           []string{"loop*"},
			Tunables:          []v1alpha1.PermittedTunable{{Name: "block.queue.*"}},
		},
	}
	change(&p.Spec)
	if err := api.Create(l.ctx, p); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := api.Delete(context.Background(), p); err != nil {
			l.t.Error(err)
		}
	})
}

func asIs(*v1alpha1.TunablePolicySpec) {}

// restored waits until the condition TunablesRestored has the reason.
func (l *lab) restored(b *v1alpha1.StorageBenchmark, reason string) metav1.Condition {
	l.t.Helper()
	return patience.Condition(l.ctx, l.t, api, b, v1alpha1.ConditionTunablesRestored, reason)
}

// restoreJob waits for a Job that restores a node and has not ended.
func (l *lab) restoreJob(node string) *batchv1.Job {
	l.t.Helper()
	var found *batchv1.Job
	l.eventually("a Job restores "+node, func() error {
		record := &v1alpha1.NodeRestore{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: node}, record); err != nil {
			return err
		}
		jobs := &batchv1.JobList{}
		if err := api.List(l.ctx, jobs, client.InNamespace(restoreNamespace), client.MatchingLabels{jobspec.LabelRecord: string(record.UID)}); err != nil {
			return err
		}
		for i := range jobs.Items {
			if job := &jobs.Items[i]; job.DeletionTimestamp == nil && len(job.Status.Conditions) == 0 && metav1.IsControlledBy(job, record) {
				found = job
				return nil
			}
		}
		return fmt.Errorf("%d Jobs; the record says %+v", len(jobs.Items), record.Status)
	})
	return found
}

// isRestored plays the Job that finds the node as it was.
func (l *lab) isRestored(node string) {
	l.t.Helper()
	l.endRestore(l.restoreJob(node), batchv1.JobComplete, "")
}

// endRestore plays the end of a restore Job, and what it said last.
func (l *lab) endRestore(job *batchv1.Job, kind batchv1.JobConditionType, said string) {
	l.t.Helper()
	pod := l.pod(job, func(p *corev1.Pod) { p.Labels[batchv1.JobNameLabel] = job.Name })
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "restore", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: said}}}}
	if err := api.Status().Update(l.ctx, pod); err != nil {
		l.t.Fatal(err)
	}
	now, before := metav1.Now(), job.DeepCopy()
	job.Status.StartTime = &now
	first := batchv1.JobFailureTarget
	if kind == batchv1.JobComplete {
		job.Status.CompletionTime, job.Status.Succeeded, first = &now, 1, batchv1.JobSuccessCriteriaMet
	}
	for _, condition := range []batchv1.JobConditionType{first, kind} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if err := api.Status().Patch(l.ctx, job, client.MergeFrom(before)); err != nil {
		l.t.Fatal(err)
	}
}

func TestTunablesNeedAPolicyAndANamespaceForPrivilegedPods(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*lab)
		change  func(*v1alpha1.StorageBenchmarkSpec)
		reason  string
		want    []string
	}{
		"no policy": {func(l *lab) { l.privileged() }, tuned, reason.TunableNotPermitted, []string{"spec.variants[none].tunables[0]", "no TunablePolicy permits block.queue.scheduler=none"}},
		"a policy for other tunables": {
			func(l *lab) {
				l.privileged()
				l.policy(func(s *v1alpha1.TunablePolicySpec) { s.Tunables[0].Name = "vm.*" })
			},
			tuned, reason.TunableNotPermitted, []string{"spec.variants[none].tunables[0]"},
		},
		"a namespace that allows no privileged Pods": {
			func(l *lab) { l.policy(asIs) }, tuned, reason.PodSecurityForbids, []string{"spec.variants", "enforce=privileged"},
		},
		"no such tunable": {
			func(l *lab) { l.privileged(); l.policy(asIs) },
			func(s *v1alpha1.StorageBenchmarkSpec) {
				tuned(s)
				s.Variants[1].Tunables[0].Name = "block.queue.sheduler"
			},
			reason.InvalidSpec, []string{"spec.variants[none].tunables[0].name", "did you mean block.queue.scheduler?"},
		},
		"data loss that nobody accepts": {
			func(l *lab) {
				l.privileged()
				l.policy(func(s *v1alpha1.TunablePolicySpec) { s.AllowDataLoss = true })
			},
			func(s *v1alpha1.StorageBenchmarkSpec) {
				tuned(s)
				s.Variants[1].Tunables[0] = v1alpha1.Tunable{Name: "block.queue.write_cache", Value: v1alpha1.Text("write through")}
			},
			reason.InvalidSpec, []string{"spec.variants[none].acceptDataLoss"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, 1)
			c.prepare(l)
			b := l.benchmark("tuned", c.change)
			message := l.await(b, c.reason).Message
			for _, want := range c.want {
				if !strings.Contains(message, want) {
					t.Errorf("%q does not say %q", message, want)
				}
			}
			if len(l.jobs(b)) != 0 {
				t.Error("a Job was made")
			}
			l.nothingLeft()
		})
	}
}

func tunedLab(t *testing.T) (*lab, *v1alpha1.StorageBenchmark) {
	t.Helper()
	l := newLab(t, 1)
	l.privileged()
	l.policy(asIs)
	b := l.benchmark("tuned", tuned)
	return l, b
}

func TestANodeIsOnRecordBeforeItsSettingsAreChanged(t *testing.T) {
	l, b := tunedLab(t)
	job := l.job(b)
	record := &v1alpha1.NodeRestore{}
	if err := api.Get(l.ctx, types.NamespacedName{Name: l.nodes[0]}, record); err != nil {
		t.Fatal(err)
	}
	if s := record.Spec; s.Job.UID != job.UID || s.Benchmark.UID != b.UID || len(s.Settings) != 1 || s.Settings[0].Name != "block.queue.scheduler" {
		t.Errorf("on record: %+v", s)
	}
	spec := job.Spec.Template.Spec
	if c := spec.Containers[0]; c.SecurityContext.Privileged == nil || !*c.SecurityContext.Privileged || !slices.Contains(c.Args, "--journal") {
		t.Errorf("the worker has %+v, %v", c.SecurityContext, c.Args)
	}
	p := l.plan(job)
	if len(p.Variants) != 2 || len(p.Trials) != 4 || !slices.Equal(p.Variants[1].Tunables[0].Devices, []string{"loop*"}) {
		t.Errorf("the plan has %+v, %+v", p.Variants, p.Trials)
	}
	pod := l.pod(job, func(*corev1.Pod) {})
	if c := l.restored(b, reason.Changed); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, l.nodes[0]) {
		t.Errorf("%+v", c)
	}
	// What the worker says of itself is not taken for it: a Job of the operator looks.
	l.end(job, pod, l.store(job, func(_ *result.WorkerSummary, r *trial.Receipt) { r.Restored = true }))
	l.await(b, reason.Restoring)
	l.isRestored(l.nodes[0])
	l.await(b, reason.Finished)
	if c := l.restored(b, reason.Restored); c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", c)
	}
	variants := map[string]bool{}
	for _, row := range b.Status.Summary {
		variants[row.Variant] = true
	}
	if !variants["control"] || !variants["none"] {
		t.Errorf("rows of %v", variants)
	}
	l.nothingLeft()
}

func TestAWorkerThatWasKilledHasItsNodeRestored(t *testing.T) {
	l, b := tunedLab(t)
	job := l.job(b)
	pod := l.pod(job, func(*corev1.Pod) {})
	l.store(job, well)
	l.end(job, pod, nil)

	restore := l.restoreJob(l.nodes[0])
	if spec := restore.Spec.Template.Spec; !*spec.Containers[0].SecurityContext.Privileged || len(spec.Tolerations) != 1 || *spec.AutomountServiceAccountToken {
		t.Errorf("the Job has %+v", spec)
	}
	l.restored(b, reason.Restoring)
	// Another benchmark does not get the node before it is restored.
	next := l.benchmark("next", as)
	l.await(next, reason.Restoring)
	l.endRestore(restore, batchv1.JobComplete, "")
	l.restored(b, reason.Restored)
	l.eventually("the run ends", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil || b.Status.Run.FinishedAt == nil {
			return errNotYet(err)
		}
		return nil
	})
	l.finish(next, well)
	l.await(next, reason.Finished)
	l.nothingLeft()
}

func TestWhatCouldNotBeRestoredIsSaidUntilItIsAndHoldsNoBenchmark(t *testing.T) {
	l, b := tunedLab(t)
	job := l.job(b)
	l.pod(job, func(*corev1.Pod) {})
	l.await(b, reason.Running)
	// Its Pods are killed: the run ends, and so does its last word.
	pods := &corev1.PodList{}
	if err := api.List(l.ctx, pods, client.InNamespace(l.namespace)); err != nil {
		t.Fatal(err)
	}
	l.end(job, &pods.Items[0], nil)
	const said = "block.queue.scheduler of loop7 is kyber: somebody else has changed it"
	l.endRestore(l.restoreJob(l.nodes[0]), batchv1.JobFailed, said)
	if c := l.restored(b, reason.TunablesNotRestored); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, said) || !strings.Contains(c.Message, l.nodes[0]) {
		t.Errorf("%+v", c)
	}
	if c := l.await(b, reason.TunablesNotRestored); !strings.Contains(c.Message, said) {
		t.Errorf("%+v", c)
	}
	// The benchmark can be deleted; the record stays, and the operator tries again.
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.eventually("the benchmark is gone", func() error {
		err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b)
		if client.IgnoreNotFound(err) != nil || err == nil {
			return errNotYet(err)
		}
		return nil
	})
	l.isRestored(l.nodes[0])
	l.recordGone(l.nodes[0])
	l.nothingLeft()
}

// recordGone waits until a node has no record.
func (l *lab) recordGone(node string) {
	l.t.Helper()
	l.eventually("the record of "+node+" is gone", func() error {
		record := &v1alpha1.NodeRestore{}
		err := api.Get(l.ctx, types.NamespacedName{Name: node}, record)
		if client.IgnoreNotFound(err) != nil || err == nil {
			return errNotYet(err)
		}
		return nil
	})
}
