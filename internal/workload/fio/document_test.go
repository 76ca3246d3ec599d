package fio

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func TestEachServerHasItsOwnOptions(t *testing.T) {
	one := plainClone("a", "0", `"hostname":"alder","port":9001,"job options":{"numjobs":"1"},`, fewReads)
	two := plainClone("a", "0", `"hostname":"alder","port":9002,"job options":{"numjobs":"1"},`, manyReads)
	sum := plainClone("All clients", "0", `"hostname":"alder","port":9002,`, allReads)
	text := `{"fio version":"fio-3.43","global options":[{"hostname":"alder","port":9002,"bs":"4k","rw":"randread"},{"hostname":"alder","port":9001,"bs":"4k","rw":"read"}],
		"client_stats":[` + strings.Join([]string{one, two, sum}, ",") + `]}`
	reports, err := Parse([]byte(text))
	if err != nil || len(reports) != 3 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for i, want := range []struct {
		machine, pattern string
		iops             float64
	}{{"alder:9001", "read", 500}, {"alder:9002", "randread", 1500}, {"All clients", "read", 2000}} {
		r := reports[i]
		if r.Machine != want.machine || r.Settings["rw"] != want.pattern || r.Settings["bs"] != "4k" || r.Measurement.Metrics["read.iops"].Value != want.iops {
			t.Errorf("%s: %v, %v IOPS", r.Machine, r.Settings, r.Measurement.Metrics["read.iops"].Value)
		}
	}
	if notes := strings.Join(reports[2].Measurement.Notes, "\n"); !strings.Contains(notes, "sum of all 2 machines") {
		t.Errorf("notes %q", notes)
	}
}

func TestASumIsOfThePhaseBeforeIt(t *testing.T) {
	var jobs []string
	for _, name := range []string{"fill", "scan"} {
		jobs = append(jobs, plainClone(name, "0", `"hostname":"east",`, fewReads), plainClone(name, "0", `"hostname":"west",`, manyReads), plainClone("All clients", "0", "", allReads))
	}
	reports, err := Parse(clientDocument(jobs...))
	if err != nil || len(reports) != 4 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for i, want := range []string{"fill", "scan"} {
		r := reports[2+i]
		if !r.Sum || r.Settings["job"] != want || r.Measurement.Metrics["read.iops"].Value != 2000 {
			t.Errorf("%s: %v, %v IOPS", want, r.Settings, r.Measurement.Metrics["read.iops"].Value)
		}
	}
	if m := reports[0].Measurement; !m.PartsOnly || len(m.Parts) != 2 {
		t.Errorf("parts of a machine: %+v", m.Parts)
	}
	jobs = append(jobs, plainClone("All clients", "0", "", fewReads))
	reports, err = Parse(clientDocument(jobs...))
	if err != nil || len(reports) != 4 || !strings.Contains(strings.Join(reports[0].Measurement.Notes, "\n"), "one of fio's sums of all machines is left out") {
		t.Errorf("with a sum of nothing: %d reports, %v", len(reports), err)
	}
	jobs[2] = plainClone("All clients", "0", "", fewReads)
	reports, err = Parse(clientDocument(jobs[:3]...))
	if err != nil || !strings.Contains(strings.Join(reports[2].Measurement.Notes, "\n"), "has 1000 reads, and those before it have 4000 together") {
		t.Errorf("with another sum: %v", err)
	}
}

