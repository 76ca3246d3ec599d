package verdict

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestASizeThatWasChosenTooSmallIsSaidOfReadsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		size *result.SizeChoice
		want string
	}{
		"given":        {nil, ""},
		"large enough": {&result.SizeChoice{Bytes: 4 << 30, Parts: 1, CacheBytes: 2 << 30}, ""},
		"too small":    {&result.SizeChoice{Bytes: 16 << 30, Parts: 4, CacheBytes: 512 << 30, TooSmall: true}, "read"},
	} {
		f := Facts{Measurement: result.Measurement{Metrics: result.Metrics{}, Operations: []string{"read", "write"}, Size: c.size}}
		var about []string
		for _, v := range Judge(f) {
			if v.Name == WorkingSetTooSmall {
				about = append(about, v.Operation)
				if v.Effect != result.Qualifies || !strings.Contains(v.Sentence, "64.0 GiB in all") || !strings.Contains(v.Settle, "1.00 TiB") || v.Evidence["cache.bytes"].Value != 512<<30 {
					t.Errorf("%s: %+v", name, v)
				}
			}
		}
		if got := strings.Join(about, " "); got != c.want {
			t.Errorf("%s: got it on %q, want %q", name, got, c.want)
		}
	}
}
