//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/test/wait"
)

// patience bounds every wait.
var patience = wait.Patience{Every: 50 * time.Millisecond, AtMost: 2 * time.Minute}

// lab is a namespace and nodes of a test's own, and the hands of the parts of a
// cluster that envtest has not: kubelets, the Job controller, the garbage collector.
type lab struct {
	t         *testing.T
	ctx       context.Context
	namespace string
	nodes     []string
	api       client.Client
	// upload stores what a worker stores; nil: in the bucket.
	upload func(key string, document []byte)
}

func newLab(t *testing.T, nodes int) *lab {
	t.Helper()
	t.Parallel()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "lab-"}}
	if err := api.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, ctx: t.Context(), namespace: ns.Name, api: api}
	for i := range nodes {
		l.addNode(fmt.Sprintf("%s-n%d", ns.Name, i), func(*corev1.Node) {})
	}
	collecting, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.collectGarbage(collecting) }()
	t.Cleanup(func() {
		l.ctx = context.Background()
		list := &v1alpha1.StorageBenchmarkList{}
		if err := api.List(l.ctx, list, client.InNamespace(l.namespace)); err != nil {
			t.Error(err)
		}
		for i := range list.Items {
			if err := api.Delete(l.ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
		l.eventually("every benchmark of the test lets itself be deleted", func() error {
			err := api.List(l.ctx, list, client.InNamespace(l.namespace))
			if err == nil && len(list.Items) > 0 {
				err = fmt.Errorf("%d are left", len(list.Items))
			}
			return err
		})
		cancel()
		<-done
	})
	return l
}

func (l *lab) addNode(name string, change func(*corev1.Node)) {
	l.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"lab": l.namespace}}}
	change(node)
	if err := api.Create(l.ctx, node); err != nil {
		l.t.Fatal(err)
	}
	// The API server taints a new node until its kubelet reports.
	taints := node.Spec.Taints[:0]
	for _, taint := range node.Spec.Taints {
		if taint.Key != corev1.TaintNodeNotReady {
			taints = append(taints, taint)
		}
	}
	node.Spec.Taints = taints
	if err := api.Update(l.ctx, node); err != nil {
		l.t.Fatal(err)
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := api.Status().Update(l.ctx, node); err != nil {
		l.t.Fatal(err)
	}
	l.nodes = append(l.nodes, name)
}

// benchmark creates a benchmark over the lab's nodes: one workload, two trials.
func (l *lab) benchmark(name string, change func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
	l.t.Helper()
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets:   []v1alpha1.Target{{Name: "t", StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}}},
			Placement: v1alpha1.Placement{NodeSelector: map[string]string{"lab": l.namespace}, Nodes: new(intstr.FromString(v1alpha1.AllNodes))},
			Workloads: []v1alpha1.Workload{{Name: "w", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{"rw": "randread"})}}},
			Trials:    v1alpha1.Trials{Min: 2},
			Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
		},
	}
	change(&b.Spec)
	if err := api.Create(l.ctx, b); err != nil {
		l.t.Fatal(err)
	}
	return b
}

func as(*v1alpha1.StorageBenchmarkSpec) {}

// eventually repeats check until it returns nil.
func (l *lab) eventually(what string, check func() error) {
	l.t.Helper()
	patience.For(l.t, what, check)
}

// await waits until Ready has the reason, and returns its condition.
func (l *lab) await(b *v1alpha1.StorageBenchmark, reason string) metav1.Condition {
	l.t.Helper()
	return patience.Condition(l.ctx, l.t, api, b, v1alpha1.ConditionReady, reason)
}

func (l *lab) update(b *v1alpha1.StorageBenchmark, change func(*v1alpha1.StorageBenchmarkSpec)) {
	l.t.Helper()
	before := b.DeepCopy()
	change(&b.Spec)
	if err := api.Patch(l.ctx, b, client.MergeFrom(before)); err != nil {
		l.t.Fatal(err)
	}
}

// job waits for the one Job of a benchmark that is allowed to run, and is not
// being deleted.
func (l *lab) job(b *v1alpha1.StorageBenchmark) *batchv1.Job {
	l.t.Helper()
	var job *batchv1.Job
	l.eventually("a Job of "+b.Name+" runs", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		jobs := l.jobs(b)
		if len(jobs) != 1 || *jobs[0].Spec.Suspend || jobs[0].DeletionTimestamp != nil || len(jobs[0].Status.Conditions) > 0 {
			return fmt.Errorf("%d Jobs: %+v", len(jobs), jobs)
		}
		job = &jobs[0]
		return nil
	})
	return job
}

