package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Kept counts what a worker's summary takes while trials are folded into it. Each of their documents is
// bounded, but together they can be more than a summary may be.
type Kept struct {
	scan   scan
	trials int
	text   int
}

// NewKept returns the count of a summary without trials.
func NewKept() *Kept {
	return &Kept{scan: scan{fields: map[reflect.Type]map[string]reflect.Type{}}}
}

// What a bin of a histogram takes at least as text, [0,1], and in memory, as checkJSON counts it.
const (
	binText   = 6
	binMemory = 3 * opaqueElement
)

// Count counts the trials that were folded in since the last count, and all histograms. It returns an
// error if whoever reads the summary would reject it for its size.
func (k *Kept) Count(s *WorkerSummary) error {
	for ; k.trials < len(s.Trials); k.trials++ {
		document, err := Encode(s.Trials[k.trials])
		if err != nil {
			return err
		}
		k.text += len(document)
		if k.text > MaxWorkerSummary {
			break
		}
		k.scan.decoder = json.NewDecoder(bytes.NewReader(document))
		k.scan.decoder.UseNumber()
		err = k.scan.charge(growth * reflect.TypeFor[TrialSummary]().Size())
		if err == nil {
			err = k.scan.value(reflect.TypeFor[TrialSummary]())
		}
		if err != nil {
			return err
		}
	}
	bins := 0
	for _, pool := range s.Workloads {
		for _, h := range pool.Histograms {
			bins += h.Buckets()
		}
	}
	if k.text+binText*bins > MaxWorkerSummary {
		return fmt.Errorf("its trials together have more than the limit of %d bytes", MaxWorkerSummary)
	}
	if k.scan.memory+uint64(binMemory*bins) > maxMemory {
		return fmt.Errorf("decoded, its trials together would take more than %d MiB", maxMemory>>20)
	}
	return nil
}

// Encode returns a document as JSON that is for no web page: escaped for one, text can be six times as long.
func Encode(d any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("result: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
