package fio

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// clone is json+ output of one clone, cut to what is read.
func clone(name string, group int, ios, runtime int, bins string) string {
	return `{"jobname":"` + name + `","groupid":` + itoa(group) + `,"error":0,"job_runtime":` + itoa(runtime) + `,"usr_cpu":10,"sys_cpu":20,
	"read":{"io_bytes":` + itoa(ios*4096) + `,"total_ios":` + itoa(ios) + `,"runtime":` + itoa(runtime) + `,
	"slat_ns":{"max":500,"mean":250,"N":` + itoa(ios) + `,"bins":{"250":` + itoa(ios) + `}},
	"clat_ns":{"max":1500,"mean":750,"N":` + itoa(ios) + `,"bins":{"750":` + itoa(ios) + `}},
	"lat_ns":{"max":2000,"mean":1000,"N":` + itoa(ios) + `,"bins":{` + bins + `}}}}`
}

func itoa(n int) string { return strconv.Itoa(n) }

func parsed(t *testing.T, clones ...string) *document {
	t.Helper()
	d, _, err := parseOutput([]byte(`{"fio version":"fio-3.33","jobs":[` + strings.Join(clones, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRatesOfClonesAddAndRatesOfGroupsDoNot(t *testing.T) {
	d := parsed(t,
		clone("b", 1, 6000, 2000, `"1000":6000`), // printed out of order
		clone("a", 0, 1000, 1000, `"1000":1000`),
		clone("a", 0, 3000, 1000, `"4000":3000`),
	)
	m := fold(d, []job{{name: "a"}, {name: "b"}})
	if len(m.Parts) != 2 || m.Parts[0].Name != "a" || m.Parts[1].Name != "b" {
		t.Fatalf("parts are %+v", m.Parts)
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"two clones at once":          {m.Parts[0].Metrics["read.iops"].Value, 4000},
		"the other job":               {m.Parts[1].Metrics["read.iops"].Value, 3000},
		"both, one after the other":   {m.Metrics["read.iops"].Value, 10000.0 / 3},
		"bandwidth":                   {m.Metrics["read.bandwidth"].Value, 10000.0 / 3 * 4096},
		"I/Os":                        {m.Metrics["read.ios"].Value, 10000},
		"median of merged histograms": {m.Parts[0].Metrics["read.latency.p50"].Value, 4.0e-6},
		"CPU of two clones":           {m.Parts[0].Metrics["cpu.user"].Value, 0.2},
		"CPU over all the time":       {m.Metrics["cpu.system"].Value, (0.2*2*1 + 0.2*2) / 3},
	} {
		if math.Abs(c.got-c.want) > math.Abs(c.want)/128 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if _, ok := m.Metrics["write.iops"]; ok {
		t.Error("an operation that was not done has a metric")
	}
	if !strings.Contains(m.Notes[0], "2 groups") {
		t.Errorf("notes: %q", m.Notes)
	}
}

func TestLatencyIsWhatTheCallerWaitsAndItsPartsAreApart(t *testing.T) {
	m := fold(parsed(t, clone("a", 0, 1000, 1, `"1000":990,"2000":10`)), []job{{name: "a"}})
	for name, want := range map[string]float64{
		"read.latency.mean": 1000, "read.latency.p99.9": 2000, "read.completion.mean": 750, "read.completion.max": 1500,
		"read.completion.p99": 750, "read.submission.mean": 250, "read.submission.p50": 250,
	} {
		if got := m.Metrics[name].Value * 1e9; math.Abs(got-want) > want/128 {
			t.Errorf("%s = %v ns, want %v", name, got, want)
		}
	}
	// The parts have no histograms: three of each operation would fill a document.
	if len(m.Histograms) != 1 || m.Histograms["read"].Percentile(100) < 1900 {
		t.Errorf("histograms: %v", m.Histograms)
	}
}

func TestSubmissionWithoutTotalLatencyIsArbitraryAndLeftOut(t *testing.T) {
	d := parsed(t, `{"jobname":"a","groupid":0,"job_runtime":1000,"read":{"io_bytes":40960,"total_ios":10,"runtime":1000,
	"slat_ns":{"max":4e9,"mean":3.5e9,"N":10},"clat_ns":{"max":2000,"mean":1000,"N":10,"bins":{"1000":10}},"lat_ns":{"max":0,"mean":0,"N":0}}}`)
	m := fold(d, []job{{name: "a"}})
	for _, absent := range []string{"read.submission.mean", "read.latency.mean", result.LittlesLaw} {
		if v, ok := m.Metrics[absent]; ok {
			t.Errorf("%s is %v", absent, v)
		}
	}
	if m.Histograms["read.completion"].Count() != 10 || m.Histograms["read"] != nil {
		t.Errorf("histograms: %v", m.Histograms)
	}
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "read.completion") {
		t.Errorf("notes: %q", m.Notes)
	}
}

func TestLatenciesThatWereNotMeasuredAreAbsent(t *testing.T) {
	d := parsed(t, `{"jobname":"a","groupid":0,"read":{"io_bytes":4096,"total_ios":1,"runtime":1000,"clat_ns":{"max":0,"mean":0.0,"N":0}}}`)
	m := fold(d, []job{{name: "a"}})
	for name := range m.Metrics {
		if strings.Contains(name, "latency") {
			t.Errorf("%s is there", name)
		}
	}
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "no percentiles of latency") {
		t.Errorf("notes: %q", m.Notes)
	}
}

func TestAJobOfLessThanASecondIsNoted(t *testing.T) {
	m := fold(parsed(t, clone("a", 0, 1000, 75, `"1000":1000`), clone("b", 0, 1000, 75, `"1000":1000`), clone("b", 0, 1000, 1000, `"1000":1000`)), []job{{name: "a"}, {name: "b"}})
	all := strings.Join(m.Notes, "\n")
	if !strings.Contains(all, "a: ran for only 75 ms") || strings.Contains(all, "b: ran") {
		t.Errorf("notes: %s", all)
	}
}

func TestTextBeforeTheDocumentIsKeptApart(t *testing.T) {
	const document = `{"fio version":"fio-3.33","jobs":[]}`
	for name, c := range map[string]struct {
		output, messages string
		ok               bool
	}{
		"nothing before":         {output: document, ok: true},
		"an error before":        {output: "fio: file hash not empty on exit\n" + document, messages: "fio: file hash not empty on exit", ok: true},
		"a brace in a message":   {output: "fio: bad {thing} here\n" + document, messages: "fio: bad {thing} here", ok: true},
		"JSON in a message":      {output: `note {"a":1} ` + "\n" + document, messages: `note {"a":1}`, ok: true},
		"text after it":          {output: document + "\nfio: done\n", ok: true},
		"no document":            {output: "fio: failed parsing rw=bogus\n", messages: "fio: failed parsing rw=bogus"},
		"a document cut short":   {output: "fio: killed\n" + `{"fio version":"fio-3.33","jobs":[{`, messages: "fio: killed"},
		"empty":                  {},
		"bytes that are no text": {output: "\xff{\xfe\x00", messages: "?"},
	} {
		t.Run(name, func(t *testing.T) {
			d, messages, err := parseOutput([]byte(c.output))
			if (err == nil) != c.ok || (d != nil) != c.ok {
				t.Fatalf("document %v, error %v", d, err)
			}
			if messages != c.messages {
				t.Errorf("messages are %q, want %q", messages, c.messages)
			}
		})
	}
	if _, _, err := parseOutput([]byte("nothing")); !errors.Is(err, errNoDocument) {
		t.Errorf("got %v", err)
	}
}

// fio repeats some warnings for each pass over a file, thousands of times in a trial.
func TestWhatFioSaysIsKeptOnceAndBounded(t *testing.T) {
	repeated := strings.Repeat("fio: warning of a pass\n", 100_000)
	if got, want := said(repeated+"before\n", "of both\n"+repeated), "before\nof both\nfio: warning of a pass"; got != want {
		t.Errorf("kept are %d bytes: %.200q, want %q", len(got), got, want)
	}
	var each strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&each, "fio: line %d\n", i)
	}
	if got := said(each.String(), "the end\n"); len(got) > mostSaid || !strings.HasSuffix(got, "fio: line 99999\nthe end") {
		t.Errorf("kept are %d bytes, which end with %q", len(got), got[len(got)-40:])
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte(`fio: x{"fio version":"fio-3.33","jobs":[` + clone("a", 0, 10, 10, `"1000":10`) + `]}`))
	f.Add([]byte(`{"fio version":"x","jobs":[{"jobname":"a","read":{"clat_ns":{"bins":{"-1":1}}}}]}`))
	f.Fuzz(func(_ *testing.T, output []byte) {
		d, _, err := parseOutput(output)
		if err == nil {
			fold(d, []job{{name: "a"}})
		}
	})
}
