package histogram

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestValueLiesInItsOwnBucketAndWithinTheStatedError(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		v := r.Uint64() >> r.IntN(64)
		mid := value(index(v))
		if index(mid) != index(v) {
			t.Fatalf("value(index(%d)) = %d lies in another bucket", v, mid)
		}
		if diff := max(mid, v) - min(mid, v); float64(diff) > float64(v)/128 {
			t.Fatalf("%d is kept as %d: off by more than 1/128", v, mid)
		}
	}
}

func TestBucketsAreThoseOfFio(t *testing.T) {
	// Bins that fio 3.33 printed in json+ output.
	for _, bin := range []uint64{127, 181, 1464, 10048, 21120, 103936, 1548288, 57933824} {
		if got := value(index(bin)); got != bin {
			t.Errorf("fio's bin %d becomes %d", bin, got)
		}
	}
}

func TestMergedPercentilesAreThoseOfAllValues(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var all []uint64
	var merged Histogram
	for range 5 {
		var h Histogram
		for range 10_000 {
			v := uint64(r.ExpFloat64() * 1e5)
			all = append(all, v)
			h.Add(v, 1)
		}
		merged.Merge(&h)
	}
	slices.Sort(all)
	for _, p := range []float64{0.001, 50, 95, 99, 99.9, 99.99, 100} {
		exact := all[max(int(p/100*float64(len(all))+0.999999), 1)-1]
		if got := merged.Percentile(p); got != value(index(exact)) {
			t.Errorf("p%v = %d, want the bucket of %d", p, got, exact)
		}
	}
	if merged.Count() != 50_000 {
		t.Errorf("count = %d", merged.Count())
	}
}

func TestDocumentRoundTripIsExact(t *testing.T) {
	var h Histogram
	for v := uint64(1); v < 1<<40; v = v*3 + 1 {
		h.Add(v, v%7+1)
	}
	b, err := json.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	var back Histogram
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(&back)
	if !bytes.Equal(again, b) {
		t.Errorf("the document changed:\n%s\n%s", b, again)
	}
}

func TestEmptyHistogram(t *testing.T) {
	var h Histogram
	if h.Percentile(99) != 0 || h.Count() != 0 {
		t.Error("an empty histogram has values")
	}
	h.Merge(nil)
	if b, _ := json.Marshal(&h); string(b) != `{"layout":"log2-64","unit":"ns","bins":[]}` {
		t.Errorf("document: %s", b)
	}
}

func TestForeignDocumentsAreRefused(t *testing.T) {
	for _, doc := range []string{`{}`, `[]`, `{"layout":"hdr","unit":"ns","bins":[]}`,
		`{"layout":"log2-64","unit":"ns","bins":[[1,18446744073709551615],[2,1]]}`} {
		var h Histogram
		if err := json.Unmarshal([]byte(doc), &h); err == nil {
			t.Errorf("%s was accepted", doc)
		}
	}
}

func TestRanksAreNotPushedUpByRounding(t *testing.T) {
	var h Histogram
	h.Add(1, 999)
	h.Add(100, 1)
	if got := h.Percentile(99.9); got != 1 {
		t.Errorf("p99.9 of 999 ones and a hundred is %d", got)
	}
}
