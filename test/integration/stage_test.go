//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/admission"
	"storagebench.io/storagebench/controllers/benchmark"
	"storagebench.io/storagebench/controllers/leases"
	"storagebench.io/storagebench/controllers/restore"
	"storagebench.io/storagebench/controllers/results"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/controllers/workers"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/workload/engines"
)

// writes counts the requests of a stage that change something.
type writes struct {
	n    *atomic.Int64
	next http.RoundTripper
}

func (w writes) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if request.Method != http.MethodGet {
		w.n.Add(1)
	}
	return response, err
}

// counter counts the requests of one stage's operator.
type counter struct {
	mu   sync.Mutex
	all  []string
	next http.RoundTripper
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.all = append(c.all, request.Method+" "+request.URL.Path+"?"+request.URL.RawQuery)
	c.mu.Unlock()
	return c.next.RoundTrip(request)
}

// take returns the requests since the last call.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// noEvents takes events and sends none: they are sent in the background, and would be
// counted in one pass or another.
type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

var _ events.EventRecorder = noEvents{}

// stage is one world: a namespace with nodes, and an operator whose passes are counted.
type stage struct {
	*apiServer
	t *testing.T
	// api is a client of the stage's own: written counts what it and the operator write, and arrived
	// is how much of that the cache is known to have.
	api     client.Client
	written atomic.Int64
	arrived int64
	// alone: no other stage is at work, so what others have left counts as well.
	alone     bool
	ctx       context.Context
	namespace string
	store     string
	nodes     []string
	clock     *testclock.FakePassiveClock
	counter   *counter
	cached    *late
	bench     *benchmark.Reconciler
	restores  *restore.Reconciler
}

// emptyStage has a client and a clock, and nothing in the API server.
func (th *apiServer) emptyStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{apiServer: th, t: t, ctx: t.Context(), clock: testclock.NewFakePassiveClock(time.Now().Truncate(time.Second)), arrived: -1}
	var err error
	s.api, err = client.New(s.writing(), client.Options{Scheme: th.scheme, Mapper: th.api.RESTMapper()})
	s.must(err)
	return s
}

func (th *apiServer) stage(t *testing.T, nodes int) *stage {
	t.Helper()
	s := th.emptyStage(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "stage-", Labels: map[string]string{podSecurity: "privileged"}}}
	s.must(s.api.Create(s.ctx, ns))
	s.namespace, s.store = ns.Name, ns.Name
	rs := resultStore(s.store, func(*v1alpha1.ResultStoreSpec) {})
	s.must(s.api.Create(s.ctx, rs))
	s.available(metav1.ConditionTrue, reason.StoreWritable)
	for i := range nodes {
		s.addNode(fmt.Sprintf("%s-n%d", ns.Name, i))
	}
	s.operator()
	return s
}

// writing is the configuration of a client whose writes are counted.
func (s *stage) writing() *rest.Config {
	config := rest.CopyConfig(s.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return writes{&s.written, next} })
	return config
}

// operator makes the controllers, with a client whose requests are counted and which reads
// from the cache that all stages share.
func (s *stage) operator() {
	s.t.Helper()
	config := s.writing()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		s.counter = &counter{next: next}
		return s.counter
	})
	httpClient, err := rest.HTTPClientFor(config)
	s.must(err)
	mapper := s.api.RESTMapper()
	live, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: s.scheme, Mapper: mapper})
	s.must(err)
	s.cached = &late{Reader: s.cache, scheme: s.scheme}
	cached, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: s.scheme, Mapper: mapper, Cache: &client.CacheOptions{Reader: s.cached}})
	s.must(err)
	settings := jobspec.Settings{Image: "storagebench:test", ImagePullPolicy: corev1.PullNever}
	records := restore.Records{Client: cached, Live: live, Settings: settings, Namespace: restoreNamespace, Clock: s.clock}
	s.restores = &restore.Reconciler{Records: records}
	s.bench = &benchmark.Reconciler{
		Client: cached, Live: live,
		Leases:  &leases.Leases{Client: cached, Namespace: operatorNamespace, Clock: s.clock},
		Workers: &workers.Workers{Client: cached, Live: live, Settings: settings, Records: &records, Clock: s.clock},
		Records: &records,
		Results: &results.Results{Buckets: &stores.Buckets{Secrets: live, Namespace: operatorNamespace}, Seals: &stores.Seals{Live: live, Writer: cached, Namespace: operatorNamespace}, Clock: s.clock},
		Limits:  admission.Limits{Timeout: 24 * time.Hour, Host: admission.HostAccess{Paths: []string{"/tank"}}},
		Rules:   admission.Rules{Engines: engines.All(), Tunables: tunable.Rules{}},
		Events:  noEvents{},
		Clock:   s.clock,
	}
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// available sets the condition of the stage's store.
func (s *stage) available(status metav1.ConditionStatus, why string) {
	s.t.Helper()
	rs := &v1alpha1.ResultStore{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: s.store}, rs))
	meta.SetStatusCondition(&rs.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable, Status: status, Reason: why, Message: "as the test says"})
	s.must(s.api.Status().Update(s.ctx, rs))
}

func (s *stage) addNode(name string) {
	s.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"lab": s.namespace}}}
	s.must(s.api.Create(s.ctx, node))
	node.Spec.Taints = nil
	s.must(s.api.Update(s.ctx, node))
	s.nodes = append(s.nodes, name)
	s.ready(name, corev1.ConditionTrue)
}

