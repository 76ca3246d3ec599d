package plan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// checker accepts every configuration but that of the engine it refuses.
type checker struct{ refuse string }

func (c checker) Check(engine string, _ json.RawMessage, _ trial.Mode) error {
	if engine == c.refuse {
		return &trial.Failure{Class: reason.InvalidJobFile, Field: engine + ".jobFile", Message: "line 3: no"}
	}
	return nil
}

// Duration is a minute for any engine that is accepted.
func (c checker) Duration(engine string, _ json.RawMessage) time.Duration {
	if engine == c.refuse {
		return 0
	}
	return time.Minute
}

// Memory is 3 GiB for bonnie and no more than usual for any other engine.
func (checker) Memory(engine string, _ json.RawMessage, _ trial.Mode) (uint64, string) {
	if engine == "bonnie" {
		return 3 << 30, "bonnie.size"
	}
	return 0, ""
}

// Pace is the offered rate, of which all engines of the tests have one.
func (checker) Pace(_ string, config json.RawMessage) string {
	if strings.Contains(string(config), "offeredRate") {
		return "offeredRate"
	}
	return ""
}

func (checker) UsualMemory() uint64 { return 1 << 30 }

func benchmark(change func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "cost", UID: "u-1", Generation: 3},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets: []v1alpha1.Target{
				{Name: "fast", StorageClass: &v1alpha1.StorageClassTarget{Name: "nvme"}},
				{Name: "raw", StorageClass: &v1alpha1.StorageClassTarget{Name: "nvme", VolumeMode: corev1.PersistentVolumeBlock}},
			},
			Workloads: []v1alpha1.Workload{
				{Name: "oltp", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{"rw": "randrw"}), Prefill: v1alpha1.FioPrefillAuto}},
				{Name: "scan", Fio: &v1alpha1.FioWorkload{JobFile: "[scan]\nrw=read\n"}},
			},
			Trials: v1alpha1.Trials{Min: 2},
		},
	}
	change(b)
	return b
}

func build(b *v1alpha1.StorageBenchmark) (*trial.Plan, error) {
	return Build(Input{Benchmark: b, Run: "g3-x", Nodes: []string{"a", "b"}, Engines: checker{}})
}

func TestADurationCountsEveryTrialOfEveryWorker(t *testing.T) {
	p, err := build(benchmark(func(*v1alpha1.StorageBenchmark) {}))
	if err != nil {
		t.Fatal(err)
	}
	for refuse, want := range map[string]time.Duration{
		"":    2 * 2 * 2 * 2 * time.Minute, // targets × nodes × workloads × repeats
		"fio": 0,
	} {
		if got := Duration(p, checker{refuse: refuse}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWorkloadsAlternateAndNodesAreAskedForOnce(t *testing.T) {
	p, err := build(benchmark(func(*v1alpha1.StorageBenchmark) {}))
	if err != nil {
		t.Fatal(err)
	}
	var trials, workers []string
	for _, x := range p.Trials {
		trials = append(trials, x.ID)
	}
	for _, x := range p.Workers {
		workers = append(workers, x.Name)
	}
	if diff := cmp.Diff([]string{"oltp.r001", "scan.r001", "oltp.r002", "scan.r002"}, trials); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"fast.a", "raw.a", "fast.b", "raw.b"}, workers); diff != "" {
		t.Error(diff)
	}
	_, target, err := p.Worker("raw.b")
	want := trial.Target{Name: "raw", Source: trial.StorageClass, Ref: "nvme", Mode: trial.Block, Generated: true}
	if err != nil || target != want {
		t.Errorf("target of raw.b: %+v, %v", target, err)
	}
	w, _ := p.Workload("oltp")
	if w.Engine != "fio" || string(w.Config) != `{"parameters":{"rw":"randrw"},"prefill":"Auto","files":"Auto"}` {
		t.Errorf("workload: %s %s", w.Engine, w.Config)
	}
}

func TestWhatThePlanRefusesNamesTheField(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*v1alpha1.StorageBenchmark)
		modes     map[string]trial.Mode
		refuse    string
		wantClass trial.Class
		wantField string
	}{
		"a workload that its engine refuses": {
			change: func(*v1alpha1.StorageBenchmark) {}, refuse: "fio",
			wantClass: reason.InvalidJobFile, wantField: "spec.workloads[oltp].fio.jobFile",
		},
		"a raw claim without consent": {
			change: func(b *v1alpha1.StorageBenchmark) {
				b.Spec.Targets[0] = v1alpha1.Target{Name: "db", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "db-0"}}
			},
			modes:     map[string]trial.Mode{"db": trial.Block},
			wantClass: reason.InvalidSpec, wantField: "spec.targets[db].persistentVolumeClaim.allowDataDestruction",
		},
		"a device without consent": {
			change: func(b *v1alpha1.StorageBenchmark) {
				b.Spec.Targets[0] = v1alpha1.Target{Name: "disk", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: "/dev/sdz"}}
			},
			wantClass: reason.InvalidSpec, wantField: "spec.targets[disk].blockDevice.allowDataDestruction",
		},
		"more trials than a grant has room for": {
			change:    func(b *v1alpha1.StorageBenchmark) { b.Spec.Trials.Min = 300 },
			wantClass: reason.InvalidSpec, wantField: "spec.trials.min",
		},
		"a target without a source": {
			change:    func(b *v1alpha1.StorageBenchmark) { b.Spec.Targets[0].StorageClass = nil },
			wantClass: reason.InvalidSpec, wantField: "spec.targets[fast]",
		},
		"a workload without an engine": {
			change:    func(b *v1alpha1.StorageBenchmark) { b.Spec.Workloads[1].Fio = nil },
			wantClass: reason.InvalidSpec, wantField: "spec.workloads[scan]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(Input{Benchmark: benchmark(c.change), Nodes: []string{"a"}, Modes: c.modes, Engines: checker{c.refuse}})
			failure, ok := errors.AsType[*trial.Failure](err)
			if !ok || failure.Class != c.wantClass || failure.Field != c.wantField {
				t.Errorf("got %+v", err)
			}
		})
	}
}

