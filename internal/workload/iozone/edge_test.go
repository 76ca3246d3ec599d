package iozone

import (
	"strings"
	"testing"
)

//nolint:dupword // a table has two columns of one name
const wholeTable = `	Iozone: Performance Test of File I/O
	Contributors:William Norcott, Don Capps, Isom Crawford, Kirby Collins
	             Al Slater, Scott Rhine, Mike Wisner, Ken Goss
	Command line used: iozone -e -s 96m -r 256k -i 0 -i 1 -i 2 -f /srv/data/of/iozone
	Output is in kBytes/sec
                                                              random    random
              kB  reclen    write  rewrite    read    reread    read     write
           98304     256    61007    62011   311009   313013   41017    52021
`

func cutAt(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "        ")
		b.WriteString(line[:min(len(line), width)] + "\n")
	}
	return b.String()
}

func TestLinesThatWereCutAtTheirRightEdgeAreRefused(t *testing.T) {
	whole, err := Parse([]byte(wholeTable))
	if err != nil || len(whole) != 1 {
		t.Fatalf("%d tables, %v", len(whole), err)
	}
	if notes := strings.Join(whole[0].Measurement.Notes, "\n"); !strings.Contains(notes, "has 8 of its 15 columns") {
		t.Errorf("notes %q", notes)
	}
	for width := 24; width < 76; width++ {
		tables, err := Parse([]byte(cutAt(wholeTable, width)))
		if err != nil {
			continue
		}
		for _, table := range tables {
			for name, m := range table.Measurement.Metrics {
				if whole[0].Measurement.Metrics[name] != m {
					t.Errorf("cut at %d: %s is %v", width, name, m.Value)
				}
			}
			if notes := strings.Join(table.Measurement.Notes, "\n"); !strings.Contains(notes, "right edge was cut") {
				t.Errorf("cut at %d: notes %q", width, notes)
			}
		}
	}
}
