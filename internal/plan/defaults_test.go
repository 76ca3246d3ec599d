package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// What the API server of release 0.2 made of sparse, which is how such benchmarks are stored.
const (
	sparse = `{
	  "targets": [{"name": "fast", "storageClass": {"name": "nvme"}}, {"name": "disk", "hostPath": {"path": "/mnt"}}],
	  "workloads": [
	    {"name": "a", "fio": {"jobFile": "[a]\nrw=read\n"}},
	    {"name": "b", "postmark": {}},
	    {"name": "c", "filesync": {}},
	    {"name": "d", "bandwidth": {}},
	    {"name": "e", "bonnie": {}},
	    {"name": "f", "iozone": {}},
	    {"name": "g", "flushLadder": {}}],
	  "trials": {"min": 2}}`
	whole = `{
	  "targets": [{"name": "fast", "storageClass": {"name": "nvme", "size": "10Gi", "accessMode": "ReadWriteOnce", "volumeMode": "Filesystem"}},
	    {"name": "disk", "hostPath": {"path": "/mnt"}}],
	  "workloads": [
	    {"name": "a", "fio": {"jobFile": "[a]\nrw=read\n", "prefill": "Auto", "files": "Auto"}},
	    {"name": "b", "postmark": {"mode": "Modern", "files": 20000, "transactions": 100000, "minSize": "500", "maxSize": "10000",
	      "readBlockSize": "512", "writeBlockSize": "512", "readBias": 5, "createBias": 5, "threads": 1, "durability": "None", "seed": 42}},
	    {"name": "c", "filesync": {"files": 10000, "size": "255", "sync": "Dsync", "threads": 1}},
	    {"name": "d", "bandwidth": {"operations": ["Write", "Read"], "blockSize": "1Mi", "depth": 1, "direct": true}},
	    {"name": "e", "bonnie": {"chunkSize": "8Ki", "files": 16, "perCharacter": true}},
	    {"name": "f", "iozone": {"fileSizes": ["64Mi", "512Mi"], "recordSizes": ["4Ki", "64Ki", "1Mi"],
	      "tests": ["Write", "Rewrite", "Read", "Reread", "RandomRead", "RandomWrite"], "includeFlush": true, "tool": "Auto"}},
	    {"name": "g", "flushLadder": {"operations": 300, "repeats": 5}}],
	  "trials": {"min": 2}}`
)

func specOf(t *testing.T, text string) v1alpha1.StorageBenchmarkSpec {
	t.Helper()
	var spec v1alpha1.StorageBenchmarkSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func planOfSpec(t *testing.T, spec v1alpha1.StorageBenchmarkSpec) *trial.Plan {
	t.Helper()
	b := benchmark(func(b *v1alpha1.StorageBenchmark) { b.Spec = spec })
	p, err := build(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheDefaultsOfListsAreThoseThatTheSchemaHad(t *testing.T) {
	short, long := specOf(t, sparse), specOf(t, whole)
	text := func(spec v1alpha1.StorageBenchmarkSpec) string {
		b, err := json.MarshalIndent(spec, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := text(short)
	if diff := cmp.Diff(text(long), text(WithDefaults(short))); diff != "" {
		t.Errorf("another default than release 0.2 had (-0.2 +now):\n%s", diff)
	}
	if diff := cmp.Diff(before, text(short)); diff != "" {
		t.Errorf("the spec was changed:\n%s", diff)
	}
	if diff := cmp.Diff(planOfSpec(t, long), planOfSpec(t, short)); diff != "" {
		t.Errorf("a benchmark that release 0.2 stored has another plan (-0.2 +now):\n%s", diff)
	}
}

func TestADefaultThatIsWrittenOutStartsNoRun(t *testing.T) {
	short, long := specOf(t, sparse), specOf(t, whole)
	if SpecHash(short) != SpecHash(long) || LegacySpecHash(WithDefaults(short)) != LegacySpecHash(long) {
		t.Error("the hash changes when the API server adds its defaults no longer")
	}
	long.Workloads[2].Filesync.Threads = 2
	if SpecHash(short) == SpecHash(long) {
		t.Error("a value that is not the default starts no run")
	}
}

func TestWhatIsSetIsKept(t *testing.T) {
	off, none := false, int64(0)
	spec := specOf(t, sparse)
	spec.Workloads[3].Bandwidth.Direct, spec.Workloads[4].Bonnie.Files, spec.Workloads[1].Postmark.Seed = &off, &none, &none
	got := WithDefaults(spec)
	if *got.Workloads[3].Bandwidth.Direct || *got.Workloads[4].Bonnie.Files != 0 || *got.Workloads[1].Postmark.Seed != 0 {
		t.Error("a value that is false or 0 is replaced by the default")
	}
}
