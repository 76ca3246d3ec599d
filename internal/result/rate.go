package result

import (
	"fmt"
	"math"
	"time"
)

// Rate is what an engine did of one operation in one interval.
type Rate struct {
	Operation string `json:"operation"`
	// End of the interval, and how long it was.
	End     time.Time `json:"end"`
	Seconds float64   `json:"seconds"`
	// Count of operations that completed, and bytes that they moved.
	Count float64 `json:"count"`
	Bytes float64 `json:"bytes"`
}

// MaxRates is how many an engine may report.
const MaxRates = 1 << 14

func checkRates(rates []Rate) error {
	if len(rates) > MaxRates {
		return fmt.Errorf("it has %d rates, the limit is %d", len(rates), MaxRates)
	}
	for i, r := range rates {
		for _, v := range []float64{r.Seconds, r.Count, r.Bytes} {
			if math.IsNaN(v) || v < 0 || v > 1e18 {
				return fmt.Errorf("rate %d is %v", i, v)
			}
		}
		if !operationPattern.MatchString(r.Operation) {
			return fmt.Errorf("rate %d has the invalid operation %.64q", i, r.Operation)
		}
	}
	return nil
}
