package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// Limits in bytes of what is read of an object, by its kind, whoever wrote it. A trial of
// 64 jobs of fio with two operations each has some 5 MiB.
const (
	MaxPlan          = 1 << 20 // what a ConfigMap holds
	MaxTrial         = 8 << 20
	MaxWorkerSummary = 16 << 20
	MaxRaw           = 32 << 20
	MaxRunSummary    = 32 << 20
	// MaxDocument is the largest of them.
	MaxDocument = 32 << 20
)

// Limits of what a document holds. They bound the memory that it takes when it is
// decoded: some 50 bytes for each value, beside the text.
const (
	maxDepth      = 16
	maxValues     = 2_000_000
	maxText       = 1 << 20 // a job file is stored whole
	maxNumber     = 64
	maxTrials     = 10_000
	maxAttempts   = 1_000
	maxName       = 253
	maxMetrics    = 512 // of one trial
	maxOperations = 16
	// maxEnvironment bounds an environment's JSON: the operator keeps one for each worker.
	maxEnvironment = 64 << 10
)

// RejectedError says why a document is not taken for what it should be: it is forged,
// too large or unreadable. Trying again does not help.
type RejectedError struct {
	// Kind of the document, like "worker summary".
	Kind   string
	Reason string
}

// Error names the kind and the reason.
func (e *RejectedError) Error() string { return "the " + e.Kind + " was rejected: " + e.Reason }

// Failure is what a rejected document comes to for its worker.
func (e *RejectedError) Failure() *trial.Failure {
	return &trial.Failure{
		Class: reason.ResultsRejected, Message: e.Error(),
		Remedy: "see who else can write the worker's objects, then change spec.runID to run again", Err: e,
	}
}

