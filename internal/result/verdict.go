package result

import "slices"

// Effect is what a verdict means for a number.
type Effect string

// Effects of a verdict. A number that is invalidated says nothing about the storage that was
// to be measured; one that is qualified does, with a reservation.
const (
	Invalidates Effect = "Invalidates"
	Qualifies   Effect = "Qualifies"
)

// Verdict is a judgement on what a trial measured: what the number is worth, and why.
type Verdict struct {
	// Name is one of those in docs/reference/verdicts.md, such as FromMemory.
	Name   string `json:"name"`
	Effect Effect `json:"effect"`
	// Operation that it is about, such as read; empty: the whole trial.
	Operation string `json:"operation,omitempty"`
	// Parts are the rows that it is about, by the names of the trial's parts, with "" for the row of the whole trial; empty:
	// all of them. A row's own verdicts do not name it.
	Parts []string `json:"parts,omitempty"`
	// Sentence says what was found, in one plain sentence.
	Sentence string `json:"sentence"`
	// Evidence is what was read and computed, in numbers.
	Evidence Metrics `json:"evidence,omitempty"`
	// Settle says what would settle the matter, or how to measure what was meant.
	Settle string `json:"settle,omitempty"`
}

// About reports whether the verdict is about an operation.
func (v Verdict) About(operation string) bool { return v.Operation == "" || v.Operation == operation }

// OnRow reports whether the verdict is about the row of a part of its trial, or, of "", of the whole.
func (v Verdict) OnRow(part string) bool { return len(v.Parts) == 0 || slices.Contains(v.Parts, part) }

// RowVerdict is a verdict on a row: on those of its trials that have it.
type RowVerdict struct {
	Verdict
	// Trials is how many of the row's trials have the verdict. Sentence and Evidence are
	// those of the first of them.
	Trials int `json:"trials"`
}
