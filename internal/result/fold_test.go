package result

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/trial"
)

func latencies(ns ...uint64) Histograms {
	h := &histogram.Histogram{}
	for _, v := range ns {
		h.Add(v, 1)
	}
	return Histograms{"read": h}
}

// twoParts is a trial with two parts that are rows, and one that is not.
func twoParts(p *trial.Plan, i int, partsOnly bool) *Trial {
	return &Trial{Schema: TrialSchema, Trial: p.Trials[i], Outcome: Measured, Measurement: Measurement{
		Metrics:    Metrics{"read.iops": {Unit: PerSecond, Value: 3}, "read.latency.p50": {Unit: Seconds, Value: 1}, "cpu.user": {Unit: Ratio, Value: 1}, "device.read.bytes": {Unit: Bytes, Value: 1}},
		Histograms: latencies(1000, 2000), Operations: []string{"read"}, PartsOnly: partsOnly,
		Parts: []Part{
			{Name: "a", Operations: []string{"read"}, Histograms: latencies(1000), Metrics: Metrics{
				"read.iops": {Unit: PerSecond, Value: 1}, "read.latency.p50": {Unit: Seconds, Value: 1}, "read.completion.p50": {Unit: Seconds, Value: 1}, "read.submission.p50": {Unit: Seconds, Value: 1},
			}},
			{Name: "b", Operations: []string{"read"}, Histograms: latencies(2000), Metrics: Metrics{"read.completion.p50": {Unit: Seconds, Value: 1}}},
			{Name: "c", Metrics: Metrics{"read.iops": {Unit: PerSecond, Value: 1}}},
		},
	}}
}

func names(m Metrics) map[string]bool {
	out := map[string]bool{}
	for name := range m {
		out[name] = true
	}
	return out
}

func TestPartsThatAreRowsAreFolded(t *testing.T) {
	for name, partsOnly := range map[string]bool{"with their sum": false, "a mixture": true} {
		t.Run(name, func(t *testing.T) {
			p := plan()
			s := NewWorkerSummary(p, p.Workers[0])
			for i := range 2 {
				s.Fold(twoParts(p, i, partsOnly), Object{})
			}
			wantWhole := map[string]bool{"cpu.user": true, "device.read.bytes": true}
			counts := map[string]uint64{"": 0, "a": 2, "b": 2}
			if !partsOnly {
				wantWhole["read.iops"], wantWhole["read.latency.p50"] = true, true
				counts[""] = 4
			}
			whole, _ := s.Trials[1].OfPart("")
			if diff := cmp.Diff(wantWhole, names(whole.Metrics)); diff != "" || (len(whole.Operations) == 0) != partsOnly {
				t.Errorf("the whole has the operations %v and\n%s", whole.Operations, diff)
			}
			a, _ := s.Trials[1].OfPart("a")
			if diff := cmp.Diff(map[string]bool{"read.iops": true, "read.latency.p50": true}, names(a.Metrics)); diff != "" {
				t.Error(diff)
			}
			b, _ := s.Trials[1].OfPart("b")
			if diff := cmp.Diff(map[string]bool{"read.completion.p50": true}, names(b.Metrics)); diff != "" {
				t.Error(diff)
			}
			if _, ok := s.Trials[1].OfPart("c"); ok {
				t.Error("a part without operations is a row")
			}
			got := map[string]uint64{}
			for _, w := range s.Workloads {
				got[w.Part] = 0
				for _, h := range w.Histograms {
					got[w.Part] += h.Count()
				}
			}
			if diff := cmp.Diff(counts, got); diff != "" {
				t.Error(diff)
			}
			document := encoded(t, s)
			back, err := DecodeWorkerSummary(document, trial.Digest(document))
			if err == nil {
				err = back.CheckWorker(p, p.Workers[0])
			}
			if err != nil || len(back.Trials[1].Parts) != 2 {
				t.Errorf("read back: %v", err)
			}
		})
	}
}

func TestPartsOfAStoredTrialAreChecked(t *testing.T) {
	p := plan()
	for name, c := range map[string]struct {
		change func(*Trial)
		ok     bool
	}{
		"as it is":            {func(*Trial) {}, true},
		"of an older version": {func(d *Trial) { d.Parts[0].Operations, d.Parts[1].Operations = nil, nil }, true},
		"of one name":         {func(d *Trial) { d.Parts[1].Name = "a" }, false},
		"of no name":          {func(d *Trial) { d.Parts[1].Name = "" }, false},
		"many metrics": {func(d *Trial) {
			for i := range maxMetrics + 1 {
				d.Parts[0].Metrics[string(rune('A'+i))] = Metric{}
			}
		}, false},
	} {
		d := twoParts(p, 0, true)
		c.change(d)
		if _, err := DecodeTrial(encoded(t, d), ""); (err == nil) != c.ok || err != nil && !isRejected(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A trial can set more than a summary has room for, and the words of a tool that failed are long.
func TestFoldKeepsTheFirstTunablesAndBoundsTheirTexts(t *testing.T) {
	p, s := measured(t)
	d := &Trial{Trial: p.Trials[0], Outcome: Measured, StartedAt: time.Unix(10, 0).UTC(), EndedAt: time.Unix(20, 0).UTC()}
	for range maxTunables + 5 {
		d.Tunables = append(d.Tunables, Tunable{Name: "block.queue.nr_requests", Restoring: strings.Repeat("é", maxSentence)})
	}
	s.Trials = nil
	s.Fold(d, Object{})
	got := s.Trials[0]
	if len(got.Tunables) != maxTunables || !got.StartedAt.Equal(d.StartedAt) || !got.EndedAt.Equal(d.EndedAt) {
		t.Errorf("%d tunables, %s to %s", len(got.Tunables), got.StartedAt, got.EndedAt)
	}
	if err := checkTunables(got.Tunables); err != nil {
		t.Error(err)
	}
	if len(d.Tunables[0].Restoring) != 2*maxSentence {
		t.Error("the trial's own document was changed")
	}
}
