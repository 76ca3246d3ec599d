package bonnie

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

const (
	// maxText bounds what Parse reads: a run is less than 2 KiB.
	maxText = 16 << 20
	// maxTables bounds what it returns.
	maxTables = 10_000
)

// Table is one run of bonnie or bonnie++ that a text reports.
type Table struct {
	// Title is the line above the table, or empty.
	Title string
	// Machine as bonnie was told, perhaps cut short.
	Machine string
	// Program is bonnie or bonnie++, with its version if it says so.
	Program string
	// Size of the large file in bytes; 0 if there was none.
	Size uint64
	// TooFast are the operations that took less than shortest, of which bonnie++ prints plus signs.
	TooFast []string
	// Measurement of the run: metrics, operations and notes.
	Measurement result.Measurement
}

// entry is a Table while it is being read.
type entry struct {
	Table
	*reading
	// text reports that it was a table for people, whose CSV may follow.
	text bool
	// files reports that the tests on small files were read.
	files bool
}

// parser goes through the lines of a text.
type parser struct {
	lines   []string
	entries []*entry
	// read is the first line that belongs to nothing yet.
	read int
}

// quoted is what mail programs put before a line.
var quoted = regexp.MustCompile(`^(?:>+ ?)+`)

// Parse reads every run that a text reports, in its order: lines of bonnie++'s CSV
// (versions 1.0x, 1.93 to 1.97 and 1.98, which 2.00 writes), tables for people of these
// programs, and those of bonnie. Other lines may stand between them, and the text may
// be quoted with "> ". Where a table is followed by its own CSV, the CSV counts, which
// is not rounded.
func Parse(text []byte) ([]Table, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("bonnie: a text of %d MiB is larger than %d MiB", len(text)>>20, maxText>>20)
	}
	p := &parser{}
	for line := range strings.Lines(string(text)) {
		p.lines = append(p.lines, quoted.ReplaceAllString(strings.TrimRight(line, "\r\n"), ""))
	}
	for i := 0; i < len(p.lines); {
		next, err := p.at(i)
		if err != nil {
			return nil, fmt.Errorf("bonnie: line %d: %w", i+1, err)
		}
		if len(p.entries) > maxTables {
			return nil, fmt.Errorf("bonnie: more than %d runs in one text", maxTables)
		}
		i = next
	}
	if len(p.entries) == 0 {
		return nil, errors.New("bonnie: the text contains neither a table of bonnie nor a CSV line of bonnie++")
	}
	tables := make([]Table, len(p.entries))
	for i, e := range p.entries {
		tables[i] = e.Table
		notes := e.Measurement.Notes
		tables[i].Measurement, tables[i].TooFast = e.measurement(), e.tooFast
		tables[i].Measurement.Notes = append(tables[i].Measurement.Notes, notes...)
	}
	return tables, nil
}

// at reads what begins at line i, and returns the line after it.
func (p *parser) at(i int) (int, error) {
	e, err := readCSV(strings.TrimSpace(p.lines[i]))
	if err != nil {
		return 0, err
	}
	if e != nil {
		p.addCSV(e)
		p.read = i + 1
		return i + 1, nil
	}
	h := newHeader(p.lines, i)
	if h == nil {
		return i + 1, nil
	}
	title := p.title(i - 2)
	next := i + 1
	for next < len(p.lines) && strings.TrimSpace(p.lines[next]) == "" {
		next++
	}
	rows := 0
	for ; next < len(p.lines); next++ {
		ok, err := p.row(h, p.lines[next], title)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		rows++
		p.read = next + 1
	}
	if rows == 0 {
		return 0, errors.New("a table begins here, but the line below cannot be read")
	}
	return next, nil
}

// addCSV takes a line of CSV, in the place of the table that says the same.
func (p *parser) addCSV(e *entry) {
	last := len(p.entries) - 1
	if last >= 0 && p.entries[last].text && strings.HasPrefix(e.Machine, p.entries[last].Machine) && strings.HasPrefix(p.entries[last].Program, plusPlus) {
		e.Title = p.entries[last].Title
		p.entries = p.entries[:last]
	}
	p.entries = append(p.entries, e)
}

// title is the nearest line above line i that says something and is no part of
// another run.
func (p *parser) title(i int) string {
	const above = 4
	for k := i - 1; k >= max(p.read, i-above, 0); k-- {
		line := strings.TrimSpace(p.lines[k])
		if line == "" {
			continue
		}
		if strings.HasSuffix(line, "done") || strings.HasSuffix(line, "done.") {
			return "" // progress
		}
		return clip(strings.TrimRight(line, ": "))
	}
	return ""
}

// sized is a size as bonnie++ writes it, with the size of a chunk, or with the number
// of files before it: 4G, 1504M, 20000M:64k, 1*1024.
var sized = regexp.MustCompile(`^(?:(\d{1,4})\*)?(\d{1,9})([kKMGT]?)(?::[^,]*)?$`)

// parseSize reads a size. One without a suffix is in unit bytes.
func parseSize(s string, unit uint64) (uint64, bool) {
	m := sized.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseUint(m[2], 10, 64)
	if err != nil {
		return 0, false
	}
	if volumes, err := strconv.ParseUint(m[1], 10, 64); err == nil {
		n *= volumes
	}
	switch m[3] {
	case "k", "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	case "T":
		unit = 1 << 40
	}
	if n > 1<<62/unit {
		return 0, false
	}
	return n * unit, true
}
