package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// Limits in bytes of the objects that are read, by kind, whoever wrote them. A trial of
// 64 fio jobs with two operations each has about 5 MiB.
const (
	MaxPlan          = 1 << 20 // the limit of a ConfigMap
	MaxTrial         = 8 << 20
	MaxWorkerSummary = 16 << 20
	MaxRaw           = 32 << 20
	MaxSamples       = 4 << 20
	MaxRunSummary    = 32 << 20
	// MaxDocument is the largest of them.
	MaxDocument = 32 << 20
)

// MaxVerdicts is how many verdicts a trial has.
const MaxVerdicts = 256

// Limits of a document's content. maxMemory bounds the memory of the decoded document.
const (
	maxDepth      = 16
	maxValues     = 2_000_000
	maxText       = 1 << 20 // a job file is one text
	maxNumber     = 64
	maxTrials     = 10_000
	maxAttempts   = 1_000
	maxName       = 253
	maxMetrics    = 512 // of one trial
	maxOperations = 16
	maxHistograms = 2 * maxOperations // those of the disks are besides
	// maxTunables of one trial in a summary; its document has all, which can be some on each of
	// a hundred disks.
	maxTunables = 64
	// maxSentence is the length of a verdict's sentence, in bytes. Paths can be long.
	maxSentence = 8 << 10
	// maxEnvironment bounds an environment's JSON, because the operator keeps one for each
	// worker in memory.
	maxEnvironment = 64 << 10
)

// RejectedError says why a document was rejected: it is forged, too large or
// unreadable. Trying again does not help.
type RejectedError struct {
	// Kind of the document, like "worker summary".
	Kind   string
	Reason string
}

// Error names the kind and the reason.
func (e *RejectedError) Error() string { return "the " + e.Kind + " was rejected: " + e.Reason }

// Failure returns the failure of the worker whose document was rejected.
func (e *RejectedError) Failure() *trial.Failure {
	return &trial.Failure{
		Class: reason.ResultsRejected, Message: e.Error(),
		Remedy: "find out who else can write to the result store or to the worker's namespace, then change spec.runID to run again", Err: e,
	}
}

