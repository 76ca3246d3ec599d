package result

import (
	"errors"
	"fmt"
	"time"

	"storagebench.io/storagebench/internal/trial"
)

// EngineSchema is the version of EngineResult.
const EngineSchema = "storagebench.io/engine.v1"

// Metrics of a job that asks for more I/Os in flight than its engine keeps.
const (
	DepthAsked = "iodepth.asked"
	DepthKept  = "iodepth.kept"
)

// LittlesLaw is how many I/Os of a closed loop were in flight on average, as rate and latency say, over
// how many iodepth and numjobs offer.
const LittlesLaw = "littles.law.ratio"

// FilesSynced is how many files filesync made durable: all of them, or none.
const FilesSynced = "filesync.synced"

// Hot ends the names of metrics, after read or write, of a workload that uses something again sooner than its files are large,
// or a part of a device: at least HotShare of its I/Os use what is among the last so many bytes that it used. A cache of
// that size serves them.
const (
	Hot      = ".hot.bytes"
	HotShare = 0.9
)

// InStep ends the names of metrics, after read or write, of clones that go through the same file or device in order and
// together: which share of their I/Os uses what another of them has just used.
const InStep = ".instep.share"

// FilesBytes is how large the files are that the workload, or a part of it, uses.
const FilesBytes = "files.bytes"

// PreReadBytes is what the workload read before it was measured, at most.
const PreReadBytes = "read.before.bytes"

// MaxEngineResult bounds an EngineResult in bytes. It is more than a trial's document may
// have, as the runner leaves out what is too much of it.
const MaxEngineResult = 4 * MaxTrial

// EngineResult is what the process of an engine hands to the runner, beside the raw
// output. The programs that an engine runs may write to that process, so it is no more
// trusted than what comes from a store.
type EngineResult struct {
	Schema string `json:"schema"`
	// Elapsed is how long the engine ran, OwnCPU the CPU time that its process used
	// meanwhile, without its children's, and EngineCPU the part of that which measured.
	Elapsed     time.Duration  `json:"elapsed"`
	OwnCPU      time.Duration  `json:"ownCPU"`
	EngineCPU   time.Duration  `json:"engineCPU"`
	Measurement *Measurement   `json:"measurement,omitempty"`
	Rates       []Rate         `json:"rates,omitempty"`
	Failure     *trial.Failure `json:"failure,omitempty"`
}

// Limits of what a measurement holds beside what checkMeasured looks at.
const (
	maxParts     = 4096
	maxArguments = 1024
	maxNotes     = 1024
	maxLine      = 64 << 10
)

// DecodeEngineResult reads what the process of an engine wrote. Its error is a
// *RejectedError.
func DecodeEngineResult(document []byte) (*EngineResult, error) {
	r := &EngineResult{}
	if err := Decode(document, EngineSchema, r); err != nil {
		return nil, err
	}
	if err := errors.Join(r.check(), r.Measurement.check()); err != nil {
		return nil, rejected("engine's result", "%v", err)
	}
	return r, nil
}

func (r *EngineResult) check() error {
	if r.Elapsed < 0 || r.OwnCPU < 0 || r.EngineCPU < 0 {
		return fmt.Errorf("its times are %s, %s and %s", r.Elapsed, r.OwnCPU, r.EngineCPU)
	}
	return errors.Join(checkRates(r.Rates), r.Failure.Bound())
}

func (m *Measurement) check() error {
	if m == nil {
		return nil
	}
	switch {
	case m.Raw != nil:
		return errors.New("it names an object of the store")
	case len(m.Command) > maxArguments:
		return fmt.Errorf("its command has %d arguments", len(m.Command))
	case len(m.Notes) > maxNotes:
		return fmt.Errorf("it has %d notes", len(m.Notes))
	}
	if err := errors.Join(checkParts(m.Parts), checkFileChoices(m.Files), m.Size.check()); err != nil {
		return err
	}
	lines := append(append([]string{m.Stderr}, m.Command...), m.Notes...)
	if d := m.DirectIO; d != nil {
		if !d.Effective.known() {
			return fmt.Errorf("its direct I/O is %.64q", d.Effective)
		}
		lines = append(lines, d.Evidence)
	}
	for _, line := range lines {
		if len(line) > maxLine {
			return fmt.Errorf("a text has %d bytes, and at most %d are read", len(line), maxLine)
		}
	}
	return checkMeasured(Measured, 0, nil, m.Metrics, m.Operations, m.Histograms)
}
