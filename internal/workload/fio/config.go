package fio

import (
	"encoding/json"
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
	// CommandLine is one of fio, Include are files that it or the job file names, and Variables
	// what ${NAME} stands for.
	CommandLine string            `json:"commandLine,omitempty"`
	Include     map[string]string `json:"include,omitempty"`
	Variables   map[string]string `json:"variables,omitempty"`
	Prefill     string            `json:"prefill,omitempty"`
	Files       string            `json:"files,omitempty"`
	// OfferedRate in operations per second; 0: fio issues I/Os as they complete.
	OfferedRate int64  `json:"offeredRate,omitempty"`
	Arrivals    string `json:"arrivals,omitempty"`

	// machine that the jobs run on, as far as it is known.
	machine workload.Machine
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
	fieldJobFile     = "fio.jobFile"
	fieldParameters  = "fio.parameters"
	fieldFiles       = "fio.files"
	fieldInclude     = "fio.include"
	fieldVariables   = "fio.variables"
	fieldCommandLine = "fio.commandLine"
)

func decode(raw json.RawMessage) (config, error) {
	c := config{Prefill: prefillAuto, Files: filesAuto}
	if err := workload.Decode("fio", raw, &c); err != nil {
		return c, err
	}
	given := 0
	for _, is := range []bool{c.JobFile != "", len(c.Parameters) > 0, c.Preset != "", c.CommandLine != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return c, invalid("fio", fmt.Sprintf("%d of jobFile, parameters, preset and commandLine are set", given), "set exactly one of fio.jobFile, fio.parameters, fio.preset and fio.commandLine")
	}
	if c.JobFile == "" && c.CommandLine == "" && len(c.Include) > 0 {
		return c, invalid(fieldInclude, "include has files, but only a jobFile or a commandLine can name them", "remove it")
	}
	if c.Preset != "" && len(c.Variables) > 0 {
		return c, invalid(fieldVariables, "a preset has no variables", "remove them, or copy the preset's job file from docs/reference/fio-presets.md into fio.jobFile")
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
