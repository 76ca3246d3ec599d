package bonnie

import (
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestATestThatWasTooFastIsABoundAndKeepsItsPlace(t *testing.T) {
	env := newEnv(t, t.TempDir(), `{"size":"16Mi","files":0}`)
	line := strings.NewReplacer("955950,74", "+++++,+++", "811.4,12", "+++++,+++").Replace(goodLine)
	m, err := Engine{Program: fake(t, line, "", "exit 0"), Memory: 1}.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]result.Metric{
		"rewrite.bandwidth": {Unit: result.BytesPerSecond, Value: 32 << 20, AtLeast: true},
		"seek.rate":         {Unit: result.PerSecond, Value: 16000, AtLeast: true},
		"write.bandwidth":   {Unit: result.BytesPerSecond, Value: 756165 * 1024},
	} {
		if got := m.Metrics[name]; got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	if want := []string{"write", "rewrite", "read", "seek", "write.char", "read.char"}; !slices.Equal(m.Operations, want) {
		t.Errorf("operations %v, want %v", m.Operations, want)
	}
}
