//go:build system

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// fio warms a directory up, and the documents say so.
func TestRunWarmsUpBeforeItMeasures(t *testing.T) {
	here, out := t.TempDir(), t.TempDir()
	file := benchmark(t, strings.Replace(header+`spec:
  targets: [{name: here, hostPath: {path: HERE}}]
  workloads:
  - name: w
    fio: {parameters: {rw: randwrite, bs: 4k, size: 4m, runtime: "1", time_based: "1"}}
    precondition: {maxRounds: 2}
  - name: log
    fio: {jobFile: "[append]\nrw=write\nsize=1m\nfdatasync=1\n"}
    precondition: {maxRounds: 6}
  trials: {min: 1}
`, "HERE", here, 1))
	_, stderr, code := output(t, "run", "-f", file, "--out", out, "--run-id", "one")
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	for _, want := range []string{"1/2 here w.r001: preconditioning, round 1 of at most 2, about 1s", "w.r001: preconditioning, round 2 of at most 2", "log.r001: preconditioning, round 5 of at most 6"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr does not say %q:\n%s", want, stderr)
		}
	}
	document := func(id string) *result.Trial {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(out, "default/b/one/workers/*/trials", id+".json"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", id, found, err)
		}
		body, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		d, err := result.DecodeTrial(body, "")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	warm := document("w.r001")
	if p := warm.Precondition; p == nil || p.Rounds != 2 || len(p.Rates) != 2 || p.Metric != "write.iops" || p.Rates[1] <= 0 || p.Steady != nil || p.Seconds < 2 {
		b, _ := json.Marshal(warm.Precondition)
		t.Errorf("w: %s", b)
	}
	if p := document("log.r001").Precondition; p == nil || p.Rounds < 5 || p.Rounds > 6 || len(p.Rates) != p.Rounds || p.Steady == nil {
		b, _ := json.Marshal(p)
		t.Errorf("log: %s", b)
	}
	if entries, _ := os.ReadDir(here); len(entries) != 0 {
		t.Errorf("left on the target: %v", entries)
	}
}
