package iozone

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/printed"
)

// labels are the last line of a table's header; iozone leaves out none, but people do
// at the end.
var labels = []string{
	"kb", "reclen", "write", "rewrite", "read", "reread", "read", "write", "read", "rewrite", "read",
	"fwrite", "frewrite", "fread", "freread",
}

var words = regexp.MustCompile(`\S+`)

// newColumns returns where the columns of a table end, if this is the last line of its
// header, and nil otherwise.
func newColumns(line string) []int {
	const fewest = 3
	found := words.FindAllStringIndex(line, len(labels)+1)
	if len(found) < fewest || len(found) > len(labels) {
		return nil
	}
	var ends []int
	for i, at := range found {
		if strings.ToLower(line[at[0]:at[1]]) != labels[i] {
			return nil
		}
		ends = append(ends, at[1])
	}
	return ends
}

// readTable reads the rows below a header in line i.
func (p *parser) readTable(ends []int, i int) (int, error) {
	r := p.current()
	if r.measured() || r.throughput != nil {
		r = p.begin()
	}
	if err := p.name(r, i); err != nil {
		return 0, err
	}
	p.ends, p.numbers, r.columns = ends, 0, len(ends)
	next, err := p.readRows(r, i+1)
	if err == nil && p.numbers == 0 {
		err = errors.New("a table begins here, but the lines below are no rows of it")
	}
	return next, err
}

// goesOn reports whether line i is a row of the last table, which something else has interrupted:
// one with as many numbers, and sizes of iozone's.
func (p *parser) goesOn(i int) bool {
	const sizes = 2
	found := strings.Fields(p.lines[i])
	if p.numbers <= sizes || len(found) != p.numbers {
		return false
	}
	values, err := rowOf(p.ends, p.lines[i])
	return err == nil && values != nil && values[1] <= values[0] && values[1]&(values[1]-1) == 0
}

// readRest reads the rows from line i on. They are of another run if the text names that.
func (p *parser) readRest(i int) (int, error) {
	r := p.current()
	failed := slices.ContainsFunc(p.lines[p.read:i], func(line string) bool { return failure.MatchString(strings.TrimSpace(line)) })
	if !failed && printed.TitleOf(p.lines, i, p.read).Text != "" {
		next := p.begin()
		next.version, next.command, next.flush, next.direct = r.version, r.command, r.flush, r.direct
		r = next
		if err := p.name(r, i); err != nil {
			return 0, err
		}
	}
	return p.readRows(r, i)
}

// readRows reads the rows of a table from line i on, and returns the line after them.
func (p *parser) readRows(r *run, i int) (int, error) {
	ends, next := p.ends, i
	for ; next < len(p.lines); next++ {
		line := strings.TrimSpace(p.lines[next])
		if strings.Trim(line, "-=+: ") == "" {
			continue // blank, or a rule
		}
		values, err := rowOf(ends, p.lines[next])
		if err != nil {
			return 0, err
		}
		if values == nil {
			if p.cut && next == len(p.lines)-1 && strings.Trim(line, "0123456789 ") == "" {
				return 0, errCut
			}
			break
		}
		if p.cut && next == len(p.lines)-1 {
			return 0, errCut
		}
		if p.edge.cuts(len(ends), p.lines[next]) {
			return 0, errEdge
		}
		const kibi = 1024
		at := pair{values[0] * kibi, values[1] * kibi}
		for k, v := range values[2:] {
			if v > 0 && !r.cells.set(operations[k], at, float64(v)*kibi) {
				return 0, fmt.Errorf("files of %s with records of %s appear twice", sizeName(at.file), sizeName(at.record))
			}
		}
		p.read, p.numbers = next+1, len(strings.Fields(line))
	}
	return next, nil
}

var errCut = errors.New("the text ends right behind a number, which may have been cut: end its last line with a line break if it is whole")

// rowOf reads a row: as many numbers as there are columns, 0 where one is blank. Nil
// without an error: it is another line.
func rowOf(ends []int, line string) ([]uint64, error) {
	const sizes = 2 // file and record
	found := words.FindAllStringIndex(line, len(labels)+1)
	if len(found) <= sizes || len(found) > len(labels) {
		return nil, nil
	}
	values := make([]uint64, len(ends))
	column, moved := -1, 0 // how far beside its column the last number ended
	for k, at := range found {
		v, err := strconv.ParseUint(line[at[0]:at[1]], 10, 40)
		if err != nil {
			if k > 0 {
				return nil, fmt.Errorf("%q stands in a row of the table where a number belongs", clip(line[at[0]:at[1]]))
			}
			return nil, nil
		}
		if k < sizes || len(found) == len(ends) {
			column = k
		} else if column = nearest(ends, at[1]-moved, column+1); column < 0 {
			return nil, fmt.Errorf("it is not clear which column %d belongs to: keep the blanks that iozone printed", v)
		}
		values[column], moved = v, at[1]-ends[column]
	}
	if values[0] == 0 || values[1] == 0 {
		return nil, errors.New("a row has no file size or no record size")
	}
	return values, nil
}

// nearest is the column from the given one on that ends where a number does, or at most
// three characters beside: iozone's numbers are not below the ends of its headings, and one that
// is wider than its column moves all behind it.
func nearest(ends []int, end, from int) int {
	const beside = 3
	for column := from; column < len(ends); column++ {
		if d := ends[column] - end; d <= beside && d >= -beside {
			return column
		}
	}
	return -1
}
