//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/trial"
)

// oldDirectory has what release 0.1 left in a cluster, when its operator was stopped:
// STORAGEBENCH_CAPTURE=$PWD/test/integration/testdata/release-0.1 make test-upgrade writes it.
const oldDirectory = "testdata/release-0.1"

// old is a world in which release 0.1 has worked, and its operator has stopped.
type old struct {
	*stage
	// before are the benchmarks as they were found, by name.
	before map[string]*v1alpha1.StorageBenchmark
	// uids replaces the UIDs of the cluster they were found in.
	uids []string
}

func openOld(t *testing.T) *old {
	t.Helper()
	o := &old{before: map[string]*v1alpha1.StorageBenchmark{}}
	found, err := filepath.Glob(filepath.Join(oldDirectory, "*", "objects.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("nothing in %s: %v", oldDirectory, err)
	}
	nodes, jobs := map[string]bool{}, []string{}
	for _, file := range found {
		documents := split(t, file)
		b := decode[v1alpha1.StorageBenchmark](t, documents[0])
		o.before[b.Name] = b
		nodes[b.Spec.Placement.NodeSelector[corev1.LabelHostname]] = true
		jobs = append(jobs, documents[1:]...)
	}
	th := startAPIServer(t)
	o.stage = th.emptyStage(t)
	o.store = "default"
	o.namespace = o.before["finished"].Namespace
	o.must(o.api.Create(o.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.namespace, Labels: map[string]string{podSecurity: "privileged"}}}))
	o.must(o.api.Create(o.ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "loop-ext4"}, Provisioner: "example.com/none"}))
	o.must(o.api.Create(o.ctx, resultStore(o.store, func(*v1alpha1.ResultStoreSpec) {})))
	o.available(metav1.ConditionTrue, reason.StoreWritable)
	for node := range nodes {
		o.addNode(node)
		n := &corev1.Node{}
		o.must(o.api.Get(o.ctx, types.NamespacedName{Name: node}, n))
		n.Labels[corev1.LabelHostname] = node
		o.must(o.api.Update(o.ctx, n))
	}
	for _, b := range o.before {
		o.benchmark(b)
	}
	for _, text := range jobs {
		o.job(text)
	}
	for _, text := range split(t, filepath.Join(oldDirectory, "leases.yaml")) {
		lease := decode[coordinationv1.Lease](t, o.renamed(text))
		o.must(o.api.Create(o.ctx, fresh(lease)))
	}
	o.documents()
	for _, node := range o.nodes {
		patience.For(t, "the cache has "+node, func() error {
			n := &corev1.Node{}
			if err := th.cache.Get(o.ctx, types.NamespacedName{Name: node}, n); err != nil || n.Labels[corev1.LabelHostname] == "" {
				return fmt.Errorf("%v %v", err, n.Labels)
			}
			return nil
		})
	}
	o.operator()
	return o
}

// split reads the documents of a YAML file.
func split(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			out = append(out, moved(string(text)))
		}
	}
}

