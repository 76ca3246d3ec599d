package tunable

import (
	"fmt"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// Rules are what the catalogue says without a machine, for those who decide whether a
// setting is permitted.
type Rules struct{}

// Check refuses a name that is not in the catalogue, and a value that the tunable does
// not take, with a *trial.Failure whose Field is name or value.
func (Rules) Check(name, value string) error {
	t, err := Find(name)
	if err != nil {
		f := *trial.AsFailure(err)
		f.Field = "name"
		return &f
	}
	if _, err := t.Parse(value); err != nil {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "value", Message: fmt.Sprintf("%s does not take the value %q", name, value), Remedy: err.Error(), Err: err}
	}
	return nil
}

// DataLoss is why a power failure can lose data with this value, or "".
func (Rules) DataLoss(name, value string) string {
	t, err := Find(name)
	if err != nil {
		return ""
	}
	parsed, err := t.Parse(value)
	if err != nil {
		return ""
	}
	if risk, reason := t.Risk(parsed); risk == DataLoss {
		return reason
	}
	return ""
}
