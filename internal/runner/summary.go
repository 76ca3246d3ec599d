package runner

import (
	"encoding/json"
	"errors"
	"fmt"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// encode returns a document's JSON, indented if that has fewer than limit bytes. A document
// that is too large without indentation is errTooLarge, because nobody would read it.
func encode(document any, limit int) ([]byte, error) {
	limit -= result.SealBytes
	b, err := json.MarshalIndent(document, "", " ")
	if err == nil && len(b) >= limit {
		b, err = json.Marshal(document)
	}
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	if len(b) >= limit {
		return nil, fmt.Errorf("runner: %w: it has %d bytes, the limit is %d", errTooLarge, len(b), limit)
	}
	return append(b, '\n'), nil
}

var errTooLarge = errors.New("the document is too large")

// encodeTrial returns a trial's document. If it is too large, it leaves out the histograms of
// the parts; those of the whole trial stay. If it is still too large, the trial fails, and
// the document says only that.
func encodeTrial(d *result.Trial) ([]byte, error) {
	b, err := encode(d, result.MaxTrial)
	if errors.Is(err, errTooLarge) && len(d.Parts) > 0 {
		for i := range d.Parts {
			d.Parts[i].Histograms = nil
		}
		d.Notes = append(d.Notes, "the histograms of the parts are left out because the document would be too large")
		b, err = encode(d, result.MaxTrial)
	}
	if !errors.Is(err, errTooLarge) {
		return b, err
	}
	d.Measurement = result.Measurement{Raw: d.Raw}
	d.Outcome, d.Failure = result.Failed, &trial.Failure{
		Class: reason.LimitExceeded, Field: "spec.workloads[" + d.Trial.Workload + "]." + d.Engine, Workload: d.Trial.Workload, Err: err,
		Message: fmt.Sprintf("%s measured more than a result may hold: %v", d.Engine, err),
		Remedy:  "split the workload: use fewer jobs, clones or sizes in each",
	}
	return encode(d, result.MaxTrial)
}
