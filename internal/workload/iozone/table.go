package iozone

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// labels are the last line of a table's header; iozone leaves out none, but people do
// at the end.
var labels = []string{
	"kb", "reclen", "write", "rewrite", "read", "reread", "read", "write", "read", "rewrite", "read",
	"fwrite", "frewrite", "fread", "freread",
}

var words = regexp.MustCompile(`\S+`)

// header is the last line of a table's header.
type header struct {
	columns int
	// end of it, and aligned reports that its first headings stand as iozone prints them: its
	// blanks have been kept.
	end     int
	aligned bool
	// layouts that the rows so far may have.
	layouts fitting
}

// newHeader returns the header of a table, if this is its last line, and nil otherwise.
func newHeader(line string) *header {
	const fewest = 3
	found := words.FindAllStringIndex(line, len(labels)+1)
	if len(found) < fewest || len(found) > len(labels) {
		return nil
	}
	for i, at := range found {
		if strings.ToLower(line[at[0]:at[1]]) != labels[i] {
			return nil
		}
	}
	return &header{len(found), found[len(found)-1][1], found[1][1]-found[0][1] == recordWidth, anyLayout}
}

// damagedHeader has what only the header of a table has.
var damagedHeader = regexp.MustCompile(`(?i)(?:^|\s)kb\s+reclen(?:\s|$)|\bkb\W{1,20}reclen\W{1,20}write\b`)

// stray returns an error if line i is of a table that cannot be read: it would be lost.
func (p *parser) stray(i int) error {
	line := p.lines[i]
	if damagedHeader.MatchString(line) {
		return errors.New("this is the header of a table, but not as iozone prints it: provide it in one line, with its headings in their order and nothing else")
	}
	if strings.Trim(line, "0123456789 ") != "" {
		return nil
	}
	const fewest = 4
	found := words.FindAllStringIndex(line, len(labels)+1)
	if len(found) < fewest {
		return nil
	}
	if columns, _ := anyLayout.columnsOf(found); columns == nil {
		return nil
	}
	file, err := strconv.ParseUint(line[found[0][0]:found[0][1]], 10, 40)
	record, errRecord := strconv.ParseUint(line[found[1][0]:found[1][1]], 10, 40)
	if sized := errors.Join(err, errRecord) == nil && areSizes(file, record); !sized {
		return nil
	}
	return errors.New("this is a row of a table of iozone's, but above it is no header, or one whose rows have more numbers: put its header above it, and provide it whole")
}

// areSizes reports whether two numbers are those of a file and a record that iozone chooses.
func areSizes(file, record uint64) bool {
	return record > 0 && record <= file && record&(record-1) == 0
}

// readTable reads the rows below a header in line i.
func (p *parser) readTable(h header, i int) (int, error) {
	r := p.current()
	if r.measured() || r.throughput != nil {
		r = p.begin()
	}
	if err := p.name(r, i); err != nil {
		return i, err
	}
	p.header, p.numbers, p.columns, r.columns = h, 0, nil, h.columns
	next, err := p.readRows(r, i+1)
	if err == nil && p.numbers == 0 {
		return i, errors.New("a table begins here, but the lines below are no rows of it")
	}
	return next, err
}

// goesOn reports whether line i is a row of the last table, which something else has interrupted:
// one with as many numbers, and sizes of iozone's.
func (p *parser) goesOn(i int) bool {
	found := strings.Fields(p.lines[i])
	if p.numbers <= sizes || len(found) != p.numbers {
		return false
	}
	row, err := p.header.rowOf(p.lines[i])
	return err == nil && row != nil && areSizes(row.values[0], row.values[1])
}

// readRest reads the rows from line i on. They are of another run if the text names that.
func (p *parser) readRest(i int) (int, error) {
	r := p.current()
	failed := slices.ContainsFunc(p.lines[p.read:i], func(line string) bool { return failure.MatchString(strings.TrimSpace(line)) })
	if !failed && p.said(i) {
		next := p.begin()
		next.version, next.command, next.flush, next.direct = r.version, r.command, r.flush, r.direct
		r = next
		if err := p.name(r, i); err != nil {
			return i, err
		}
	}
	return p.readRows(r, i)
}

// readRows reads the rows of a table from line i on, and returns the line after them, or the one of
// the error.
func (p *parser) readRows(r *run, i int) (int, error) {
	next := i
	for ; next < len(p.lines); next++ {
		line := strings.TrimSpace(p.lines[next])
		if strings.Trim(line, "-=+: ") == "" {
			continue // blank, or a rule
		}
		if p.cut && next == len(p.lines)-1 && strings.Trim(line, "0123456789 ") == "" {
			return next, errCut
		}
		row, err := p.header.rowOf(p.lines[next])
		if err == nil && row == nil {
			if twoNumbers.MatchString(line) && p.numbers > 0 && !p.interrupted(next+1) {
				return next, errNoNumbers
			}
			break
		}
		if err == nil {
			err = p.addRow(r, row, next)
		}
		if err != nil {
			return next, err
		}
		p.read, p.numbers, p.columns = next+1, len(strings.Fields(line)), row.columns
		if row.layouts != 0 {
			p.header.layouts = row.layouts
		}
	}
	return next, nil
}

