//go:build attacks

package attacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
)

func minuteLong(s *v1alpha1.StorageBenchmarkSpec) {
	slow(s)
	s.Timeout = &metav1.Duration{Duration: time.Minute}
}

// tamper is what a tenant does to the objects of its own worker, which runs.
type tamper func(m *tenant, l loot) error

func patchJob(text string) tamper {
	return func(m *tenant, l loot) error {
		return m.api.Patch(m.ctx, l.job.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
}

func all(steps ...tamper) tamper {
	return func(m *tenant, l loot) error {
		for _, step := range steps {
			if err := step(m, l); err != nil {
				return err
			}
		}
		return nil
	}
}

const (
	withoutLabels = `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null,"storagebench.io/benchmark":null,"storagebench.io/run":null,"storagebench.io/worker":null}}}`
	withoutOwner  = `{"metadata":{"ownerReferences":null}}`
	suspended     = `{"spec":{"suspend":true}}`
)

func patchPod(text string) tamper {
	return func(m *tenant, l loot) error {
		return m.api.Patch(m.ctx, l.pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	}
}

// hold puts a finalizer that nobody removes on all objects of the worker.
func hold(m *tenant, l loot) error {
	for _, o := range []client.Object{l.job, l.pod, &corev1.PersistentVolumeClaim{}, &corev1.Secret{}, &corev1.ConfigMap{}} {
		if o.GetName() == "" {
			o.SetNamespace(m.namespace)
			o.SetName(l.job.Name)
		}
		err := change(m, o, func(o client.Object) { o.SetFinalizers(append(o.GetFinalizers(), foreignFinalizer)) })
		if _, isClaim := o.(*corev1.PersistentVolumeClaim); isClaim {
			err = client.IgnoreNotFound(err) // a device needs none
		}
		if err != nil {
			return fmt.Errorf("%T: %w", o, err)
		}
	}
	return nil
}

// waitingPod forges a Pod of the worker that never starts, and never goes.
func waitingPod(m *tenant, l loot) error {
	m.forgePod(l, "", func(p *corev1.Pod) {
		p.Finalizers = append(p.Finalizers, foreignFinalizer)
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "attacker.example/never"}}
	})
	return nil
}

// filled makes the Job as large as etcd takes, with a finalizer: its deletion must write a time, which
// does not fit, and is refused.
func filled(m *tenant, l loot) error {
	err := change(m, l.job, func(job *batchv1.Job) { job.Finalizers = append(job.Finalizers, foreignFinalizer) })
	if err != nil {
		return err
	}
	labels, bytes := 0, 0
	labelled := func(n int) map[string]any {
		more := map[string]string{}
		for i := range n {
			more[fmt.Sprintf("a%05d.attacker.example/%s", labels+i, strings.Repeat("k", 60))] = strings.Repeat("v", 63)
		}
		return map[string]any{"labels": more}
	}
	annotated := func(n int) map[string]any {
		return map[string]any{"annotations": map[string]string{"attacker.example/fill": strings.Repeat("x", bytes+n)}}
	}
	if err := m.fill(l.job, 4000, &labels, labelled); err != nil {
		return err
	}
	return m.fill(l.job, 256, &bytes, annotated)
}

// fill adds n of something to an object's metadata as long as it fits, and then less.
func (m *tenant) fill(o client.Object, n int, there *int, more func(int) map[string]any) error {
	for n > 0 {
		patch, err := json.Marshal(map[string]any{"metadata": more(n)})
		if err != nil {
			return err
		}
		object, ok := o.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", o)
		}
		switch err := m.api.Patch(m.ctx, object, client.RawPatch(types.MergePatchType, patch)); {
		case err == nil:
			*there += n
		case strings.Contains(err.Error(), "too large"):
			n /= 2
		default:
			return err
		}
	}
	if *there == 0 {
		return errors.New("nothing more fits")
	}
	return nil
}

var tampers = map[string]tamper{
	"the Job is suspended":                         patchJob(suspended),
	"the Job's labels are removed":                 patchJob(withoutLabels),
	"the Job's owner is removed":                   patchJob(withoutOwner),
	"labels and owner of the Job are removed":      all(patchJob(withoutLabels), patchJob(withoutOwner)),
	"the Job is suspended and nobody's":            all(patchJob(withoutLabels), patchJob(withoutOwner), patchJob(suspended)),
	"the Job's annotation is removed, suspended":   patchJob(`{"metadata":{"annotations":{"storagebench.io/complete":null}},"spec":{"suspend":true}}`),
	"the Job may run for ten years, with 100 Pods": patchJob(`{"spec":{"activeDeadlineSeconds":315360000,"parallelism":100}}`),
	"the Pod's labels and owner are removed":       all(patchPod(withoutLabels), patchPod(withoutOwner)),
	"the objects have a foreign finalizer":         hold,
	"a Pod is forged that never starts":            waitingPod,
	"the Job is as large as etcd takes":            filled,
	"the Pod is deleted with a grace of ten years": func(m *tenant, l loot) error {
		return m.api.Delete(m.ctx, l.pod, client.GracePeriodSeconds(315360000))
	},
	"the Job is deleted and its Pod is not": func(m *tenant, l loot) error {
		return m.api.Delete(m.ctx, l.job, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	},
	"the claim is deleted": func(m *tenant, l loot) error {
		return m.api.Delete(m.ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: l.job.Name}})
	},
	"everything is deleted, again and again": func(m *tenant, _ loot) error {
		for range 5 {
			for _, o := range []client.Object{&batchv1.Job{}, &corev1.Pod{}, &corev1.Secret{}, &corev1.ConfigMap{}} {
				err := m.api.DeleteAllOf(m.ctx, o, client.InNamespace(m.namespace), client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy}, client.GracePeriodSeconds(0))
				if err != nil {
					return err
				}
			}
		}
		return nil
	},
}

