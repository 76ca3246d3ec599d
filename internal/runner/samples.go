package runner

import (
	"storagebench.io/storagebench/internal/observe"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/samples"
	"storagebench.io/storagebench/internal/samples/codec"
)

// observed is what was read while a trial ran.
type observed struct {
	sampler *observe.Sampler
	// limit of what is stored, in bytes.
	limit int
}

// table returns it with what the engine counted itself.
func (o *observed) table(rates []result.Rate) *samples.Table {
	if o == nil {
		return &samples.Table{}
	}
	return o.sampler.Table(rates)
}

// encode returns it as it is stored. If that is too large, every second sample is dropped, and
// again. If it cannot be stored at all, the trial's document says so.
func (o *observed) encode(d *result.Trial) []byte {
	if o == nil {
		return nil
	}
	for {
		t := o.table(d.Rates)
		if t.Len() == 0 {
			return nil
		}
		body, err := codec.Encode(t)
		if err == nil && len(body) <= o.limit {
			return body
		}
		if !o.sampler.Halve() {
			d.Notes = append(d.Notes, "what was sampled during the trial could not be stored")
			return nil
		}
	}
}
