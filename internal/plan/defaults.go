package plan

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"storagebench.io/storagebench/api/v1alpha1"
)

// WithDefaults returns the spec with a value in every field of its lists that says nothing and has
// a default. The schema has none there: what the API server adds below a list is a difference for
// ever to whoever keeps the benchmark in Git. Up to release 0.2 it did have these, so a benchmark
// that was written then has them in its spec, and the plan and the hash of the two are the same.
//
// spec is not changed, and shares with the result what is equal.
func WithDefaults(spec v1alpha1.StorageBenchmarkSpec) v1alpha1.StorageBenchmarkSpec {
	targets := make([]v1alpha1.Target, len(spec.Targets))
	for i, t := range spec.Targets {
		t.StorageClass = filled(t.StorageClass, defaultClass)
		targets[i] = t
	}
	workloads := make([]v1alpha1.Workload, len(spec.Workloads))
	for i, w := range spec.Workloads {
		w.Fio = filled(w.Fio, defaultFio)
		w.Postmark = filled(w.Postmark, defaultPostmark)
		w.Filesync = filled(w.Filesync, defaultFilesync)
		w.Bandwidth = filled(w.Bandwidth, defaultBandwidth)
		w.Bonnie = filled(w.Bonnie, defaultBonnie)
		w.Iozone = filled(w.Iozone, defaultIozone)
		w.FlushLadder = filled(w.FlushLadder, defaultFlushLadder)
		w.Precondition = filled(w.Precondition, defaultPrecondition)
		workloads[i] = w
	}
	// What is nil stays it: the hash of the two is not the same.
	if spec.Targets != nil {
		spec.Targets = targets
	}
	if spec.Workloads != nil {
		spec.Workloads = workloads
	}
	return spec
}

// filled is a copy of v with its defaults, or nil.
func filled[T any](v *T, set func(*T)) *T {
	if v == nil {
		return nil
	}
	out := *v
	set(&out)
	return &out
}

func orQuantity(q **resource.Quantity, otherwise string) {
	if *q == nil {
		*q = new(resource.MustParse(otherwise))
	}
}

func orValue[T any](v **T, otherwise T) {
	if *v == nil {
		*v = &otherwise
	}
}

func orList[T any](list *[]T, otherwise ...T) {
	if len(*list) == 0 {
		*list = otherwise
	}
}

func quantityList(all ...string) []resource.Quantity {
	out := make([]resource.Quantity, len(all))
	for i, q := range all {
		out[i] = resource.MustParse(q)
	}
	return out
}

func defaultClass(c *v1alpha1.StorageClassTarget) {
	orQuantity(&c.Size, "10Gi")
	c.AccessMode = cmp.Or(c.AccessMode, corev1.ReadWriteOnce)
	c.VolumeMode = cmp.Or(c.VolumeMode, corev1.PersistentVolumeFilesystem)
}

func defaultFio(w *v1alpha1.FioWorkload) {
	w.Prefill = cmp.Or(w.Prefill, v1alpha1.FioPrefillAuto)
	w.Files = cmp.Or(w.Files, v1alpha1.FioFilesAuto)
}

func defaultPostmark(w *v1alpha1.PostmarkWorkload) {
	w.Mode = cmp.Or(w.Mode, v1alpha1.PostmarkModern)
	w.Files = cmp.Or(w.Files, 20_000)
	w.Transactions = cmp.Or(w.Transactions, 100_000)
	orQuantity(&w.MinSize, "500")
	orQuantity(&w.MaxSize, "10000")
	orQuantity(&w.ReadBlockSize, "512")
	orQuantity(&w.WriteBlockSize, "512")
	orValue(&w.ReadBias, 5)
	orValue(&w.CreateBias, 5)
	w.Threads = cmp.Or(w.Threads, 1)
	w.Durability = cmp.Or(w.Durability, v1alpha1.PostmarkDurabilityNone)
	orValue(&w.Seed, 42)
}

func defaultFilesync(w *v1alpha1.FilesyncWorkload) {
	w.Files = cmp.Or(w.Files, 10_000)
	orQuantity(&w.Size, "255")
	w.Sync = cmp.Or(w.Sync, v1alpha1.FilesyncDsync)
	w.Threads = cmp.Or(w.Threads, 1)
}

func defaultBandwidth(w *v1alpha1.BandwidthWorkload) {
	orList(&w.Operations, v1alpha1.BandwidthWrite, v1alpha1.BandwidthRead)
	orQuantity(&w.BlockSize, "1Mi")
	w.Depth = cmp.Or(w.Depth, 1)
	orValue(&w.Direct, true)
}

func defaultBonnie(w *v1alpha1.BonnieWorkload) {
	orQuantity(&w.ChunkSize, "8Ki")
	orValue(&w.Files, 16)
	orValue(&w.PerCharacter, true)
}

func defaultIozone(w *v1alpha1.IozoneWorkload) {
	orList(&w.FileSizes, quantityList("64Mi", "512Mi")...)
	orList(&w.RecordSizes, quantityList("4Ki", "64Ki", "1Mi")...)
	orList(&w.Tests, v1alpha1.IozoneWrite, v1alpha1.IozoneRewrite, v1alpha1.IozoneRead, v1alpha1.IozoneReread, v1alpha1.IozoneRandomRead, v1alpha1.IozoneRandomWrite)
	orValue(&w.IncludeFlush, true)
	w.Tool = cmp.Or(w.Tool, v1alpha1.IozoneToolAuto)
}

func defaultFlushLadder(w *v1alpha1.FlushLadderWorkload) {
	w.Operations = cmp.Or(w.Operations, 300)
	w.Repeats = cmp.Or(w.Repeats, 5)
}

func defaultPrecondition(p *v1alpha1.Precondition) { p.MaxRounds = cmp.Or(p.MaxRounds, defaultRounds) }
