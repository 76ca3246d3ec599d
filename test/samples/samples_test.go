package samples

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/cmd/storagebench/spec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/policy"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
	"storagebench.io/storagebench/internal/workload/engines"
)

const dir = "../../config/samples"

func TestBenchmarks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dir, "storagebenchmark_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples in %s (%v)", dir, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content := read(t, file)
			b, err := spec.Read(t.Context(), bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			modes := map[string]trial.Mode{}
			for _, target := range b.Spec.Targets {
				if target.PersistentVolumeClaim != nil {
					modes[target.Name] = trial.Filesystem
				}
			}
			variants, err := policy.Permit(policy.Input{Policies: []v1alpha1.TunablePolicy{everything()}, Variants: plan.Variants(b.Spec), Catalogue: tunable.Rules{}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Build(plan.Input{Benchmark: b, Run: "test", Nodes: []string{"a", "b"}, Modes: modes, Variants: variants, Engines: engines.All()})
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Trials) == 0 || len(p.Workers) == 0 {
				t.Errorf("the plan has %d trials and %d workers", len(p.Trials), len(p.Workers))
			}
		})
	}
}

func TestSchedules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dir, "storagebenchmarkschedule_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schedules in %s (%v)", dir, err)
	}
	for _, file := range files {
		s := &v1alpha1.StorageBenchmarkSchedule{}
		if err := yaml.UnmarshalStrict(read(t, file), s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		b := &v1alpha1.StorageBenchmark{Spec: s.Spec.Template.Spec}
		b.Name = s.Name
		if _, err := plan.Build(plan.Input{Benchmark: b, Run: "test", Nodes: []string{"a"}, Engines: engines.All()}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A sample that compares says in its status which is better, so it must have as many trials as the
// smallest p of a sign-flip over blocks of two repeats takes, corrected for all its comparisons.
func TestSamplesThatCompareHaveEnoughTrialsToDecide(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dir, "storagebenchmark_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range files {
		b, err := spec.Read(t.Context(), bytes.NewReader(read(t, file)))
		if err != nil {
			t.Fatal(err)
		}
		workloads := len(b.Spec.Workloads)
		if c := b.Spec.Compare; c != nil && c.Primary != nil && c.Primary.Workload != "" {
			workloads = 1
		}
		comparisons := workloads * len(b.Spec.Targets) * max(len(b.Spec.Variants)-1, 0)
		if c := b.Spec.Compare; c != nil && c.By == v1alpha1.CompareByTarget {
			// The planner makes as many rounds as can decide, each with trials.min trials of each target.
			compared++
			if most := int32(3); b.Spec.Trials.Min > most || b.Spec.Trials.Volumes != 0 {
				t.Errorf("%s: %d trials in each round and %d volumes, want at most %d, and the planner's rounds", filepath.Base(file), b.Spec.Trials.Min, b.Spec.Trials.Volumes, most)
			}
			continue
		}
		if comparisons == 0 {
			continue
		}
		compared++
		blocks := int(b.Spec.Trials.Min) / 2
		if least := 2 / math.Pow(2, float64(blocks)); least > 0.05/float64(comparisons) {
			t.Errorf("%s: with %d trials the smallest p is %.3g, too large for %d comparisons", filepath.Base(file), b.Spec.Trials.Min, least, comparisons)
		}
	}
	if compared < 8 {
		t.Errorf("only %d samples compare", compared)
	}
}

// everything permits everything, so that what is left is whether the samples are right.
func everything() v1alpha1.TunablePolicy {
	var p v1alpha1.TunablePolicy
	p.Spec.AllowDataLoss = true
	for _, group := range []string{"block.*", "zfs.*", "vm.*", "scsi.*", "nvme.*", "ata.*"} {
		p.Spec.Tunables = append(p.Spec.Tunables, v1alpha1.PermittedTunable{Name: group})
	}
	return p
}

func TestResultStore(t *testing.T) {
	rs := &v1alpha1.ResultStore{}
	if err := yaml.UnmarshalStrict(read(t, filepath.Join(dir, "resultstore_default.yaml")), rs); err != nil {
		t.Fatal(err)
	}
	if rs.Spec.Bucket == "" || rs.Spec.SecretRef.Name == "" {
		t.Errorf("the sample does not say where: %+v", rs.Spec)
	}
}

// A sample that the kustomization does not name is never applied by anybody.
func TestKustomizationNamesAllSamples(t *testing.T) {
	kustomization := string(read(t, filepath.Join(dir, "kustomization.yaml")))
	files, err := filepath.Glob(filepath.Join(dir, "*_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.Contains(kustomization, "- "+filepath.Base(file)+"\n") {
			t.Errorf("kustomization.yaml does not name %s", filepath.Base(file))
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
