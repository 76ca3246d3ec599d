package iozone

import (
	"fmt"
	"strings"
	"testing"
)

// headings are how far each heading ends behind the one before it: up to 3.42, since, and since 3.50x.
var headings = [][]int{
	{16, 8, 8, 8, 8, 10, 8, 8, 8, 9, 9, 9, 9, 8, 9},
	{16, 8, 9, 9, 8, 10, 8, 10, 9, 10, 10, 9, 9, 9, 9},
	{16, 8, 9, 9, 8, 10, 8, 10, 9, 10, 10, 9, 9, 9, 9},
	{16, 8, 9, 11, 10, 10, 10, 10, 10, 11, 11, 10, 10, 10, 10},
}

// madeUp is a number for a column of a row; none is in another column or row, nor its beginning.
func madeUp(column, row int) int {
	return [...]int{1, 10, 1000}[(column+row)%3]*(1000+17*column) + row + 1
}

// printedRow is a row as iozone prints it, with some of its tests.
func printedRow(l layout, done, row int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%16d%8d", 65536<<row, 64)
	for test, blank := range l.blanks {
		if done>>test&1 == 0 {
			b.WriteString(strings.Repeat(" ", blank))
			continue
		}
		for column := firstColumns[test]; column < firstColumns[test+1]; column++ {
			fmt.Fprintf(&b, "%*d", l.numbers[column], madeUp(column, row))
		}
	}
	return b.String()
}

// printedHeader is the last line of a header with so many columns.
func printedHeader(version, columns int) string {
	var b strings.Builder
	for k := range columns {
		fmt.Fprintf(&b, "%*s", headings[version][k], labels[k])
	}
	return b.String() + "\n"
}

// wanted are the metrics of rows with some tests.
func wanted(done, rows int) map[string]float64 {
	want := map[string]float64{}
	for test := range layouts[0].blanks {
		if done>>test&1 == 0 {
			continue
		}
		for column := firstColumns[test]; column < firstColumns[test+1]; column++ {
			for row := range rows {
				want[operations[column]+"."+sizeName(65536<<row*k)+".64KiB"] = float64(madeUp(column, row)) * k
				want[operations[column]] = float64(madeUp(column, row)) * k
			}
		}
	}
	return want
}

// onlyTrue reports numbers that a text does not say.
func onlyTrue(t *testing.T, name, text string, want map[string]float64) (read bool) {
	t.Helper()
	tables, err := Parse([]byte(text))
	for _, table := range tables {
		for metric, m := range table.Measurement.Metrics {
			operation := strings.TrimSuffix(metric, ".bandwidth")
			if strings.Count(operation, "iB") == 2 && want[operation] != m.Value {
				t.Errorf("%s: %s is %v, want %v\n%s", name, metric, m.Value/k, want[operation]/k, text)
			}
		}
	}
	return err == nil
}

func TestEachSetOfTestsIsReadFromEachVersion(t *testing.T) {
	for version, l := range layouts {
		for done := 1; done < 1<<len(l.blanks); done++ {
			rows := printedRow(l, done, 0) + "\n" + printedRow(l, done, 1) + "\n"
			name := fmt.Sprintf("version %d, tests %b", version, done)
			tables, err := Parse([]byte(printedHeader(version, len(labels)) + rows))
			if err != nil || len(tables) != 1 {
				t.Fatalf("%s: %d tables, %v\n%s", name, len(tables), err, rows)
			}
			wantMetrics(t, name, tables[0].Measurement.Metrics, wanted(done, 2))
		}
	}
}

// A table whose blanks are lost says which numbers it has, but not of which tests, unless it has all.
func TestATableWhoseBlanksAreLostIsReadOnlyIfItHasAll(t *testing.T) {
	for version, l := range layouts {
		all := 1<<len(l.blanks) - 1
		for done := 1; done <= all; done++ {
			table := printedHeader(version, len(labels)) + printedRow(l, done, 0) + "\n" + printedRow(l, done, 1) + "\n"
			for between, name := range map[string]string{" ": "one blank", "\t": "a tab", "  ": "two blanks", "    ": "four blanks"} {
				var b strings.Builder
				for line := range strings.Lines(table) {
					b.WriteString(strings.Join(strings.Fields(line), between) + "\n")
				}
				if read := onlyTrue(t, name, b.String(), wanted(done, 2)); read != (done == all) {
					t.Errorf("version %d, tests %b, %s between: %v\n%s", version, done, name, read, b.String())
				}
			}
		}
	}
}

func TestACutRowIsRefused(t *testing.T) {
	for version, l := range layouts {
		for _, columns := range []int{6, 8, 11, len(labels)} {
			for _, done := range []int{1, 3, 5, 7, 0b101011, 1<<len(l.blanks) - 1} {
				complete := true
				for test := range l.blanks {
					complete = complete && (done>>test&1 == 0 || firstColumns[test+1]+sizes <= columns)
				}
				if !complete {
					continue
				}
				head := "# One\n\n```\n" + printedHeader(version, columns) + printedRow(l, done, 0) + "\n"
				whole := strings.TrimRight(printedRow(l, done, 1), " ")
				for at := 23; at < len(whole); at++ {
					text := head + whole[:at] + "\n```\n"
					if onlyTrue(t, fmt.Sprintf("version %d, %d columns, tests %b, cut at %d", version, columns, done, at), text, wanted(done, 2)) {
						t.Errorf("version %d, %d columns, tests %b, cut at %d, was read:\n%s", version, columns, done, at, text)
					}
				}
			}
		}
	}
}

