package bonnie

import (
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

const (
	// shortest is how long a test takes, in seconds, of which bonnie++ gives a rate.
	shortest = 0.5
	// leastSeeks is how many seeks every version of bonnie++ does; newer ones do some more.
	leastSeeks = 8000
)

// bounds adds what is known of tests that were too fast to be measured: they did their work in less
// than shortest. A run that measured nothing stays one.
func bounds(m *result.Measurement, tooFast []string, size uint64, files int64) {
	if len(m.Operations) == 0 {
		return
	}
	for _, operation := range tooFast {
		switch {
		case operation == "seek":
			m.Metrics.SetAtLeast("seek.rate", result.PerSecond, leastSeeks/shortest)
		case strings.HasSuffix(operation, ".sequential") || strings.HasSuffix(operation, ".random"):
			m.Metrics.SetAtLeast(operation+".rate", result.PerSecond, float64(files)/shortest)
		default:
			m.Metrics.SetAtLeast(operation+".bandwidth", result.BytesPerSecond, float64(size)/shortest)
		}
		m.Operations = append(m.Operations, operation)
	}
	slices.SortFunc(m.Operations, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
}
