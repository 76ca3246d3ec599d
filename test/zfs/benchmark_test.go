//go:build zfs

package zfs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/test/faults"
)

// The settings that the tests change, as they are on a pool that nobody has touched.
var untouched = map[string]string{"sync": "standard default", "zfs_nocacheflush": "0", "zil_nocacheflush": "0"}

// present reads them past Kubernetes.
func present(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"sync":             strings.ReplaceAll(inGuest(t, "zfs", "get", "-H", "-o", "value,source", "sync", dataset), "\t", " "),
		"zfs_nocacheflush": parameter(t, "zfs_nocacheflush"),
		"zil_nocacheflush": parameter(t, "zil_nocacheflush"),
	}
}

// requireUntouched fails a test that begins on a node that another one has left changed.
func requireUntouched(t *testing.T) {
	t.Helper()
	if got := present(t); fmt.Sprint(got) != fmt.Sprint(untouched) {
		t.Fatalf("before the test the settings are %v", got)
	}
}

// benchmark makes small files durable on the pool, without and with changed settings.
func (l *lab) benchmark(name string, change func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
	l.t.Helper()
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets: []v1alpha1.Target{{Name: "pool", HostPath: &v1alpha1.HostPathTarget{Path: "/" + dataset}}},
			Placement: v1alpha1.Placement{
				NodeSelector: map[string]string{label: "true"},
				Tolerations:  []corev1.Toleration{{Key: label, Operator: corev1.TolerationOpExists}},
			},
			Workloads: []v1alpha1.Workload{{Name: "dsync", Filesync: &v1alpha1.FilesyncWorkload{Files: 100, Sync: v1alpha1.FilesyncDsync}}},
			Variants: []v1alpha1.Variant{
				{Name: "flush"},
				{Name: "no-flush", AcceptDataLoss: true, Tunables: []v1alpha1.Tunable{{Name: "zfs.module.zfs_nocacheflush", Value: v1alpha1.Text("1")}}},
				{Name: "no-sync", AcceptDataLoss: true, Tunables: []v1alpha1.Tunable{{Name: "zfs.dataset.sync", Value: v1alpha1.Text("disabled")}}},
			},
			Trials:  v1alpha1.Trials{Min: 2},
			Results: &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
			Timeout: &metav1.Duration{Duration: 30 * time.Minute},
		},
	}
	change(&b.Spec)
	if err := api.Create(l.t.Context(), b); err != nil {
		l.t.Fatal(err)
	}
	return b
}

// ended waits until the run has ended with the reason.
func (l *lab) ended(b *v1alpha1.StorageBenchmark, reason string) metav1.Condition {
	l.t.Helper()
	return patience.Ended(l.t.Context(), l.t, api, b, reason)
}

// restored waits until the condition says that every setting is what it was.
func (l *lab) restored(b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	l.eventually("TunablesRestored of "+b.Name+" is true", func() error {
		if err := api.Get(l.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionTunablesRestored) {
			return fmt.Errorf("%+v", b.Status.Conditions)
		}
		return nil
	})
}

func TestSettingsOfZFSAreMeasuredAndPutBack(t *testing.T) {
	requireUntouched(t)
	l := newLab(t)
	b := l.benchmark("flushes", func(*v1alpha1.StorageBenchmarkSpec) {})
	l.ended(b, reason.Finished)
	l.restored(b)
	faults.Compare(t, untouched, present(t))
	flushes := flushesOf(b)
	t.Logf("flushes of 100 files: %v", flushes)
	// Two disks of a mirror, and a file takes one flush of each at least.
	if flushes["flush"] < 150 || len(flushes) != 3 || flushes["no-flush"] != 0 || flushes["no-sync"] > flushes["flush"]/4 {
		t.Errorf("flushes that reached the disks: %v, %+v", flushes, b.Status.Comparisons)
	}
}

// The disk's own cache is switched, which the kernel follows: without one it sends no flushes.
func TestTheCacheOfADiskIsSwitchedAndPutBack(t *testing.T) {
	caches := func() string { return inGuest(t, "bash", "-c", "cat /sys/class/scsi_disk/*/cache_type") }
	const both = "write back\nwrite back"
	if got := caches(); got != both {
		t.Fatalf("before the test the caches are %q", got)
	}
	l := newLab(t)
	b := l.benchmark("cache", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets[0] = v1alpha1.Target{Name: "disk", HostPath: &v1alpha1.HostPathTarget{Path: "/mnt/ext4/bench"}}
		s.Variants = nil
		for _, v := range [][2]string{{"cache-on", "write back"}, {"cache-off", "write through"}} {
			s.Variants = append(s.Variants, v1alpha1.Variant{Name: v[0], Tunables: []v1alpha1.Tunable{{Name: "scsi.disk.cache_type", Value: v1alpha1.Text(v[1])}}})
		}
	})
	l.ended(b, reason.Finished)
	l.restored(b)
	if got := caches(); got != both {
		faults.LeftChanged(t, "scsi.disk.cache_type", both, got)
	}
	flushes := flushesOf(b)
	t.Logf("flushes of 100 files: %v", flushes)
	if flushes["cache-on"] < 75 || flushes["cache-off"] != 0 || len(flushes) != 2 {
		t.Errorf("flushes that reached the disk: %v, %+v", flushes, b.Status.Comparisons)
	}
}