// Whatever a tenant does to the objects of its benchmark, others measure on the node when
// its timeout, of a minute, has passed; and the benchmark can be deleted.
func TestTamperingHoldsNoNode(t *testing.T) {
	t.Parallel()
	for what, how := range tampers {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := begin(t, what)
			m, b, l := a.plunderWorker("tampered", minuteLong)
			m.must(how(m, l))
			a.measures(m.node)
			m.must(m.api.Delete(a.ctx, b))
			a.eventuallyGone(m, b)
		})
	}
}

// The same, when the benchmark is deleted, suspended or changed while its objects cannot go.
func TestTamperingBeforeTheEnd(t *testing.T) {
	t.Parallel()
	forged := func(m *tenant, l loot) error {
		m.stopWorker(l)
		m.forgePod(l, "", endless)
		return nil
	}
	for what, how := range map[string]tamper{
		"the objects have a foreign finalizer": hold, "a Pod is forged that never starts": waitingPod, "a Pod is forged that never ends": forged,
	} {
		for then, end := range map[string]func(m *tenant, b *v1alpha1.StorageBenchmark) error{
			"deleted": func(m *tenant, b *v1alpha1.StorageBenchmark) error { return m.api.Delete(m.ctx, b) },
			"suspended": func(m *tenant, b *v1alpha1.StorageBenchmark) error {
				return change(m, b, func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = true })
			},
			"changed": func(m *tenant, b *v1alpha1.StorageBenchmark) error {
				return change(m, b, func(b *v1alpha1.StorageBenchmark) { b.Spec.RunID = "again" })
			},
		} {
			t.Run(what+", and the benchmark is "+then, func(t *testing.T) {
				t.Parallel()
				a := begin(t, what+", and the benchmark is "+then)
				m, b, l := a.plunderWorker("tampered", slow)
				m.must(how(m, l))
				m.must(end(m, b))
				a.measures(m.node)
				m.must(m.letGo())
				a.remove(b)
			})
		}
	}
}

// endless has a Pod that ends neither by itself nor when it is told to.
func endless(p *corev1.Pod) {
	p.Spec.Containers[0].Command = []string{"/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"}
	p.Spec.TerminationGracePeriodSeconds = new(int64(315360000))
}

// eventuallyGone waits until a deleted benchmark is. It may wait for a finalizer of the
// tenant's on its objects, which is then the tenant's own affair.
func (a *attack) eventuallyGone(m *tenant, b *v1alpha1.StorageBenchmark) {
	a.t.Helper()
	a.measures(m.node)
	if err := m.letGo(); err != nil {
		a.t.Fatal(err)
	}
	a.remove(b)
}

// A worker that cannot start keeps its node for a short while only.
func TestTamperingWithWorkersThatCannotStart(t *testing.T) {
	t.Parallel()
	a := begin(t, "a day's benchmark of a claim that is never bound")
	m := a.tenant("restricted")
	m.takeNode()
	b := m.benchmark("stuck", ofClaim(m.claimNothing().Name), func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Timeout = &metav1.Duration{Duration: 24 * hour}
	})
	a.stands(b, reason.Starting, reason.PodUnschedulable, reason.VolumeNotReady)
	a.measures(m.node)
	a.remove(b)
}

// A Pod that looks like the worker's, and belongs to a Job that stays: the run must come to
// its end, and its node to others.
func TestTamperingByAPodThatOutlivesTheWorker(t *testing.T) {
	t.Parallel()
	a := begin(t, "a Pod of another Job looks like the worker's, and stays")
	m := a.tenant("restricted")
	m.takeNode()
	b := m.benchmark("outlived", func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = true })
	later := b.DeepCopy()
	later.Generation++
	keeper := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "keeper"}, Spec: batchv1.JobSpec{
		Parallelism: new(int32(2)), Completions: new(int32(2)), // one for the Pod that is forged
		Template: corev1.PodTemplateSpec{Spec: m.shell("", "sleep 100000").Spec},
	}}
	m.must(m.api.Create(a.ctx, keeper))
	keeper.Labels = map[string]string{
		jobspec.LabelManagedBy: jobspec.ManagedBy, jobspec.LabelBenchmark: b.Name, jobspec.LabelRun: runID(later), jobspec.LabelWorker: m.worker("ext4"),
	}
	m.forgePod(loot{job: keeper}, "", endless)
	m.must(change(m, b, func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = false }))
	a.stands(b, reason.Starting, reason.Running, reason.Finished)
	a.measures(m.node)
	a.ended(b)
	a.remove(b)
}

// runID is the ID of a benchmark's run, which a tenant can compute.
func runID(b *v1alpha1.StorageBenchmark) string { return plan.RunID(b) }
