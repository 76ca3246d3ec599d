//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/result"
)

// Every engine measures a file system in a Pod without privileges.
func TestEveryEngineMeasuresAFileSystem(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	engines := []v1alpha1.Workload{
		{Name: "preset", Fio: &v1alpha1.FioWorkload{Preset: "etcd"}},
		{Name: "modern", Postmark: &v1alpha1.PostmarkWorkload{Files: 200, Transactions: 2000, Threads: 2, Durability: v1alpha1.PostmarkDurabilityFile}},
		{Name: "compatible", Postmark: &v1alpha1.PostmarkWorkload{Mode: v1alpha1.PostmarkCompatible, Files: 500, Transactions: 500}},
		{Name: "sync", Filesync: &v1alpha1.FilesyncWorkload{Files: 200}},
		{Name: "stream", Bandwidth: &v1alpha1.BandwidthWorkload{Size: new(quantity("64Mi"))}},
		{Name: "bonnie", Bonnie: &v1alpha1.BonnieWorkload{Size: new(quantity("32Mi")), Files: new(int64(1))}},
		{Name: "matrix", Iozone: &v1alpha1.IozoneWorkload{
			FileSizes: []resource.Quantity{quantity("8Mi"), quantity("16Mi")}, RecordSizes: []resource.Quantity{quantity("64Ki"), quantity("1Mi")},
		}},
	}
	b := l.benchmark("engines", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets[0].StorageClass.Size = new(quantity("384Mi"))
		s.Workloads, s.Trials.Min = engines, 1
	})
	l.ended(b, reason.Finished)

	// The operation that each is for comes first.
	// bonnie++ gives no rate to a test of less than half a second, which of so small a
	// file are those by blocks, on a fast disk.
	first := map[string][]string{
		"preset": {"write"}, "modern": {"transactions"}, "compatible": {"transactions"}, "sync": {"filesync"},
		"stream": {"write"}, "bonnie": {"write", "rewrite", "read", "seek", "write.char"}, "matrix": {"write"},
	}
	if len(b.Status.Summary) != len(engines) {
		t.Errorf("%d rows of %d engines", len(b.Status.Summary), len(engines))
	}
	for _, row := range b.Status.Summary {
		if len(row.Operations) == 0 || !slices.Contains(first[row.Workload], row.Operations[0].Operation) {
			t.Errorf("%s: operations %+v", row.Workload, row.Operations)
			continue
		}
		op := row.Operations[0]
		if !slices.ContainsFunc([]*v1alpha1.Estimate{op.IOPS, op.Rate, op.Bandwidth}, func(e *v1alpha1.Estimate) bool { return e != nil && e.Median.Sign() > 0 }) {
			t.Errorf("%s: %+v", row.Workload, op)
		}
	}
	// NetApp's program makes the same of these settings, wherever it runs.
	counts := l.trials(b, l.worker("ext4"))["compatible.r001"].Metrics
	if counts["original.create.count"].Value != 764 || counts["original.delete.count"].Value != 764 || counts["read.count"].Value != 243 || counts["append.count"].Value != 257 {
		t.Errorf("PostMark's counts are %+v", counts)
	}
	l.nothingLeft()
}

func TestFioAndBandwidthMeasureADevice(t *testing.T) {
	t.Parallel()
	l := newLab(t, "restricted")
	b := l.benchmark("devices", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{volume("raw", "loop-ext4", corev1.PersistentVolumeBlock)}
		s.Workloads = append(s.Workloads, v1alpha1.Workload{Name: "stream", Bandwidth: &v1alpha1.BandwidthWorkload{Size: new(quantity("64Mi")), Depth: 2}})
		s.Trials.Min = 1
	})
	l.ended(b, reason.Finished)
	stream := l.trials(b, l.worker("raw"))["stream.r001"]
	if stream.Outcome != result.Measured || stream.Metrics["write.bandwidth"].Value <= 0 || stream.Metrics["read.bandwidth"].Value <= 0 {
		t.Errorf("%+v", stream.Metrics)
	}
	// The volume is a loop device. Its file is on the node, where the Pod cannot see what it is
	// on, and is cached there if the node's file system cannot do better.
	if d := stream.DirectIO; d == nil || d.Effective != result.DirectUnknown && d.Effective != result.CachedAnyway || !strings.Contains(d.Evidence, "confirms it, but") || !strings.Contains(d.Evidence, "loop") {
		t.Errorf("direct I/O: %+v", d)
	}
	l.nothingLeft()
}

// What an engine cannot do on a device is said before anything is created.
func TestEnginesThatNeedAFileSystemRefuseADevice(t *testing.T) {
	t.Parallel()
	for name, workload := range map[string]v1alpha1.Workload{
		"postmark": {Name: "w", Postmark: &v1alpha1.PostmarkWorkload{}},
		"filesync": {Name: "w", Filesync: &v1alpha1.FilesyncWorkload{}},
		"bonnie":   {Name: "w", Bonnie: &v1alpha1.BonnieWorkload{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, "restricted", refused)
			b := l.benchmark("refused", func(s *v1alpha1.StorageBenchmarkSpec) {
				s.Targets = []v1alpha1.Target{volume("raw", "loop-ext4", corev1.PersistentVolumeBlock)}
				s.Workloads = []v1alpha1.Workload{workload}
			})
			says(t, l.await(b, reason.InvalidSpec).Message, "spec.workloads[w]."+name, "file system")
			l.nothingLeft()
		})
	}
}