func TestTooManyWorkersAreRefused(t *testing.T) {
	_, err := Build(Input{Benchmark: benchmark(func(*v1alpha1.StorageBenchmark) {}), Nodes: make([]string, 501), Engines: checker{}})
	if failure, ok := errors.AsType[*trial.Failure](err); !ok || failure.Field != "spec.placement.nodes" {
		t.Errorf("got %v", err)
	}
}

func TestWorkerNamesAreUniqueLabels(t *testing.T) {
	if workerName("a-b", "c") == workerName("a", "b-c") {
		t.Error("two workers share a name")
	}
	long := strings.Repeat("n", 200)
	one, two := workerName("t", long+"1"), workerName("t", long+"2")
	if one == two || len(one) > 63 || len(two) > 63 {
		t.Errorf("%s %s", one, two)
	}
}

func TestARunIsNamedForWhatItRuns(t *testing.T) {
	b := benchmark(func(*v1alpha1.StorageBenchmark) {})
	again := b.DeepCopy()
	again.UID = "u-2"
	next := b.DeepCopy()
	next.Generation++
	named := b.DeepCopy()
	named.Spec.RunID = "2026-11-21"
	ids := map[string]bool{}
	for _, x := range []*v1alpha1.StorageBenchmark{b, again, next, named} {
		ids[RunID(x)] = true
	}
	if len(ids) != 4 || !strings.HasPrefix(RunID(named), "2026-11-21-g3-") || RunID(b) != RunID(b.DeepCopy()) {
		t.Errorf("run IDs: %v", ids)
	}
}

func TestWhatOnlySteersARunDoesNotStartAnother(t *testing.T) {
	b := benchmark(func(*v1alpha1.StorageBenchmark) {})
	was := SpecHash(b.Spec)
	b.Spec.Suspend, b.Spec.TTLAfterFinished = true, &metav1.Duration{Duration: 1}
	b.Spec.Timeout = &metav1.Duration{Duration: time.Hour}
	if is := SpecHash(b.Spec); is != was {
		t.Error("suspend, ttlAfterFinished or timeout starts another run")
	}
	for name, change := range map[string]func(){
		"runID":  func() { b.Spec.RunID = "again" },
		"gate":   func() { b.Spec.Gates = []v1alpha1.Gate{{Workload: "oltp"}} },
		"trials": func() { b.Spec.Trials.Min++ },
		"target": func() { b.Spec.Targets[0].StorageClass.Name = "other" },
	} {
		before := SpecHash(b.Spec)
		change()
		if after := SpecHash(b.Spec); after == before {
			t.Errorf("a changed %s does not start another run", name)
		}
	}
}

func TestANumberAndItsDigitsAreOneSpecAndOnePlan(t *testing.T) {
	var hashes, configs []string
	for _, depth := range []string{`16`, `"16"`} {
		b := benchmark(func(*v1alpha1.StorageBenchmark) {})
		if err := json.Unmarshal([]byte(`{"parameters":{"rw":"randread","iodepth":`+depth+`}}`), b.Spec.Workloads[0].Fio); err != nil {
			t.Fatal(err)
		}
		b.Spec.Variants = []v1alpha1.Variant{{Name: "v"}}
		if err := json.Unmarshal([]byte(`[{"name":"vm.dirty_ratio","value":`+depth+`}]`), &b.Spec.Variants[0].Tunables); err != nil {
			t.Fatal(err)
		}
		hash := SpecHash(b.Spec)
		b.Spec.Variants = nil
		p, err := build(b)
		if err != nil {
			t.Fatal(err)
		}
		hashes, configs = append(hashes, hash), append(configs, string(p.Workloads[0].Config))
	}
	if hashes[0] != hashes[1] {
		t.Errorf("the hash of the spec depends on quotes: %v", hashes)
	}
	if configs[0] != configs[1] {
		t.Errorf("the plan depends on quotes: %v", configs)
	}
}
