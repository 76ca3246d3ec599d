//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/faults"
	"storagebench.io/storagebench/test/turns"
	"storagebench.io/storagebench/test/wait"
)

const operatorNamespace = cluster.OperatorNamespace

var api client.Client

func TestMain(m *testing.M) {
	connection, err := cluster.Connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: no cluster to test on (make test-e2e makes one):", err)
		os.Exit(1)
	}
	api = connection.API
	if err := turns.AloneFirst(turnsDirectory); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// patience bounds every wait. A run of these tests takes 10 to 40 s.
var patience = wait.Patience{Every: 250 * time.Millisecond, AtMost: 4 * time.Minute}

// lab is a namespace of a test's own, and a node, or several, that no other test uses.
type lab struct {
	t         *testing.T
	ctx       context.Context
	namespace string
	// node is the first of nodes.
	node  string
	nodes []string
	// watches are of benchmarks that have met a fault.
	watches map[types.UID]*faults.Watch
}

// newLab waits for a node and makes a namespace with a Pod Security level. A test has one,
// and further namespaces from beside: who waits for nodes must not have any.
func newLab(t *testing.T, level string, options ...option) *lab {
	t.Helper()
	l := &lab{t: t, ctx: t.Context()}
	l.place(options)
	l.newNamespace(level)
	l.labelNodes()
	return l
}

// beside makes another namespace with the same nodes.
func (l *lab) beside(level string) *lab {
	l.t.Helper()
	other := &lab{t: l.t, ctx: l.ctx, node: l.node, nodes: l.nodes}
	other.newNamespace(level)
	return other
}

func (l *lab) newNamespace(level string) {
	l.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": level},
	}}
	if err := api.Create(l.ctx, ns); err != nil {
		l.t.Fatal(err)
	}
	l.namespace = ns.Name
	l.t.Cleanup(func() {
		l.ctx = context.Background()
		if err := api.Delete(l.ctx, ns); client.IgnoreNotFound(err) != nil { // a test may have deleted it
			l.t.Error(err)
		}
		l.eventually("the namespace is gone", func() error {
			if err := api.Get(l.ctx, client.ObjectKeyFromObject(ns), ns); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%v %+v", err, ns.Status)
			}
			return nil
		})
	})
}

// benchmark creates a benchmark: a second of 4 KiB random reads and writes, three
// times, on one loop-ext4 volume on the lab's node.
func (l *lab) benchmark(name string, change func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
	l.t.Helper()
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets: []v1alpha1.Target{volume("ext4", "loop-ext4", corev1.PersistentVolumeFilesystem)},
			Workloads: []v1alpha1.Workload{fio("mixed", map[string]string{
				"rw": "randrw", "bs": "4k", "iodepth": "4", "size": "32MiB", "runtime": "1s", "time_based": "1",
			})},
			Placement: v1alpha1.Placement{NodeSelector: l.selector()},
			Trials:    v1alpha1.Trials{Min: 3},
			Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
			Timeout:   &metav1.Duration{Duration: 10 * time.Minute},
		},
	}
	change(&b.Spec)
	if err := api.Create(l.ctx, b); err != nil {
		l.t.Fatal(err)
	}
	return b
}

func volume(name, class string, mode corev1.PersistentVolumeMode) v1alpha1.Target {
	return v1alpha1.Target{Name: name, StorageClass: &v1alpha1.StorageClassTarget{
		Name: class, Size: new(resource.MustParse("384Mi")), VolumeMode: mode,
	}}
}

func fio(name string, parameters map[string]string) v1alpha1.Workload {
	return v1alpha1.Workload{Name: name, Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(parameters)}}
}

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

// ended waits until the run has ended with the reason.
func (l *lab) ended(b *v1alpha1.StorageBenchmark, reason string) metav1.Condition {
	l.t.Helper()
	return patience.Ended(l.ctx, l.t, api, b, reason)
}

// stored returns the keys of a run's objects, relative to the run.
func (l *lab) stored(b *v1alpha1.StorageBenchmark) []string {
	l.t.Helper()
	prefix := keys(b).Prefix()
	found, err := l.bucket().List(l.ctx, prefix, 10_000)
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(found[i], prefix)
	}
	slices.Sort(found)
	return found
}

func keys(b *v1alpha1.StorageBenchmark) trial.Keys {
	return trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: b.Status.Run.ID}
}

// trials reads a worker's trial documents by ID.
func (l *lab) trials(b *v1alpha1.StorageBenchmark, worker string) map[string]result.Trial {
	l.t.Helper()
	found, err := l.bucket().List(l.ctx, keys(b).Trials(worker), 10_000)
	if err != nil {
		l.t.Fatal(err)
	}
	trials := map[string]result.Trial{}
	for _, key := range found {
		document, err := l.bucket().Get(l.ctx, key)
		if err != nil {
			l.t.Fatal(err)
		}
		var tr result.Trial
		if err := result.Decode(document, result.TrialSchema, &tr); err != nil {
			l.t.Fatal(err)
		}
		trials[tr.Trial.ID] = tr
	}
	return trials
}