func rejected(kind, format string, args ...any) error {
	return &RejectedError{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

// kinds describes the documents by schema.
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
		return rejected(kind.name, "it has %d bytes, the limit is %d", len(document), kind.limit)
	}
	if err := checkJSON(document, reflect.TypeFor[D]()); err != nil {
		return rejected(kind.name, "%v", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return rejected(kind.name, "%v", err)
	}
	if head.Schema != schema {
		return rejected(kind.name, "its schema is %.64q, expected %q", head.Schema, schema)
	}
	if err := json.Unmarshal(document, d); err != nil {
		return rejected(kind.name, "%v", err)
	}
	return nil
}

// DecodeWorkerSummary reads a worker's summary. The document must have the digest
// from the worker's receipt; empty: any. It checks sizes only; CheckWorker tells
// whether the summary belongs to the worker. Its error is a *RejectedError.
func DecodeWorkerSummary(document []byte, digest string) (*WorkerSummary, error) {
	if got := trial.Digest(document); digest != "" && got != digest {
		return nil, rejected("worker summary", "its digest is %s, but the worker's receipt expects %.80s", got, digest)
	}
	s := &WorkerSummary{}
	if err := Decode(document, WorkerSchema, s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, rejected("worker summary", "%v", err)
	}
	s.Seal = "" // it was that of these bytes, not of what others make of them
	return s, nil
}

// DecodeTrial reads a trial's document; digest as in DecodeWorkerSummary. BelongsTo
// tells whether the document belongs to the run. Its error is a *RejectedError.
func DecodeTrial(document []byte, digest string) (*Trial, error) {
	if got := trial.Digest(document); digest != "" && got != digest {
		return nil, rejected("trial", "its digest is %s, expected %.80s", got, digest)
	}
	d := &Trial{}
	if err := Decode(document, TrialSchema, d); err != nil {
		return nil, err
	}
	err := errors.Join(
		checkMeasured(d.Outcome, d.Attempt, d.Failure, d.Metrics, d.Operations, d.Histograms),
		checkParts(d.Parts), checkVerdicts(d.Verdicts), checkDevices(d.Devices), d.Precondition.check(),
		checkNames(d.Trial.ID, d.Trial.Workload, d.Trial.Variant, d.Worker.Name, d.Worker.Node, d.Run),
	)
	if err != nil {
		return nil, rejected("trial", "%v", err)
	}
	d.Seal = ""
	return d, nil
}

func (s *WorkerSummary) check() error {
	switch {
	case s.Planned < 0 || s.Planned > maxTrials || len(s.Trials) > s.Planned:
		return fmt.Errorf("it reports %d of %d planned trials (limit %d)", len(s.Trials), s.Planned, maxTrials)
	case len(s.Attempts) > maxAttempts:
		return fmt.Errorf("it has %d attempts, the limit is %d", len(s.Attempts), maxAttempts)
	case len(s.Stopped) > maxTrials:
		return fmt.Errorf("it has %d stopped workloads, the limit is %d", len(s.Stopped), maxTrials)
	case len(s.Workloads) > maxTrials:
		return fmt.Errorf("it has %d workloads, the limit is %d", len(s.Workloads), maxTrials)
	}
	if err := checkNames(s.Run, s.Worker.Name, s.Worker.Node, s.Worker.Target, s.Benchmark.Name, s.Benchmark.Namespace, s.Benchmark.UID); err != nil {
		return err
	}
	seen := make(map[string]bool, len(s.Trials))
	for i := range s.Trials {
		t := &s.Trials[i]
		if seen[t.ID] {
			return fmt.Errorf("trial %.64q appears twice", t.ID)
		}
		seen[t.ID] = true
		if err := errors.Join(checkNames(t.ID, t.Workload, t.Variant), checkMeasured(t.Outcome, t.Attempt, t.Failure, t.Metrics, t.Operations, nil), checkPartSummaries(t.Parts), checkVerdicts(t.Verdicts), checkTunables(t.Tunables), t.Files.check(), t.Precondition.check()); err != nil {
			return fmt.Errorf("trial %.64q: %w", t.ID, err)
		}
	}
	for _, stopped := range s.Stopped {
		if known := []StopReason{StopHalfWidth, StopGates, StopFutile, StopKnee, StopBudget}; !slices.Contains(known, stopped.Reason) {
			return fmt.Errorf("a workload was stopped for %.64q, expected one of %v", stopped.Reason, known)
		}
		if err := checkNames(stopped.Workload, stopped.Variant); err != nil {
			return err
		}
	}
	if err := s.checkParts(); err != nil {
		return err
	}
	pools := map[cellPart]bool{}
	for _, w := range s.Workloads {
		if pools[cellPart{w.Cell, w.Part}] {
			return fmt.Errorf("part %.64q of workload %.64q with variant %.64q appears twice", w.Part, w.Workload, w.Variant)
		}
		pools[cellPart{w.Cell, w.Part}] = true
		if err := errors.Join(checkNames(w.Workload, w.Variant, w.Part), checkHistograms(w.Histograms)); err != nil {
			return fmt.Errorf("workload %.64q: %w", w.Workload, err)
		}
	}
	for _, a := range s.Attempts {
		if err := checkNames(a.Host); err != nil {
			return err
		}
	}
	b, err := json.Marshal(s.Environment)
	if err != nil {
		return fmt.Errorf("its environment: %w", err)
	}
	if len(b) > maxEnvironment {
		return fmt.Errorf("its environment has %d bytes, the limit is %d", len(b), maxEnvironment)
	}
	return s.Failure.Bound()
}

var operationPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/ +-]{0,63}$`)

func checkMeasured(o Outcome, attempt int, f *trial.Failure, m Metrics, operations []string, h Histograms) error {
	switch {
	case o != Measured && o != Failed:
		return fmt.Errorf("its outcome is %.64q, expected %s or %s", o, Measured, Failed)
	case attempt < 0:
		return fmt.Errorf("its attempt is %d, which is negative", attempt)
	case len(m) > maxMetrics:
		return fmt.Errorf("it has %d metrics, the limit is %d", len(m), maxMetrics)
	case len(operations) > maxOperations:
		return fmt.Errorf("it has %d operations, the limit is %d", len(operations), maxOperations)
	}
	for name, metric := range m {
		if len(name) > maxName || len(metric.Unit) > 32 {
			return fmt.Errorf("the name or unit of metric %.64q is too long", name)
		}
	}
	for _, name := range operations {
		if !operationPattern.MatchString(name) {
			return fmt.Errorf("an operation has the invalid name %.64q: up to 64 letters, digits, spaces and ._:/+- are allowed", name)
		}
	}
	return errors.Join(checkHistograms(h), f.Bound())
}

// printable reports whether a text is one line that steers no terminal.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) })
}

// checkVerdicts bounds what a tenant can upload as verdicts.
func checkVerdicts(verdicts []Verdict) error {
	if len(verdicts) > MaxVerdicts {
		return fmt.Errorf("it has %d verdicts, the limit is %d", len(verdicts), MaxVerdicts)
	}
	for _, v := range verdicts {
		switch {
		case v.Effect != Invalidates && v.Effect != Qualifies:
			return fmt.Errorf("the effect of a verdict is %.64q, expected %s or %s", v.Effect, Invalidates, Qualifies)
		case !operationPattern.MatchString(v.Name) || v.Operation != "" && !operationPattern.MatchString(v.Operation):
			return fmt.Errorf("a verdict has the invalid name %.64q or operation %.64q", v.Name, v.Operation)
		case len(v.Sentence) > maxSentence || len(v.Settle) > maxSentence:
			return fmt.Errorf("a sentence of verdict %.64q has more than %d bytes", v.Name, maxSentence)
		case !printable(v.Sentence) || !printable(v.Settle):
			return fmt.Errorf("a sentence of verdict %.64q has characters that cannot be printed", v.Name)
		case len(v.Parts) > MaxRowParts+1 || slices.ContainsFunc(v.Parts, func(p string) bool { return p != "" && !partPattern.MatchString(p) }):
			return fmt.Errorf("verdict %.64q names too many parts, or one that no part can have", v.Name)
		case len(v.Evidence) > maxOperations:
			return fmt.Errorf("verdict %.64q has %d numbers of evidence, the limit is %d", v.Name, len(v.Evidence), maxOperations)
		}
		for name, metric := range v.Evidence {
			if len(name) > maxName || len(metric.Unit) > 32 {
				return fmt.Errorf("the name or unit of an evidence of verdict %.64q is too long", v.Name)
			}
		}
	}
	return nil
}

// checkTunables bounds what a tenant can upload as settings.
func checkTunables(tunables []Tunable) error {
	if len(tunables) > maxTunables {
		return fmt.Errorf("it has %d tunables, the limit is %d", len(tunables), maxTunables)
	}
	for _, t := range tunables {
		for _, text := range []string{t.Name, t.On, t.Asked, t.Before, t.During, t.Restoring} {
			if len(text) > maxSentence {
				return fmt.Errorf("a text of tunable %.64q has %d bytes, the limit is %d", t.Name, len(text), maxSentence)
			}
		}
	}
	return nil
}

func checkHistograms(h Histograms) error {
	if len(h) > maxHistograms {
		return fmt.Errorf("it has %d histograms, the limit is %d", len(h), maxHistograms)
	}
	for name := range h {
		if !operationPattern.MatchString(name) {
			return fmt.Errorf("an operation has the invalid name %.64q: up to 64 letters, digits, spaces and ._:/+- are allowed", name)
		}
	}
	return nil
}

func checkNames(names ...string) error {
	for _, n := range names {
		if len(n) > maxName {
			return fmt.Errorf("one of its names has %d bytes, the limit is %d", len(n), maxName)
		}
	}
	return nil
}

// CheckWorker returns a *RejectedError unless the summary is from this worker of the
// plan's run and contains only trials and workloads of the plan.
func (s *WorkerSummary) CheckWorker(p *trial.Plan, worker trial.Worker) error {
	if s.Benchmark != p.Benchmark || s.Run != p.Run || s.Worker != worker || s.Planned != len(p.Trials) {
		return rejected("worker summary", "it is not from worker %s of this run", worker.Name)
	}
	planned := make(map[trial.Trial]bool, len(p.Trials))
	for _, t := range p.Trials {
		planned[t] = true
	}
	for _, t := range s.Trials {
		if !planned[t.Trial.Planned()] {
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
