package fio

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
)

// foreignClone is a clone as fio's json has it: percentiles, and no bins.
func foreignClone(name string, extra string) string {
	return `{"jobname":"` + name + `","groupid":0,"error":0,"job_runtime":2000,"usr_cpu":10,"sys_cpu":20,` + extra + `
	"write":{"io_bytes":4096000,"total_ios":1000,"runtime":2000,"lat_ns":{"max":9900000,"mean":160000,"N":1000},"clat_ns":{"max":9000000,"mean":150000,"N":1000,
		"percentile":{"50.000000":100000,"95.000000":200000,"99.000000":400000,"99.900000":800000}}},
	"sync":{"lat_ns":{"max":5000000,"mean":1000000,"N":999,"percentile":{"99.000000":3000000}}}}`
}

// parseOne reads a text with one report.
func parseOne(output []byte) (result.Measurement, error) {
	reports, err := Parse(output)
	if err != nil {
		return result.Measurement{}, err
	}
	if len(reports) != 1 {
		return result.Measurement{}, fmt.Errorf("%d reports", len(reports))
	}
	return reports[0].Measurement, nil
}

func document1(jobs ...string) string {
	return `{"fio version":"fio-3.36","timestamp":1,"jobs":[` + strings.Join(jobs, ",") + `]}`
}

