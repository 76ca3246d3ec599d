//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

func TestClassesModesAndNodes(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted", nodes(2))
	b := l.benchmark("matrix", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{
			volume("ext4", "loop-ext4", corev1.PersistentVolumeFilesystem),
			volume("xfs", "loop-xfs", corev1.PersistentVolumeFilesystem),
			volume("raw", "loop-ext4", corev1.PersistentVolumeBlock),
		}
		s.Placement.Nodes = new(intstr.FromString(v1alpha1.AllNodes))
		s.Workloads = append(s.Workloads, v1alpha1.Workload{Name: "file", Fio: &v1alpha1.FioWorkload{
			JobFile: "[global]\nsize=32MiB\nbs=64k\n[scan]\nrw=read\n[log]\nstonewall\nrw=write\nfdatasync=8\n",
		}})
		s.Trials.Min = 2
	})
	l.ended(b, reason.Finished)

	seen := map[string]bool{}
	for _, row := range b.Status.Summary {
		seen[row.Target+" "+row.Node+" "+report.WithPart(row.Workload, row.Part)] = true
		// Jobs of a file are rows of their own, and what ran one after the other has no sum.
		want := map[string][]string{"": {"read", "write"}, "scan": {"read"}, "log": {"write", "sync"}}[row.Part]
		var names []string
		for _, op := range row.Operations {
			names = append(names, op.Operation)
		}
		if row.Trials != 2 || !slices.Equal(names, want) {
			t.Errorf("row: %+v", row)
		}
		for _, op := range row.Operations {
			if op.Operation == "sync" {
				if op.Rate == nil || op.Rate.Median.Sign() <= 0 || op.Latency == nil || op.Latency.P99.Duration <= 0 {
					t.Errorf("%s %s syncs: %+v", row.Target, row.Node, op)
				}
				continue
			}
			if op.IOPS == nil || op.IOPS.Median.Sign() <= 0 || op.Bandwidth == nil || op.Bandwidth.Median.Sign() <= 0 ||
				op.Latency == nil || op.Latency.P50.Duration <= 0 || op.Latency.P99.Duration < op.Latency.P50.Duration || op.Latency.P999.Duration < op.Latency.P99.Duration {
				t.Errorf("%s %s %s %s: %+v", row.Target, row.Node, row.Workload, op.Operation, op)
			}
		}
	}
	if len(seen) != 18 || len(b.Status.Summary) != 18 { // 3 targets × 2 nodes × (a workload and two jobs of another)
		t.Errorf("rows: %v", seen)
	}
	// Per worker: 4 trials with their raw output and samples, a summary, and what of it was accepted;
	// plan.json, summary.json and report.html.
	if got := l.stored(b); len(got) != 6*14+3 {
		t.Errorf("%d objects: %v", len(got), got)
	}
	for _, tr := range l.trials(b, l.worker("ext4")) {
		if tr.Outcome != result.Measured || tr.Raw == nil || tr.Attempt != 1 || len(tr.Command) == 0 || tr.DirectIO == nil {
			t.Errorf("trial %s: %+v", tr.Trial.ID, tr)
		}
	}
	l.nothingLeft()
}

func TestAnExistingClaimIsMeasuredAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "mine"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new("loop-ext4"),
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: quantity("128Mi")}},
		},
	}
	if err := api.Create(l.ctx, claim); err != nil {
		t.Fatal(err)
	}
	existing := func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "mine", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "mine", FSGroup: new(int64(65532))}}}
	}
	for _, name := range []string{"first", "second"} { // the second finds the volume bound to a node
		b := l.benchmark(name, existing)
		l.ended(b, reason.Finished)
	}
	if err := api.Get(l.ctx, client.ObjectKeyFromObject(claim), claim); err != nil || claim.Status.Phase != corev1.ClaimBound {
		t.Errorf("the claim is not as it was: %v %+v", err, claim.Status)
	}
	if err := api.Delete(l.ctx, claim); err != nil {
		t.Fatal(err)
	}
	l.nothingLeft()
}

func TestTwoBenchmarksTakeTurnsOnANode(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	first := l.benchmark("first", func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 6 })
	l.measuring(first, l.worker("ext4"), 1)
	second := l.benchmark("second", func(*v1alpha1.StorageBenchmarkSpec) {})
	if c := l.await(second, reason.Queued); !strings.Contains(c.Message, "is used by the StorageBenchmark first") {
		t.Error(c.Message)
	}
	l.ended(first, reason.Finished)
	l.ended(second, reason.Finished)
	l.tookTurns("ext4", first, second)
	l.nothingLeft()
}

// tookTurns checks that no trial of one benchmark was measured before the last of the other
// had ended. (A run's times in status are whole seconds, and written a moment later.)
func (l *lab) tookTurns(target string, first, second *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	span := func(b *v1alpha1.StorageBenchmark) (from, to time.Time) {
		for _, tr := range l.trials(b, l.worker(target)) {
			if from.IsZero() || tr.StartedAt.Before(from) {
				from = tr.StartedAt
			}
			if tr.EndedAt.After(to) {
				to = tr.EndedAt
			}
		}
		return from, to
	}
	from, to := span(first)
	otherFrom, otherTo := span(second)
	if from.IsZero() || otherFrom.IsZero() || from.Before(otherTo) && otherFrom.Before(to) {
		l.t.Errorf("%s measured from %s to %s, %s from %s to %s", first.Name, from, to, second.Name, otherFrom, otherTo)
	}
}

func TestDeletionInMidRunLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	b := l.benchmark("gone", func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 60 })
	l.measuring(b, l.worker("ext4"), 1)
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.eventually("the benchmark is gone", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("%v %+v", err, b.Status.Conditions)
		}
		return nil
	})
	l.nothingLeft()
}

func quantity(s string) resource.Quantity { return resource.MustParse(s) }
