package bonnie

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
)

const (
	ioHead = `Version  1.03       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
`
	filesHead = `                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
`
	ioRow       = "heron          512M  7131  97 42133  58  7784  9  5721  78 22945  15 238.2  14\n"
	filesRow    = "                 16 14257  78 +++++ +++ 16516  81 13821  83 +++++ +++ 17886  98\n"
	classicHead = `              -------Sequential Output-------- ---Sequential Input-- --Random--
              -Per Char- --Block--- -Rewrite-- -Per Char- --Block--- --Seeks---
Machine    MB K/sec %CPU K/sec %CPU K/sec %CPU K/sec %CPU K/sec %CPU  /sec %CPU
`
	classicRow = "         2000 14159 97.8 22718 26.3  7688 11.8 12177 71.2 17594  9.5 1122.3  6.4\n"
)

// rows aligns what is behind the label of a row with the columns, as the program prints it.
func rows(label string, words ...any) string {
	return label + fmt.Sprintf(" %5v %3v %5v %3v %5v %3v %5v %3v %5v %3v %5v %3v\n", words...)
}

var alignedRow = rows("heron          512M", 7131, 97, 42133, 58, 7784, 9, 5721, 78, 22945, 15, "238.2", 14)

// all are the metrics of the tables of a text.
func all(tables []Table) map[string]float64 {
	out := map[string]float64{}
	for i, t := range tables {
		for name, m := range t.Measurement.Metrics {
			out[fmt.Sprintf("%d %s", i, name)] = m.Value
		}
	}
	return out
}

// hard breaks each line at a column, as terminals do.
func hard(text string, width int) string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for ; len(line) > width; line = line[width:] {
			out = append(out, line[:width])
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n") + "\n"
}

