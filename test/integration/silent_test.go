//go:build integration

package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// spec is a random one that can be run.
func (s *stage) spec(r *rand.Rand) v1alpha1.StorageBenchmarkSpec {
	spec := v1alpha1.StorageBenchmarkSpec{
		Placement: v1alpha1.Placement{NodeSelector: map[string]string{"lab": s.namespace}, Nodes: new(intstr.FromString(v1alpha1.AllNodes))},
		Workloads: []v1alpha1.Workload{{Name: "w", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{"rw": "randread"})}}},
		Trials:    v1alpha1.Trials{Min: int32(1 + r.IntN(3))},
		Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: s.store}},
	}
	for i := range 1 + r.IntN(2) {
		spec.Targets = append(spec.Targets, v1alpha1.Target{Name: fmt.Sprintf("t%d", i), StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}})
	}
	if r.IntN(2) == 0 { // more than the cache keeps
		spec.Workloads[0].Fio = &v1alpha1.FioWorkload{JobFile: "[w]\nrw=randread\nsize=1GiB\n" + strings.Repeat("# a long comment\n", 60)}
	}
	return spec
}

// create makes the stage's benchmark.
func (s *stage) create(spec v1alpha1.StorageBenchmarkSpec) {
	s.t.Helper()
	s.must(s.api.Create(s.ctx, &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "b"}, Spec: spec}))
}

// with makes a state of a benchmark whose spec differs from one that can be run.
func with(change func(*stage, *v1alpha1.StorageBenchmarkSpec)) func(*stage, *rand.Rand) {
	return func(s *stage, r *rand.Rand) {
		spec := s.spec(r)
		change(s, &spec)
		s.create(spec)
	}
}

// running makes a state of a benchmark whose first worker is let go.
func running(then func(*stage)) func(*stage, *rand.Rand) {
	return func(s *stage, r *rand.Rand) {
		s.create(s.spec(r))
		s.settle()
		then(s)
	}
}

// tuning makes the same of a benchmark with tunables.
func tuning(then func(*stage)) func(*stage, *rand.Rand) {
	return func(s *stage, r *rand.Rand) {
		s.policy()
		spec := s.spec(r)
		tuned(&spec)
		s.create(spec)
		s.settle()
		then(s)
	}
}

// policy gives the stage's namespace the label that the apiServer's TunablePolicy asks for.
func (s *stage) policy() {
	s.t.Helper()
	ns := &corev1.Namespace{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: s.namespace}, ns))
	ns.Labels["tuning"] = "permitted"
	s.must(s.api.Update(s.ctx, ns))
}

func (s *stage) waiting(why string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, StartTime: new(metav1.NewTime(s.clock.Now())), ContainerStatuses: []corev1.ContainerStatus{{
		Name: "worker", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why, Message: "not there"}},
	}}}
}

// allAway makes every node of the stage not ready.
func (s *stage) allAway() {
	for _, node := range s.nodes {
		s.ready(node, corev1.ConditionUnknown)
	}
}

// removeJob plays somebody who deletes the worker's Job.
func (s *stage) removeJob(job *batchv1.Job) {
	s.t.Helper()
	s.must(s.api.Delete(s.ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// failRestore plays a restore Job that fails, for the record of the current node.
func (s *stage) failRestore() {
	s.t.Helper()
	list := &batchv1.JobList{}
	s.must(s.api.List(s.ctx, list, client.InNamespace(restoreNamespace)))
	for i := range list.Items {
		job := &list.Items[i]
		if len(job.OwnerReferences) == 0 || !s.owns(job.OwnerReferences[0].Name) {
			continue
		}
		now := metav1.NewTime(s.clock.Now())
		job.Status.StartTime, job.Status.Failed = &now, 1
		for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
		}
		s.must(s.api.Status().Update(s.ctx, job))
		return
	}
	s.t.Fatal("nothing is restored")
}

// ended plays a worker with tunables that ends, so that its node has to be restored.
func (s *stage) ended() {
	s.t.Helper()
	s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(s.clock.Now())},
	}}}})
	s.settle()
	s.collect()
	s.settle()
}

func (s *stage) abandon(node string) {
	s.t.Helper()
	record := &v1alpha1.NodeRestore{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: node}, record))
	record.Annotations = map[string]string{v1alpha1.AnnotationAbandon: string(record.UID) + "/Abandon"}
	s.must(s.api.Update(s.ctx, record))
}

