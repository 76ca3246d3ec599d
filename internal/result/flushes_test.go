package result

import "testing"

func TestFlushesAreCountedForEachOperationAndThoseOfAMirrorOnce(t *testing.T) {
	mirror := []Layer{{ID: "pool:tank", Kind: PoolLayer, Copies: 2, Below: []string{"sda", "sdb"}}, {ID: "sda", Kind: DiskLayer}, {ID: "sdb", Kind: DiskLayer}}
	for name, c := range map[string]struct {
		metrics map[string]float64
		layers  []Layer
		want    float64 // below 0: none
	}{
		"files on a disk":                 {map[string]float64{"filesync.count": 100, "device.flush.count": 150}, mirror[1:2], 1.5},
		"files on a mirror":               {map[string]float64{"filesync.count": 100, "device.flush.count": 300}, mirror, 1.5},
		"no flush":                        {map[string]float64{"filesync.count": 100, "device.flush.count": 0}, mirror, 0},
		"a sync after some writes":        {map[string]float64{"write.ios": 800, "sync.ios": 100, "device.flush.count": 100}, nil, 1},
		"writes with O_DSYNC":             {map[string]float64{"write.ios": 800, "device.flush.count": 800}, nil, 1},
		"only reads":                      {map[string]float64{"read.ios": 800, "device.flush.count": 3}, nil, -1},
		"nothing that counts the flushes": {map[string]float64{"filesync.count": 100}, nil, -1},
	} {
		m := Measurement{Metrics: Metrics{}}
		for metric, v := range c.metrics {
			m.Metrics.Set(metric, Count, v)
		}
		m.SetFlushes(Copies(c.layers), m.Metrics, 1)
		if got, ok := m.Metrics[FlushesMetric]; ok != (c.want >= 0) || ok && got.Value != c.want {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

// What came before the measured part flushed for nobody.
func TestFlushesOfAPartAreThoseOfItsOperations(t *testing.T) {
	m := Measurement{Metrics: Metrics{}}
	m.Metrics.Set("sync.ios", Count, 100)
	m.Metrics.Set("device.flush.count", Count, 250)
	part := Metrics{}
	part.Set("device.flush.count", Count, 90)
	if m.SetFlushes(1, part, 0.9); m.Metrics[FlushesMetric].Value != 1 {
		t.Errorf("%+v", m.Metrics[FlushesMetric])
	}
}