// Wherever a row is broken, each of its numbers is read, and no other; or the text is refused.
func TestARowThatIsBrokenAnywhereIsReadOrRefused(t *testing.T) {
	for name, text := range map[string][2]string{
		"bonnie++":              {ioHead, alignedRow},
		"bonnie++, narrow":      {ioHead, ioRow},
		"one blank":             {ioHead, strings.Join(strings.Fields(ioRow), " ") + "\n"},
		"small files":           {ioHead + alignedRow + filesHead, filesRow},
		"bonnie":                {classicHead, classicRow},
		"bonnie with a machine": {classicHead, "heron" + classicRow[len("heron"):]},
		"without characters":    {ioHead, rows("heron          512M", "", "", 42133, 58, 7784, 9, "", "", 22945, 15, "238.2", 14)},
	} {
		whole, err := Parse([]byte(text[0] + text[1]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read, row, want := 0, strings.TrimSuffix(text[1], "\n"), all(whole)
		check := func(how, broken string) {
			tables, err := Parse([]byte(broken))
			if err != nil {
				return
			}
			if read++; !maps.Equal(all(tables), want) {
				t.Errorf("%s, %s:\n%s%v", name, how, broken, all(tables))
			}
		}
		label := regexp.MustCompile(`^ *(?:heron +)?\S+`).FindStringIndex(row)[1] // it is never as far to the right
		for at := label; at < len(row); at++ {
			check(fmt.Sprintf("broken at %d", at), text[0]+row[:at]+"\n"+row[at:]+"\n")
			check(fmt.Sprintf("broken at %d without blanks", at), text[0]+strings.TrimRight(row[:at], " ")+"\n"+strings.TrimLeft(row[at:], " ")+"\n")
			three, err := Parse([]byte(text[0] + row + "\n" + row[:at] + "\n" + row[at:] + "\n" + row + "\n"))
			if err == nil && len(all(three)) != 3*len(want) && name != "small files" {
				t.Errorf("%s, broken at %d between others: %v", name, at, all(three))
			}
		}
		for width := 60; width < len(row); width++ {
			check(fmt.Sprintf("all broken at %d", width), hard(text[0]+text[1], width))
		}
		t.Logf("%s: %d are read", name, read)
	}
}

func TestARowWithANumberTooManyOrTooFewIsRefused(t *testing.T) {
	for _, head := range []struct{ head, row string }{{ioHead, alignedRow}, {ioHead, ioRow}, {classicHead, classicRow}, {classicHead, "heron" + classicRow[5:]}} {
		words := strings.Fields(head.row)
		for i := range words {
			more := append(append(append([]string{}, words[:i]...), "42"), words[i:]...)
			if i <= len(words)-12 {
				continue // a word of the machine's name
			}
			if tables, err := Parse([]byte(head.head + strings.Join(more, " ") + "\n")); err == nil {
				t.Errorf("%v: %v", more, all(tables))
			}
			less := append(append([]string{}, words[:i]...), words[i+1:]...)
			if tables, err := Parse([]byte(head.head + strings.Join(less, " ") + "\n")); err == nil {
				t.Errorf("%v: %v", less, all(tables))
			}
		}
		if tables, err := Parse([]byte(head.head + strings.TrimSuffix(head.row, "\n") + "  42\n")); err == nil {
			t.Errorf("%s and 42: %v", head.row, all(tables))
		}
	}
}

func TestATitleBetweenRowsHoldsForWhatIsBelow(t *testing.T) {
	row, second := strings.TrimSuffix(classicRow, "\n"), strings.Replace(classicRow, "14159", "15260", 1)
	text := classicHead + "heron 1 (journal on disk)\n" + classicRow + "heron 2 (no journal)\n"
	for how, below := range map[string]string{
		"whole":   row + "\n",
		"wrapped": row[:len(row)-3] + "\n" + row[len(row)-3:] + "\n",
		"broken":  row[:len(row)-2] + "\n" + row[len(row)-2:] + "\n",
	} {
		tables, err := Parse([]byte(text + below + second))
		if err != nil || len(tables) != 3 || tables[0].Title != "heron 1 (journal on disk)" || tables[1].Title != "heron 2 (no journal)" || tables[2].Title != tables[1].Title {
			t.Errorf("%s: %v %v", how, err, all(tables))
		}
	}
	if _, err := Parse([]byte(text + row[:len(row)-5] + "\n" + second)); err == nil || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("a row without its last number: %v", err)
	}
	tables, err := Parse([]byte(classicHead + "heron 1 (journal on disk)\n" + classicRow + "And now I have moved the journal to memory.\n" + second))
	if err != nil || len(tables) != 2 || tables[1].Title != "" {
		t.Errorf("a sentence: %v %v", err, all(tables))
	}
}

func TestAHeaderThatLacksALineIsRefused(t *testing.T) {
	text := strings.SplitAfter(ioHead+alignedRow+filesHead+filesRow, "\n")
	for i := range 7 {
		if i == 0 || i == 3 || i == 4 {
			continue // the first line of a header says only the version, and the row is no part
		}
		damaged := strings.Join(append(append([]string{}, text[:i]...), text[i+1:]...), "")
		if tables, err := Parse([]byte(damaged)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("without line %d: %v %v", i+1, err, all(tables))
		}
	}
	// Two lines of a header have become one.
	joined := ioHead + alignedRow + "                    ------Sequential Create------ --------Random Create--------\n              f%CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n" + filesRow
	if tables, err := Parse([]byte(joined)); err == nil {
		t.Errorf("joined lines: %v", all(tables))
	}
}

const (
	csvA = "heron,512M,7131,97,42133,58,7784,9,5721,78,22945,15,238.2,14,16,14257,78,+++++,+++,16516,81,13821,83,+++++,+++,17886,98\n"
	csvB = "stork,512M,7199,97,42133,58,7784,9,5721,78,22945,15,238.2,14,16,14257,78,+++++,+++,16516,81,13821,83,+++++,+++,17886,98\n"
)

func TestALineOfCSVTakesThePlaceOfItsTable(t *testing.T) {
	a := ioHead + alignedRow + filesHead + filesRow
	b := strings.NewReplacer("heron", "stork", "7131", "7199").Replace(a)
	again := strings.ReplaceAll(b, "stork", "heron")
	for how, c := range map[string]struct {
		text   string
		tables int
	}{
		"one":                       {a + csvA, 1},
		"two, then two":             {a + b + csvA + csvB, 2},
		"in another order":          {a + b + csvB + csvA, 2},
		"with a heading":            {"Tables:\n" + a + "\n" + b + "\nCSV:\n\n" + csvA + csvB, 2},
		"of one machine":            {a + again + csvA + strings.Replace(csvB, "stork", "heron", 1), 2},
		"of a third run":            {a + b + csvA + csvB + strings.Replace(csvA, "7131", "7150", 1), 3},
		"without a machine":         {a + strings.TrimPrefix(csvA, "heron"), 1},
		"two without machines":      {a + b + strings.TrimPrefix(csvA, "heron") + strings.TrimPrefix(csvB, "stork"), 2},
		"wrapped within plus signs": {a + strings.Replace(csvA, "+++++,+++,16516", "+++++,++\n\n+,16516", 1), 1},
	} {
		tables, err := Parse([]byte(c.text))
		if err != nil || len(tables) != c.tables {
			t.Errorf("%s: %v, %d tables: %v", how, err, len(tables), all(tables))
			continue
		}
		for _, table := range tables {
			if table.Machine == "" {
				t.Errorf("%s: no machine", how)
			}
		}
	}
}

func TestALineOfCSVOfAnUnknownFormatIsLeftOutIfATableTellsIt(t *testing.T) {
	table := strings.NewReplacer("Version  1.03 ", "Version  1.92a").Replace(ioHead) + alignedRow
	line := "1.92a,1.92a,heron,1001000000,512M,7131,97,42133,58,7784,9,5721,78,22945,15,238.2,14,,,,,,,,,,,,,,,,,,,1ms,1ms,1ms,1ms,1ms,1ms,,,,,,\n"
	tables, err := Parse([]byte(table + line))
	if err != nil || len(tables) != 1 || !strings.Contains(strings.Join(tables[0].Measurement.Notes, ""), "CSV") {
		t.Errorf("%v %v", err, all(tables))
	}
	if _, err := Parse([]byte(table + strings.Replace(line, "heron", "stork", 1))); err == nil {
		t.Error("that of another machine is read")
	}
}

// Version 2.00 prints wrong rates of small files, also where a line of its header is missing.
func TestRatesKnownToBeWrongAreLeftOutWithoutTheirVersion(t *testing.T) {
	text := strings.Replace(ioHead, "Version  1.03 ", "Version  2.00a", 1) + alignedRow + strings.Join(strings.SplitAfter(filesHead, "\n")[1:], "") + filesRow
	tables, err := Parse([]byte(text))
	if err != nil || len(tables) != 1 {
		t.Fatal(err, all(tables))
	}
	if m, ok := tables[0].Measurement.Metrics["create.sequential.rate"]; ok {
		t.Errorf("%v", m)
	}
}

// A line of CSV has as many fields as bonnie++ prints, or is refused.
func TestALineOfCSVWithAFieldTooManyOrTooFewIsRefused(t *testing.T) {
	for _, files := range []string{"16", "16:2000:10/8"} {
		fields := strings.Split(strings.TrimSpace(strings.Replace(csvA, ",16,", ","+files+",", 1)), ",")
		if _, err := Parse([]byte(csvB + strings.Join(fields, ",") + "\n")); err != nil {
			t.Fatal(err)
		}
		for i := range fields {
			more := append(append(append([]string{}, fields[:i]...), "42"), fields[i:]...)
			less := append(append([]string{}, fields[:i]...), fields[i+1:]...)
			for _, damaged := range [][]string{more, less} {
				if i == 0 && len(damaged) > len(fields) {
					damaged[0] = "rack 4"
				}
				text := csvB + strings.Join(damaged, ",") + "\n"
				if tables, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 2") {
					t.Errorf("%s: %v, %d tables", text, err, len(tables))
				}
			}
		}
	}
}

func TestLatenciesBehindARowAreRefused(t *testing.T) {
	for _, behind := range []string{"  Latency 1ms 2ms 3ms 4ms 5ms 6ms", " Latency              7ms", " 1ms 2ms 3ms 4ms 5ms 6ms"} {
		for name, text := range map[string][2]string{"large file": {ioHead, alignedRow}, "narrow": {ioHead, ioRow}, "small files": {ioHead + alignedRow + filesHead, filesRow}} {
			if tables, err := Parse([]byte(text[0] + strings.TrimSuffix(text[1], "\n") + behind + "\n")); err == nil {
				t.Errorf("%s, %s: %v", name, behind, all(tables))
			}
		}
	}
}
