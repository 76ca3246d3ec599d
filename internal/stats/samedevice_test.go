package stats

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Two targets of a benchmark on one disk are told, whatever is between them and it. Those of other
// nodes, and of what is out of sight, are not.
func TestTwoTargetsOnOneDiskAreTold(t *testing.T) {
	on := func(host string, layers ...result.Layer) *result.Environment {
		return &result.Environment{Hostname: host, Target: result.TargetEnvironment{Layers: layers}}
	}
	disk := func(id string) result.Layer { return result.Layer{ID: id, Kind: result.DiskLayer, Number: "8:0"} }
	loop := result.Layer{ID: "loop0", Kind: result.LoopLayer, Number: "7:0", Source: "/x"}
	for name, c := range map[string]struct {
		a, b  *result.Environment
		nodes [2]string
		told  bool
	}{
		"one disk":            {on("h", disk("sda")), on("h", disk("sda")), [2]string{"n", "n"}, true},
		"below other layers":  {on("h", result.Layer{ID: "fs:/a", Below: []string{"sda"}}, disk("sda")), on("h", result.Layer{ID: "md0", Below: []string{"sdb", "sda"}}, disk("sda"), disk("sdb")), [2]string{"n", "n"}, true},
		"two disks":           {on("h", disk("sda")), on("h", disk("sdb")), [2]string{"n", "n"}, false},
		"two nodes":           {on("h", disk("sda")), on("i", disk("sda")), [2]string{"n", "m"}, false},
		"two Pods":            {on("pod-a", disk("sda")), on("pod-b", disk("sda")), [2]string{"n", "n"}, true},
		"another by its name": {on("h", disk("sda")), on("h", result.Layer{ID: "sda", Kind: result.DiskLayer, Number: "8:16"}), [2]string{"n", "n"}, false},
		"out of sight": {
			on("h", result.Layer{ID: "file:/x", Kind: result.UnknownLayer}), on("h", result.Layer{ID: "file:/x", Kind: result.UnknownLayer}), [2]string{"n", "n"}, false,
		},
		"one loop device":           {on("h", loop), on("h", loop), [2]string{"n", "n"}, true},
		"loop devices of two nodes": {on("h", loop), on("h", loop), [2]string{"n", "m"}, false},
		"unknown":                   {nil, on("h", disk("sda")), [2]string{"n", "n"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := &trial.Plan{Workers: []trial.Worker{{Name: "a.n", Target: "a", Node: c.nodes[0]}, {Name: "b.n", Target: "b", Node: c.nodes[1]}}}
			s := &result.Summary{
				Environment: map[string]*result.Environment{"a.n": c.a, "b.n": c.b},
				Rows:        []result.Row{{Target: "a", Node: c.nodes[0], N: 3}, {Target: "b", Node: c.nodes[1], N: 4}},
			}
			shared(p, s)
			for i, row := range s.Rows {
				if (len(row.Verdicts) == 1) != c.told {
					t.Fatalf("row %d has %+v", i, row.Verdicts)
				}
				if c.told && (row.Verdicts[0].Name != "SameDevice" || row.Verdicts[0].Trials != row.N || row.Verdicts[0].Effect != result.Qualifies) {
					t.Errorf("row %d has %+v", i, row.Verdicts)
				}
			}
		})
	}
}

func TestASummaryTellsOfTargetsOnOneDisk(t *testing.T) {
	p := &trial.Plan{
		Workloads: []trial.Workload{{Name: "w"}}, Trials: []trial.Trial{{ID: "w.r001", Workload: "w", Repeat: 1}},
		Workers: []trial.Worker{{Name: "a.n", Target: "a", Node: "n"}, {Name: "b.n", Target: "b", Node: "n"}},
	}
	var workers []result.WorkerSummary
	for _, w := range p.Workers {
		s := result.NewWorkerSummary(p, w)
		s.Environment = &result.Environment{Hostname: "h", Target: result.TargetEnvironment{Layers: []result.Layer{{ID: "sda", Kind: result.DiskLayer}}}}
		d := &result.Trial{Trial: p.Trials[0], Outcome: result.Measured, Measurement: result.Measurement{Metrics: result.Metrics{"read.iops": {Value: 1}}}}
		s.Fold(d, result.Object{})
		workers = append(workers, *s)
	}
	for _, row := range Summarize(p, workers, time.Unix(0, 0)).Rows {
		if !slices.ContainsFunc(row.Verdicts, func(v result.RowVerdict) bool { return v.Name == "SameDevice" }) {
			t.Errorf("%s has %+v", row.Target, row.Verdicts)
		}
	}
}

