package result

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each metric that the reference lists with a unit has it.
func TestTheUnitOfAMetricIsThatOfTheReference(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference/results.md")
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]string{"1/s": PerSecond, "bytes/s": BytesPerSecond, "bytes": Bytes, "count": Count, "seconds": Seconds, "ratio": Ratio}
	row := regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| ([a-z0-9/]+) \\|")
	name := regexp.MustCompile("`([^`]+)`")
	checked := 0
	for _, found := range row.FindAllStringSubmatch(string(reference), -1) {
		want, ok := units[found[2]]
		if !ok {
			continue
		}
		first := ""
		for _, n := range name.FindAllStringSubmatch(found[1], -1) {
			// `….bytes` belongs to any operation, `read.await`, `.write.await` share their beginning, and
			// `….latency.…` has the percentiles.
			metric := strings.ReplaceAll(n[1], "OP", "read")
			if before, some := strings.CutSuffix(metric, "…"); some {
				metric = before + cmp.Or(map[string]string{Bytes: "bytes"}[want], "p99")
			}
			metric = strings.Replace(metric, "…", "read", 1)
			if strings.HasPrefix(metric, ".") {
				metric = first + metric
			} else {
				first = metric[:strings.LastIndexByte(metric, '.')]
			}
			checked++
			if got := UnitOf(metric); got != want {
				t.Errorf("%s (%s): %s, want %s", metric, n[1], got, want)
			}
		}
	}
	if checked < 50 {
		t.Errorf("the reference lists %d metrics with a unit", checked)
	}
}
