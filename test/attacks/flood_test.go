//go:build attacks

package attacks

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// each calls do for 0 to n-1, some at a time.
func each(n int, do func(i int)) {
	var waiting sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i := range n {
		waiting.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			do(i)
		})
	}
	waiting.Wait()
}

// The operator keeps every benchmark in its memory.
func TestFloodOfBenchmarks(t *testing.T) {
	t.Parallel()
	const count = 300
	a := begin(t, fmt.Sprintf("%d suspended benchmarks, as large as they may be, with annotations of 200 KiB", count))
	m := a.tenant("restricted")
	var made atomic.Int32
	each(count, func(i int) {
		b := m.unmade(fmt.Sprintf("flood-%d", i), nowhere, func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Suspend, s.Workloads = true, nil
			for w := range 4 {
				s.Workloads = append(s.Workloads, v1alpha1.Workload{Name: fmt.Sprintf("w%d", w), Fio: &v1alpha1.FioWorkload{
					JobFile: "[a]\nrw=read\nsize=1MiB\n" + strings.Repeat("#"+strings.Repeat("x", 62)+"\n", 500),
				}})
			}
		})
		b.Annotations = map[string]string{"attacker.example/ballast": strings.Repeat(fmt.Sprint(i%10), 200<<10)}
		if err := m.api.Create(a.ctx, b); err == nil {
			made.Add(1)
		} else if i == 0 {
			t.Error(err)
		}
	})
	if made.Load() < count/2 {
		t.Errorf("%d of %d were made", made.Load(), count)
	}
	a.serves()
	each(count, func(i int) {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: fmt.Sprintf("flood-%d", i)}}
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{"again":"%d"}}}`, i))
		if err := m.api.Patch(a.ctx, b, patch); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	a.serves()
	each(count, func(i int) {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: fmt.Sprintf("flood-%d", i)}}
		if err := admin.Delete(a.ctx, b); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// The operator reads the events of a Pod that does not start.
func TestFloodOfEvents(t *testing.T) {
	t.Parallel()
	a := begin(t, "1,000 forged events of a Pod that does not start")
	m := a.tenant("restricted")
	m.takeNode()
	b := m.benchmark("events", ofClaim(m.claimNothing().Name))
	a.stands(b, reason.Starting, reason.PodUnschedulable, reason.VolumeNotReady)
	pods := &corev1.PodList{}
	a.eventually("the Pod is there", func() error {
		if err := m.api.List(a.ctx, pods, client.InNamespace(m.namespace)); err != nil || len(pods.Items) > 0 {
			return err
		}
		return fmt.Errorf("no Pod")
	})
	pod := &pods.Items[0]
	var refused atomic.Int32
	each(1000, func(i int) {
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: m.namespace, GenerateName: "forged-"},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: m.namespace, Name: pod.Name, UID: pod.UID, APIVersion: "v1"},
			Type:           corev1.EventTypeWarning, Reason: "FailedMount", Message: "\x1b[2J" + strings.Repeat(fmt.Sprintf("forged %d ", i), 80), LastTimestamp: metav1.Now(),
		}
		if err := m.api.Create(a.ctx, event); err != nil {
			refused.Add(1)
		}
	})
	t.Logf("%d of 1000 refused", refused.Load())
	a.serves()
	m.must(admin.Get(a.ctx, client.ObjectKeyFromObject(b), b))
	for _, c := range b.Status.Conditions {
		if len(c.Message) > 4096 || strings.Contains(c.Message, "\x1b") {
			a.succeeded("the condition %s has %d bytes: %.200q", c.Type, len(c.Message), c.Message)
		}
	}
	a.measures(m.node)
	a.remove(b)
}
