package runner

import (
	"encoding/json"
	"fmt"

	"storagebench.io/storagebench/internal/result"
)

// encode writes a document for people and programs: indented, unless it has more than
// limit bytes then. One that has more anyway is an error, as nobody would read it.
func encode(document any, limit int) ([]byte, error) {
	b, err := json.MarshalIndent(document, "", " ")
	if err == nil && len(b) >= limit {
		b, err = json.Marshal(document)
	}
	if err != nil {
		return nil, fmt.Errorf("runner: %w", err)
	}
	if len(b) >= limit {
		return nil, fmt.Errorf("runner: the document has %d bytes, and at most %d are read of it", len(b), limit)
	}
	return append(b, '\n'), nil
}

// encodeTrial writes a trial's document. If it is too large, the histograms of its parts
// are left out: those of the trial as a whole are there.
func encodeTrial(d *result.Trial) ([]byte, error) {
	b, err := encode(d, result.MaxTrial)
	if err == nil || len(d.Parts) == 0 {
		return b, err
	}
	for i := range d.Parts {
		d.Parts[i].Histograms = nil
	}
	d.Notes = append(d.Notes, "the histograms of the parts were left out, as the document would have been too large")
	return encode(d, result.MaxTrial)
}
