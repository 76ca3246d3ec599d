package bonnie

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

func parseFile(t *testing.T, name string) []Table {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// wantMetrics checks that exactly these metrics are there.
func wantMetrics(t *testing.T, name string, got result.Metrics, want map[string]float64) {
	t.Helper()
	for metric, v := range want {
		if m, ok := got[metric]; !ok || math.Abs(m.Value-v) > 1e-9*math.Abs(v) {
			t.Errorf("%s: %s is %v, want %v", name, metric, m.Value, v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d metrics, want %d: %v", name, len(got), len(want), got)
	}
}

func TestQuotedTablesOfBonnieAreReadWithTheirTitles(t *testing.T) {
	const k = 1024
	tables := parseFile(t, "bonnie-quoted.txt")
	titles := []string{
		"UFS2 with write cache", "UFS2 without write cache",
		"ZFS with write cache (384M ARC, 1GB max kmem)", "ZFS without write cache (384M ARC, 1GB max kmem)",
	}
	writes := []float64{91630 * k, 4685 * k, 45026 * k, 2258 * k}
	if len(tables) != len(titles) {
		t.Fatalf("%d tables", len(tables))
	}
	for i, table := range tables {
		if table.Title != titles[i] || table.Program != "bonnie" || table.Size != 4<<30 || table.Machine != "" {
			t.Errorf("table %d: %q of %q, %d bytes", i, table.Title, table.Program, table.Size)
		}
		if got := table.Measurement.Metrics["write.bandwidth"]; got.Value != writes[i] || got.Unit != result.BytesPerSecond {
			t.Errorf("%s: write %v", table.Title, got)
		}
		if !slices.Equal(table.Measurement.Operations, []string{"write", "rewrite", "read", "seek", "write.char", "read.char"}) {
			t.Errorf("operations %v", table.Measurement.Operations)
		}
	}
	wantMetrics(t, "UFS2 without write cache", tables[1].Measurement.Metrics, map[string]float64{
		"write.char.bandwidth": 4938 * k, "write.bandwidth": 4685 * k, "rewrite.bandwidth": 4288 * k,
		"read.char.bandwidth": 17453 * k, "read.bandwidth": 74232 * k, "seek.rate": 165.0,
		"write.char.cpu": 0.469, "write.cpu": 0.18, "rewrite.cpu": 0.218,
		"read.char.cpu": 0.34, "read.cpu": 0.316, "seek.cpu": 0.099,
	})
	if unit := tables[0].Measurement.Metrics["seek.rate"].Unit; unit != result.PerSecond {
		t.Errorf("seeks are in %s", unit)
	}
}

func TestTheCSVOf200HasEveryTestAndItsLongestLatency(t *testing.T) {
	const line = "1.98,2.00a,host,1,42,1100M,,8192,5,1285,97,756165,72,955950,74,2098,97,+++++,+++,811.4,12,16,,,,,9989,59,+++++,+++,88302,84,2427,55,5000,60,61098,58,8666us,2164us,5208us,101s,1053us,210ms,1110us,46us,3865us,1285us,6us,57us\n"
	tables, err := Parse([]byte("noise before it\n" + line))
	if err != nil || len(tables) != 1 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	table := tables[0]
	if table.Machine != "host" || table.Program != "bonnie++ 2.00a" || table.Size != 1100<<20 {
		t.Errorf("%+v", table)
	}
	const k = 1024
	wantMetrics(t, "CSV", table.Measurement.Metrics, map[string]float64{
		"write.char.bandwidth": 1285 * k, "write.bandwidth": 756165 * k, "rewrite.bandwidth": 955950 * k, "read.char.bandwidth": 2098 * k, "seek.rate": 811.4,
		"write.char.cpu": 0.97, "write.cpu": 0.72, "rewrite.cpu": 0.74, "read.char.cpu": 0.97, "seek.cpu": 0.12,
		"create.sequential.rate": 9989, "delete.sequential.rate": 88302, "create.random.rate": 2427, "stat.random.rate": 5000, "delete.random.rate": 61098,
		"create.sequential.cpu": 0.59, "delete.sequential.cpu": 0.84, "create.random.cpu": 0.55, "stat.random.cpu": 0.6, "delete.random.cpu": 0.58,
		"write.char.latency.max": 8666e-6, "write.latency.max": 2164e-6, "rewrite.latency.max": 5208e-6, "read.char.latency.max": 101, "read.latency.max": 1053e-6, "seek.latency.max": 0.21,
		"create.sequential.latency.max": 1110e-6, "stat.sequential.latency.max": 46e-6, "delete.sequential.latency.max": 3865e-6,
		"create.random.latency.max": 1285e-6, "stat.random.latency.max": 6e-6, "delete.random.latency.max": 57e-6,
	})
	want := []string{"write", "rewrite", "seek", "write.char", "read.char", "create.sequential", "delete.sequential", "create.random", "stat.random", "delete.random"}
	if !slices.Equal(table.Measurement.Operations, want) {
		t.Errorf("operations %v", table.Measurement.Operations)
	}
	if notes := table.Measurement.Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "read, stat.sequential: took less than 0.5 s") {
		t.Errorf("notes %q", notes)
	}
}

func TestOlderCSVIsReadByItsOwnLayout(t *testing.T) {
	for name, c := range map[string]struct {
		line    string
		machine string
		size    uint64
		metrics map[string]float64
	}{
		"1.96": {
			line:    "1.96,1.96,old,1,1330766546,24G,,,,47554,3,,,,,85261,3,105.5,1,16,,,,,4024,3,,,30207,20,,,,,,,,21760ms,,,3402ms,2041ms,338us,,,,,",
			machine: "old", size: 24 << 30,
			metrics: map[string]float64{
				"write.bandwidth": 47554 * 1024, "write.cpu": 0.03, "read.bandwidth": 85261 * 1024, "read.cpu": 0.03, "seek.rate": 105.5, "seek.cpu": 0.01,
				"create.sequential.rate": 4024, "create.sequential.cpu": 0.03, "delete.sequential.rate": 30207, "delete.sequential.cpu": 0.2,
				"write.latency.max": 21.76, "read.latency.max": 3.402, "seek.latency.max": 2.041, "create.sequential.latency.max": 338e-6,
			},
		},
		"1.96 without a large file, which forgets a comma": {
			line:    "1.96,1.96,old,1,1374655110,,,,,,,,,,,,,,60,32,32,,,1702,14,,,,,,,,,,,,,,,,,3874ms,,,,,",
			machine: "old",
			metrics: map[string]float64{"create.sequential.rate": 1702, "create.sequential.cpu": 0.14, "create.sequential.latency.max": 3.874},
		},
		"1.03, which has no version": {
			line:    "ubuntu,8G:64k,,,65284,18,39589,8,,,96293,8,7510.9,6,16,+++++,+++,,,,,,,,,512,7",
			machine: "ubuntu", size: 8 << 30,
			metrics: map[string]float64{
				"write.bandwidth": 65284 * 1024, "write.cpu": 0.18, "rewrite.bandwidth": 39589 * 1024, "rewrite.cpu": 0.08,
				"read.bandwidth": 96293 * 1024, "read.cpu": 0.08, "seek.rate": 7510.9, "seek.cpu": 0.06,
				"delete.random.rate": 512, "delete.random.cpu": 0.07,
			},
		},
	} {
		tables, err := Parse([]byte("format_version,bonnie_version,name\n> " + c.line + "\r\n"))
		if err != nil || len(tables) != 1 {
			t.Errorf("%s: %d tables, %v", name, len(tables), err)
			continue
		}
		if tables[0].Machine != c.machine || tables[0].Size != c.size {
			t.Errorf("%s: %+v", name, tables[0])
		}
		wantMetrics(t, name, tables[0].Measurement.Metrics, c.metrics)
	}
}

func TestTheTablesOf103AreReadAlsoWhereColumnsAreBlank(t *testing.T) {
	tables := parseFile(t, "bonnie++-1.03.txt")
	if len(tables) != 3 {
		t.Fatalf("%d tables: %+v", len(tables), tables)
	}
	whole, left, right := tables[0], tables[1], tables[2]
	if whole.Title != "" || whole.Machine != "store-4.lab." || whole.Size != 16000<<20 || whole.Program != "bonnie++ 1.03" {
		t.Errorf("%+v", whole)
	}
	for metric, want := range map[string]float64{
		"write.char.bandwidth": 21034 * 1024, "seek.rate": 311.4, "create.sequential.rate": 1512, "delete.random.rate": 5702, "delete.random.cpu": 0.96,
	} {
		if got := whole.Measurement.Metrics[metric].Value; got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	for _, table := range []Table{left, right} {
		if table.Title != "Two machines in one table, without the tests of single characters" || table.Size != 3<<30 {
			t.Errorf("%+v", table)
		}
	}
	if left.Machine != "left" || right.Machine != "right" {
		t.Errorf("machines %q, %q", left.Machine, right.Machine)
	}
	wantMetrics(t, "right", right.Measurement.Metrics, map[string]float64{
		"write.bandwidth": 35900 * 1024, "write.cpu": 0.22, "rewrite.bandwidth": 10950 * 1024, "rewrite.cpu": 0.04,
		"read.bandwidth": 41100 * 1024, "read.cpu": 0.06, "seek.rate": 90.2, "seek.cpu": 0,
	})
}

// The file is what bonnie++ 2.00a printed, in which the table's rates of small files
// are 32768, the number of files.
func TestTheCSVBelowATableCountsInItsPlace(t *testing.T) {
	tables := parseFile(t, "bonnie++-2.00.txt")
	if len(tables) != 1 || tables[0].Measurement.Metrics["create.sequential.rate"].Value != 9989 {
		t.Errorf("%+v", tables)
	}
}

func TestWrongRatesInTheTableOf200AreLeftOut(t *testing.T) {
	text, err := os.ReadFile("testdata/bonnie++-2.00.txt")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "\n1.98,")
	tables, err := Parse([]byte(table))
	if err != nil || len(tables) != 1 || tables[0].Program != "bonnie++ 2.00a" || tables[0].Machine != "host" || tables[0].Size != 256<<20 {
		t.Fatalf("%+v, %v", tables, err)
	}
	m := tables[0].Measurement
	if _, ok := m.Metrics["create.sequential.rate"]; ok || m.Metrics["create.sequential.cpu"].Value != 0.59 || m.Metrics["create.random.latency.max"].Value != 44059e-6 {
		t.Errorf("%v", m.Metrics)
	}
	if m.Metrics["write.char.bandwidth"].Value != 888*1024 || m.Metrics["seek.latency.max"].Value != 19547e-6 {
		t.Errorf("%v", m.Metrics)
	}
	if !slices.ContainsFunc(m.Notes, func(note string) bool { return strings.Contains(note, "bonnie++ 2.00a prints wrong ones") }) {
		t.Errorf("notes %q", m.Notes)
	}
}

func TestSuffixesOfATableAreUnits(t *testing.T) {
	const table = `Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
w              2G:64k 1327k  99  1.7g  56 12.5m  58 2142k  99 +++++ +++ +++++ +++
Latency             58112us    1512us                         385us   12047us
`
	tables, err := Parse([]byte(table))
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]float64{
		"write.char.bandwidth": 1327 << 10, "write.bandwidth": 1.7 * (1 << 30), "rewrite.bandwidth": 12.5 * (1 << 20),
		"write.latency.max": 1512e-6, "read.latency.max": 385e-6, "seek.latency.max": 12047e-6,
	} {
		if got := tables[0].Measurement.Metrics[metric].Value; got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if _, ok := tables[0].Measurement.Metrics["rewrite.latency.max"]; ok || tables[0].Size != 2<<30 {
		t.Errorf("%+v", tables[0])
	}
}

func TestTextThatCannotBeReadSaysWhy(t *testing.T) {
	const head = "              -------Sequential Output-------- ---Sequential Input-- --Random--\n" +
		"              -Per Char- --Block--- -Rewrite-- -Per Char- --Block--- --Seeks---\n" +
		"Machine    MB K/sec %CPU K/sec %CPU K/sec %CPU K/sec %CPU K/sec %CPU  /sec %CPU\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                {"", "neither a table of bonnie nor a CSV line"},
		"another program":        {"READ: bw=48.0MiB/s\n", "neither a table"},
		"a format of the future": {"2.10,3.00," + strings.Repeat(",", 60), "format version 2.10"},
		"fields too many":        {"1.98,2.00a" + strings.Repeat(",", 50), "has 52 fields instead of 50"},
		"a number that is none":  {"1.98,2.00a,host,1,42,1G,,8192,5,NaN,97" + strings.Repeat(",", 39), `write.char: "NaN" is not a number`},
		"a latency that is none": {"1.98,2.00a,host,1,42,1G,,8192,5" + strings.Repeat(",", 30) + "5h" + strings.Repeat(",", 11), `"5h" is not a latency`},
		"a header alone":         {head, "line 3: a table begins here"},
		"a row that was wrapped": {head + "         4096 55457 95.9 91630 46.7 36264 37.5\n 46565 74.0\n", "goes on in the line below"},
		"too much":               {strings.Repeat("x", maxText+1), "larger than 16 MiB"},
	} {
		if tables, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, tables, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"bonnie-quoted.txt", "bonnie++-1.03.txt", "bonnie++-2.00.txt"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("1.96,1.96,old,1,1,,,,,,,,,,,,,,60,32,32,,,1702,14,,,,,,,,,,,,,,,,,3874ms,,,,,"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tables, err := Parse(text)
		if (err == nil) != (len(tables) > 0) {
			t.Fatalf("%d tables and %v", len(tables), err)
		}
		for _, table := range tables {
			for name, m := range table.Measurement.Metrics {
				if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) || m.Value < 0 {
					t.Errorf("%s is %v", name, m.Value)
				}
			}
			for _, op := range table.Measurement.Operations {
				_, rate := table.Measurement.Metrics[op+".rate"]
				_, bandwidth := table.Measurement.Metrics[op+".bandwidth"]
				if !rate && !bandwidth {
					t.Errorf("%s was measured, and has no rate", op)
				}
			}
		}
	})
}