// ready sets the condition Ready of a node, as of now.
func (s *stage) ready(name string, is corev1.ConditionStatus) {
	s.t.Helper()
	node := &corev1.Node{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Name: name}, node))
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is, LastTransitionTime: metav1.NewTime(s.clock.Now())}}
	s.must(s.api.Status().Update(s.ctx, node))
}

func (s *stage) step(d time.Duration) { s.clock.SetTime(s.clock.Now().Add(d)) }

// pass reconciles every benchmark and every record of the stage once. It returns what they
// asked for to be looked at again soonest.
func (s *stage) pass() (soonest time.Duration) {
	s.t.Helper()
	s.caughtUp()
	note := func(result ctrl.Result, err error) {
		if err != nil {
			s.t.Logf("a pass: %v", err)
			soonest = time.Nanosecond
		}
		if again := result.RequeueAfter; again > 0 && (soonest == 0 || again < soonest) {
			soonest = again
		}
	}
	for _, name := range s.nodes {
		note(s.restores.Reconcile(s.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}))
	}
	list := &v1alpha1.StorageBenchmarkList{}
	s.must(s.cache.List(s.ctx, list, client.InNamespace(s.namespace)))
	for i := range list.Items {
		note(s.bench.Reconcile(s.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])}))
	}
	return soonest
}

// settle makes passes until one changes nothing and wants no other one soon.
func (s *stage) settle() {
	s.t.Helper()
	for range 60 {
		s.counter.take()
		soonest := s.pass()
		if !wrote(s.counter.take()) && (soonest == 0 || soonest >= time.Second) {
			return
		}
	}
	s.t.Fatal("the operator finds no end: 60 passes, and each of them changes something")
}

func wrote(requests []string) bool {
	for _, r := range requests {
		if r[:3] != "GET" {
			return true
		}
	}
	return false
}

// benchmark is the stage's first.
func (s *stage) benchmark() *v1alpha1.StorageBenchmark {
	s.t.Helper()
	b := &v1alpha1.StorageBenchmark{}
	s.must(s.api.Get(s.ctx, types.NamespacedName{Namespace: s.namespace, Name: "b"}, b))
	return b
}

// change changes the spec of the stage's benchmark.
func (s *stage) change(change func(*v1alpha1.StorageBenchmarkSpec)) {
	s.t.Helper()
	b := s.benchmark()
	change(&b.Spec)
	s.must(s.api.Update(s.ctx, b))
}

// job is the one Job of the stage that is let go, or nil.
func (s *stage) job() *batchv1.Job {
	s.t.Helper()
	list := &batchv1.JobList{}
	s.must(s.api.List(s.ctx, list, client.InNamespace(s.namespace)))
	for i := range list.Items {
		if job := &list.Items[i]; !*job.Spec.Suspend && job.DeletionTimestamp.IsZero() {
			return job
		}
	}
	s.t.Fatal("no Job runs")
	return nil
}

// pod plays the Job controller and the kubelet.
func (s *stage) pod(job *batchv1.Job, status corev1.PodStatus) *corev1.Pod {
	s.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, GenerateName: "p-", Labels: job.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{jobspec.JobOwner(job)}},
		Spec:       *job.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.NodeName = s.benchmark().Status.Run.Current.Node
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	s.must(s.api.Create(s.ctx, pod))
	// How long a Pod waits counts from the API server's time, which the stage's clock must not be behind.
	if created := pod.CreationTimestamp.Time; created.After(s.clock.Now()) {
		s.clock.SetTime(created)
	}
	pod.Status = status
	s.must(s.api.Status().Update(s.ctx, pod))
	return pod
}

// collect plays the garbage collector: what a Job owned that is gone goes too. Pods of the
// kind that hang stay.
func (s *stage) collect() {
	s.t.Helper()
	jobs := &batchv1.JobList{}
	s.must(s.api.List(s.ctx, jobs, client.InNamespace(s.namespace)))
	owners := map[types.UID]bool{}
	for i := range jobs.Items {
		owners[jobs.Items[i].UID] = true
	}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}} {
		s.must(s.api.List(s.ctx, list, client.InNamespace(s.namespace)))
		s.must(meta.EachListItem(list, func(o runtimeObject) error {
			object := o.(client.Object)
			owner := metav1.GetControllerOf(object)
			if owner == nil || owners[owner.UID] {
				return nil
			}
			object.SetFinalizers(nil)
			if err := s.api.Update(s.ctx, object); err != nil {
				return err
			}
			return client.IgnoreNotFound(s.api.Delete(s.ctx, object, client.GracePeriodSeconds(0)))
		}))
	}
}

// conclude plays worker after worker until the run has ended.
func (s *stage) conclude(ending func(*lab, *batchv1.Job) string) {
	s.t.Helper()
	l := &lab{t: s.t, ctx: s.ctx, namespace: s.namespace, api: s.api}
	for range 20 {
		s.settle()
		s.collect()
		s.settle()
		switch b := s.benchmark(); {
		case b.Status.Run == nil:
			s.t.Fatalf("no run: %+v", b.Status.Conditions)
		case b.Status.Run.FinishedAt != nil:
			return
		}
		job := s.job()
		message := ending(l, job)
		phase, code := corev1.PodSucceeded, int32(0)
		if message == "" {
			phase, code = corev1.PodFailed, 1
		}
		s.pod(job, corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.NewTime(s.clock.Now())},
		}}}})
	}
	s.t.Fatal("the run does not end")
}

// measured plays a worker that measures everything.
func measured(l *lab, job *batchv1.Job) string {
	receipt, err := l.store(job, well).Encode()
	if err != nil {
		l.t.Fatal(err)
	}
	return string(receipt)
}

// lost plays a worker that ends without a word.
func lost(*lab, *batchv1.Job) string { return "" }
