package stats

import (
	"math"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestATrialBelowASecondIsKnownByItsLongestOperation(t *testing.T) {
	of := func(pairs ...any) result.Row {
		row := result.Row{Metrics: map[string]result.Estimate{}}
		for i := 0; i < len(pairs); i += 2 {
			row.Metrics[pairs[i].(string)] = result.Estimate{Median: pairs[i+1].(float64)}
		}
		return row
	}
	for name, c := range map[string]struct {
		row  result.Row
		want float64
	}{
		"a read of 8 MiB":      {of("read.bytes", 8.0, "read.bandwidth", 1000.0), 0.008},
		"one of two seconds":   {of("read.bytes", 2000.0, "read.bandwidth", 1000.0), 0},
		"of a second, nearly":  {of("read.bytes", 995.0, "read.bandwidth", 1000.0), 0},
		"a mixture":            {of("read.bytes", 8.0, "read.bandwidth", 1000.0, "write.bytes", 1500.0, "write.bandwidth", 1000.0), 0},
		"files":                {of("filesync.count", 50.0, "filesync.rate", 1000.0), 0.05},
		"bytes without a rate": {of("read.bytes", 8.0, "read.iops", 1000.0), 0},
	} {
		if got := shortTrial(c.row, mediansOf(c.row)); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