func (l *lab) jobs(b *v1alpha1.StorageBenchmark) []batchv1.Job {
	l.t.Helper()
	list := &batchv1.JobList{}
	if err := api.List(l.ctx, list, client.InNamespace(l.namespace), client.MatchingLabels{jobspec.LabelBenchmark: b.Name}); err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

// pod plays the Job controller and the kubelet: a Pod of the Job that runs.
func (l *lab) pod(job *batchv1.Job, change func(*corev1.Pod)) *corev1.Pod {
	l.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, GenerateName: job.Name + "-", Labels: job.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{jobspec.JobOwner(job)},
		},
		Spec: *job.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	change(pod)
	status := pod.Status
	if err := api.Create(l.ctx, pod); err != nil {
		l.t.Fatal(err)
	}
	if status.Phase == "" {
		status.Phase = corev1.PodRunning
	}
	pod.Status = status
	if err := api.Status().Update(l.ctx, pod); err != nil {
		l.t.Fatal(err)
	}
	return pod
}

// finish plays a worker that measured everything, or what ending makes of it.
func (l *lab) finish(b *v1alpha1.StorageBenchmark, ending func(*result.WorkerSummary, *trial.Receipt)) {
	l.t.Helper()
	job := l.job(b)
	pod := l.pod(job, func(*corev1.Pod) {})
	l.end(job, pod, l.store(job, ending))
}

// store writes what a worker stores, and returns its receipt.
func (l *lab) store(job *batchv1.Job, ending func(*result.WorkerSummary, *trial.Receipt)) *trial.Receipt {
	l.t.Helper()
	p := l.plan(job)
	worker, _, err := p.Worker(job.Labels[jobspec.LabelWorker])
	if err != nil {
		l.t.Fatal(err)
	}
	h := &histogram.Histogram{}
	h.Add(250_000, 1000)
	s := &result.WorkerSummary{
		Schema: result.WorkerSchema, Benchmark: p.Benchmark, Run: p.Run, Worker: worker, Planned: len(p.Trials),
		Attempts: []result.Attempt{{Number: 1}},
	}
	for _, cell := range p.Cells() {
		s.Workloads = append(s.Workloads, result.WorkloadPool{Cell: cell, Histograms: result.Histograms{"read": h}})
	}
	for i, tr := range p.Trials {
		s.Trials = append(s.Trials, result.TrialSummary{Trial: tr, Outcome: result.Measured, Metrics: result.Metrics{
			"read.iops": {Unit: result.PerSecond, Value: float64(1000 + 2*i)},
		}})
	}
	receipt := &trial.Receipt{Run: p.Run, Worker: worker.Name, Planned: len(p.Trials), Stored: len(p.Trials)}
	ending(s, receipt)
	for _, tr := range s.Trials {
		l.put(job, p.Keys().Trial(worker.Name, tr.ID), result.Trial{
			Schema: result.TrialSchema, Benchmark: p.Benchmark, Run: p.Run, Worker: worker, Trial: tr.Trial, Attempt: 1, Outcome: tr.Outcome,
			Measurement: result.Measurement{Metrics: tr.Metrics, Histograms: result.Histograms{"read": h}},
		})
	}
	receipt.SummaryDigest = trial.Digest(l.put(job, p.Keys().WorkerSummary(worker.Name), s))
	return receipt
}

// put stores a document as the worker of the Job does, with its seal, and returns what it stored.
func (l *lab) put(job *batchv1.Job, key string, document any) []byte {
	l.t.Helper()
	b, err := json.Marshal(document)
	if err != nil {
		l.t.Fatal(err)
	}
	b = result.SealingKey(l.grant(job).SealingKey).Seal(b)
	if l.upload != nil {
		l.upload(key, b)
	} else if err := bucket.Put(l.ctx, key, b); err != nil {
		l.t.Fatal(err)
	}
	return b
}

