package result

import (
	"errors"
	"fmt"
)

// FileState is what a trial finds of the files that it writes.
type FileState string

// States of files.
const (
	// Fresh: the trial began without them. They were removed after it.
	Fresh FileState = "Fresh"
	// Overwrite: every block was written before the first trial.
	Overwrite FileState = "Overwrite"
	// AsFound: nothing was prepared, so the first trial may differ from the others.
	AsFound FileState = "AsFound"
	// Mixed: jobs, or trials, differ.
	Mixed FileState = "Mixed"
)

// FileChoice is what a job's files were in each trial, and why.
type FileChoice struct {
	Job   string    `json:"job"`
	Files FileState `json:"files"`
	Why   string    `json:"why"`
}

// maxFileChoices is how many jobs a job file may have, and more.
const maxFileChoices = 256

func checkFileChoices(choices []FileChoice) error {
	if len(choices) > maxFileChoices {
		return fmt.Errorf("it has the files of %d jobs, the limit is %d", len(choices), maxFileChoices)
	}
	for _, c := range choices {
		if len(c.Why) > maxLine {
			return fmt.Errorf("the reason for the files of %.64q has %d bytes, the limit is %d", c.Job, len(c.Why), maxLine)
		}
		if err := errors.Join(checkNames(c.Job), c.Files.check()); err != nil {
			return err
		}
	}
	return nil
}

func (s FileState) check() error {
	switch s {
	case "", Fresh, Overwrite, AsFound, Mixed:
		return nil
	}
	return fmt.Errorf("the state of its files is %.64q", s)
}

// With returns the state of files of which some have another one.
func (s FileState) With(other FileState) FileState {
	switch {
	case s == "" || s == other:
		return other
	case other == "":
		return s
	default:
		return Mixed
	}
}

// files returns the state of the files of one job, or of all ("").
func files(choices []FileChoice, job string) FileState {
	all := FileState("")
	for _, c := range choices {
		if c.Job == job {
			return c.Files
		}
		all = all.With(c.Files)
	}
	return all
}
