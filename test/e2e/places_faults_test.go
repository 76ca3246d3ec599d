//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/faults"
)

// stopNode stops a node, and starts it again at the test's end.
func (l *lab) stopNode(node string, flags ...string) {
	l.t.Helper()
	l.t.Cleanup(func() { nodeVerb(l.t, "node-start", node) })
	nodeVerb(l.t, "node-stop", node, flags...)
}

// Nothing waits for a node that is deleted. When its machine joins the cluster again, as another
// node of the same name, its settings are put back.
func TestANodeIsDeletedForGoodWithItsSettingsChanged(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t, disposable)
	b := l.benchmark("gone", tuned(device, 50))
	l.changed(device, before)
	l.stopNode(l.node)
	if err := api.Delete(l.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.node}}); err != nil {
		t.Fatal(err)
	}
	l.met("its node is deleted for good", b)
	l.eventually("the node is recorded as gone", func() error {
		record := &v1alpha1.NodeRestore{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: l.node}, record); err != nil {
			return err
		}
		if record.Status.Phase != v1alpha1.RestoreGone {
			return fmt.Errorf("%+v", record.Status)
		}
		return nil
	})
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.met("the benchmark of a node that is gone is deleted", b)
	l.eventually("the benchmark is gone", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%v %+v", err, b.Status.Conditions)
		}
		return nil
	})
	nodeVerb(t, "node-start", l.node)
	l.gone(b)
	faults.Compare(t, before, readQueue(t, device))
	l.nothingLeft()
}

// A kubelet that runs out of processes, memory or disk refuses all Pods but critical ones.
func TestANodeEvictsItsPodsAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t, disposable)
	node := l.node
	b := l.benchmark("pressed", tuned(device, 50))
	l.changed(device, before)
	restart := func(flags ...string) {
		nodeVerb(t, "node-stop", node, "--keep-pods")
		nodeVerb(t, "node-start", node, flags...)
	}
	t.Cleanup(func() { restart() })
	restart("--pressed")
	l.eventually("the kubelet says that it is under pressure", func() error {
		n := &corev1.Node{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: node}, n); err != nil {
			return err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodePIDPressure && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%+v", n.Status.Conditions)
	})
	l.met("the kubelet evicts its Pods", b)
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.gone(b)
	faults.Compare(t, before, readQueue(t, device))
	l.nothingLeft()
}

// The other node's results are kept, and the run ends by its timeout.
func TestANodeDiesInMidRunOfABenchmarkOfTwoNodesWithSettingsChanged(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t, disposable, nodes(2))
	b := l.benchmark("two", func(s *v1alpha1.StorageBenchmarkSpec) {
		tuned(device, 2)(s)
		s.Placement.Nodes = new(intstr.FromString(v1alpha1.AllNodes))
		s.Timeout = &metav1.Duration{Duration: 150 * time.Second}
	})
	l.changed(device, before)
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil {
		t.Fatal(err)
	}
	dies := b.Status.Run.Current.Node
	l.stopNode(dies)
	// Both nodes share the machine's device, and the worker that died has written to it.
	run(t, "blkdiscard", "--zeroout", device)
	l.nodeSeenAway(dies)
	l.met("a node of two dies in mid-run", b)
	l.eventually("the run has ended", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil || b.Status.Run.FinishedAt == nil {
			return fmt.Errorf("%v %+v", err, b.Status.Conditions)
		}
		return nil
	})
	if len(b.Status.Run.Failures) != 1 || b.Status.Run.Failures[0].Node != dies {
		t.Errorf("failures: %+v", b.Status.Run.Failures)
	}
	if b.Status.Run.WorkersDone != 1 || len(b.Status.Summary) == 0 {
		t.Errorf("the other node's results are lost: %+v", b.Status)
	}
	nodeVerb(t, "node-start", dies)
	l.over(b, device, before)
}

func TestANamespaceIsDeletedWithItsNodeAwayAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t, disposable)
	b := l.benchmark("away", tuned(device, 50))
	l.changed(device, before)
	l.stopNode(l.node)
	if err := api.Delete(l.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}); err != nil {
		t.Fatal(err)
	}
	// Kubernetes deletes Pods before all else of a namespace, and the Pod stays as long as its
	// node does not answer: the benchmark says so, and other nodes are measured meanwhile.
	l.met("the namespace is deleted with its node away", b)
	l.eventually("the node's record says that the node is away", func() error {
		record := &v1alpha1.NodeRestore{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: l.node}, record); err != nil || record.Status.Phase != v1alpha1.RestoreNodeAway {
			return fmt.Errorf("%v %+v", err, record.Status)
		}
		return nil
	})
	nodeVerb(t, "node-start", l.node)
	l.gone(b)
	faults.Compare(t, before, readQueue(t, device))
}