// stamp is a time as the API server writes it.
var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z`)

// captured is when the objects were captured.
var captured = sync.OnceValue(func() (newest time.Time) {
	_ = filepath.WalkDir(oldDirectory, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		for _, found := range stamp.FindAllString(string(content), -1) {
			if at, parseErr := time.Parse(time.RFC3339, found); parseErr == nil && at.After(newest) {
				newest = at
			}
		}
		return err
	})
	return newest
})

// begun is when the first document was moved; all are moved by the same time.
var begun = sync.OnceValue(time.Now)

// moved is a text whose times are as if it had been captured just before the test: a run
// does not wait for years, and has a timeout.
func moved(text string) string {
	by := begun().Sub(captured()).Truncate(time.Second) - time.Second
	return stamp.ReplaceAllStringFunc(text, func(found string) string {
		at, err := time.Parse(time.RFC3339, found)
		if err != nil {
			return found
		}
		layout := "2006-01-02T15:04:05Z"
		if strings.Contains(found, ".") {
			layout = "2006-01-02T15:04:05.000000Z"
		}
		return at.Add(by).UTC().Format(layout)
	})
}

func decode[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096).Decode(object); err != nil {
		t.Fatal(err)
	}
	return object
}

// fresh is an object without what an API server sets.
func fresh[T client.Object](object T) T {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.Time{})
	object.SetDeletionTimestamp(nil)
	object.SetGeneration(0)
	return object
}

func (o *old) renamed(text string) string { return strings.NewReplacer(o.uids...).Replace(text) }

// benchmark makes a benchmark as it was found, with the generation that it had.
func (o *old) benchmark(found *v1alpha1.StorageBenchmark) {
	o.t.Helper()
	b := fresh(found.DeepCopy())
	b.Spec.Trials.Min += int32(found.Generation - 1)
	o.must(o.api.Create(o.ctx, b))
	for b.Generation < found.Generation {
		b.Spec.Trials.Min--
		o.must(o.api.Update(o.ctx, b))
	}
	b.Status = *found.Status.DeepCopy()
	o.must(o.api.Status().Update(o.ctx, b))
	o.uids = append(o.uids, string(found.UID), string(b.UID))
	if found.DeletionTimestamp != nil {
		o.must(o.api.Delete(o.ctx, b))
	}
}

// job makes a Job as it was found, with the benchmark that owns it.
func (o *old) job(text string) {
	o.t.Helper()
	found := decode[batchv1.Job](o.t, o.renamed(text))
	job := fresh(found.DeepCopy())
	job.Spec.Selector = nil
	for _, label := range []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"} {
		delete(job.Labels, label)
		delete(job.Spec.Template.Labels, label)
	}
	o.must(o.api.Create(o.ctx, job))
	job.Status = batchv1.JobStatus{StartTime: found.Status.StartTime, Active: found.Status.Active}
	o.must(o.api.Status().Update(o.ctx, job))
}

// documents puts what was stored into the store.
func (o *old) documents() {
	o.t.Helper()
	for name, b := range o.before {
		if b.Status.Run == nil {
			continue
		}
		root := filepath.Join(oldDirectory, name, "store")
		err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && entry.IsDir() {
				return nil
			}
			if err != nil {
				return err
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			key := trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: b.Status.Run.ID}.Prefix() + strings.TrimPrefix(filepath.ToSlash(file), filepath.ToSlash(root)+"/")
			return bucket.Put(o.ctx, key, []byte(o.renamed(string(content))))
		})
		o.must(err)
	}
}

// now is a benchmark as it is.
func (o *old) now(name string) *v1alpha1.StorageBenchmark {
	o.t.Helper()
	b := &v1alpha1.StorageBenchmark{}
	o.must(o.api.Get(o.ctx, types.NamespacedName{Namespace: o.namespace, Name: name}, b))
	return b
}

// says checks the reason of Ready.
func (o *old) says(name, why string) *v1alpha1.StorageBenchmark {
	o.t.Helper()
	b := o.now(name)
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != why {
		o.t.Errorf("%s says %+v, want %s", name, c, why)
	}
	return b
}

func (o *old) jobsOf(name string) []batchv1.Job {
	o.t.Helper()
	list := &batchv1.JobList{}
	o.must(o.api.List(o.ctx, list, client.InNamespace(o.namespace), client.MatchingLabels{jobspec.LabelBenchmark: name}))
	return list.Items
}

func (o *old) record(node string) *v1alpha1.NodeRestore {
	o.t.Helper()
	record := &v1alpha1.NodeRestore{}
	o.must(o.api.Get(o.ctx, types.NamespacedName{Name: node}, record))
	return record
}

// The hash of a spec that nobody has changed is the one that release 0.1 has recorded.
func TestASpecOfRelease01HasTheSameHash(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(filepath.Join(oldDirectory, "*", "objects.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("nothing in %s: %v", oldDirectory, err)
	}
	for _, file := range found {
		b := decode[v1alpha1.StorageBenchmark](t, split(t, file)[0])
		if same := plan.LegacySpecHash(b.Spec) == b.Status.Run.SpecHash; same == (b.Name == "changed") {
			t.Errorf("%s: the same hash: %v", b.Name, same)
		}
	}
}

func TestWhatRelease01LeftIsTakenOver(t *testing.T) {
	t.Parallel()
	o := openOld(t)
	o.settle()
	for name, was := range o.before {
		if was.DeletionTimestamp != nil {
			continue
		}
		if run := o.now(name).Status.Run; len(run.Workers) > 0 || len(run.Unrestored) > 0 || run.Generation == 0 || run.ID != was.Status.Run.ID {
			t.Errorf("%s: %+v", name, run)
		}
	}
	o.checkEnded()
	o.checkStopped()
	o.checkRunning()
	o.checkDeleted()
}

// checkEnded: what has ended is as it was, and no Job is made for it.
func (o *old) checkEnded() {
	o.t.Helper()
	for name, why := range map[string]string{"finished": reason.Finished, "finished-with-settings": reason.Finished, "failed": reason.TargetTooSmall} {
		b, was := o.says(name, why), o.before[name].Status
		for what, diff := range map[string]string{
			"rows":     cmp.Diff(was.Summary, b.Status.Summary),
			"changes":  cmp.Diff(was.Comparisons, b.Status.Comparisons),
			"headline": cmp.Diff(was.Headline, b.Status.Headline),
			"end":      cmp.Diff(was.Run.FinishedAt, b.Status.Run.FinishedAt),
			"progress": cmp.Diff(was.Run.Progress, b.Status.Run.Progress),
		} {
			if diff != "" {
				o.t.Errorf("%s: %s: -before +now\n%s", name, what, diff)
			}
		}
		if n := len(o.jobsOf(name)); n > 0 {
			o.t.Errorf("%s has %d Jobs", name, n)
		}
	}
}

// checkStopped: what waited for somebody waits on.
func (o *old) checkStopped() {
	o.t.Helper()
	b := o.says("suspended", reason.Suspended)
	if b.Status.Run.ActiveFor != nil || b.Status.Run.ActiveSince != nil || len(o.jobsOf("suspended")) > 0 {
		o.t.Errorf("suspended: %+v", b.Status.Run)
	}
	o.says("changed", reason.StorageClassNotFound)
}

// checkRunning: the Job of what runs goes on. When it has ended, what it stored is read, the
// node is restored, and the next one of the queue begins.
func (o *old) checkRunning() {
	o.t.Helper()
	b := o.now("running")
	jobs, node := o.jobsOf("running"), b.Spec.Placement.NodeSelector[corev1.LabelHostname]
	if len(jobs) != 1 || *jobs[0].Spec.Suspend || b.Status.Run.PlanDigest == "" {
		o.t.Fatalf("running has %d Jobs, and %+v", len(jobs), b.Status.Run)
	}
	record := o.record(node)
	if s := record.Spec; s.Job.UID != jobs[0].UID || s.Benchmark.UID != b.UID || len(s.Settings) != 2 {
		o.t.Errorf("the record of the node: %+v", s)
	}
	// It waits for the settings too, which the one before it has changed.
	if c := o.says("queued", reason.Restoring).Status.Run.Current; c == nil || c.Node != node {
		o.t.Errorf("queued waits for %+v", c)
	}
	l := &lab{t: o.t, ctx: o.ctx, namespace: o.namespace, api: o.api}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, GenerateName: "p-", Labels: jobs[0].Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{jobspec.JobOwner(&jobs[0])}},
		Spec:       *jobs[0].Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = node
	o.must(o.api.Create(o.ctx, pod))
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(o.clock.Now())},
	}}}}
	o.must(o.api.Status().Update(o.ctx, pod))
	o.settle()
	o.collect()
	o.settle()
	b = o.now("running")
	if run := b.Status.Run; run.FinishedAt == nil || run.TrialsStored == 0 || run.WorkersFailed != 1 || len(b.Status.Summary) == 0 {
		o.t.Errorf("running has ended with %+v and %d rows", run, len(b.Status.Summary))
	}
	l.restores(record)
	o.settle()
	if err := o.api.Get(o.ctx, types.NamespacedName{Name: node}, &v1alpha1.NodeRestore{}); !apierrors.IsNotFound(err) {
		o.t.Errorf("the record of the node is still there: %v", err)
	}
	if len(o.jobsOf("queued")) != 1 {
		o.t.Errorf("queued has %d Jobs, and %+v", len(o.jobsOf("queued")), o.now("queued").Status.Conditions)
	}
}

// restores plays the Job that restores the node of a record.
func (l *lab) restores(record *v1alpha1.NodeRestore) {
	l.t.Helper()
	job := &batchv1.Job{}
	key := types.NamespacedName{Namespace: restoreNamespace, Name: jobspec.RestoreName(string(record.UID), 0)}
	if err := l.api.Get(l.ctx, key, job); err != nil {
		l.t.Fatal(err)
	}
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if err := l.api.Status().Update(l.ctx, job); err != nil {
		l.t.Fatal(err)
	}
}

// checkDeleted: what was being deleted is gone, and its node is on record.
func (o *old) checkDeleted() {
	o.t.Helper()
	for _, name := range []string{"deleted", "disturbed"} {
		was := o.before[name]
		err := o.api.Get(o.ctx, client.ObjectKeyFromObject(was), &v1alpha1.StorageBenchmark{})
		if !apierrors.IsNotFound(err) {
			o.t.Errorf("%s is still there: %v", name, err)
		}
		record := o.record(was.Spec.Placement.NodeSelector[corev1.LabelHostname])
		if record.Spec.Benchmark.Name != name || record.Status.Phase != v1alpha1.RestoreRunning || len(record.Spec.Settings) != 2 {
			o.t.Errorf("%s: the record of its node is %+v, %+v", name, record.Spec, record.Status)
		}
	}
}
