//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

func TestRestoresHaveNoQuotaForAWhileAndTheSettingsArePutBack(t *testing.T) {
	l, device, before := newTunedLab(t, alone)
	b := l.benchmark("quota", tuned(device, 50))
	l.changed(device, before)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: restoreNamespace, Name: "e2e-none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: quantity("0")}},
	}
	l.atEnd(quota)
	if err := api.Create(l.ctx, quota); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.eventually("the record says why the restore does not start", func() error {
		record := &v1alpha1.NodeRestore{}
		if err := api.Get(l.ctx, types.NamespacedName{Name: l.node}, record); err != nil {
			return err
		}
		if !strings.Contains(record.Status.Message, "does not start") {
			return fmt.Errorf("%+v", record.Status)
		}
		return nil
	})
	if err := api.Delete(l.ctx, quota); err != nil {
		t.Fatal(err)
	}
	l.met("restores have no quota for a while", b)
	l.over(b, device, before)
}

func TestTheStoreIsAwayAndTheSettingsArePutBack(t *testing.T) {
	l, device, before := newTunedLab(t, alone)
	t.Cleanup(func() { // before the namespace goes, also after a failure
		l.ctx = context.Background()
		l.scale("minio", "minio", 1)
	})
	b := l.benchmark("away", tuned(device, 2))
	l.changed(device, before)
	l.scale("minio", "minio", 0)
	l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
	l.storeSeenAway()
	l.saysWhy(b)
	l.scale("minio", "minio", 1)
	l.met("the store is away when the worker is killed", b)
	l.ended(b, reason.Finished)
	l.over(b, device, before)
}