func TestOutputOfSomebodyElsesFioIsRead(t *testing.T) {
	text := "fio: a warning\n" + document1(foreignClone("log", `"job options":{"name":"log","iodepth":"8","ioengine":"psync"},`))
	m, err := parseOne([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		"write.iops": 500, "write.bandwidth": 2048000, "write.ios": 1000, "write.latency.mean": 160e-6, "write.latency.max": 9.9e-3, "write.completion.mean": 150e-6,
		"write.completion.p50": 100e-6, "write.completion.p99": 400e-6, "write.completion.p99.9": 800e-6,
		"iodepth.kept": 1, "sync.ios": 999, "sync.latency.p99": 3e-3, "cpu.user": 0.1,
	} {
		if got := m.Metrics[name].Value; math.Abs(got-want) > want*1e-9 {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for _, absent := range []string{"write.latency.p99", "write.completion.p99.99", "sync.latency.p50", "read.iops"} {
		if _, ok := m.Metrics[absent]; ok {
			t.Errorf("%s was not in the output", absent)
		}
	}
	if len(m.Parts) != 1 || m.Parts[0].Name != "log" || m.Parts[0].Metrics["write.iops"].Value != 500 {
		t.Errorf("parts: %+v", m.Parts)
	}
	all := strings.Join(m.Notes, "\n")
	for _, want := range []string{"no histograms", "a warning", "no job has direct=1", "write: percentiles are of completion latency"} {
		if !strings.Contains(all, want) {
			t.Errorf("the notes do not say %q:\n%s", want, all)
		}
	}
}

func TestHistogramsOfJSONPlusAreKept(t *testing.T) {
	m, err := parseOne([]byte(document1(clone("a", 0, 1000, 1000, `"1000":990,"64000":10`), clone("a", 0, 1000, 1000, `"1000":1000`))))
	if err != nil {
		t.Fatal(err)
	}
	if h := m.Histograms["read"]; h == nil || h.Count() != 2000 || m.Metrics["read.iops"].Value != 2000 {
		t.Errorf("%+v", m.Metrics)
	}
	if p := m.Metrics["read.latency.p99.9"].Value; math.Abs(p-64e-6) > 64e-6/64 {
		t.Errorf("p99.9 of two clones is %v", p)
	}
	if all := strings.Join(m.Notes, "\n"); strings.Contains(all, "histogram") || strings.Contains(all, "direct=1") {
		t.Errorf("notes: %s", all)
	}
}

func TestPercentilesOfSeveralClonesAreNotMadeUp(t *testing.T) {
	m, err := parseOne([]byte(document1(foreignClone("a", ""), foreignClone("b", ""))))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Metrics["write.completion.p99"]; ok || m.Metrics["write.iops"].Value != 1000 {
		t.Errorf("of both: %+v", m.Metrics)
	}
	for _, part := range m.Parts {
		if part.Metrics["write.completion.p99"].Value != 400e-6 {
			t.Errorf("of %s: %+v", part.Name, part.Metrics)
		}
	}
	if !strings.Contains(strings.Join(m.Notes, "\n"), "cannot be merged") {
		t.Errorf("notes: %q", m.Notes)
	}
}

func TestClonesThatAreReportedAsAGroupHaveNoCores(t *testing.T) {
	m, err := parseOne([]byte(document1(foreignClone("a", `"job options":{"numjobs":"4"},`))))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Metrics["cpu.user"]; ok {
		t.Error("cpu.user is there")
	}
	if _, ok := m.Parts[0].Metrics["cpu.system"]; ok {
		t.Error("cpu.system is there")
	}
}

func TestTheLastStateOfARunCounts(t *testing.T) {
	early := document1(clone("a", 0, 10, 100, `"1000":10`))
	m, err := parseOne([]byte("note\n" + early + "\n" + document1(clone("a", 0, 1000, 1000, `"1000":1000`)) + "\nbye\n"))
	if err != nil || m.Metrics["read.ios"].Value != 1000 || m.Stderr != "note" {
		t.Errorf("%v: %+v, said %q", err, m.Metrics["read.ios"], m.Stderr)
	}
}

func TestWhatIsNoResultOfFioIsRefusedWithTheRemedy(t *testing.T) {
	good := document1(clone("a", 0, 10, 100, `"1000":10`))
	for name, c := range map[string]struct{ output, message, remedy string }{
		"output for people":      {"a: (g=0): rw=randrw\nfio-3.33\n  read: IOPS=1\n    clat (usec): min=1\nRun status group 0 (all jobs):\n", "human-readable", "--output-format=json+"},
		"terse output":           {"3;fio-3.33;a;0;0;1984;48390", "terse", "--output-format=json+"},
		"nothing":                {"", "no JSON from fio", "--output-format=json+"},
		"other JSON":             {`{"a":{"fio":1}}`, "no JSON from fio", "json+"},
		"words about it":         {`the key "fio version" begins it`, "no JSON from fio", "json+"},
		"a document cut short":   {good[:len(good)-5], "incomplete", "run to its end"},
		"an old fio":             {strings.Replace(good, "fio-3.36", "fio-2.21", 1), "fio-2.21 is too old", "fio 3"},
		"no jobs":                {`{"fio version":"fio-3.36","client_stats":[]}`, "no jobs", "client"},
		"a job that failed":      {strings.Replace(good, `"error":0`, `"error":28`, 1), "no space left on device", "do not count"},
		"reads and writes mixed": {document1(`{"jobname":"a","mixed":{"total_ios":5}}`), "only as one mix", "unified_rw_reporting"},
	} {
		_, err := Parse([]byte(c.output))
		if f := failure(t, err); f.Class != reason.InvalidSpec || !strings.Contains(f.Message, c.message) || !strings.Contains(f.Remedy, c.remedy) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Whatever the text, it is read or refused, and what is read has values that JSON can
// hold.
func FuzzParse(f *testing.F) {
	f.Add([]byte(document1(foreignClone("log", `"job options":{"numjobs":"4"},`))))
	f.Add([]byte("x{" + document1(clone("a", 0, 10, 10, `"1000":10`)) + document1(clone("a", 1, 10, 10, `"1000":10`))))
	f.Add([]byte(`{"fio version":"fio-3","jobs":[{"write":{"total_ios":1,"runtime":1e-300,"io_bytes":18446744073709551615}}]}`))
	f.Add([]byte(`"fio version"{`))
	f.Fuzz(func(t *testing.T, output []byte) {
		reports, err := Parse(output)
		if err != nil {
			failure(t, err)
			return
		}
		for _, r := range reports {
			for _, metrics := range allMetrics(r.Measurement) {
				for name, v := range metrics {
					if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Value < 0 {
						t.Errorf("%s is %v", name, v.Value)
					}
				}
			}
		}
	})
}