// states are worlds by what is the case in them, and the reason that Ready must have then.
var states = map[string]struct {
	make func(*stage, *rand.Rand)
	want string
}{
	"a timeout beyond the limit": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) {
		s.Timeout = &metav1.Duration{Duration: 100 * time.Hour}
	}), reason.LimitExceeded},
	"no store of the name": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) { s.Results.StoreRef.Name = "attic" }), reason.ResultStoreNotFound},
	"a store for other namespaces": {with(func(st *stage, _ *v1alpha1.StorageBenchmarkSpec) {
		rs := &v1alpha1.ResultStore{}
		st.must(st.api.Get(st.ctx, types.NamespacedName{Name: st.store}, rs))
		rs.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "other"}}
		st.must(st.api.Update(st.ctx, rs))
	}), reason.NamespaceNotAllowed},
	"a store that is away": {with(func(st *stage, _ *v1alpha1.StorageBenchmarkSpec) {
		st.available(metav1.ConditionFalse, reason.EndpointUnreachable)
	}), reason.StoreUnavailable},
	"a store that denies": {with(func(st *stage, _ *v1alpha1.StorageBenchmarkSpec) {
		st.available(metav1.ConditionFalse, reason.AccessDenied)
	}), reason.StoreUnavailable},
	"a path that is not allowed": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets[0] = v1alpha1.Target{Name: "t0", HostPath: &v1alpha1.HostPathTarget{Path: "/etc"}}
	}), reason.HostAccessNotAllowed},
	"no StorageClass of the name": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = "nvme" }), reason.StorageClassNotFound},
	"no claim of the name": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets[0] = v1alpha1.Target{Name: "t0", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "db-0"}}
	}), reason.PersistentVolumeClaimNotFound},
	"no node with the labels": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) { s.Placement.NodeSelector["disk"] = "optane" }), reason.NoMatchingNodes},
	"too few nodes":           {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) { s.Placement.Nodes = new(intstr.FromInt32(9)) }), reason.NoMatchingNodes},
	"a job file with an error": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) {
		s.Workloads[0].Fio = &v1alpha1.FioWorkload{JobFile: "[w]\nblocksiez=4k\n" + strings.Repeat("# a long comment\n", 60)}
	}), reason.InvalidJobFile},
	"a tunable that nobody permits": {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) { tuned(s) }), reason.TunableNotPermitted},
	"suspended from the start":      {with(func(_ *stage, s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = true }), reason.Suspended},

	"a Job without a Pod":         {running(func(*stage) {}), reason.Starting},
	"a Pod that waits":            {running(func(s *stage) { s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodPending}) }), reason.Starting},
	"a Pod that measures":         {running(func(s *stage) { s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning}) }), reason.Running},
	"an image that cannot be had": {running(func(s *stage) { s.pod(s.job(), s.waiting("ImagePullBackOff")) }), reason.ImagePullFailed},
	"a worker that is parked for that": {running(func(s *stage) {
		s.pod(s.job(), s.waiting("ImagePullBackOff"))
		s.step(time.Hour)
		s.settle()
	}), ""},
	"a Pod that cannot be scheduled": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes"}}})
		s.step(15 * time.Second)
	}), reason.PodUnschedulable},
	"a node that is away for a moment": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.allAway()
	}), reason.NodeAway},
	"nodes that are away for long": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.allAway()
		s.step(time.Minute)
	}), reason.NodeAway},
	"a store that goes away in mid-run": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.available(metav1.ConditionFalse, reason.EndpointUnreachable)
	}), reason.Running},
	"a store that is deleted in mid-run": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.must(s.api.Delete(s.ctx, &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: s.store}}))
	}), reason.ResultStoreNotFound},
	"a worker that was killed, and whose Job makes another Pod": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, FinishedAt: metav1.NewTime(s.clock.Now())},
		}}}})
	}), reason.Starting},
	"a worker whose Secret is refused": {with(func(s *stage, _ *v1alpha1.StorageBenchmarkSpec) { s.refuse("secrets") }), reason.PodRejected},
	"a worker whose Job is refused":    {with(func(s *stage, _ *v1alpha1.StorageBenchmarkSpec) { s.refuse("jobs") }), reason.PodRejected},
	"a node that another benchmark uses": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		second := s.benchmark()
		s.must(s.api.Create(s.ctx, &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "second"}, Spec: second.Spec}))
	}), reason.Running},
	"suspended in mid-run": {running(func(s *stage) {
		s.change(func(spec *v1alpha1.StorageBenchmarkSpec) { spec.Suspend = true })
		s.settle()
		s.collect()
	}), reason.Suspended},
	"suspended, and the Pod does not go": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.change(func(spec *v1alpha1.StorageBenchmarkSpec) { spec.Suspend = true })
	}), reason.Pending},
	"another spec while the last Pod does not go": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.change(func(spec *v1alpha1.StorageBenchmarkSpec) { spec.Trials.Min++ })
	}), reason.Pending},
	"deleted, and the Pod does not go": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.must(s.api.Delete(s.ctx, s.benchmark()))
	}), reason.Deleting},
	"a namespace that is being deleted": {running(func(s *stage) {
		s.must(s.api.Delete(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
		s.settle()
		s.collect()
	}), reason.NamespaceTerminating},
	"measured":          {running(func(s *stage) { s.conclude(measured) }), reason.Finished},
	"every worker lost": {running(func(s *stage) { s.conclude(lost) }), reason.WorkerLost},
	"timed out": {running(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.settle()
		s.step(3 * time.Hour)
		s.settle()
		s.collect()
	}), reason.TimedOut},

	"settings that are changed":  {tuning(func(s *stage) { s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning}) }), reason.Running},
	"settings that are put back": {tuning(func(s *stage) { s.ended() }), ""},
	"settings that cannot be put back": {tuning(func(s *stage) {
		s.ended()
		s.failRestore()
	}), ""},
	"settings of nodes that are away": {tuning(func(s *stage) {
		s.allAway()
		s.removeJob(s.job())
		s.step(time.Minute)
	}), reason.NodeAway},
	"settings of a node that is given up": {tuning(func(s *stage) {
		node := s.benchmark().Status.Run.Current.Node
		s.allAway()
		s.removeJob(s.job())
		s.step(time.Minute)
		s.settle()
		s.abandon(node)
	}), reason.NodeAway},
	"settings of a node that is gone": {tuning(func(s *stage) {
		for _, node := range s.nodes {
			s.must(s.api.Delete(s.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}))
		}
		s.step(time.Minute)
	}), reason.NodeAway},
	"deleted, and its settings cannot be put back yet": {tuning(func(s *stage) {
		s.pod(s.job(), corev1.PodStatus{Phase: corev1.PodRunning})
		s.allAway()
		s.must(s.api.Delete(s.ctx, s.benchmark()))
	}), "gone"},
}

