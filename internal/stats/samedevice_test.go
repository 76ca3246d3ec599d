package stats

import (
	"slices"
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
		"unknown": {nil, on("h", disk("sda")), [2]string{"n", "n"}, false},
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
