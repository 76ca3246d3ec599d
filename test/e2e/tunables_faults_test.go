//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/faults"
)

var operatorPods = map[string]string{"app.kubernetes.io/name": "storagebench"}

func TestTheOperatorIsKilledAndTheSettingsArePutBack(t *testing.T) {
	l, device, before := newTunedLab(t, alone)
	b := l.benchmark("operator", tuned(device, 3))
	kill := func(when string) {
		l.kill(operatorNamespace, operatorPods)
		l.met("the operator is killed "+when, b)
	}
	l.eventually("the node is on record", func() error {
		records := &v1alpha1.NodeRestoreList{}
		if err := api.List(l.ctx, records); err != nil {
			return err
		}
		for i := range records.Items {
			if records.Items[i].Spec.Benchmark.UID == b.UID {
				return nil
			}
		}
		return fmt.Errorf("records: %+v", records.Items)
	})
	kill("when the node is on record")
	l.changed(device, before)
	kill("with the settings changed")
	l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
	kill("together with the worker")
	l.ended(b, reason.Finished)
	l.asBefore(b, device, before)
	l.nothingLeft()

	// While it puts back what a benchmark has left that is to be deleted.
	b = l.benchmark("deleted", tuned(device, 50))
	l.changed(device, before)
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	kill("while it restores a node for a deletion")
	l.gone(b)
	faults.Compare(t, before, readQueue(t, device))
	l.nothingLeft()
}

// nodeVerb runs a verb of the local cluster on the node.
func nodeVerb(t *testing.T, verb, node string, flags ...string) {
	t.Helper()
	run(t, "../../hack/cluster/cluster", slices.Concat([]string{verb}, flags, []string{node})...)
}

// nodeSeenAway waits until the cluster has seen that a node does not answer.
func (l *lab) nodeSeenAway(node string) {
	l.t.Helper()
	l.eventually("the node is seen to be away", func() error {
		n := &corev1.Node{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: node}, n); err != nil {
			return err
		}
		if cluster.Ready(n) {
			return fmt.Errorf("it is ready")
		}
		return nil
	})
}

// failNode takes a node away, waits until the cluster has seen that, and brings it back.
func (l *lab) failNode(node string, flags ...string) {
	l.t.Helper()
	l.t.Cleanup(func() { nodeVerb(l.t, "node-start", node) }) // also after a failure
	nodeVerb(l.t, "node-stop", node, flags...)
	l.nodeSeenAway(node)
	nodeVerb(l.t, "node-start", node)
}

func TestAKubeletIsKilledAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"the kubelet is killed": {"--keep-pods"}, "the node is killed with its Pods": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, device, before := newTunedLab(t, disposable)
			b := l.benchmark("kubelet", tuned(device, 2))
			l.changed(device, before)
			l.failNode(l.node, flags...)
			l.met(name, b)
			l.ended(b, reason.Finished)
			l.asBefore(b, device, before)
			l.nothingLeft()
		})
	}
}

// What a node that is away has changed is put back when it is here again. Its record says so
// until then; the benchmark does not wait for it.
func TestANodeIsAwayWhenTheSettingsAreToBePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t, disposable)
	node := l.node
	b := l.benchmark("away", tuned(device, 50))
	l.changed(device, before)
	t.Cleanup(func() { nodeVerb(t, "node-start", node) })
	nodeVerb(t, "node-stop", node)
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.met("the node is away when its benchmark is deleted", b)
	l.eventually("the benchmark is gone, and the node's record says that the node is away", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("%v %+v", err, b.Status.Conditions)
		}
		record := &v1alpha1.NodeRestore{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: node}, record); err != nil {
			return err
		}
		if record.Status.Phase != v1alpha1.RestoreNodeAway || !strings.Contains(record.Status.Message, node) {
			return fmt.Errorf("%+v", record.Status)
		}
		return nil
	})
	nodeVerb(t, "node-start", node)
	l.gone(b)
	faults.Compare(t, before, readQueue(t, device))
	l.nothingLeft()
}

func TestANamespaceIsDeletedAndTheSettingsArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	b := l.benchmark("namespace", tuned(device, 50))
	l.changed(device, before)
	if err := api.Delete(l.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.namespace}}); err != nil {
		t.Fatal(err)
	}
	l.met("the namespace is deleted", b)
	l.gone(b)
	faults.Compare(t, before, readQueue(t, device))
	l.nothingLeft()
}

func TestTwoBenchmarksWantTheSettingsOfOneNode(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	first := l.benchmark("first", tuned(device, 2))
	second := l.benchmark("second", tuned(device, 2))
	l.met("two benchmarks on one node", first)
	l.notWedged(second)
	l.ended(first, reason.Finished)
	l.ended(second, reason.Finished)
	l.asBefore(first, device, before)
	l.asBefore(second, device, before)
	l.tookTurns("disk", first, second)
	// Neither began with what the other had set.
	for _, benchmark := range []*v1alpha1.StorageBenchmark{first, second} {
		for id, tr := range l.trials(benchmark, l.worker("disk")) {
			for _, s := range tr.Tunables {
				if s.Before == s.Asked {
					t.Errorf("%s of %s: %+v", id, benchmark.Name, s)
				}
			}
		}
	}
	l.nothingLeft()
}

func TestAValueThatTheKernelRefusesChangesNoSettings(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	b := l.benchmark("refused", func(s *v1alpha1.StorageBenchmarkSpec) {
		tuned(device, 1)(s)
		s.Variants[1].Tunables[1].Value = v1alpha1.Text("10240") // more than a disk without a scheduler takes
	})
	l.met("the kernel refuses a value", b)
	says(t, l.ended(b, reason.TunableNotApplied).Message, "spec.variants[no-flush].tunables")
	faults.Compare(t, before, readQueue(t, device))
	// The run may have ended before its node's record has.
	l.eventually("the settings are restored", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTunablesRestored); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("TunablesRestored is %+v", c)
		}
		return nil
	})
	l.nothingLeft()
}