// grant reads the grant of a Job's worker.
func (l *lab) grant(job *batchv1.Job) (grant trial.Grant) {
	l.t.Helper()
	secret := &corev1.Secret{}
	if err := l.api.Get(l.ctx, client.ObjectKeyFromObject(job), secret); err != nil {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(secret.Data["grant.json"], &grant); err != nil {
		l.t.Fatal(err)
	}
	if len(grant.SealingKey) == 0 {
		l.t.Fatal("a worker has no key to seal its documents with")
	}
	return grant
}

// plan reads the plan that the Job's Pod would read, and checks its digest.
func (l *lab) plan(job *batchv1.Job) *trial.Plan {
	l.t.Helper()
	cm := &corev1.ConfigMap{}
	if err := l.api.Get(l.ctx, client.ObjectKeyFromObject(job), cm); err != nil {
		l.t.Fatal(err)
	}
	digest := ""
	args := job.Spec.Template.Spec.Containers[0].Args
	for i, a := range args {
		if a == "--plan-digest" {
			digest = args[i+1]
		}
	}
	p, err := trial.DecodePlan([]byte(cm.Data["plan.json"]), digest)
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

// end plays the end of a Pod and of its Job. Without a receipt the Pod was killed.
func (l *lab) end(job *batchv1.Job, pod *corev1.Pod, receipt *trial.Receipt) {
	l.t.Helper()
	failed := receipt == nil || receipt.Failure != nil
	terminated := &corev1.ContainerStateTerminated{ExitCode: 0, FinishedAt: metav1.Now()}
	pod.Status.Phase = corev1.PodSucceeded
	if failed {
		terminated.ExitCode, pod.Status.Phase = 1, corev1.PodFailed
	}
	if receipt == nil {
		terminated.ExitCode = 137
	} else {
		message, err := receipt.Encode()
		if err != nil {
			l.t.Fatal(err)
		}
		terminated.Message = string(message)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{Terminated: terminated}}}
	if err := api.Status().Update(l.ctx, pod); err != nil {
		l.t.Fatal(err)
	}
	// The operator may have seen the Pod's end already, and have deleted the Job.
	now, before := metav1.Now(), job.DeepCopy()
	job.Status.StartTime = &now
	condition := func(kind batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
	}
	if failed {
		job.Status.Failed = 1
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailureTarget), condition(batchv1.JobFailed)}
	} else {
		job.Status.Succeeded, job.Status.CompletionTime = 1, &now
		job.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet), condition(batchv1.JobComplete)}
	}
	if err := api.Status().Patch(l.ctx, job, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		l.t.Fatal(err)
	}
}

// collectGarbage plays the garbage collector: what a Job owned that is gone goes too, and
// what a record of a node owned.
func (l *lab) collectGarbage(ctx context.Context) {
	for ctx.Err() == nil {
		for _, namespace := range []string{l.namespace, restoreNamespace} { // of all labs: it does no harm
			l.collect(ctx, namespace)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (l *lab) collect(ctx context.Context, namespace string) {
	owners := map[types.UID]bool{}
	jobs, records := &batchv1.JobList{}, &v1alpha1.NodeRestoreList{}
	dependents := []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &batchv1.JobList{}}
	// Owners last, so that what one of them owns is not taken for an orphan.
	for _, list := range append(slices.Clip(dependents), records, jobs) {
		if err := api.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return
		}
	}
	for i := range jobs.Items {
		owners[jobs.Items[i].UID] = true
	}
	for i := range records.Items {
		owners[records.Items[i].UID] = true
	}
	for _, list := range dependents {
		_ = meta.EachListItem(list, func(o runtimeObject) error {
			object := o.(client.Object)
			owner := metav1.GetControllerOf(object)
			if owner != nil && (owner.Kind == "Job" || owner.Kind == "NodeRestore") && !owners[owner.UID] {
				object.SetFinalizers(nil)
				_ = api.Update(ctx, object)
				_ = api.Delete(ctx, object, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
			}
			return nil
		})
	}
}

// nothingLeft checks that nothing of a benchmark is left in the cluster.
func (l *lab) nothingLeft() {
	l.t.Helper()
	l.eventually("nothing is left", func() error {
		var left []string
		for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}} {
			if err := api.List(l.ctx, list, client.InNamespace(l.namespace)); err != nil {
				return err
			}
			_ = meta.EachListItem(list, func(o runtimeObject) error {
				left = append(left, fmt.Sprintf("%T %s", o, o.(client.Object).GetName()))
				return nil
			})
		}
		for _, node := range l.nodes {
			if holder := l.leaseHolder(node); holder != "" {
				left = append(left, "the Lease of "+node+", held by "+holder)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("left: %s", strings.Join(left, ", "))
		}
		return nil
	})
}

// leaseHolder is the holder of a node's Lease, or empty if there is no Lease.
func (l *lab) leaseHolder(node string) string {
	l.t.Helper()
	lease := newLease(node)
	err := l.api.Get(l.ctx, client.ObjectKeyFromObject(lease), lease)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }

// errNotYet makes an eventually go on.
func errNotYet(err error) error {
	if err != nil {
		return err
	}
	return errors.New("not yet")
}

func nowPlusHour() metav1.Time { return metav1.NewTime(time.Now().Add(time.Hour)) }