func TestARowThatIozoneLeftIsRead(t *testing.T) {
	l := layouts[2]
	for _, ends := range []string{"Error reading block at 4000000\nread: Input/output error\n", "iozone: interrupted\n\nexiting iozone\n"} {
		text := printedHeader(2, len(labels)) + printedRow(l, 7, 0) + "\n" + strings.TrimRight(printedRow(l, 3, 1), " ") + "\n" + ends
		if !onlyTrue(t, ends, text, wanted(7, 2)) {
			t.Errorf("refused:\n%s", text)
		}
	}
}

func TestATableThatWouldBeLostIsAnError(t *testing.T) {
	l := layouts[2]
	row, rows := printedRow(l, 7, 0)+"\n", printedRow(l, 7, 0)+"\n"+printedRow(l, 7, 1)+"\n"
	over := strings.Repeat(" ", 62) + "random    random     bkwd    record    stride" //nolint:dupword // as iozone prints it
	head := printedHeader(2, len(labels))
	table := printedHeader(2, 8) + row
	for name, lost := range map[string]string{
		"joined header":          over + head + rows,
		"wrapped header":         cutOff(head, 80) + rows,
		"header with a word":     strings.Replace(head, "reread", "re", 1) + rows,
		"commas":                 strings.ReplaceAll("kB reclen write rewrite\n65536 64 1003 2003\n", " ", ","),
		"more tests":             strings.TrimSuffix(head, "\n") + "  pwrite\n" + rows,
		"only rows":              rows,
		"rows behind the end":    table + "\niozone test complete.\n\n" + printedRow(l, 7, 1) + "\n",
		"a cut row further down": table + "\nand then it was killed:\n\n" + strings.TrimRight(printedRow(l, 3, 1), " ") + "\n",
	} {
		for _, text := range []string{"One:\n\n" + lost + "\nOther:\n\n" + table, "Other:\n\n" + table + "\niozone test complete.\n\nOne:\n\n" + lost} {
			_, err := Parse([]byte(text))
			if err == nil || !strings.Contains(err.Error(), ": line ") {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
}

// cutOff breaks lines where they are too long for a terminal.
func cutOff(line string, width int) string {
	return line[:width] + "\n" + line[width:]
}

func TestARecordLargerThanItsFileIsNoRow(t *testing.T) {
	_, err := Parse([]byte(printedHeader(2, len(labels)) + "            1024    4096     1003     2003\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2: a row has a record of 4MiB") {
		t.Error(err)
	}
}

func TestTwoNumbersThatHaveGrownTogetherAreRefused(t *testing.T) {
	_, err := Parse([]byte(printedHeader(0, 8) + "         1048576      64     12312345678 1000000  1000001  1000002 1000003\n"))
	if err == nil || !strings.Contains(err.Error(), "may be two") {
		t.Error(err)
	}
}

func TestLinesOfOneLengthCutNoTableThatIsWhole(t *testing.T) {
	const lines = "A first line that says something, up to here and not one word further.\nA second line of it that is, by accident, exactly as long as the first.\n\n"
	text := lines + printedHeader(2, 6) + printedRow(layouts[2], 3, 0) + "\n"
	if !onlyTrue(t, "lines of one length", text, wanted(3, 1)) {
		t.Errorf("refused:\n%s", text)
	}
}

func TestABlankLineBehindEachLineChangesNoReport(t *testing.T) {
	const report = "\"Writer report\"\n        \"4\"  \"8\"\n\"64\"   1010  2020 \n\"128\"   3030  4040 \n\n\"Re-writer report\"\n        \"4\"  \"8\"\n\"64\"   5050  6060 \n\"128\"   7070  8080 \n\nSomething else\n"
	for _, text := range []string{report, strings.ReplaceAll(report, "\n", "\n\n"), strings.ReplaceAll(report, "\n", "\n\n\n")} {
		tables, err := Parse([]byte(text))
		if err != nil || len(tables) != 1 {
			t.Fatalf("%d tables, %v\n%s", len(tables), err, text)
		}
		wantMetrics(t, text, tables[0].Measurement.Metrics, map[string]float64{
			"write.64KiB.4KiB": 1010 * k, "write.64KiB.8KiB": 2020 * k, "write.128KiB.4KiB": 3030 * k, "write.128KiB.8KiB": 4040 * k, "write": 4040 * k,
			"rewrite.64KiB.4KiB": 5050 * k, "rewrite.64KiB.8KiB": 6060 * k, "rewrite.128KiB.4KiB": 7070 * k, "rewrite.128KiB.8KiB": 8080 * k, "rewrite": 8080 * k,
		})
	}
}

func TestATitleInTheLineAboveAHeaderHasNoWordOfIt(t *testing.T) {
	const text = "Some card, A1                                       random    random\n" //nolint:dupword // as iozone prints it
	tables, err := Parse([]byte(text + printedHeader(2, 8) + printedRow(layouts[2], 7, 0) + "\n"))
	if err != nil || len(tables) != 1 || tables[0].Title != "Some card, A1" {
		t.Errorf("%+v, %v", tables, err)
	}
}
