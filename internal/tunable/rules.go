package tunable

import (
	"fmt"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// Rules answers questions about the catalogue without a machine, for package policy.
type Rules struct{}

// Check refuses a name that is not in the catalogue, and a value that the tunable does
// not accept. Its error is a *trial.Failure whose Field is name or value.
func (Rules) Check(name, value string) error {
	t, err := Find(name)
	if err != nil {
		f := *trial.AsFailure(err)
		f.Field = "name"
		return &f
	}
	if _, err := t.Parse(value); err != nil {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "value", Message: fmt.Sprintf("%s does not accept the value %q", name, value), Remedy: err.Error(), Err: err}
	}
	return nil
}

// DataLoss returns why a power failure can lose data with this value, or "".
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
