package iozone

import (
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestACellThatWasTooFastIsABound(t *testing.T) {
	small, large := pair{64 << 10, 4 << 10}, pair{1 << 20, 4 << 10}
	for name, c := range map[string]struct {
		times map[pair]float64 // in milliseconds
		want  map[string]result.Metric
		all   bool
	}{
		"the small one": {
			map[pair]float64{small: 0, large: 500},
			map[string]result.Metric{
				"write.64KiB.4KiB.bandwidth": {Unit: result.BytesPerSecond, Value: 64 << 10 * 1000, AtLeast: true},
				"write.1MiB.4KiB.bandwidth":  {Unit: result.BytesPerSecond, Value: 2 << 20},
				"write.bandwidth":            {Unit: result.BytesPerSecond, Value: 2 << 20},
			}, false,
		},
		"the large one, which stands for the operation": {
			map[pair]float64{small: 500, large: 0},
			map[string]result.Metric{
				"write.1MiB.4KiB.bandwidth": {Unit: result.BytesPerSecond, Value: 1 << 20 * 1000, AtLeast: true},
				"write.bandwidth":           {Unit: result.BytesPerSecond, Value: 1 << 20 * 1000, AtLeast: true},
			}, false,
		},
		"a value that is as large as a bound": {
			map[pair]float64{small: 0, large: 16},
			map[string]result.Metric{"write.bandwidth": {Unit: result.BytesPerSecond, Value: 64 << 10 * 1000}}, false,
		},
		"all": {map[pair]float64{small: 0, large: 0}, nil, true},
	} {
		b, cells := newFioBench("fio", config{}, false), matrix{}
		for at, ms := range c.times {
			b.put("write", at, fioTest{Bytes: at.file, Runtime: ms}, cells)
		}
		m := cells.measurement()
		b.record(&m)
		for metric, want := range c.want {
			if got := m.Metrics[metric]; got != want {
				t.Errorf("%s: %s is %+v, want %+v", name, metric, got, want)
			}
		}
		if none := len(m.Operations) == 0; none != c.all {
			t.Errorf("%s: operations %v", name, m.Operations)
		}
	}
}
