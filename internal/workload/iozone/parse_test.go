package iozone

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

const k = 1024

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

func wantMetrics(t *testing.T, name string, got result.Metrics, want map[string]float64) {
	t.Helper()
	for metric, v := range want {
		if m, ok := got[metric+".bandwidth"]; !ok || m.Value != v || m.Unit != result.BytesPerSecond {
			t.Errorf("%s: %s is %v, want %v", name, metric, m, v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d metrics, want %d: %v", name, len(got), len(want), got)
	}
}

func TestTheMatrixOfAutoModeIsRead(t *testing.T) {
	tables := parseFile(t, "iozone-3-auto.txt")
	if len(tables) != 1 {
		t.Fatalf("%d tables", len(tables))
	}
	table := tables[0]
	if table.Command != "iozone -a -e -I -n 64m -g 128m -y 64k -q 128k" || table.Program != "iozone 3.489" {
		t.Errorf("%q of %q", table.Title, table.Program)
	}
	m := table.Measurement
	if !slices.Equal(m.Operations, operations) || len(m.Metrics) != len(operations)*5 {
		t.Errorf("%d metrics, operations %v", len(m.Metrics), m.Operations)
	}
	for metric, want := range map[string]float64{
		"write.64MiB.64KiB": 160194, "write.128MiB.64KiB": 161194, "write": 211106, "random.write.64MiB.128KiB": 220983,
		"reread": 211280, "random.read": 210484, "freread": 9345428, "stride.read.64MiB.64KiB": 145445, "record.rewrite.128MiB.128KiB": 251261,
	} {
		if got := m.Metrics[metric+".bandwidth"].Value; got != want*k {
			t.Errorf("%s is %v, want %v", metric, got, want*k)
		}
	}
	if m.DirectIO == nil || !m.DirectIO.Requested || m.DirectIO.Effective != result.DirectUnknown {
		t.Errorf("%+v", m.DirectIO)
	}
	if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "those of the file of 128MiB with records of 128KiB") {
		t.Errorf("notes %q", m.Notes)
	}
}

func TestColumnsThatAreBlankOrMissingAreNoValues(t *testing.T) {
	tables := parseFile(t, "iozone-3-some.txt")
	if len(tables) != 3 {
		t.Fatalf("%d tables: %+v", len(tables), tables)
	}
	mail, old, cut := tables[0], tables[1], tables[2]
	wantMetrics(t, "quoted", mail.Measurement.Metrics, map[string]float64{
		"write.100MiB.1MiB": 360823 * k, "rewrite.100MiB.1MiB": 362512 * k, "random.read.100MiB.1MiB": 378122 * k, "random.write.100MiB.1MiB": 364339 * k,
		"write": 360823 * k, "rewrite": 362512 * k, "random.read": 378122 * k, "random.write": 364339 * k,
	})
	if mail.Command != "./iozone -s 100M -r 1024k -i 0 -i 2" || mail.Measurement.DirectIO.Effective != result.Buffered || !slices.Contains(mail.Measurement.Notes, noFlush) {
		t.Errorf("%+v", mail)
	}
	wantMetrics(t, "old", old.Measurement.Metrics, map[string]float64{
		"write.400MiB.64KiB": 31782 * k, "rewrite.400MiB.64KiB": 22524 * k, "random.read.400MiB.64KiB": 816017 * k, "random.write.400MiB.64KiB": 10411 * k, "stride.read.400MiB.64KiB": 3779260 * k,
		"write": 31782 * k, "rewrite": 22524 * k, "random.read": 816017 * k, "random.write": 10411 * k, "stride.read": 3779260 * k,
	})
	if old.Title != "With purge mode, on the old array" || old.Measurement.DirectIO != nil {
		t.Errorf("%+v", old)
	}
	if cut.Title != "Cut down to what matters" || cut.Measurement.Metrics["reread.1000MiB.16MiB.bandwidth"].Value != 679947*k || cut.Measurement.Metrics["write.bandwidth"].Value != 270022*k {
		t.Errorf("%+v", cut)
	}
}

func TestReportsForSpreadsheetsAreReadWhereThereIsNoTable(t *testing.T) {
	tables := parseFile(t, "iozone-3-reports.txt")
	if len(tables) != 1 {
		t.Fatalf("%d tables", len(tables))
	}
	wantMetrics(t, "reports", tables[0].Measurement.Metrics, map[string]float64{
		"write.1MiB.4KiB": 173944 * k, "write.1MiB.64KiB": 273944 * k, "write.2MiB.4KiB": 235549 * k, "write.2MiB.64KiB": 335549 * k, "write": 335549 * k,
		"rewrite.1MiB.4KiB": 516994 * k, "rewrite.1MiB.64KiB": 616994 * k, "rewrite.2MiB.4KiB": 562037 * k, "rewrite.2MiB.64KiB": 662037 * k, "rewrite": 662037 * k,
		"random.read.1MiB.4KiB": 99 * k, "random.read": 99 * k,
	})
	if notes := tables[0].Measurement.Notes; len(notes) != 1 || !strings.Contains(notes[0], "not the same for all") {
		t.Errorf("notes %q", notes)
	}

	table, err := os.ReadFile("testdata/iozone-3-auto.txt")
	if err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile("testdata/iozone-3-reports.txt")
	if err != nil {
		t.Fatal(err)
	}
	both, err := Parse(slices.Concat(table, report))
	if err != nil || len(both) != 2 || len(both[0].Measurement.Metrics) != len(operations)*5 {
		t.Errorf("a table, and the reports of another run: %d tables, %v", len(both), err)
	}
	twice, err := Parse(slices.Concat(report, report))
	if err != nil || len(twice) != 2 {
		t.Errorf("the reports of two runs: %d tables, %v", len(twice), err)
	}
}

func TestTextThatIsNoMatrixOfBandwidthsSaysWhy(t *testing.T) {
	const head = "              kB  reclen    write  rewrite    read    reread\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":               {"", "the text contains no table of iozone"},
		"throughput cut short":  {"\tThroughput test with 4 processes\n\tEach process writes a 1024 kByte file in 4 kByte records\n", "has no line of"},
		"throughput of calls":   {"\tThroughput test with 4 processes\n\tChildren see throughput for  4 readers = 18427.04 ops/sec\n", "without -O and -N"},
		"an unknown test":       {"\tThroughput test with 4 processes\n\tChildren see throughput for  4 jugglers = 18427.04 kB/sec\n", `does not know the test "jugglers"`},
		"operations":            {"\tOPS Mode. Output is in operations per second.\n" + head + "1024 4 1 2 3 4\n", "without -O and -N"},
		"microseconds":          {"\tMicroseconds/op Mode. Output is in microseconds per operation.\n", "without -O and -N"},
		"a header alone":        {head + "\niozone test complete.\n", "the lines below are no rows of it"},
		"a word in a row":       {head + "            1024       4    what     2222\n", `"what" stands in a row`},
		"a column that is none": {head + "            1024       4        1                                    2\n", "which column 2 belongs to"},
		"no file size":          {head + "               0       4        1        2\n", "no file size"},
		"a row twice":           {head + strings.Repeat("            1024       4      111     2222\n", 2), "appear twice"},
		"a report's head":       {"\"Writer report\"\n", "no record sizes"},
		"a report's heading":    {"\"Writer report\"\n\nThen nothing\n", "no record sizes"},
		"a report too wide":     {"\"Writer report\"\n\"4\"\n\"1024\" 1 2\n", "more values than there are record sizes"},
		"too much":              {strings.Repeat("x", maxText+1), "larger than 16 MiB"},
	} {
		if tables, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, tables, err)
		}
	}
}

func TestEachSizeHasANameOfItsOwn(t *testing.T) {
	for n, want := range map[uint64]string{1: "1B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 64 << 20: "64MiB", 1000 << 10: "1000KiB", 3 << 30: "3GiB", 16 << 40: "16TiB"} {
		if got := sizeName(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"iozone-3-auto.txt", "iozone-3-some.txt", "iozone-3-reports.txt"} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tables, err := Parse(text)
		if (err == nil) != (len(tables) > 0) {
			t.Fatalf("%d tables and %v", len(tables), err)
		}
		for _, table := range tables {
			for name, m := range table.Measurement.Metrics {
				if !(m.Value > 0) || math.IsInf(m.Value, 0) {
					t.Errorf("%s is %v", name, m.Value)
				}
			}
			for _, op := range table.Measurement.Operations {
				if _, ok := table.Measurement.Metrics[op+".bandwidth"]; !ok {
					t.Errorf("%s was measured, and has no bandwidth", op)
				}
			}
		}
	})
}
