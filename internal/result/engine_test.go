package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/trial"
)

func engineResult() *EngineResult {
	h := &histogram.Histogram{}
	h.Add(1000, 3)
	return &EngineResult{
		Schema: EngineSchema, Elapsed: 30e9, OwnCPU: 2e6, EngineCPU: 1e6,
		Measurement: &Measurement{
			Metrics: Metrics{"read.iops": {Unit: PerSecond, Value: 0.1}}, Histograms: Histograms{"read": h}, Operations: []string{"read"},
			Parts:    []Part{{Name: "job", Metrics: Metrics{"read.iops": {Unit: PerSecond, Value: 1}}}},
			DirectIO: &DirectIO{Requested: true, Effective: Direct, Evidence: "seen"},
			Command:  []string{"fio"}, Input: "[job]", Stderr: "warning", Notes: []string{"note"},
		},
		Failure: &trial.Failure{Class: reason.NoSpace, Message: "full"},
	}
}

func TestAnEnginesResultIsReadAsItWasWritten(t *testing.T) {
	want := engineResult()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeEngineResult(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(b), string(again)); diff != "" {
		t.Error(diff)
	}
}

func TestAnEnginesResultThatIsNotOneIsRejected(t *testing.T) {
	for what, spoil := range map[string]func(*EngineResult){
		"another schema":         func(r *EngineResult) { r.Schema = TrialSchema },
		"negative time":          func(r *EngineResult) { r.Elapsed = -1 },
		"negative CPU time":      func(r *EngineResult) { r.OwnCPU = -1 },
		"an object of the store": func(r *EngineResult) { r.Measurement.Raw = &Object{Key: "somebody's"} },
		"a class that is none":   func(r *EngineResult) { r.Failure.Class = "x y" },
		"an operation that is none": func(r *EngineResult) {
			r.Measurement.Operations = []string{"\x1b[2J"}
		},
		"a histogram that is none": func(r *EngineResult) {
			r.Measurement.Histograms[strings.Repeat("x", 65)] = &histogram.Histogram{}
		},
		"a unit that is none":       func(r *EngineResult) { r.Measurement.Metrics["x"] = Metric{Unit: strings.Repeat("x", 33)} },
		"a part of too long a name": func(r *EngineResult) { r.Measurement.Parts[0].Name = strings.Repeat("x", 254) },
		"parts of one name": func(r *EngineResult) {
			r.Measurement.Parts = []Part{{Name: "a", Operations: []string{"read"}}, {Name: "a", Operations: []string{"read"}}}
		},
		"a part that controls the terminal": func(r *EngineResult) {
			r.Measurement.Parts = []Part{{Name: "\x1b[2J", Operations: []string{"read"}}}
		},
		"too many rows": func(r *EngineResult) {
			r.Measurement.Parts = nil
			for i := range MaxRowParts + 1 {
				r.Measurement.Parts = append(r.Measurement.Parts, Part{Name: fmt.Sprint(i), Operations: []string{"read"}})
			}
		},
		"too many parts":        func(r *EngineResult) { r.Measurement.Parts = make([]Part, maxParts+1) },
		"too many arguments":    func(r *EngineResult) { r.Measurement.Command = make([]string, maxArguments+1) },
		"too many notes":        func(r *EngineResult) { r.Measurement.Notes = make([]string, maxNotes+1) },
		"too long a note":       func(r *EngineResult) { r.Measurement.Notes[0] = strings.Repeat("x", maxLine+1) },
		"too much on stderr":    func(r *EngineResult) { r.Measurement.Stderr = strings.Repeat("x", maxLine+1) },
		"too large an input":    func(r *EngineResult) { r.Measurement.Input = strings.Repeat("x", maxText+1) },
		"direct I/O of no kind": func(r *EngineResult) { r.Measurement.DirectIO.Effective = "Perhaps" },
	} {
		r := engineResult()
		spoil(r)
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeEngineResult(b); !isRejected(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, document := range map[string]string{
		"nothing": "", "no JSON": "{", "two documents": `{"schema":"` + EngineSchema + `"}{}`,
		"too large": `{"schema":"` + EngineSchema + `","x":"` + strings.Repeat("x", MaxEngineResult) + `"}`,
		"too deep":  strings.Repeat("[", 64) + strings.Repeat("]", 64),
	} {
		if _, err := DecodeEngineResult([]byte(document)); !isRejected(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func isRejected(err error) bool {
	_, ok := errors.AsType[*RejectedError](err)
	return ok
}