func TestAllFilesOfAJobAreKept(t *testing.T) {
	reports, err := Parse([]byte(document1(plainClone("a", "0", `"job options":{"filename":"x","bs":"4k","filename":"y","bs":"8k","size":null,"directory":["p","q"]},`, fewReads))))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"filename": "x:y", "bs": "8k", "size": "", "directory": "p:q"} {
		if got := reports[0].Settings[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestWhatOnlyAddsToNumbersMayBeOfAnyType(t *testing.T) {
	text := document1(plainClone("a", "0", `"job_start":"soon","eta":null,"elapsed":"12","port":"8765","job options":"none",`, fewReads))
	text = strings.Replace(text, `"timestamp":1`, `"timestamp":"1700000000","timestamp_ms":{},"global options":[]`, 1)
	if m, err := parseOne([]byte(text)); err != nil || m.Metrics["read.iops"].Value != 500 {
		t.Errorf("%v", err)
	}
	_, err := Parse([]byte(document1(plainClone("a", "0", "", `"iops":"many","total_ios":7`))))
	if f := failure(t, err); !strings.Contains(f.Message, "read.iops is a string") {
		t.Error(f.Message)
	}
}

func TestWhatHasNoRateIsLeftOut(t *testing.T) {
	const job = `{"jobname":"a","groupid":0,"error":0,"read":{` + fewReads + `},"write":{%}}`
	for writes, want := range map[string]string{
		`"io_bytes":4096,"total_ios":1,"runtime":0,"lat_ns":{"max":5,"mean":5}`: "fio reports writes but no run time, so that they have no rate: they are left out",
		`"iops":77.5,"total_ios":0`:                  "of the writes of the job a, the document has iops, but neither their number nor a run time: they are left out",
		`"iops":77.5,"runtime":9`:                    "of the writes of the job a, the document has iops, but not their number: they are left out",
		`"bw":9,"io_bytes":5,"total_ios":0`:          "of the writes of the job a, the document has a bandwidth, but neither",
		`"io_bytes":512,"total_ios":0`:               "of the writes of the job a, the document has bytes, but neither",
		`"io_bytes":0,"total_ios":0,"short_ios":131`: "",
	} {
		m, err := parseOne([]byte(document1(strings.Replace(job, "%", writes, 1))))
		if err != nil || m.Metrics["read.iops"].Value != 500 || len(m.Operations) != 1 {
			t.Errorf("%s: %v, %v", writes, m.Operations, err)
			continue
		}
		for _, metrics := range allMetrics(m) {
			for name := range metrics {
				if strings.HasPrefix(name, "write.") {
					t.Errorf("%s: %s is there", writes, name)
				}
			}
		}
		if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, want) || want == "" && strings.Contains(notes, "left out") {
			t.Errorf("%s: notes %q", writes, notes)
		}
	}
	// A rate of one job only would be taken for that of both.
	_, err := Parse([]byte(document1(plainClone("a", "0", "", fewReads), plainClone("b", "0", "", `"iops":7`))))
	if f := failure(t, err); !strings.Contains(f.Message, "of the reads of the job b, the document has iops") {
		t.Error(f.Message)
	}
}

func TestAJobThatStandsForOthersIsNoJobOfItsOptions(t *testing.T) {
	const group = `{"jobname":"disk1","groupid":0,"error":0,"job_runtime":10004,"usr_cpu":1,"sys_cpu":2,"job options":{"rw":"write","ioengine":"psync","iodepth":"8","numjobs":"2","filename":"/mnt/disk5"%},
		"write":{"io_bytes":4096000,"total_ios":1000,"runtime":1000},"sync":{"lat_ns":{"max":5000,"mean":1000,"N":500}}}`
	for extra, want := range map[string]string{
		`,"group_reporting":"1"`:                   "stands for at least 10 processes of several jobs",
		`,"group_reporting":"1","verify":"crc32c"`: "",
		``: "",
	} {
		reports, err := Parse([]byte(document1(strings.Replace(group, "%", extra, 1))))
		if err != nil {
			t.Fatal(err)
		}
		m := reports[0].Measurement
		notes := strings.Join(m.Notes, "\n")
		_, file := reports[0].Settings["filename"]
		_, depth := m.Metrics[result.DepthAsked]
		if stands := want != ""; stands != strings.Contains(notes, "stands for") || !strings.Contains(notes, want) || file == stands || depth == stands {
			t.Errorf("%s: %v, depth %v, notes %q", extra, reports[0].Settings, depth, notes)
		}
		if got := m.Metrics["sync.rate"].Value; got != 500 {
			t.Errorf("%s: %v syncs a second", extra, got)
		}
	}
}

func TestAStateOfARunThatGoesOnIsNoted(t *testing.T) {
	for extra, want := range map[string]string{
		`"eta":3500,`:       "had 3500 s to go when fio printed this",
		`"eta":0,`:          "",
		`"eta":2147483647,`: "",
		`"elapsed":2,`:      "",
		`"elapsed":5,`:      "",
	} {
		m, err := parseOne([]byte(document1(plainClone("a", "0", extra, fewReads))))
		if notes := strings.Join(m.Notes, "\n"); err != nil || !strings.Contains(notes, want) || want == "" && (strings.Contains(notes, "left when") || strings.Contains(notes, "contradict")) {
			t.Errorf("%s: %v, notes %q", extra, err, notes)
		}
	}
	m, err := parseOne([]byte(document1(plainClone("a", "0", `"elapsed":3,`, `"io_bytes":4096000,"total_ios":1000,"runtime":6000`))))
	if notes := strings.Join(m.Notes, "\n"); err != nil || !strings.Contains(notes, "a run time of 6 s, while fio had run for 3 s") {
		t.Errorf("%v, notes %q", err, notes)
	}
}

func TestBlocksOfAnotherSizeThanAskedForAreNoted(t *testing.T) {
	for bs, want := range map[string]bool{"4k": false, "4096": false, "4KiB": false, "4096B": false, "4k,8k": false, "odd": false, "1.0MB": true, "8k": true, "": false} {
		m, err := parseOne([]byte(document1(plainClone("a", "0", `"job options":{"bs":"`+bs+`"},`, fewReads))))
		if notes := strings.Join(m.Notes, "\n"); err != nil || strings.Contains(notes, "on average") != want {
			t.Errorf("%q: %v, notes %q", bs, err, notes)
		}
	}
}

func TestPrintedBandwidthCountsWhereTheRunTimeIsLeftOut(t *testing.T) {
	m, err := parseOne([]byte(document1(plainClone("a", "0", "", `"iops":1000.5,"bw_bytes":4096000,"io_bytes":8192000,"total_ios":2000`))))
	if err != nil || m.Metrics["read.bandwidth"].Value != 4096000 || m.Metrics["read.iops"].Value != 1000.5 {
		t.Errorf("%v, %v", m.Metrics, err)
	}
	if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, "no run time of the reads") {
		t.Errorf("notes %q", notes)
	}
}

