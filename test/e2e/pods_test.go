//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

func TestANodeThatIsCordonedWhileABenchmarkWaitsForIt(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	first := l.benchmark("first", func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 8 })
	l.measuring(first, l.worker("ext4"), 1)
	second := l.benchmark("second", func(*v1alpha1.StorageBenchmarkSpec) {})
	l.await(second, reason.Queued)
	t.Cleanup(func() {
		l.ctx = context.Background()
		l.cordon(l.node, false)
	})
	l.cordon(l.node, true)
	l.ended(first, reason.Finished)
	says(t, l.await(second, reason.PodUnschedulable).Message, "spec.placement", l.node, "unschedulable")
	l.cordon(l.node, false)
	l.ended(second, reason.Finished)
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
	l := newLab(t, "restricted", alone)
	// The policy, like the flag, is the chart's; a chart with a wrong image has it in both.
	l.unbind("storagebench-jobs")
	good := l.operatorFlag(flag, missing)
	restore := func() { l.operatorFlag(flag, good) }
	t.Cleanup(func() {
		l.ctx = context.Background()
		restore()
	})
	b := l.benchmark("imageless", func(*v1alpha1.StorageBenchmarkSpec) {})
	says(t, l.await(b, reason.ImagePullFailed).Message, missing, l.node, "chart's values")
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.nothingLeft()
}

// unbind takes an admission policy out of force until the test has ended.
func (l *lab) unbind(name string) {
	l.t.Helper()
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
	if err := api.Get(l.ctx, types.NamespacedName{Name: name}, binding); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		again := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: binding.Labels, Annotations: binding.Annotations}, Spec: binding.Spec}
		if err := api.Create(context.Background(), again); err != nil {
			l.t.Error(err)
		}
	})
	if err := api.Delete(l.ctx, binding); err != nil {
		l.t.Fatal(err)
	}
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
