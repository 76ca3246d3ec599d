//go:build system

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

const twoClasses = header + `spec:
  targets:
  - {name: old, storageClass: {name: silver}}
  - {name: new, storageClass: {name: gold}}
  workloads:
  - {name: log, filesync: {files: 30}}
  compare: {by: target}
  trials: {min: 2, max: 3, volumes: 6}
`

func TestRunComparesTargetsRoundByRound(t *testing.T) {
	file := benchmark(t, twoClasses)
	stdout, stderr, code := output(t, "run", "-f", file, "--target", "old="+t.TempDir(), "--target", "new="+t.TempDir(), "--out", t.TempDir(), "-o", "json")
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	var s result.Summary
	if err := json.Unmarshal([]byte(stdout), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) != 2 || s.Stored != s.Planned || s.Stored < 24 || s.Stored > 36 {
		t.Errorf("%d rows, %d of %d trials stored", len(s.Rows), s.Stored, s.Planned)
	}
	for _, row := range s.Rows {
		if row.Volumes != 6 || !strings.Contains(row.SpeaksFor, "in 6 rounds") {
			t.Errorf("the row of %s has %d volumes and speaks for %q", row.Target, row.Volumes, row.SpeaksFor)
		}
	}
	if len(s.Comparisons) != 1 {
		t.Fatalf("%d comparisons", len(s.Comparisons))
	}
	c := s.Comparisons[0]
	rate := c.Metrics["filesync.rate"]
	if c.By != "target" || c.Target != "new" || c.Control != "old" || c.Primary == nil || rate.Pairs != 6 || rate.Ratio == nil || rate.Ratio.Low == nil {
		t.Errorf("the comparison is %+v, its rate %+v", c, rate)
	}
	if !strings.Contains(stderr, "at most 3 trials on each of 12 workers") {
		t.Errorf("it does not say how much there is to do:\n%s", stderr)
	}
}
