package fio

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// config is the fio field of a workload, as the API has it.
type config struct {
	JobFile    string            `json:"jobFile,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Preset     string            `json:"preset,omitempty"`
	Prefill    string            `json:"prefill,omitempty"`
	Files      string            `json:"files,omitempty"`
	// OfferedRate in operations per second; 0: fio issues I/Os as they complete.
	OfferedRate int64  `json:"offeredRate,omitempty"`
	Arrivals    string `json:"arrivals,omitempty"`
}

// Values of prefill.
const (
	prefillAuto  = "Auto"
	prefillNever = "Never"
)

// Values of files, beside those of a trial's document.
const filesAuto = "Auto"

// Fields of the workload, for failures.
const (
	fieldJobFile    = "fio.jobFile"
	fieldParameters = "fio.parameters"
	fieldFiles      = "fio.files"
)

func decode(raw json.RawMessage) (config, error) {
	c := config{Prefill: prefillAuto, Files: filesAuto}
	if err := workload.Decode("fio", raw, &c); err != nil {
		return c, err
	}
	given := 0
	for _, is := range []bool{c.JobFile != "", len(c.Parameters) > 0, c.Preset != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return c, invalid("fio", fmt.Sprintf("%d of jobFile, parameters and preset are set", given), "set exactly one of fio.jobFile, fio.parameters and fio.preset")
	}
	if prefills := []string{prefillAuto, prefillNever}; !slices.Contains(prefills, c.Prefill) {
		return c, invalid("fio.prefill", fmt.Sprintf("there is no prefill %q", clip(c.Prefill)), suggest.Remedy(c.Prefill, prefills))
	}
	if choices := []string{filesAuto, string(result.Fresh), string(result.Overwrite)}; !slices.Contains(choices, c.Files) {
		return c, invalid(fieldFiles, fmt.Sprintf("there is no choice %q", clip(c.Files)), suggest.Remedy(c.Files, choices))
	}
	if c.Files == string(result.Overwrite) && c.Prefill == prefillNever {
		return c, invalid(fieldFiles, "files: Overwrite contradicts prefill: Never, which writes nothing before the first trial", "remove one of them")
	}
	return c, nil
}

func invalid(field, message, remedy string) *trial.Failure {
	return &trial.Failure{Class: reason.InvalidJobFile, Field: field, Message: message, Remedy: remedy}
}

// asFailure gives a line's error the field that it is about.
func asFailure(err error, field string) error {
	e, ok := errors.AsType[*lineError](err)
	if !ok {
		return err
	}
	return invalid(field, e.Error(), e.remedy)
}
