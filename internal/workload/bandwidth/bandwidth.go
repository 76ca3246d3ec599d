package bandwidth

import (
	"context"
	"encoding/json"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Engine measures bandwidth.
type Engine struct{}

var _ workload.Engine = Engine{}

// Name is bandwidth, as the field of the API.
func (Engine) Name() string { return "bandwidth" }

// Check refuses values out of bounds and sizes that do not fit together.
func (Engine) Check(raw json.RawMessage, _ trial.Mode) error {
	_, err := decode(raw)
	return err
}

// Estimate knows the room, unless the target decides the size, and not how fast the
// target is.
func (Engine) Estimate(raw json.RawMessage) (workload.Estimate, error) {
	c, err := decode(raw)
	if err != nil || c.Size == nil {
		return workload.Estimate{}, err
	}
	return workload.Estimate{Bytes: uint64(*c.Size)}, nil
}

// Tools is empty: no program is run.
func (Engine) Tools(context.Context) map[string]string { return nil }
