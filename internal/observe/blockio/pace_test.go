package blockio

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSampleIsAsSmallAsTheRateWants(t *testing.T) {
	many := make([]float64, maxDisks)
	for i := range many {
		many[i] = 10_000
	}
	evenly := make([]int, maxDisks)
	for i := range evenly {
		evenly[i] = 5 // 320,000 in sum, of which 10,000 are observed
	}
	for name, c := range map[string]struct {
		rates     []float64
		now, want []int
	}{
		"few":                          {[]float64{16_000}, []int{0}, []int{0}},
		"twice as many":                {[]float64{32_500}, []int{0}, []int{2}},
		"a quarter of a million":       {[]float64{249_000}, []int{0}, []int{5}},
		"more than there is a size of": {[]float64{1e9}, []int{0}, []int{maxShift}},
		"fewer again":                  {[]float64{100}, []int{5}, []int{4}},
		"a slow disk beside":           {[]float64{249_000, 200}, []int{0, 0}, []int{5, 0}},
		"two alike":                    {[]float64{30_000, 30_000}, []int{0, 0}, []int{2, 2}},
		"many disks":                   {many, make([]int, maxDisks), evenly},
		"nothing":                      {[]float64{0}, []int{0}, []int{0}},
	} {
		if diff := cmp.Diff(c.want, chooseShifts(c.rates, c.now)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestCompletedRequestsAreReadsAndWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stat")
	if err := os.WriteFile(path, []byte("     100        0        1        2       23        0        3        4        0        5        6        7        0        8        9       10       11\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := readCompleted(f); got != 123 {
		t.Errorf("it is %d, want 123", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*os.File{"no file": nil, "a closed one": f} {
		if got := readCompleted(f); got != 0 {
			t.Errorf("%s: it is %d, want 0", name, got)
		}
	}
}
