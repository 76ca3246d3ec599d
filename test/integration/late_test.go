//go:build integration

package integration

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/trial"
)

// late reads from a cache that does not get what happens to objects of one kind for a while.
type late struct {
	client.Reader
	scheme *runtime.Scheme
	// kind that is behind; empty: none.
	kind string
	// held are the objects of the kind as the cache had them last.
	held []client.Object
}

// hold stops what happens to objects of a kind from being seen.
func (l *late) hold(ctx context.Context, kind string, list client.ObjectList) error {
	l.kind, l.held = "", nil
	if err := l.Reader.List(ctx, list); err != nil {
		return err
	}
	l.kind = kind
	return meta.EachListItem(list, func(o runtime.Object) error {
		l.held = append(l.held, o.DeepCopyObject().(client.Object))
		return nil
	})
}

// catchUp lets everything be seen again.
func (l *late) catchUp() { l.kind, l.held = "", nil }

func (l *late) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(into, l.scheme)
	if err != nil || kind.Kind != l.kind {
		return l.Reader.Get(ctx, key, into, options...)
	}
	for _, o := range l.held {
		if client.ObjectKeyFromObject(o) == key {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(batchv1.Resource(strings.ToLower(l.kind)), key.Name)
}

func (l *late) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(into, l.scheme)
	if err != nil || kind.Kind != l.kind+"List" {
		return l.Reader.List(ctx, into, options...)
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	var items []runtime.Object
	for _, object := range l.held {
		record, isRecord := object.(*v1alpha1.NodeRestore)
		switch {
		case o.Namespace != "" && object.GetNamespace() != o.Namespace:
		case o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(object.GetLabels())):
		case o.FieldSelector != nil && (!isRecord || !strings.HasSuffix(o.FieldSelector.String(), "="+string(record.Spec.Benchmark.UID))):
		default:
			items = append(items, object.DeepCopyObject())
		}
	}
	return meta.SetList(into, items)
}

// kindsThatAreLate, each by itself: each has a watch of its own.
var kindsThatAreLate = map[string]func() client.ObjectList{
	"Job":                   func() client.ObjectList { return &batchv1.JobList{} },
	"Pod":                   func() client.ObjectList { return &corev1.PodList{} },
	"PersistentVolumeClaim": func() client.ObjectList { return &corev1.PersistentVolumeClaimList{} },
	"NodeRestore":           func() client.ObjectList { return &v1alpha1.NodeRestoreList{} },
	"Node":                  func() client.ObjectList { return &corev1.NodeList{} },
}

// A cache that is behind costs no Job: none that runs is deleted without a reason, no two
// workers are at work at once, and nobody is told that nothing runs while something does.
func TestALateCacheCostsNoJob(t *testing.T) {
	th := startAPIServer(t)
	t.Run("worlds", func(t *testing.T) {
		for kind, list := range kindsThatAreLate {
			seeds := uint64(2)
			if kind == "Job" { // of which most decisions are made
				seeds = 6
			}
			for seed := range seeds {
				t.Run(fmt.Sprintf("%s %d", kind, seed), func(t *testing.T) {
					t.Parallel()
					r := rand.New(rand.NewPCG(seed, 7))
					w := &lateWorld{stage: th.stage(t, 2+r.IntN(2)), r: r, kind: kind, list: list}
					w.play()
				})
			}
		}
	})
}

// lateWorld is a benchmark whose operator sees one kind of objects late.
type lateWorld struct {
	*stage
	r    *rand.Rand
	kind string
	list func() client.ObjectList
	// tuned: workers change settings, so nodes have records.
	tuned bool
	// parking: a Pod could not start, so that its Job may be suspended for a while.
	parking bool
	story   []string
}

func (w *lateWorld) play() {
	w.t.Helper()
	spec := w.spec(w.r)
	spec.Timeout = &metav1.Duration{Duration: 20 * time.Hour}
	if w.tuned = w.r.IntN(2) == 0; w.tuned {
		w.policy()
		tuned(&spec)
	}
	w.create(spec)
	for range 60 {
		w.turn()
	}
	w.cached.catchUp()
	if w.benchmark().Spec.Suspend {
		w.change(func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = false })
	}
	w.reaches("the run goes on", func() bool {
		b := w.benchmark()
		return len(w.atWork()) == 1 || b.Status.Run != nil && b.Status.Run.FinishedAt != nil
	})
	if c := meta.FindStatusCondition(w.benchmark().Status.Conditions, v1alpha1.ConditionReady); strings.Contains(c.Message, "earlier attempt") {
		w.fail("a Job that runs is taken for one of an earlier attempt: %s", c.Message)
	}
}

