package bonnie

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/printed"
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
	// Title is what the text says about the table, or empty, and Section what stands above that.
	Title, Section string
	// Apart reports that somebody says something between it and the report before, in a sentence.
	Apart bool
	// Machine as bonnie was told, perhaps cut short.
	Machine string
	// Program is bonnie or bonnie++, with its version if it says so.
	Program string
	// Size of the large file in bytes; 0 if there was none.
	Size uint64
	// TooFast are the operations that took less than shortest, of which bonnie++ prints plus signs.
	TooFast []string
	// Files is the number of small files, in thousands, with their sizes, as bonnie++
	// writes it; empty if there were none.
	Files string
	// Command that was typed, as far as the text shows it.
	Command string
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
	// quoted reports that it is a line of CSV within a sentence.
	quoted bool
}

// parser goes through the lines of a text.
type parser struct {
	lines   []string
	entries []*entry
	// read is the first line that belongs to nothing yet.
	read int
	// header of the table that rows belong to, and the title of that table; nil: none.
	header         *header
	title, section string
	// apart reports that somebody says something above that table, in which no row was read.
	apart bool
	// command that was typed for that table.
	command string
	// outline has the headings so far.
	outline printed.Outline
	// group is where the entries begin that the last table of the large file has.
	group int
	// last is the entry that has read the last row.
	last *entry
	// cut reports that the last line of the text has no end.
	cut bool
	// head is the place, from 1, of a header's line whose last line has not come yet; 0: none.
	// named reports that it is the second one, with the names of the tests.
	head  int
	named bool
}