// refuse makes the API server refuse to create objects of a resource, as a quota does.
func (s *stage) refuse(resource string) {
	next := s.counter.next
	s.counter.next = roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/"+resource) {
			body, err := json.Marshal(apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("exceeded quota")).Status())
			return &http.Response{
				StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(bytes.NewReader(body)), Request: request,
			}, err
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Once the operator has done what there is to do, a pass in which nothing has changed writes
// nothing, asks the API server for nothing but a claim that is missing, and leaves conditions that say what is the case.
func TestAPassInAnUnchangedWorldIsSilent(t *testing.T) {
	th := startAPIServer(t)
	t.Run("worlds", func(t *testing.T) {
		for name, state := range states {
			for seed := range uint64(2) {
				t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
					// Its message names all policies, those of other worlds too.
					alone := state.want == reason.TunableNotPermitted
					if !alone {
						t.Parallel()
					}
					r := rand.New(rand.NewPCG(seed, 3))
					s := th.stage(t, 1+r.IntN(3))
					s.alone = alone
					state.make(s, r)
					s.settle()
					s.counter.take()
					s.pass()
					requests := s.counter.take()
					if state.want == reason.PersistentVolumeClaimNotFound && len(requests) == 1 && strings.HasPrefix(requests[0], "GET ") && strings.Contains(requests[0], "/persistentvolumeclaims/") {
						requests = nil // tenants' claims are not in the cache
					}
					if len(requests) > 0 {
						t.Errorf("a pass in an unchanged world made %d requests:\n%s", len(requests), strings.Join(requests, "\n"))
					}
					s.conforms(state.want)
				})
			}
		}
	})
}

// conforms checks every benchmark's conditions; the first's Ready has the reason, if one
// is given. "gone" is one that the operator has let go.
func (s *stage) conforms(want string) {
	s.t.Helper()
	list := &v1alpha1.StorageBenchmarkList{}
	s.must(s.api.List(s.ctx, list, client.InNamespace(s.namespace)))
	got := "gone"
	for i := range list.Items {
		b := &list.Items[i]
		for _, line := range violations(b) {
			s.t.Errorf("%s: %s", b.Name, line)
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); b.Name == "b" {
			got = "no condition Ready"
			if c != nil {
				got = c.Reason
			}
		}
	}
	if want != "" && got != want {
		s.t.Errorf("Ready has the reason %q, want %q: %+v", got, want, list.Items)
	}
}