// A node that is cordoned or tainted keeps what runs there, or evicts it; both end.
func TestANodeIsTakenFromTheSchedulerAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{
		"the node is cordoned":          `{"spec":{"unschedulable":true}}`,
		"the node is tainted NoExecute": `{"spec":{"taints":[{"key":"node.kubernetes.io/e2e","effect":"NoExecute"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, device, before := newTunedLab(t, disposable)
			patch := func(ctx context.Context, text string) {
				if err := api.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.node}}, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
					t.Error(err)
				}
			}
			back := func(ctx context.Context) { patch(ctx, `{"spec":{"unschedulable":null,"taints":null}}`) }
			t.Cleanup(func() { back(context.Background()) })
			b := l.benchmark("taken", tuned(device, 1))
			l.changed(device, before)
			patch(l.ctx, spec)
			l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
			says(t, l.await(b, reason.PodUnschedulable).Message, l.node)
			l.met(name+", and the worker killed", b)
			back(l.ctx)
			l.over(b, device, before)
		})
	}
}

// otherStore makes a ResultStore like the default one, for a test to delete.
func (l *lab) otherStore() *v1alpha1.ResultStore {
	l.t.Helper()
	rs := &v1alpha1.ResultStore{}
	if err := api.Get(l.ctx, types.NamespacedName{Name: "default"}, rs); err != nil {
		l.t.Fatal(err)
	}
	other := &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Spec: rs.Spec}
	l.atEnd(other)
	if err := api.Create(l.ctx, other); err != nil {
		l.t.Fatal(err)
	}
	return other
}

func TestAResultStoreIsDeletedInMidRunAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	rs := l.otherStore()
	b := l.benchmark("storeless", func(s *v1alpha1.StorageBenchmarkSpec) {
		tuned(device, 50)(s)
		s.Results.StoreRef.Name = rs.Name
	})
	l.changed(device, before)
	if err := api.Delete(l.ctx, rs); err != nil {
		t.Fatal(err)
	}
	l.met("the ResultStore is deleted in mid-run", b)
	says(t, l.ended(b, reason.ResultStoreNotFound).Message, rs.Name, "spec.runID")
	l.over(b, device, before)
}

// A policy that is revoked counts when the next worker starts: the one that measures has
// begun with what was permitted, and puts it back.
func TestAPolicyIsRevokedInMidRunAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	const tunable, file = "vm.dirty_writeback_centisecs", "/proc/sys/vm/dirty_writeback_centisecs"
	was := readFile(t, file)
	policy := &v1alpha1.TunablePolicy{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}, Spec: v1alpha1.TunablePolicySpec{
		NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: l.namespace}},
		Tunables:          []v1alpha1.PermittedTunable{{Name: tunable}},
	}}
	l.atEnd(policy)
	if err := api.Create(l.ctx, policy); err != nil {
		t.Fatal(err)
	}
	b := l.benchmark("revoked", func(s *v1alpha1.StorageBenchmarkSpec) {
		tuned(device, 50)(s)
		s.Variants[1].Tunables = append(s.Variants[1].Tunables, v1alpha1.Tunable{Name: tunable, Value: v1alpha1.Text("777")})
	})
	l.eventually("the setting is changed", func() error {
		if now := readFile(t, file); now != "777" {
			return fmt.Errorf("%s", now)
		}
		return nil
	})
	if err := api.Delete(l.ctx, policy); err != nil {
		t.Fatal(err)
	}
	l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
	l.deleteJobs()
	l.met("the policy is revoked, and the worker's Job deleted", b)
	says(t, l.ended(b, reason.TunableNotPermitted).Message, tunable)
	l.over(b, device, before)
	faults.Compare(t, map[string]string{tunable: was}, map[string]string{tunable: readFile(t, file)})
}

// The operator's own namespace is restricted, as it should be: restores have one of their own.
func TestTheOperatorsNamespaceIsRestrictedAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	namespace := &corev1.Namespace{}
	if err := api.Get(l.ctx, types.NamespacedName{Name: operatorNamespace}, namespace); err != nil {
		t.Fatal(err)
	}
	if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
		t.Fatalf("the operator's namespace is %q", level)
	}
	b := l.benchmark("restricted", tuned(device, 50))
	l.changed(device, before)
	l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.met("a worker is killed and its benchmark deleted, with the operator restricted", b)
	l.over(b, device, before)
}

func (l *lab) deleteJobs() {
	l.t.Helper()
	if err := api.DeleteAllOf(l.ctx, &batchv1.Job{}, client.InNamespace(l.namespace), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		l.t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}