// Parse reads every run that a text reports, in its order: lines of bonnie++'s CSV
// (versions 1.0x, 1.93 to 1.97 and 1.98, which 2.00 writes), tables for people of these
// programs, and those of bonnie. Other lines may stand between them, and the text may
// be decorated, as by quotation. Where a table is followed by its own CSV, the CSV counts,
// which is not rounded.
func Parse(text []byte) ([]Table, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("bonnie: a text of %d MiB is larger than %d MiB", len(text)>>20, maxText>>20)
	}
	p := &parser{lines: unwrap(printed.Lines(text)), cut: !printed.Ended(text)}
	for i := range p.lines {
		if err := p.at(i); err != nil {
			if errors.Is(err, errHeader) && p.head > 0 {
				i = p.head - 1
			}
			return nil, fmt.Errorf("bonnie: line %d: %w", printed.LineOf(text, i), err)
		}
		if len(p.entries) > maxTables {
			return nil, fmt.Errorf("bonnie: more than %d runs in one text", maxTables)
		}
	}
	if p.header != nil && p.header.rows == 0 {
		return nil, fmt.Errorf("bonnie: line %d: %w", printed.LineOf(text, len(p.lines)-1), errNoRows)
	}
	if p.head > 0 {
		return nil, fmt.Errorf("bonnie: line %d: %w", printed.LineOf(text, p.head-1), errHeader)
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

var (
	errHeader      = errors.New("a table's header is incomplete: its last line is missing, the one with K/sec and %CP, or the one above, with -Rewrite- or -Create-: add it, one line each")
	errInHeader    = errors.New("a row is in the same line as its header: put it on a line of its own")
	errBehind      = errors.New("another row, or latencies, follow this row in the same line: put them on a line of their own")
	errNoRows      = errors.New("a table begins here, but the lines below are no rows of it")
	errCut         = errors.New("the text ends right behind a number, which may have been cut: end its last line with a line break if it is whole")
	errWrapped     = errors.New("this row goes on in the line below, and its columns are not clear: join the two lines")
	errBehindWords = errors.New("words stand before these latencies, as a log writes them: remove them from each line of the table")
	errComma       = errors.New("a number of this row has a comma: write a point for decimals, and nothing between thousands")
	errLast        = errors.New("the last columns of this row are missing, or no numbers: provide the whole row, in one line")
	errBrokenName  = errors.New("the name of a machine begins in this line and goes on in the one below: join the two lines")
	errRow         = errors.New("this looks like a row of the table above, but its columns are not clear")
)

// at reads line i.
func (p *parser) at(i int) error {
	line := strings.TrimSpace(p.lines[i])
	if line == "" {
		return nil
	}
	e, err := p.csv(line)
	if errors.Is(err, errFormat) && p.toldAbove(line) {
		return nil
	}
	if err != nil {
		return err
	}
	if e != nil {
		if p.said(e, i) {
			return nil
		}
		if p.cut && i == len(p.lines)-1 && line[len(line)-1] != 's' {
			return errCut
		}
		p.addCSV(e, i)
		p.read = i + 1
		return nil
	}
	if h := newHeader(p.lines, i); h != nil {
		if values(p.lines[i][h.ends[len(h.ends)-1]:]) >= fewestValues {
			return errInHeader
		}
		p.head = 0
		return p.begin(h)
	}
	if first := headBegins.MatchString(line); first || headLine.MatchString(line) {
		if p.head > 0 && (first || p.named) {
			return errHeader
		}
		p.named = !first
		p.head = i + 1
	} else if hasAllColumns(line) {
		return errHeader
	}
	if p.header == nil || p.head > 0 {
		return nil
	}
	return p.rowAt(i, line)
}

// rowAt reads line i as a row of the table, or says why it looks like one and is none.
func (p *parser) rowAt(i int, line string) error {
	ok, err := p.addRow(i)
	switch {
	case err != nil:
		return err
	case ok:
		p.read = i + 1
	case p.brokenName(i):
		return errBrokenName
	case p.label(i):
	case commas.MatchString(line) && values(line) >= fewestValues:
		return errComma
	case p.header.rows == 0 && !p.partOfHeader(i):
		return fmt.Errorf("%q is no row of the table that begins above it", clip(line))
	case p.cut && p.read == i && i == len(p.lines)-1:
		return errCut
	case p.follows(i) && values(line) >= fewestValues:
		return errRow
	case p.follows(i) && p.beginsRow(i):
		return errWrapped
	case behindWords.MatchString(line), p.follows(i) && behindAny.MatchString(line):
		return errBehindWords
	}
	return nil
}

// headLine is the second line of a header, which tells what its columns are.
var headLine = regexp.MustCompile(`-Block-+ +-Rewrite-|-Create-+ +-+Read-`)

// begin takes a header.
func (p *parser) begin(h *header) error {
	if p.header != nil && p.header.rows == 0 {
		return errNoRows
	}
	if h.files && h.program == plusPlus && p.header != nil && !p.header.files && strings.HasPrefix(p.header.program, plusPlus) {
		h.program = p.header.program // the line that has it is missing
	}
	p.header, p.last = h, nil
	if !h.files || printed.Said(p.lines, h.top, p.read) {
		p.group = len(p.entries)
	}
	title, command := printed.TitleOf(p.lines, h.top, p.read), printed.CommandOf(p.lines, h.top, p.read)
	p.outline.ReadTo(p.lines, h.top)
	if !h.files || title.Text != "" || command != "" {
		p.title, p.section, p.command, p.apart = title.Text, p.outline.Above(title), command, title.Said
	}
	return nil
}

// addRow reads line i as a row of the table that has begun.
func (p *parser) addRow(i int) (bool, error) {
	line, last, err := p.joined(i)
	if latencyLabel.MatchString(line) {
		line, last = p.joinedLatencies(i)
	}
	if err != nil {
		return false, err
	}
	clear(p.lines[i+1 : last+1])
	if row, all := p.header.whole(line); row && (!all || p.header.shortened(line)) {
		return false, errLast
	}
	ok, err := p.row(p.header, line)
	if err != nil || !ok {
		return false, err
	}
	if p.cut && last == len(p.lines)-1 && !strings.HasSuffix(line, "s") {
		return false, errCut
	}
	p.header.rows++
	return true, nil
}

// behindWords are latencies whose line begins with something else.
var (
	behindWords = regexp.MustCompile(`\S\s*Latency(?:\s+\d+(?:us|ms|s)){2}`)
	behindAny   = regexp.MustCompile(`\S\s*Latency\s+\d+(?:us|ms|s)\b`)
)

// follows reports whether line i is directly below the last row.
func (p *parser) follows(i int) bool {
	const nearby = 3
	return i-p.read <= nearby && strings.TrimSpace(strings.Join(p.lines[p.read:i], "")) == ""
}

// partOfHeader reports whether line i says nothing by itself, as a rule below a header.
func (p *parser) partOfHeader(i int) bool { return strings.Trim(p.lines[i], " -=+:") == "" }

// commas are numbers as some languages write them.
var commas = regexp.MustCompile(`(?:^|\s)\d+,\d+(?:\s|$)`)

// fewestValues is how many numbers a line has that is a row.
const fewestValues = 6

// values counts the words of a line that may be numbers of a table.
func values(line string) int {
	n := 0
	for word := range strings.FieldsSeq(line) {
		if value.MatchString(word) {
			n++
		}
	}
	return n
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
