package trial

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// At is the workload as a probe of a search runs it, which offers rate operations per second; with a rate
// of 0 it is as it was.
func (w Workload) At(rate int64) (Workload, error) {
	if rate == 0 {
		return w, nil
	}
	var fields map[string]json.RawMessage // which keeps every other field to the digit
	if err := json.Unmarshal(w.Config, &fields); err != nil {
		return w, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	fields["offeredRate"] = strconv.AppendInt(nil, rate, 10)
	config, err := json.Marshal(fields)
	if err != nil {
		return w, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	w.Config = config
	return w, nil
}
