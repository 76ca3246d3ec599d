package result

import (
	"fmt"
	"math"
	"time"
)

// Rate is what an engine did of one operation in one interval.
type Rate struct {
	// Job is which of several did it; empty: all of them, or the only one.
	Job       string `json:"job,omitempty"`
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

// AddRate adds what an engine did of an operation in an interval.
func (m *Measurement) AddRate(operation string, end time.Time, length time.Duration, count, bytes int64) {
	if len(m.Rates) < MaxRates && length > 0 {
		m.Rates = append(m.Rates, Rate{Operation: operation, End: end, Seconds: length.Seconds(), Count: float64(count), Bytes: float64(bytes)})
	}
}

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
		if len(r.Job) > maxName {
			return fmt.Errorf("the job of rate %d has a name of %d bytes, the limit is %d", i, len(r.Job), maxName)
		}
		if !operationPattern.MatchString(r.Operation) {
			return fmt.Errorf("rate %d has the invalid operation %.64q", i, r.Operation)
		}
	}
	return nil
}

// SetSchedule sets what the scheduler did with an engine's threads: for how long they ran, how
// long they waited for a CPU, and how often they were given one.
func (m Metrics) SetSchedule(ran, waited time.Duration, slices uint64) {
	if slices == 0 || ran+waited <= 0 {
		return
	}
	m.Set("engine.cpu.wait.mean", Seconds, waited.Seconds()/float64(slices))
	m.Set("engine.cpu.wait.share", Ratio, float64(waited)/float64(ran+waited))
	m.Set("engine.cpu.slice.mean", Seconds, ran.Seconds()/float64(slices))
}