// reaches makes passes, with a cache that is not behind, until ok.
func (w *lateWorld) reaches(what string, ok func() bool) {
	w.t.Helper()
	for range 200 {
		w.lookAround()
		if ok() {
			return
		}
		w.restored()
		w.collect()
		w.step(time.Second)
	}
	w.fail("%s: it does not, in 200 passes: %+v", what, w.benchmark().Status)
}

// turn lets something happen, or not, and the operator look at what it sees of it.
func (w *lateWorld) turn() {
	w.t.Helper()
	switch w.r.IntN(12) {
	case 0, 1:
		w.caughtUp()
		w.tell("the cache gets no more of " + w.kind)
		w.must(w.cached.hold(w.ctx, w.kind, w.list()))
	case 2, 3:
		w.tell("the cache catches up")
		w.cached.catchUp()
	case 4:
		if jobs := w.atWork(); len(jobs) > 0 && len(w.podsAtWork()) == 0 {
			w.tell("the Pod of " + jobs[0].Name + " runs")
			w.pod(&jobs[0], corev1.PodStatus{Phase: corev1.PodRunning})
		}
	case 5:
		for _, pod := range w.podsAtWork() {
			if w.r.IntN(3) == 0 {
				w.tell("Pod " + pod.Name + " ends")
				w.end(pod)
			}
		}
	case 6:
		if w.r.IntN(2) == 0 {
			suspend := !w.benchmark().Spec.Suspend
			w.tell(fmt.Sprintf("suspend: %v", suspend))
			w.change(func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = suspend })
		}
	case 7:
		if w.r.IntN(3) == 0 {
			w.tell("another spec")
			w.change(func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min++ })
		}
	case 8:
		w.collect()
		w.restored()
	case 9:
		w.step(2 * time.Second)
	case 10:
		if jobs := w.atWork(); len(jobs) > 0 && len(w.podsAtWork()) == 0 {
			w.tell("the Pod of " + jobs[0].Name + " cannot start, for ten minutes")
			w.pod(&jobs[0], w.waiting("ImagePullBackOff"))
			w.step(10 * time.Minute)
			w.parking = true
		}
	}
	w.lookAround()
}

func (w *lateWorld) tell(what string) { w.story = append(w.story, what) }

func (w *lateWorld) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.story, "\n"))
}

// atWork are the Jobs that are let go and have not ended.
func (w *lateWorld) atWork() []batchv1.Job {
	w.t.Helper()
	list, all := &batchv1.JobList{}, []batchv1.Job(nil)
	w.must(w.api.List(w.ctx, list, client.InNamespace(w.namespace)))
	ended := map[types.UID]bool{}
	pods := &corev1.PodList{}
	w.must(w.api.List(w.ctx, pods, client.InNamespace(w.namespace)))
	for i := range pods.Items {
		if o := metav1.GetControllerOf(&pods.Items[i]); o != nil && pods.Items[i].Status.Phase == corev1.PodFailed {
			ended[o.UID] = true
		}
	}
	for _, job := range list.Items {
		if !*job.Spec.Suspend && job.DeletionTimestamp.IsZero() && !ended[job.UID] {
			all = append(all, job)
		}
	}
	return all
}

func (w *lateWorld) podsAtWork() []corev1.Pod {
	w.t.Helper()
	list, all := &corev1.PodList{}, []corev1.Pod(nil)
	w.must(w.api.List(w.ctx, list, client.InNamespace(w.namespace)))
	for _, pod := range list.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero() {
			all = append(all, pod)
		}
	}
	return all
}

// end plays a worker that ends by itself, without a word.
func (w *lateWorld) end(pod corev1.Pod) {
	w.t.Helper()
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(w.clock.Now())},
	}}}}
	w.must(w.api.Status().Update(w.ctx, &pod))
}

// restored plays restore Jobs that succeed. A record of a node on which a worker is at work must
// not have one.
func (w *lateWorld) restored() {
	w.t.Helper()
	list := &batchv1.JobList{}
	w.must(w.api.List(w.ctx, list, client.InNamespace(restoreNamespace)))
	for i := range list.Items {
		job := &list.Items[i]
		if len(job.OwnerReferences) == 0 || !w.owns(job.OwnerReferences[0].Name) || job.Status.CompletionTime != nil {
			continue
		}
		now := metav1.NewTime(w.clock.Now())
		job.Status.StartTime, job.Status.CompletionTime, job.Status.Succeeded = &now, &now, 1
		for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
		w.must(w.api.Status().Update(w.ctx, job))
	}
}

