package main

import (
	"bytes"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/cmd/storagebench/spec"
)

func TestCreatePrintsABenchmarkThatThePlannerTakes(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		check func(v1alpha1.StorageBenchmarkSpec) bool
	}{
		"two classes are compared": {
			[]string{"--storage-class", "fast", "--storage-class", "bulk", "--fio", "rw=randrw,bs=4k,8k,iodepth=16"},
			func(s v1alpha1.StorageBenchmarkSpec) bool {
				return len(s.Targets) == 2 && s.Compare.By == v1alpha1.CompareByTarget && s.Workloads[0].Fio.Parameters["bs"].Text == "4k,8k"
			},
		},
		"a preset with a gate": {
			[]string{"--storage-class", "fast", "--preset", "etcd", "--gate", "sync.latency.p99 <= 10ms", "--trials", "6"},
			func(s v1alpha1.StorageBenchmarkSpec) bool {
				return s.Compare == nil && s.Gates[0].Metric == "sync.latency.p99" && s.Gates[0].Max.Text == "10ms" && s.Trials.Min == 6
			},
		},
		"a claim, and a lower limit": {
			[]string{"--claim", "data", "--fio", "rw=read", "--gate", "read.iops>=5000"},
			func(s v1alpha1.StorageBenchmarkSpec) bool {
				return s.Targets[0].PersistentVolumeClaim.ClaimName == "data" && s.Gates[0].Min.Text == "5000"
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := output(t, append([]string{"create", "b", "--print"}, c.args...)...)
			if code != exitDone {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			b, err := spec.Read(t.Context(), strings.NewReader(stdout))
			if err != nil {
				t.Fatalf("%v:\n%s", err, stdout)
			}
			if !c.check(b.Spec) {
				t.Errorf("printed:\n%s", stdout)
			}
			if stdout, stderr, code := output(t, "plan", "-o", "json", "-f", benchmark(t, stdout)); code != exitDone || !bytes.Contains([]byte(stdout), []byte(`"trials"`)) {
				t.Errorf("plan: exit code %d: %s", code, stderr)
			}
		})
	}
}

func TestCreateRefusesWhatItCannotDescribe(t *testing.T) {
	class, fio := []string{"--storage-class", "fast"}, []string{"--fio", "rw=read"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no target":               {fio, "expected --storage-class, --claim or --from-schedule"},
		"two kinds of target":     {append([]string{"--claim", "data", "--storage-class", "fast"}, fio...), "leave one of them out"},
		"a size of a claim":       {append([]string{"--claim", "data", "--size", "1Gi"}, fio...), "--size is of new volumes"},
		"no workload":             {class, "expected --preset, or --fio"},
		"two workloads":           {append([]string{"--preset", "etcd", "--fio", "rw=read"}, class...), "got both"},
		"an option without value": {append([]string{"--fio", "rw"}, class...), "NAME=VALUE"},
		"an option twice":         {append([]string{"--fio", "rw=read,rw=write"}, class...), "names rw twice"},
		"a gate without a limit":  {append([]string{"--storage-class", "fast", "--gate", "read.iops"}, fio...), "METRIC<=LIMIT"},
		"a size that is none":     {append([]string{"--storage-class", "fast", "--size", "large"}, fio...), "spec.targets[0].storageClass.size"},
		"a name that is none":     {append([]string{"--storage-class", "Fast"}, fio...), "spec.targets[0]"},
		"too many trials":         {append([]string{"--storage-class", "fast", "--trials", "101"}, fio...), "spec.trials.min"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := output(t, append([]string{"create", "b", "--print"}, c.args...)...)
			if code != exitInvalid || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, stdout %q, stderr %s", code, stdout, stderr)
			}
		})
	}
}
