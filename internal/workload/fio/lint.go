package fio

import (
	"encoding/json"
	"fmt"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Finding is something that lint says of a workload: a problem, or a change.
type Finding struct {
	// File that is included, or empty; Line in it or in the text, counted from 1; 0: none.
	File string
	Line int
	// Field of the workload that it is about.
	Field   string
	Message string
	// Remedy of a problem.
	Remedy string
}

// Lint returns all that is wrong with the fio field of a workload on targets of a mode, and all
// that would not be done as it is written. It is pure.
func Lint(raw json.RawMessage, mode trial.Mode, machine workload.Machine) (problems, changes []Finding) {
	c, err := decode(raw)
	if err != nil {
		return []Finding{ofFailure(err, "fio")}, nil
	}
	c.machine = machine
	all := resolveAll(c, mode, parametersName)
	for _, p := range all.problems {
		field := p.field
		if field == "" {
			field = c.field()
		}
		problems = append(problems, Finding{p.file, p.line, field, p.message, p.remedy})
	}
	for _, ch := range all.changes {
		changes = append(changes, Finding{File: ch.file, Line: ch.line, Field: c.field(), Message: ch.text})
	}
	if len(problems) == 0 {
		if err := (Engine{}).Check(raw, mode); err != nil { // memory
			problems = append(problems, ofFailure(err, c.field()))
		}
		if need := allocated(all.jobs, 0); len(problems) == 0 && need > workload.MaxMemory {
			changes = append(changes, Finding{Field: c.field(), Message: fmt.Sprintf("fio may allocate %s of memory, and the worker's limit is raised by %s, if the operator allows it (limits.workloadMemory)", workload.Human(need), workload.Human(need-workload.MaxMemory))})
		}
	}
	return problems, changes
}

func ofFailure(err error, field string) Finding {
	if f, ok := err.(*trial.Failure); ok { //nolint:errorlint // it is never wrapped
		if f.Field != "" {
			field = f.Field
		}
		return Finding{Field: field, Message: f.Message, Remedy: f.Remedy}
	}
	return Finding{Field: field, Message: err.Error()}
}