// lookAround makes a pass, and checks what it did.
func (w *lateWorld) lookAround() {
	w.t.Helper()
	before, b := w.atWork(), w.benchmark()
	run := ""
	if b.Status.Run != nil {
		run = b.Status.Run.ID
	}
	w.pass()
	after := map[types.UID]bool{}
	now := w.atWork()
	for _, job := range now {
		after[job.UID] = true
	}
	b = w.benchmark()
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if c != nil {
		w.tell("  " + c.Reason + ": " + c.Message)
	}
	// A run that is suspended, or another than the spec asks for, is stopped for that.
	stops := b.Spec.Suspend || b.Status.Run == nil || b.Status.Run.ID != run || b.Status.Run.Generation != b.Generation
	for _, job := range before {
		if !after[job.UID] && !stops && !w.parking {
			w.fail("Job %s was at work, and is gone", job.Name)
		}
	}
	w.parking = w.parking && len(now) > 0 && len(w.podsAtWork()) == 0
	if len(now) > 1 {
		w.fail("%d workers are at work at once: %s and %s", len(now), now[0].Name, now[1].Name)
	}
	if c != nil && c.Reason == reason.Suspended && b.Status.ObservedGeneration == b.Generation && len(now)+len(w.podsAtWork()) > 0 {
		w.fail("it is called suspended while something is at work")
	}
	records := &v1alpha1.NodeRestoreList{}
	w.must(w.api.List(w.ctx, records))
	for _, record := range records.Items {
		for _, job := range now {
			if record.Spec.Job.UID == job.UID && record.Status.Phase == v1alpha1.RestoreRunning {
				w.fail("node %s is being restored while %s is at work", record.Name, job.Name)
			}
		}
	}
}

// A new operator whose cache is behind does not write the summary of a run that is over again.
func TestTheSummaryOfARunThatIsOverStaysAsItIs(t *testing.T) {
	writtenOnce(t, func(r *v1alpha1.RunStatus) bool { return r.FinishedAt != nil }, func(keys trial.Keys, _ string) string { return keys.Summary() })
}

func TestWhatWasAcceptedOfAWorkerThatHasEndedStaysAsItIs(t *testing.T) {
	writtenOnce(t, func(r *v1alpha1.RunStatus) bool { return r.Ended != "" }, trial.Keys.Accepted)
}

// writtenOnce plays a run of one worker until something of it is recorded. An operator that does not see that yet
// must not write the document again that was written for it.
func writtenOnce(t *testing.T, recorded func(*v1alpha1.RunStatus) bool, document func(trial.Keys, string) string) {
	t.Helper()
	s := startAPIServer(t).stage(t, 1)
	spec := s.spec(rand.New(rand.NewPCG(1, 1)))
	spec.Targets = spec.Targets[:1]
	s.create(spec)
	s.settle()
	job := s.job()
	message := measured(&lab{t: t, ctx: s.ctx, namespace: s.namespace, api: s.api}, job)
	s.pod(job, corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Message: message, FinishedAt: metav1.NewTime(s.clock.Now())},
	}}}})
	before := &v1alpha1.StorageBenchmark{}
	for range 60 {
		b := s.benchmark()
		if recorded(b.Status.Run) {
			break
		}
		before = b
		s.pass()
		s.collect()
	}
	if !recorded(s.benchmark().Status.Run) {
		t.Fatalf("it is never recorded: %+v", s.benchmark().Status)
	}
	rs := &v1alpha1.ResultStore{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: s.store}, rs))
	bucket, err := s.bench.Results.Open(s.ctx, rs)
	s.must(err)
	keys, worker := trial.Keys{Namespace: before.Namespace, Name: before.Name, Run: before.Status.Run.ID}, job.Labels[jobspec.LabelWorker]
	key := document(keys, worker)
	was, err := bucket.Get(s.ctx, key)
	s.must(err)
	// What would be written now is another document.
	s.must(bucket.Put(s.ctx, keys.WorkerSummary(worker), []byte("{}")))
	s.operator()
	s.step(time.Minute)
	s.cached.kind, s.cached.held = "StorageBenchmark", []client.Object{before}
	for range 3 {
		s.pass()
	}
	is, err := bucket.Get(s.ctx, key)
	s.must(err)
	if !bytes.Equal(was, is) {
		t.Errorf("it was written again: %.200s, was %.200s", is, was)
	}
}
