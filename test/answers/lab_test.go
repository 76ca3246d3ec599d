//go:build answers

package answers

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/ledger"
	"storagebench.io/storagebench/test/wait"
)

var api client.Client

// patience bounds every wait: a comparison of classes takes some minutes, a fixed plan twenty-five.
var patience = wait.Patience{Every: 500 * time.Millisecond, AtMost: 45 * time.Minute}

func TestMain(m *testing.M) {
	connection, err := cluster.Connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, "answers: no cluster to ask (make test-answers makes one):", err)
		os.Exit(1)
	}
	api = connection.API
	os.Exit(m.Run())
}

// times is how often an experiment is repeated.
func times(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("TIMES"))
	if err != nil || n < 1 {
		t.Fatalf("TIMES is %q, and must be how often an experiment is repeated, for example 10", os.Getenv("TIMES"))
	}
	return n
}

// note writes an answer down.
func note(t *testing.T, kind, text string) {
	t.Helper()
	ledger.Note(t, "STORAGEBENCH_ANSWERS", kind, text)
}

// labs counts them, so that tests side by side measure on nodes of their own.
var labs atomic.Int32

// lab is a namespace and a node.
type lab struct {
	t               *testing.T
	ctx             context.Context
	namespace, node string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, ctx: context.Background()} // what is cleaned up is more than the test's own context allows
	nodes := &corev1.NodeList{}
	l.must(api.List(l.ctx, nodes))
	var names []string
	for i := range nodes.Items {
		if n := &nodes.Items[i]; cluster.Ready(n) && !n.Spec.Unschedulable && len(n.Spec.Taints) == 0 {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		t.Fatal("no node is ready and without taints")
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) }) // MinIO and DNS are on the first
	l.node = names[int(labs.Add(1)-1)%len(names)]
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "answers-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}}}
	l.must(api.Create(l.ctx, ns))
	l.namespace = ns.Name
	t.Cleanup(func() {
		l.must(client.IgnoreNotFound(api.Delete(l.ctx, ns)))
		patience.For(t, "the namespace is gone", func() error {
			if err := api.Get(l.ctx, client.ObjectKeyFromObject(ns), ns); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%v %+v", err, ns.Status)
			}
			return nil
		})
	})
	l.excludeNamespace()
	return l
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// excludeNamespace has the default ResultStore take nothing of the lab's namespace, as in a cluster
// without a bucket.
func (l *lab) excludeNamespace() {
	l.t.Helper()
	change := func(expressions func([]metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement) error {
		rs := &v1alpha1.ResultStore{}
		if err := api.Get(l.ctx, client.ObjectKey{Name: "default"}, rs); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := rs.DeepCopy()
		if rs.Spec.NamespaceSelector == nil {
			rs.Spec.NamespaceSelector = &metav1.LabelSelector{}
		}
		rs.Spec.NamespaceSelector.MatchExpressions = expressions(rs.Spec.NamespaceSelector.MatchExpressions)
		return api.Patch(l.ctx, rs, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	set := func(expressions func([]metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error { return change(expressions) }) // another lab's
	}
	ours := metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{l.namespace}}
	l.must(set(func(all []metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement {
		return append(all, ours)
	}))
	l.t.Cleanup(func() {
		l.must(set(func(all []metav1.LabelSelectorRequirement) []metav1.LabelSelectorRequirement {
			return slices.DeleteFunc(all, func(r metav1.LabelSelectorRequirement) bool {
				return r.Key == ours.Key && slices.Equal(r.Values, ours.Values)
			})
		}))
	})
}

// class creates a StorageClass like loop-ext4, whose files are allocated beforehand.
func (l *lab) class(name string) string {
	l.t.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: l.namespace + "-" + name},
		Provisioner: "loop.storagebench.io", Parameters: map[string]string{"fsType": "ext4", "preallocate": "true"},
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer), ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete),
	}
	l.must(api.Create(l.ctx, class))
	l.t.Cleanup(func() { l.must(client.IgnoreNotFound(api.Delete(l.ctx, class))) })
	return class.Name
}

// reads are random reads of the disk, a few seconds of them.
func reads(seconds int, more map[string]string) v1alpha1.Workload {
	parameters := map[string]string{"rw": "randread", "bs": "4k", "iodepth": "4", "ioengine": "libaio", "direct": "1", "size": "128MiB", "runtime": fmt.Sprintf("%ds", seconds), "time_based": "1"}
	maps.Copy(parameters, more)
	return v1alpha1.Workload{Name: "reads", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(parameters)}}
}

func volume(name, class string) v1alpha1.Target {
	return v1alpha1.Target{Name: name, StorageClass: &v1alpha1.StorageClassTarget{Name: class, Size: new(resource.MustParse("512Mi"))}}
}

// run creates a benchmark, waits until its run has ended well, and deletes it.
func (l *lab) run(name string, spec v1alpha1.StorageBenchmarkSpec) *v1alpha1.StorageBenchmark {
	l.t.Helper()
	spec.Placement.NodeSelector = map[string]string{corev1.LabelHostname: l.node}
	spec.Timeout = &metav1.Duration{Duration: patience.AtMost}
	b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}, Spec: spec}
	l.must(api.Create(l.ctx, b))
	patience.Ended(l.ctx, l.t, api, b, reason.Finished)
	if b.Status.Answer == nil {
		l.t.Fatalf("%s ended without an answer", name)
	}
	l.must(client.IgnoreNotFound(api.Delete(l.ctx, b.DeepCopy())))
	return b
}