// bucket opens MinIO at its Service's address, which this machine reaches.
func (l *lab) bucket() *s3.Store {
	l.t.Helper()
	store, err := cluster.Bucket(l.ctx, api)
	if err != nil {
		l.t.Fatal(err)
	}
	return store
}

// measuring waits until n trials of a worker are stored and its Pod runs.
func (l *lab) measuring(b *v1alpha1.StorageBenchmark, worker string, n int) *corev1.Pod {
	l.t.Helper()
	var pod *corev1.Pod
	l.eventually(fmt.Sprintf("%d trials of %s are stored", n, worker), func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Status.Run == nil {
			return fmt.Errorf("%+v", b.Status.Conditions)
		}
		found, err := l.bucket().List(l.ctx, keys(b).Trials(worker), 10_000)
		if err != nil {
			return err
		}
		if len(found) < n {
			return fmt.Errorf("%d are: %+v", len(found), b.Status.Conditions)
		}
		pod = l.pod(worker)
		if pod == nil || pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("the Pod does not run")
		}
		return nil
	})
	return pod
}

// pod returns a worker's Pod that has not ended.
func (l *lab) pod(worker string) *corev1.Pod {
	l.t.Helper()
	pod, err := livePod(l.ctx, l.namespace, worker)
	if err != nil {
		l.t.Fatal(err)
	}
	return pod
}

// livePod returns a worker's Pod that has not ended, or nil.
func livePod(ctx context.Context, namespace, worker string) (*corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := api.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{jobspec.LabelWorker: worker}); err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if phase := pods.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			return &pods.Items[i], nil
		}
	}
	return nil, nil
}

// atEnd deletes objects when the test has ended, if they are still there.
func (l *lab) atEnd(objects ...client.Object) {
	l.t.Helper()
	l.t.Cleanup(func() {
		for _, o := range objects {
			if err := api.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				l.t.Error(err)
			}
		}
	})
}

// kill ends Pods at once, as a crash would.
func (l *lab) kill(namespace string, labels map[string]string) {
	l.t.Helper()
	err := api.DeleteAllOf(l.ctx, &corev1.Pod{}, client.InNamespace(namespace), client.MatchingLabels(labels), client.GracePeriodSeconds(0))
	if err != nil {
		l.t.Fatal(err)
	}
}

// scale sets a Deployment's replicas and waits until they are there, or gone.
func (l *lab) scale(namespace, name string, replicas int32) {
	l.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	if err := api.Patch(l.ctx, d, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		l.t.Fatal(err)
	}
	l.eventually(fmt.Sprintf("%s has %d replicas", name, replicas), func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if d.Status.ObservedGeneration != d.Generation || d.Status.Replicas != replicas || d.Status.ReadyReplicas != replicas {
			return fmt.Errorf("%+v", d.Status)
		}
		return nil
	})
}

// nothingLeft checks that nothing of the test's benchmarks is left in the cluster.
func (l *lab) nothingLeft() {
	l.t.Helper()
	l.eventually("nothing is left", func() error {
		left := map[string][]string{}
		note := func(list client.ObjectList, ours func(client.Object) bool, options ...client.ListOption) error {
			if err := api.List(l.ctx, list, options...); err != nil {
				return err
			}
			return meta.EachListItem(list, func(o runtime.Object) error {
				if object := o.(client.Object); ours(object) {
					left[fmt.Sprintf("%T", o)] = append(left[fmt.Sprintf("%T", o)], object.GetName())
				}
				return nil
			})
		}
		every := func(client.Object) bool { return true }
		here := client.InNamespace(l.namespace)
		for _, err := range []error{
			note(&batchv1.JobList{}, every, here),
			note(&corev1.PodList{}, every, here),
			note(&corev1.SecretList{}, every, here),
			note(&corev1.PersistentVolumeClaimList{}, every, here),
			note(&corev1.ConfigMapList{}, func(o client.Object) bool { return o.GetName() != "kube-root-ca.crt" }, here),
			note(&corev1.PersistentVolumeList{}, func(o client.Object) bool {
				ref := o.(*corev1.PersistentVolume).Spec.ClaimRef
				return ref != nil && ref.Namespace == l.namespace
			}),
			note(&coordinationv1.LeaseList{}, func(o client.Object) bool {
				holder := o.(*coordinationv1.Lease).Spec.HolderIdentity
				return holder != nil && strings.HasPrefix(*holder, l.namespace+"/")
			}, client.InNamespace(operatorNamespace)),
		} {
			if err != nil {
				return err
			}
		}
		if len(left) > 0 {
			text, _ := json.Marshal(left)
			return fmt.Errorf("left: %s", text)
		}
		return nil
	})
}
