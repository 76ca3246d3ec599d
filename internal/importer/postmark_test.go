package importer

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// A terminal's text with two runs of 20,000 files and 1,000,000 transactions, of which
// every count is known.
func TestPostMarksReportIsReadToTheLastDigit(t *testing.T) {
	text, err := os.ReadFile("testdata/postmark.txt")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := parsePostmark(text)
	if err != nil || len(tables) != 2 {
		t.Fatalf("%d tables: %v", len(tables), err)
	}
	common := map[string]float64{
		"original.create.count": 519830, "create.alone.count": 20000, "create.count": 499830,
		"original.read.count": 500124, "read.count": 500124, "original.append.count": 494776, "append.count": 494776,
		"original.delete.count": 519830, "delete.alone.count": 19660, "delete.count": 500170,
		"original.read.bytes": 3240.97 * (1 << 20), "original.write.bytes": 3365.07 * (1 << 20),
	}
	for i, c := range []struct {
		name string
		own  map[string]float64
	}{
		{"/scsi_zfs", map[string]float64{
			"original.total.duration": 220, "original.transactions.duration": 214, "transactions.rate": 4672, "original.transactions.rate": 4672,
			"original.create.rate": 2362, "create.alone.rate": 4000, "create.rate": 2335, "read.rate": 2337, "original.read.rate": 2337,
			"append.rate": 2312, "original.append.rate": 2312, "original.delete.rate": 2362, "delete.alone.rate": 19660, "delete.rate": 2337,
			"original.read.bandwidth": 14.73 * (1 << 20), "original.write.bandwidth": 15.30 * (1 << 20),
		}},
		{"/export/scsi_ufs", map[string]float64{
			"original.total.duration": 3450, "original.transactions.duration": 3419, "transactions.rate": 292, "original.transactions.rate": 292,
			"original.create.rate": 150, "create.alone.rate": 909, "create.rate": 146, "read.rate": 146, "original.read.rate": 146,
			"append.rate": 144, "original.append.rate": 144, "original.delete.rate": 150, "delete.alone.rate": 2184, "delete.rate": 146,
			"original.read.bandwidth": 961.96 * (1 << 10), "original.write.bandwidth": 998.79 * (1 << 10),
		}},
	} {
		got := tables[i].measurement.Metrics
		if tables[i].name != c.name || len(got) != len(common)+len(c.own) {
			t.Errorf("table %q has %d metrics", tables[i].name, len(got))
		}
		for _, want := range []map[string]float64{common, c.own} {
			for name, v := range want {
				if got[name].Value != v {
					t.Errorf("%s: %s is %v, want %v", c.name, name, got[name].Value, v)
				}
			}
		}
	}
}

// short is a report of a run that was too short for rates.
const short = `Time:
	0 seconds total
	0 seconds of transactions

Files:
	149 created
		Creation alone: 50 files
		Mixed with transactions: 99 files
	106 read
	94 appended
	149 deleted
		Deletion alone: 48 files
		Mixed with transactions: 101 files

Data:
	698.56 kilobytes read
	0.000000 bytes written
`

func TestWithoutTimeThereAreCountsAndNoRates(t *testing.T) {
	tables, err := parsePostmark([]byte(strings.ReplaceAll(short, "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	m := tables[0].measurement.Metrics
	if m["original.create.count"].Value != 149 || m["original.read.bytes"].Value != 698.56*1024 || m["original.write.bytes"].Value != 0 {
		t.Errorf("%+v", m)
	}
	for name := range m {
		if strings.HasSuffix(name, ".rate") || strings.HasSuffix(name, ".bandwidth") {
			t.Errorf("%s is there", name)
		}
	}
}

func TestWhatIsNoReportOfPostMarkIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing of it":       {"PostMark v1.51 : 8/14/01\npm>", "no PostMark report"},
		"cut short":           {strings.SplitN(short, "\t94", 2)[0], "incomplete: it has 8 of 15 lines"},
		"cut within a line":   {strings.TrimSuffix(short, "bytes written\n"), `"0.000000" stands where line 15 of the PostMark report should be`},
		"a line out of place": {strings.Replace(short, "\t106 read\n", "", 1), `line 9: "94 appended" stands where line 8 of`},
		"an unknown unit":     {strings.Replace(short, "kilobytes", "furlongs", 1), "furlongs"},
		"a huge number":       {strings.Replace(short, "149", strings.Repeat("9", 40), 1), "a number with 40 digits"},
		"the terse report":    {"Done\n1 1 200.00 149.00 50.00 99.00 106.00 94.00 149.00 48.00 101.00 715326.00 1001055.00\n", "terse"},
	} {
		if tables, err := parsePostmark([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d tables, %v", name, len(tables), err)
		}
	}
}

func FuzzPostmark(f *testing.F) {
	text, err := os.ReadFile("testdata/postmark.txt")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(short))
	f.Add([]byte("pm>set location=\xff\nTime:\n1 seconds total\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tables, err := parsePostmark(text)
		if (err == nil) != (len(tables) > 0) {
			t.Errorf("%d tables, %v", len(tables), err)
		}
		for _, table := range tables {
			for name, v := range table.measurement.Metrics {
				if math.IsInf(v.Value, 0) || math.IsNaN(v.Value) || v.Value < 0 {
					t.Errorf("%s is %v", name, v.Value)
				}
			}
		}
	})
}

func TestAnErrorOfPostmarkIsANote(t *testing.T) {
	report, err := os.ReadFile("testdata/postmark.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Replace(report, []byte("Time:\n"), []byte("Error: cannot open 's17' for reading\nTime:\n"), 1)
	tables, err := parsePostmark(text)
	if err != nil || len(tables) == 0 {
		t.Fatal(err)
	}
	if want := "PostMark printed an error: Error: cannot open 's17' for reading"; !slices.Contains(tables[0].measurement.Notes, want) {
		t.Errorf("%q is not in %q", want, tables[0].measurement.Notes)
	}
}