// flushesOf are those that reached the disks with each variant.
func flushesOf(b *v1alpha1.StorageBenchmark) map[string]float64 {
	flushes := map[string]float64{}
	for _, c := range b.Status.Comparisons {
		for _, change := range c.Changes {
			if change.Metric == "device.flush.count" {
				flushes[b.Spec.Variants[0].Name] = change.Control.AsApproximateFloat64()
				flushes[c.Variant] = change.Variant.AsApproximateFloat64()
			}
		}
	}
	return flushes
}

// ZFS accepts a limit of the ARC that is below the least that it keeps, and ignores it.
func TestAValueThatZFSIgnoresChangesNoSettings(t *testing.T) {
	requireUntouched(t)
	before := parameter(t, "zfs_arc_max")
	l := newLab(t)
	b := l.benchmark("ignored", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Variants[1].Tunables = append(s.Variants[1].Tunables, v1alpha1.Tunable{Name: "zfs.module.zfs_arc_max", Value: v1alpha1.Text("64Mi")})
	})
	c := l.ended(b, reason.TunableNotApplied)
	faults.Injected(t, "ZFS accepts a value and does not take it")
	if !strings.Contains(c.Message, "zfs_arc_max") {
		t.Errorf("%s", c.Message)
	}
	l.restored(b)
	faults.Compare(t, untouched, present(t))
	if now := parameter(t, "zfs_arc_max"); now != before {
		faults.LeftChanged(t, "zfs_arc_max", before, now)
	}
}

// measuringChanged starts a benchmark that changes what survives a power cut and what does not, and
// returns when both are changed. It begins with them: on an emulated processor, thousands of files that
// are each durable take longer than a test has.
func (l *lab) measuringChanged(name string, files int64) *v1alpha1.StorageBenchmark {
	l.t.Helper()
	b := l.benchmark(name, func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Workloads[0].Filesync.Files = files
		s.Variants = []v1alpha1.Variant{{Name: "nothing", AcceptDataLoss: true, Tunables: []v1alpha1.Tunable{
			{Name: "zfs.dataset.sync", Value: v1alpha1.Text("disabled")},
			{Name: "zfs.module.zil_nocacheflush", Value: v1alpha1.Text("1")},
			{Name: "zfs.module.zfs_nocacheflush", Value: v1alpha1.Text("1")},
		}}, {Name: "flush"}}
		s.Trials.Order = v1alpha1.OrderSequential
	})
	l.eventually("the settings are changed", func() error {
		if got := present(l.t); got["sync"] != "disabled local" || got["zfs_nocacheflush"] != "1" || got["zil_nocacheflush"] != "1" {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	return b
}

func TestAPowerCutInMidRunLeavesNoSettingsChanged(t *testing.T) {
	requireUntouched(t)
	l := newLab(t)
	b := l.measuringChanged("cut", 2000)
	powerCut(t)
	faults.Injected(t, "the machine loses its power in mid-workload")
	powerOn(t)
	l.ended(b, reason.Finished)
	l.restored(b)
	faults.Compare(t, untouched, present(t))
}

// The benchmark is deleted while the machine is without power. It goes; the node's record
// stays until the machine is up and what survived the cut is put back.
func TestAPowerCutBeforeADeletionLeavesNoSettingsChanged(t *testing.T) {
	requireUntouched(t)
	l := newLab(t)
	b := l.measuringChanged("deleted", 20000)
	powerCut(t)
	faults.Injected(t, "the machine loses its power, and its benchmark is deleted")
	if err := api.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	powerOn(t)
	l.eventually("the benchmark is gone, and its node is restored", func() error {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("%v %+v", err, b.Status.Conditions)
		}
		records := &v1alpha1.NodeRestoreList{}
		if err := api.List(t.Context(), records); err != nil || len(records.Items) > 0 {
			return fmt.Errorf("%v %+v", err, records.Items)
		}
		return nil
	})
	faults.Compare(t, untouched, present(t))
}
