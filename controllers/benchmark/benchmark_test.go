package benchmark

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/trial"
)

// withJobFile is a benchmark with a job file of n bytes.
func withJobFile(n int) *v1alpha1.StorageBenchmark {
	return &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "b", UID: "u", Generation: 1},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets: []v1alpha1.Target{{Name: "t", StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}}},
			Workloads: []v1alpha1.Workload{
				{Name: "w", Fio: &v1alpha1.FioWorkload{JobFile: strings.Repeat("x", n)}},
				{Name: "p", Fio: &v1alpha1.FioWorkload{Parameters: map[string]v1alpha1.Scalar{"rw": {Text: "read"}}}},
			},
		},
	}
}

func stripped(t *testing.T, b *v1alpha1.StorageBenchmark) *v1alpha1.StorageBenchmark {
	t.Helper()
	out, err := Strip(b.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	return out.(*v1alpha1.StorageBenchmark)
}

func TestABenchmarkHasTheSameHashInTheCache(t *testing.T) {
	for _, n := range []int{0, 1, keptInCache, keptInCache + 1, 100_000} {
		b := withJobFile(n)
		once := stripped(t, b)
		if got, want := SpecHash(once), plan.SpecHash(b.Spec); got != want {
			t.Errorf("%d bytes: hash %s in the cache, want %s", n, got, want)
		}
		if twice := stripped(t, once); SpecHash(twice) != SpecHash(once) {
			t.Errorf("%d bytes: another hash when it is stripped twice", n)
		}
		spec, err := json.Marshal(once.Spec)
		if err != nil || len(spec) > keptInCache {
			t.Errorf("%d bytes are kept of %d (%v)", len(spec), n, err)
		}
	}
}

// Whatever a spec is filled with, little of it is kept, and of that all that is read from the cache.
func TestTheCacheKeepsLittleOfALongSpec(t *testing.T) {
	many := map[string]v1alpha1.Scalar{}
	for i := range 1000 {
		many[fmt.Sprintf("option%d", i)] = v1alpha1.Scalar{Text: "x"}
	}
	long := strings.Repeat("x", 100_000)
	for name, fill := range map[string]func(*v1alpha1.StorageBenchmarkSpec){
		"parameters":    func(s *v1alpha1.StorageBenchmarkSpec) { s.Workloads[1].Fio.Parameters = many },
		"variables":     func(s *v1alpha1.StorageBenchmarkSpec) { s.Workloads[1].Fio.Variables = many },
		"a command":     func(s *v1alpha1.StorageBenchmarkSpec) { s.Workloads[1].Fio.CommandLine = long },
		"a target":      func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].StorageClass.Name = long },
		"a variant":     func(s *v1alpha1.StorageBenchmarkSpec) { s.Variants = []v1alpha1.Variant{{Name: long}} },
		"a node's name": func(s *v1alpha1.StorageBenchmarkSpec) { s.Placement.NodeSelector = map[string]string{"a": long} },
		"a gate":        func(s *v1alpha1.StorageBenchmarkSpec) { s.Gates[0].Metric = long },
	} {
		b := withJobFile(0)
		b.Spec.Gates = make([]v1alpha1.Gate, 2)
		b.Spec.RunID, b.Spec.Suspend, b.Spec.Timeout = "r", true, &metav1.Duration{Duration: time.Hour}
		b.Spec.TTLAfterFinished, b.Spec.Results = &metav1.Duration{Duration: time.Minute}, &v1alpha1.Results{}
		fill(&b.Spec)
		once := stripped(t, b)
		want := v1alpha1.StorageBenchmarkSpec{
			Gates: make([]v1alpha1.Gate, 2), RunID: "r", Suspend: true, Timeout: b.Spec.Timeout, TTLAfterFinished: b.Spec.TTLAfterFinished, Results: b.Spec.Results,
		}
		if diff := cmp.Diff(want, once.Spec); diff != "" || SpecHash(once) != plan.SpecHash(b.Spec) {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// Whoever may write a benchmark may write its annotations.
func TestNobodyCanWriteTheHashOfTheCache(t *testing.T) {
	for _, n := range []int{0, 100_000} {
		b := withJobFile(n)
		b.Annotations = map[string]string{"cache.storagebench.io/spec-hash": strings.Repeat("forged", 1000), "kubectl.kubernetes.io/last-applied-configuration": "{}"}
		got := stripped(t, b)
		if SpecHash(b) != plan.SpecHash(b.Spec) || SpecHash(got) != plan.SpecHash(b.Spec) {
			t.Errorf("%d bytes: the hash %q is believed", n, SpecHash(got))
		}
		if _, ok := got.Annotations["kubectl.kubernetes.io/last-applied-configuration"]; ok {
			t.Error("the cache keeps what kubectl applied")
		}
	}
}

func TestWhetherASpecAsksForAnotherRun(t *testing.T) {
	hash := plan.SpecHash(withJobFile(3).Spec)
	raised := withJobFile(3)
	raised.Spec.Timeout = &metav1.Duration{Duration: 5 * time.Hour}
	for name, c := range map[string]struct {
		run        *v1alpha1.RunStatus
		generation int64
		want       bool
	}{
		"there was no run":                             {nil, 1, false},
		"nothing has changed":                          {&v1alpha1.RunStatus{Generation: 1, SpecHash: hash}, 1, true},
		"a new release has added a default":            {&v1alpha1.RunStatus{Generation: 1, SpecHash: "of an older release"}, 1, true},
		"it was suspended, which changes nothing else": {&v1alpha1.RunStatus{Generation: 1, SpecHash: hash}, 2, true},
		"its timeout was raised":                       {&v1alpha1.RunStatus{Generation: 1, SpecHash: plan.SpecHash(raised.Spec)}, 2, true},
		"it was suspended during an upgrade":           {&v1alpha1.RunStatus{Generation: 1, SpecHash: plan.LegacySpecHash(withJobFile(3).Spec)}, 2, true},
		"the spec was changed":                         {&v1alpha1.RunStatus{Generation: 1, SpecHash: "of another spec"}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := withJobFile(3)
			b.Generation, b.Status.Run = c.generation, c.run
			p := &pass{StorageBenchmark: b}
			if got := p.unchanged(); got != c.want {
				t.Fatalf("unchanged: %v, want %v", got, c.want)
			}
			if c.want && (c.run.Generation != c.generation || c.run.SpecHash != hash) {
				t.Errorf("what was compared is not kept: %+v", c.run)
			}
		})
	}
}

func TestAnObstacleIsLookedAtAfterATimeThatGrows(t *testing.T) {
	m, key := &memory{}, types.NamespacedName{Namespace: "lab", Name: "b"}
	var got []time.Duration
	for range 7 {
		got = append(got, m.wait(key, "StoreUnavailable"))
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{15 * s, 30 * s, 60 * s, 120 * s, 240 * s, 300 * s, 300 * s}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if again := m.wait(key, "NoMatchingNodes"); again != firstWait {
		t.Errorf("another obstacle: %s, want %s", again, firstWait)
	}
	m.waited(key)
	if again := m.wait(key, "NoMatchingNodes"); again != firstWait {
		t.Errorf("after it was gone: %s, want %s", again, firstWait)
	}
	for range 100 {
		if again := m.wait(key, "X"); again <= 0 || again > lastWait {
			t.Fatalf("%s", again)
		}
	}
}

func TestACacheThatIsBehindIsNoticed(t *testing.T) {
	m := &memory{}
	stale := func(version string) bool { return m.writes.After("u", version) }
	if stale("5") {
		t.Error("nothing was written, and the cache is said to be behind")
	}
	m.writes.Set("u", "100")
	for version, want := range map[string]bool{"9": true, "99": true, "100": false, "101": false, "1000": false, "": false, "abc": false} {
		if got := stale(version); got != want {
			t.Errorf("version %q: stale %v, want %v", version, got, want)
		}
	}
	if m.writes.After("other", "9") {
		t.Error("another benchmark is said to be behind")
	}
	if !m.writes.Is("u", "100") || m.writes.Is("u", "101") || m.writes.Is("other", "100") {
		t.Error("an own write is not known, or another's is")
	}
	m.writes.Forget("u")
	if stale("9") {
		t.Error("it is remembered after it is gone")
	}
}

func TestAPlanThatCouldNotBeBuiltIsNotTriedAgainFromTheSame(t *testing.T) {
	m, key, failure := &memory{}, types.NamespacedName{Name: "b"}, &trial.Failure{Message: "bad"}
	m.refuse(key, "input", failure)
	if m.refused(key, "input") != failure || m.refused(key, "other input") != nil || m.refused(types.NamespacedName{Name: "c"}, "input") != nil {
		t.Error("a refusal is forgotten, or is another's")
	}
	m.forget(key)
	if m.refused(key, "input") != nil {
		t.Error("it is remembered after the benchmark is gone")
	}
}

func TestARunThatNamesNoTimeoutHasTheAPIsDefault(t *testing.T) {
	r, p := &Reconciler{}, &pass{StorageBenchmark: withJobFile(0)}
	if got := r.timeout(p); got != 2*time.Hour {
		t.Errorf("got %s", got)
	}
	p.Spec.Timeout = &metav1.Duration{Duration: time.Minute}
	if got := r.timeout(p); got != time.Minute {
		t.Errorf("got %s", got)
	}
}

func TestARunThatDoesNotFitInItsTimeoutSaysSo(t *testing.T) {
	for trials, want := range map[time.Duration]int{0: 0, time.Hour: 0, time.Hour + time.Second: 1, math.MaxInt64: 1} {
		if notes := timeoutNotes(trials, time.Hour); len(notes) != want {
			t.Errorf("trials of %s in a timeout of 1h: %q", trials, notes)
		}
	}
}