func rejected(kind, format string, args ...any) error {
	return &RejectedError{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

// kinds are the documents by their schema.
var kinds = map[string]struct {
	name  string
	limit int
}{
	TrialSchema:   {"trial", MaxTrial},
	WorkerSchema:  {"worker summary", MaxWorkerSummary},
	SummarySchema: {"run summary", MaxRunSummary},
	EngineSchema:  {"engine's result", MaxEngineResult},
}

// Decode reads a document of the given schema into d. Its error is a *RejectedError.
func Decode[D any](document []byte, schema string, d *D) error {
	kind := kinds[schema]
	if len(document) > kind.limit {
		return rejected(kind.name, "it has %d bytes, and at most %d are read", len(document), kind.limit)
	}
	if err := checkJSON(document); err != nil {
		return rejected(kind.name, "%v", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return rejected(kind.name, "%v", err)
	}
	if head.Schema != schema {
		return rejected(kind.name, "its schema is %.64q, wanted %q", head.Schema, schema)
	}
	if err := json.Unmarshal(document, d); err != nil {
		return rejected(kind.name, "%v", err)
	}
	return nil
}

// DecodeWorkerSummary reads a worker's summary, which must have the digest that the
// worker's receipt names; empty: any. What it holds is bounded; whose it is,
// CheckWorker tells. Its error is a *RejectedError.
func DecodeWorkerSummary(document []byte, digest string) (*WorkerSummary, error) {
	if got := trial.Digest(document); digest != "" && got != digest {
		return nil, rejected("worker summary", "its digest is %s, but the worker's receipt names %.80s", got, digest)
	}
	s := &WorkerSummary{}
	if err := Decode(document, WorkerSchema, s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, rejected("worker summary", "%v", err)
	}
	return s, nil
}

// DecodeTrial reads a trial's document; digest as in DecodeWorkerSummary. Whose it is,
// BelongsTo tells. Its error is a *RejectedError.
func DecodeTrial(document []byte, digest string) (*Trial, error) {
	if got := trial.Digest(document); digest != "" && got != digest {
		return nil, rejected("trial", "its digest is %s, wanted %.80s", got, digest)
	}
	d := &Trial{}
	if err := Decode(document, TrialSchema, d); err != nil {
		return nil, err
	}
	err := errors.Join(
		checkMeasured(d.Outcome, d.Attempt, d.Failure, d.Metrics, d.Operations, d.Histograms),
		checkNames(d.Trial.ID, d.Trial.Workload, d.Trial.Variant, d.Worker.Name, d.Worker.Node, d.Run),
	)
	if err != nil {
		return nil, rejected("trial", "%v", err)
	}
	return d, nil
}

var errCut = errors.New("unexpected end of the JSON")

// checkJSON goes through a document token by token, so that its size in memory is known
// to be bounded before it is decoded.
func checkJSON(document []byte) error {
	if !utf8.Valid(document) {
		return errors.New("it is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	depth, values := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			if depth != 0 || values == 0 {
				return errCut
			}
			return nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errCut
		}
		if err != nil {
			return err
		}
		if values++; values > maxValues {
			return fmt.Errorf("it holds more than %d values", maxValues)
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if len(v) > maxText {
				return fmt.Errorf("a text has %d bytes, and at most %d are read", len(v), maxText)
			}
		case json.Number:
			if len(v) > maxNumber {
				return fmt.Errorf("a number has %d digits", len(v))
			}
		}
		if depth > maxDepth {
			return fmt.Errorf("it is nested deeper than %d", maxDepth)
		}
		if depth == 0 && decoder.More() {
			return errors.New("there is something behind its end")
		}
	}
}

func (s *WorkerSummary) check() error {
	switch {
	case s.Planned < 0 || s.Planned > maxTrials || len(s.Trials) > s.Planned:
		return fmt.Errorf("it holds %d trials of %d", len(s.Trials), s.Planned)
	case len(s.Attempts) > maxAttempts:
		return fmt.Errorf("it holds %d attempts", len(s.Attempts))
	case len(s.Workloads) > maxTrials:
		return fmt.Errorf("it holds %d workloads", len(s.Workloads))
	}
	if err := checkNames(s.Run, s.Worker.Name, s.Worker.Node, s.Worker.Target, s.Benchmark.Name, s.Benchmark.Namespace, s.Benchmark.UID); err != nil {
		return err
	}
	seen := make(map[string]bool, len(s.Trials))
	for i := range s.Trials {
		t := &s.Trials[i]
		if seen[t.ID] {
			return fmt.Errorf("trial %.64q is there twice", t.ID)
		}
		seen[t.ID] = true
		if err := errors.Join(checkNames(t.ID, t.Workload, t.Variant), checkMeasured(t.Outcome, t.Attempt, t.Failure, t.Metrics, t.Operations, nil)); err != nil {
			return fmt.Errorf("trial %.64q: %w", t.ID, err)
		}
	}
	pools := map[trial.Cell]bool{}
	for _, w := range s.Workloads {
		if pools[w.Cell] {
			return fmt.Errorf("workload %.64q is there twice", w.Workload)
		}
		pools[w.Cell] = true
		if err := errors.Join(checkNames(w.Workload, w.Variant), checkHistograms(w.Histograms)); err != nil {
			return fmt.Errorf("workload %.64q: %w", w.Workload, err)
		}
	}
	for _, a := range s.Attempts {
		if err := checkNames(a.Host); err != nil {
			return err
		}
	}
	if b, err := json.Marshal(s.Environment); err != nil || len(b) > maxEnvironment {
		return fmt.Errorf("its environment has %d bytes, and at most %d are read (%w)", len(b), maxEnvironment, err)
	}
	return s.Failure.Bound()
}

var operationPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/ +-]{0,63}$`)

func checkMeasured(o Outcome, attempt int, f *trial.Failure, m Metrics, operations []string, h Histograms) error {
	switch {
	case o != Measured && o != Failed:
		return fmt.Errorf("its outcome is %.64q", o)
	case attempt < 0:
		return fmt.Errorf("its attempt is %d", attempt)
	case len(m) > maxMetrics:
		return fmt.Errorf("it has %d metrics", len(m))
	case len(operations) > maxOperations:
		return fmt.Errorf("it has %d operations", len(operations))
	}
	for name, metric := range m {
		if len(name) > maxName || len(metric.Unit) > 32 {
			return fmt.Errorf("the metric %.64q is not one of ours", name)
		}
	}
	for _, name := range operations {
		if !operationPattern.MatchString(name) {
			return fmt.Errorf("the operation %.64q is not one of ours", name)
		}
	}
	return errors.Join(checkHistograms(h), f.Bound())
}

func checkHistograms(h Histograms) error {
	if len(h) > maxOperations {
		return fmt.Errorf("it has %d histograms", len(h))
	}
	for name := range h {
		if !operationPattern.MatchString(name) {
			return fmt.Errorf("the operation %.64q is not one of ours", name)
		}
	}
	return nil
}

func checkNames(names ...string) error {
	for _, n := range names {
		if len(n) > maxName {
			return fmt.Errorf("a name has %d bytes", len(n))
		}
	}
	return nil
}

// CheckWorker reports whether the summary is that of the worker of the plan's run, with
// nothing in it but trials and workloads of the plan. Its error is a *RejectedError.
func (s *WorkerSummary) CheckWorker(p *trial.Plan, worker trial.Worker) error {
	if s.Benchmark != p.Benchmark || s.Run != p.Run || s.Worker != worker || s.Planned != len(p.Trials) {
		return rejected("worker summary", "it is not that of worker %s of this run", worker.Name)
	}
	planned := make(map[trial.Trial]bool, len(p.Trials))
	for _, t := range p.Trials {
		planned[t] = true
	}
	for _, t := range s.Trials {
		if !planned[t.Trial] {
			return rejected("worker summary", "trial %.64q is not in the plan", t.ID)
		}
	}
	cells := map[trial.Cell]bool{}
	for _, c := range p.Cells() {
		cells[c] = true
	}
	for _, w := range s.Workloads {
		if !cells[w.Cell] {
			return rejected("worker summary", "workload %.64q with variant %.64q is not in the plan", w.Workload, w.Variant)
		}
	}
	return nil
}
