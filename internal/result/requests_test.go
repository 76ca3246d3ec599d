package result

import (
	"errors"
	"strings"
	"testing"
)

// observed is a trial of which the requests of two disks were observed.
func observed(i int, partsOnly bool) *Trial {
	p := plan()
	d := twoParts(p, i, partsOnly)
	d.Benchmark, d.Run, d.Worker = p.Benchmark, p.Run, p.Workers[0]
	group := func(wait, latency uint64) Requests {
		return Requests{RequestSum: RequestSum{Count: 1, Bytes: 4096}, Wait: latencies(wait)["read"], Latency: latencies(latency)["read"], Sizes: [][2]uint64{{4096, 1}}}
	}
	d.Devices = []DeviceRequests{
		{Name: "sda", Operations: map[string]Requests{"read": group(10, 1000), "flush": group(20, 2000)}, Random: 1, Distances: [][2]uint64{{512, 1}}, Origins: map[string]RequestSum{"own": {Count: 2}}},
		{Name: "sdb", Operations: map[string]Requests{"read": group(30, 3000)}},
	}
	return d
}

func TestHistogramsOfDisksAreFoldedWhateverTheParts(t *testing.T) {
	for name, partsOnly := range map[string]bool{"with their sum": false, "a mixture": true} {
		p := plan()
		s := NewWorkerSummary(p, p.Workers[0])
		for i := range 2 {
			s.Fold(observed(i, partsOnly), Object{})
		}
		pool := s.Workloads[0].Histograms
		for histogram, want := range map[string]uint64{"device.read": 4, "device.read.wait": 4, "device.flush": 2, "device.flush.wait": 2, "device.queue.wait": 6} {
			if got := pool[histogram]; got == nil || got.Count() != want {
				t.Errorf("%s: %s has %v, want %d values", name, histogram, got, want)
			}
		}
		if pool["device.write"] != nil {
			t.Errorf("%s: there is a histogram of no writes", name)
		}
		if _, err := DecodeWorkerSummary(encoded(t, s), ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestsOfDisksAreReadBack(t *testing.T) {
	d := observed(0, false)
	back, err := DecodeTrial(encoded(t, d), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Devices[0].Operations["flush"]; got.Bytes != 4096 || got.Latency.Percentile(50) != d.Devices[0].Operations["flush"].Latency.Percentile(50) {
		t.Errorf("the flushes are %+v", got)
	}
	for words, change := range map[string]func(d *Trial){
		"the limit is 64":       func(d *Trial) { d.Devices = make([]DeviceRequests, 65) },
		"invalid name":          func(d *Trial) { d.Devices[0].Name = "\x1b[1m" },
		`the operation "erase"`: func(d *Trial) { d.Devices[0].Operations["erase"] = Requests{} },
		"4097 sizes":            func(d *Trial) { d.Devices[0].Operations["read"] = Requests{Sizes: make([][2]uint64, 4097)} },
		"4097 distances":        func(d *Trial) { d.Devices[0].Distances = make([][2]uint64, 4097) },
		"17 origins":            func(d *Trial) { d.Devices[0].Origins = many(17) },
	} {
		d := observed(0, false)
		change(d)
		_, err := DecodeTrial(encoded(t, d), "")
		if _, ok := errors.AsType[*RejectedError](err); !ok || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got %v", words, err)
		}
	}
}

func many(n int) map[string]RequestSum {
	out := map[string]RequestSum{}
	for i := range n {
		out[strings.Repeat("x", i)] = RequestSum{}
	}
	return out
}

func TestATrialWithoutHistogramsOfItsDisksIsNoPanic(t *testing.T) {
	p := plan()
	d := observed(0, false)
	d.Devices[0].Operations["write"] = Requests{}
	s := NewWorkerSummary(p, p.Workers[0])
	s.Fold(d, Object{})
	if s.Workloads[0].Histograms["device.write"] != nil {
		t.Error("there is a histogram of nothing")
	}
}

func TestASampleIsSaidInWords(t *testing.T) {
	d := observed(0, false)
	if note := SampleNote(d.Devices); note != "" {
		t.Errorf("of all requests: %q", note)
	}
	sampled := uint64(25)
	d.Devices[0].Operations["read"] = Requests{RequestSum: RequestSum{Count: 198}, Sampled: &sampled}
	if note := SampleNote(d.Devices); !strings.HasPrefix(note, "14 % of the disks' requests") { // 25 of 198, and the two others
		t.Errorf("of a sample: %q", note)
	}
}