// twoNumbers are the sizes of a row that iozone was about to measure.
var twoNumbers = regexp.MustCompile(`^\d{1,15} {1,7}\d{1,7}$`)

// addRow adds a row in line i.
func (p *parser) addRow(r *run, row *row, i int) error {
	const kibi = 1024
	at := pair{row.values[0] * kibi, row.values[1] * kibi}
	switch fewer := len(row.columns) < len(p.columns) && slices.Equal(row.columns, p.columns[:len(row.columns)]); {
	case at.file == 0 || at.record == 0:
		return errors.New("a row has no file size or no record size")
	case at.record > at.file:
		return fmt.Errorf("a row has a record of %s, which is more than its file of %s: a part of it is missing, so provide it whole", sizeName(at.record), sizeName(at.file))
	case fewer && !p.interrupted(i+1):
		return errors.New("this row has fewer numbers than the one above it: if it was cut, provide it whole, else remove it")
	case p.edge.cuts(p.header, row, p.lines[i]):
		return errEdge
	}
	for k, v := range row.values[sizes:] {
		if v > 0 && !r.cells.set(operations[row.columns[k]], at, float64(v)*kibi) {
			return fmt.Errorf("files of %s with records of %s appear twice", sizeName(at.file), sizeName(at.record))
		}
	}
	return nil
}

// interrupted reports whether the text says, from line i on, that iozone ended there.
func (p *parser) interrupted(i int) bool {
	for ; i < len(p.lines); i++ {
		if line := strings.TrimSpace(p.lines[i]); line != "" {
			return failure.MatchString(line) || strings.HasPrefix(line, "iozone: interrupted")
		}
	}
	return false
}

var (
	errCut       = errors.New("the text ends right behind a number, which may have been cut: end its last line with a line break if it is whole")
	errNoNumbers = errors.New("this row has only its file and record: if it was cut, provide it whole, else remove it")
	errCutRow    = errors.New("the last number of this row ends before its column does, and seems to be cut: provide the row whole, with the blanks that iozone printed")
)

// row is one of a table: its sizes and the numbers behind them, and the columns of these.
type row struct {
	values  []uint64
	columns []int
	// layouts that it has; 0: its numbers are in order, but do not stand where iozone prints them.
	layouts fitting
}

// fullRow reports whether words are numbers, of which the first are sizes of iozone's.
func fullRow(line string, words [][]int) bool {
	var values []uint64
	for _, at := range words {
		v, err := strconv.ParseUint(line[at[0]:at[1]], 10, 64)
		if err != nil {
			return false
		}
		values = append(values, v)
	}
	return areSizes(values[0], values[1])
}

// rowOf reads a row. Its numbers are below their headings, or there are as many as those. Nil
// without an error: it is another line.
func (h header) rowOf(line string) (*row, error) {
	found := words.FindAllStringIndex(line, len(labels)+1)
	if len(found) > len(labels) && fullRow(line, found[:len(labels)]) {
		return nil, errors.New("something follows the row in this line: put it on a line of its own")
	}
	if len(found) <= sizes || len(found) > len(labels) {
		return nil, nil
	}
	r := &row{}
	for k, at := range found {
		const longest = 10 // no column is wider
		word := line[at[0]:at[1]]
		v, err := strconv.ParseUint(word, 10, 64)
		switch {
		case err != nil && k == 0:
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("%q stands in a row of the table where a number belongs", clip(word))
		case k == 0 && v>>40 > 0:
			return nil, nil
		case k > 0 && len(word) > longest:
			return nil, fmt.Errorf("%s is too long for a number of iozone's, and may be two: put a blank between them", clip(word))
		}
		r.values = append(r.values, v)
	}
	inOrder := len(found) == h.columns
	const fewest = 4 // which two sizes and a number are before the last one
	columns, fit := h.layouts.columnsOf(found)
	if !h.aligned && !inOrder {
		columns = nil
	}
	switch {
	case len(columns) > 0 && columns[len(columns)-1]+sizes >= h.columns:
		return nil, fmt.Errorf("it is not clear which column %d belongs to: the header above has only %d columns", r.values[len(found)-1], h.columns)
	case columns != nil:
		r.columns, r.layouts = columns, fit
	case (h.aligned && !inOrder || len(found) >= fewest) && h.layouts.isCut(found):
		return nil, errCutRow
	case !inOrder:
		return nil, fmt.Errorf("it is not clear which column %d belongs to: keep the blanks that iozone printed", r.values[h.layouts.unclear(found)])
	default:
		for k := range found[sizes:] {
			r.columns = append(r.columns, k)
		}
	}
	return r, nil
}