// A comparison of targets says if both are on the same storage, and only of the two that it is about.
func TestAComparisonOfTargetsOnOneDiskSaysSo(t *testing.T) {
	p := volumesPlan(3, true, false)
	p.Targets, p.Workers = nil, nil
	for v := 1; v <= 3; v++ {
		for _, name := range []string{"control", "beside", "apart", "besideApart"} {
			if v == 1 {
				p.Targets = append(p.Targets, trial.Target{Name: name, Source: trial.HostPath, Ref: "/" + name})
			}
			p.Workers = append(p.Workers, trial.Worker{Name: fmt.Sprintf("%s_%d.n", name, v), Target: name, Node: "n", Volume: v})
		}
	}
	of := map[string]string{"control": "sda", "beside": "sda", "apart": "sdb", "besideApart": "sdb"}
	var workers []result.WorkerSummary
	for _, w := range p.Workers {
		s := result.NewWorkerSummary(p, w)
		s.Environment = &result.Environment{Target: result.TargetEnvironment{Layers: []result.Layer{{ID: of[w.Target], Kind: result.DiskLayer}}}}
		for _, x := range p.Trials {
			s.Trials = append(s.Trials, result.TrialSummary{Trial: x, Outcome: result.Measured, Operations: []string{"read"}, Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 100}}})
		}
		workers = append(workers, *s)
	}
	all := Summarize(p, workers, time.Unix(0, 0)).Comparisons
	if len(all) != 3 {
		t.Fatalf("%d comparisons", len(all))
	}
	for _, c := range all {
		const says = " Both targets are on the same storage, sda, so this is no comparison of disks: SameDevice."
		if got := strings.HasSuffix(c.Primary.Sentence, says); got != (c.Target == "beside") || strings.Contains(c.Primary.Sentence, "SameDevice") != got {
			t.Errorf("%s says %q", c.Target, c.Primary.Sentence)
		}
	}
}

// Volumes of a cluster are attached one after the other, and each gets the number of the one before. Paths of a
// node, and of the machine that a run is on, are all there at once.
func TestADeviceThatIsAttachedForEachVolumeIsNotShared(t *testing.T) {
	rbd := []result.Layer{{ID: "rbd0", Kind: result.RemoteLayer, Number: "251:0"}}
	loop := []result.Layer{{ID: "loop0", Kind: result.LoopLayer, Number: "7:0"}}
	for name, c := range map[string]struct {
		uid    string
		source trial.Source
		layers []result.Layer
		told   bool
	}{
		"volumes":                 {"u", trial.StorageClass, rbd, false},
		"claims":                  {"u", trial.PersistentVolumeClaim, rbd, false},
		"paths of a node":         {"u", trial.HostPath, rbd, true},
		"paths of this machine":   {"", trial.StorageClass, rbd, true},
		"volumes on a local disk": {"u", trial.StorageClass, loop, true},
	} {
		p := &trial.Plan{
			Benchmark: trial.Benchmark{UID: c.uid}, Targets: []trial.Target{{Name: "a", Source: c.source}, {Name: "b", Source: c.source}},
			Workers: []trial.Worker{{Name: "a.n", Target: "a", Node: "n"}, {Name: "b.n", Target: "b", Node: "n"}},
		}
		e := &result.Environment{Target: result.TargetEnvironment{Layers: c.layers}}
		s := &result.Summary{Environment: map[string]*result.Environment{"a.n": e, "b.n": e}, Rows: []result.Row{{Target: "a", Node: "n"}, {Target: "b", Node: "n"}}}
		if got := len(shared(p, s)) > 0; got != c.told || (len(s.Rows[0].Verdicts) > 0) != c.told {
			t.Errorf("%s: told is %t, and the row has %+v", name, got, s.Rows[0].Verdicts)
		}
	}
}