func TestOtherOutputBehindADocumentIsNoted(t *testing.T) {
	text := document1(plainClone("a", "0", "", fewReads))
	for behind, want := range map[string]string{
		"a: (groupid=0, jobs=1): err= 0\n  read: IOPS=500, BW=2000KiB/s\n    clat (usec): min=1\n": "human-readable output",
		"3;fio-3.36;a;0;0;4000;2000;500;2000\n":                                                    "terse output",
		"bye\n":                                                                                    "",
	} {
		m, err := parseOne([]byte(text + "\n" + behind))
		if notes := strings.Join(m.Notes, "\n"); err != nil || !strings.Contains(notes, want) || want == "" && strings.Contains(notes, "is not read") {
			t.Errorf("%q: %v, notes %q", behind, err, notes)
		}
	}
}

func TestWhatIsLeftOfADocumentIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		`"fio version" : "fio-3.30", "timestamp" : 5, ... "sync" : {"total_ios" : 0}`: "only in pieces",
		`{"data":{"jobname":"a","read":{"total_ios":5}},"version":"fio-3.34"}`:        "not the document that fio wrote around them",
		`{"fio version":"fio-3.30","jobs":[{ ... }]}`:                                 "it was shortened, and has dots",
		`{"jobname":"a"}`: "no JSON from fio",
	} {
		_, err := Parse([]byte(text))
		if f := failure(t, err); !strings.Contains(f.Message, want) || f.Remedy == "" {
			t.Errorf("%s: %v", text, f)
		}
	}
}

func TestAMeanNeedsNoMaximum(t *testing.T) {
	m, err := parseOne([]byte(document1(plainClone("a", "0", "", fewReads+`,"lat_ns":{"mean":81000}`))))
	if notes := strings.Join(m.Notes, "\n"); err != nil || m.Metrics["read.latency.mean"].Value != 81e-6 || strings.Contains(notes, "measured no latencies") {
		t.Errorf("%v, %v, notes %q", m.Metrics, err, notes)
	}
}
