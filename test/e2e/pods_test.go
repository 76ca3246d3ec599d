//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

func TestANodeThatIsCordonedWhileABenchmarkWaitsForIt(t *testing.T) {
	l := newLab(t, "restricted")
	first := l.benchmark("first", func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 8 })
	l.measuring(first, "ext4.node-a", 1)
	second := l.benchmark("second", func(*v1alpha1.StorageBenchmarkSpec) {})
	l.await(second, v1alpha1.ReasonQueued)
	t.Cleanup(func() {
		l.ctx = context.Background()
		l.cordon("node-a", false)
	})
	l.cordon("node-a", true)
	l.ended(first, v1alpha1.ReasonFinished)
	says(t, l.await(second, v1alpha1.ReasonPodUnschedulable).Message, "spec.placement", "node-a", "unschedulable")
	l.cordon("node-a", false)
	l.ended(second, v1alpha1.ReasonFinished)
	l.nothingLeft()
}

func (l *lab) cordon(node string, unschedulable bool) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, unschedulable)
	if err := api.Patch(l.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, client.RawPatch(types.MergePatchType, patch)); err != nil {
		l.t.Fatal(err)
	}
}

func TestAnImageThatNoNodeCanPull(t *testing.T) {
	const flag, missing = "--worker-image=", "127.0.0.1:1/storagebench:none" // nobody listens there
	l := newLab(t, "restricted")
	good := l.operatorFlag(flag, missing)
	restore := func() { l.operatorFlag(flag, good) }
	t.Cleanup(func() {
		l.ctx = context.Background()
		restore()
	})
	b := l.benchmark("imageless", func(*v1alpha1.StorageBenchmarkSpec) {})
	says(t, l.await(b, v1alpha1.ReasonImagePullFailed).Message, missing, "node-a", "chart's values")
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.nothingLeft()
}

// operatorFlag sets a flag of the operator, waits until the new one is alone, and
// returns what the flag was.
func (l *lab) operatorFlag(flag, value string) (was string) {
	l.t.Helper()
	d := &appsv1.Deployment{}
	key := types.NamespacedName{Namespace: operatorNamespace, Name: "storagebench-manager"}
	if err := api.Get(l.ctx, key, d); err != nil {
		l.t.Fatal(err)
	}
	before := d.DeepCopy()
	args := d.Spec.Template.Spec.Containers[0].Args
	for i, arg := range args {
		if old, ok := strings.CutPrefix(arg, flag); ok {
			args[i], was = flag+value, old
		}
	}
	if err := api.Patch(l.ctx, d, client.MergeFrom(before)); err != nil {
		l.t.Fatal(err)
	}
	l.eventually("the operator runs with "+flag+value, func() error {
		if err := api.Get(l.ctx, key, d); err != nil {
			return err
		}
		s := d.Status
		if s.ObservedGeneration != d.Generation || s.UpdatedReplicas != 1 || s.Replicas != 1 || s.ReadyReplicas != 1 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	return was
}
