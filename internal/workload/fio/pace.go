package fio

import (
	"encoding/json"
	"strings"

	"storagebench.io/storagebench/internal/trial"
)

// paces are the options of a job that decide how fast it is, instead of the storage.
var paces = []string{"rate", "rate_iops", "thinktime", "latency_target"}

// Pace is offeredRate, or the first option with which a job chooses its rate, whoever wrote it: the job
// file, a preset, parameters or a command line.
func (Engine) Pace(raw json.RawMessage) (option string) {
	c, err := decode(raw)
	if err != nil {
		return ""
	}
	if c.OfferedRate > 0 {
		return "offeredRate"
	}
	for _, mode := range []trial.Mode{trial.Filesystem, trial.Block} { // a job may be for one of them only
		jobs, err := resolve(c, mode, parametersName)
		if err != nil {
			continue
		}
		for _, j := range jobs {
			for _, name := range paces {
				if strings.Trim(j.options[name], "0, ") != "" { // "0" and ",0" limit nothing
					return name
				}
			}
		}
	}
	return ""
}
