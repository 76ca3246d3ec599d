package histogram

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestARecorderCountsAsAHistogramDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var a, b Recorder
	want := &Histogram{}
	var sum, highest uint64
	for i := range 10_000 {
		v := uint64(math.Exp(random.Float64() * 30))
		want.Add(v, 1)
		sum, highest = sum+v, max(highest, v)
		if i%2 == 0 {
			a.Record(v)
		} else {
			b.Record(v)
		}
	}
	a.Merge(&b)
	got := a.Histogram()
	for _, p := range []float64{0.1, 50, 99, 99.9, 100} {
		if got.Percentile(p) != want.Percentile(p) {
			t.Errorf("p%v is %d, want %d", p, got.Percentile(p), want.Percentile(p))
		}
	}
	if got.Count() != 10_000 || a.Count() != 10_000 || a.Max() != highest || math.Abs(a.Mean()-float64(sum)/10_000) > 1 {
		t.Errorf("count %d, max %d, mean %g", a.Count(), a.Max(), a.Mean())
	}
	a.Record(math.MaxUint64) // no value is out of range
	if (&Recorder{}).Mean() != 0 || (&Recorder{}).Histogram().Count() != 0 {
		t.Error("an empty recorder has values")
	}
}

func BenchmarkRecord(b *testing.B) {
	r := &Recorder{}
	for i := 0; b.Loop(); i++ {
		r.Record(uint64(i) & 0xfffff)
	}
}
