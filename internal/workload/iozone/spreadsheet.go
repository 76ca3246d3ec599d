package iozone

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/printed"
)

// reports are the headings of what -R adds, without their quotes.
var reports = map[string]string{
	"writer report": "write", "re-writer report": "rewrite", "reader report": "read", "re-reader report": "reread",
	"random read report": "random.read", "random write report": "random.write", "backward read report": "backward.read",
	"record rewrite report": "record.rewrite", "stride read report": "stride.read", "fwrite report": "fwrite",
	"re-fwrite report": "frewrite", "fread report": "fread", "re-fread report": "freread",
}

// quotes are what stands for the quotes of -R, where a page or an editor has changed them; empty:
// none.
const quotes = "\"'`“”„‟«»‘’‚′″"

// hyphens are what stands for a hyphen where a page or an editor has changed it.
var hyphens = strings.NewReplacer("\u2010", "-", "\u2011", "-", "–", "-", "\u2212", "-")

// damagedRow begins like a row of a report.
var damagedRow = regexp.MustCompile("^\\s*[" + quotes + "]\\d{1,15}[" + quotes + "](?:\\s|$)")

// headed is a report's heading in quotes, with what else is in its line.
var headed = regexp.MustCompile("^[" + quotes + "]{1,2}([a-z][a-z -]{3,24} report)[" + quotes + "]{1,2}(.*)$")

// reportIn returns the operation of the report whose heading is in line i; empty: there is none.
// Without quotes, it is one only if record sizes follow.
func (p *parser) reportIn(i int) (operation string, quoted bool, err error) {
	line := hyphens.Replace(strings.ToLower(strings.TrimSpace(p.lines[i])))
	if m := headed.FindStringSubmatch(line); m != nil {
		operation, known := reports[m[1]]
		switch {
		case known && m[2] == "":
			return operation, true, nil
		case known:
			return "", true, errors.New("something follows the heading of this report in the same line: provide the line breaks that iozone printed")
		case m[2] == "" && p.sizesBelow(i, true):
			return "", true, fmt.Errorf("storagebench does not know the test %q of iozone: leave it out of the text", clip(m[1]))
		}
		return "", false, nil
	}
	operation, known := reports[line]
	if !known || !p.sizesBelow(i, false) {
		return "", false, nil
	}
	return operation, false, nil
}

// sizesBelow reports whether record sizes are below line i.
func (p *parser) sizesBelow(i int, quoted bool) bool {
	for i++; i < len(p.lines) && strings.TrimSpace(p.lines[i]) == ""; i++ {
	}
	return i < len(p.lines) && recordSizes(p.lines[i], quoted) != nil
}

// recordSizes reads those of a report; nil: there are none. Without quotes, only what cannot be a row
// is a line of them.
func recordSizes(line string, quoted bool) []uint64 {
	inQuotes := 0
	if quoted {
		inQuotes = len(strings.Fields(line))
	}
	records, ok := numbers(line, inQuotes)
	for i, v := range records {
		if v == 0 || !quoted && (v&(v-1) != 0 || i > 0 && v <= records[i-1]) {
			return nil
		}
	}
	if !ok {
		return nil
	}
	return records
}

// readReport reads a report that begins in line i with the record sizes. It repeats the table
// above it, if that says the same; else it is of a run of which only the reports were kept.
func (p *parser) readReport(operation string, quoted bool, i int) (int, error) {
	report, next, err := p.reportRows(operation, quoted, i)
	if err != nil {
		return next, err
	}
	r := p.current()
	table := len(r.cells) > 0 && !r.excel
	if !table || !r.cells.says(report) {
		if table || r.throughput != nil || r.cells[operation] != nil || r.excel && p.said(i-1) {
			r = p.begin()
		}
		if len(r.cells) == 0 {
			if err := p.name(r, i-1); err != nil {
				return i - 1, err
			}
		}
		r.excel = true
		maps.Copy(r.cells, report)
	}
	p.read = next
	return next, nil
}

// says reports whether a matrix has all cells of another, but for rounding.
func (m matrix) says(other matrix) bool {
	const rounding = 1 << 10
	for operation, cells := range other {
		for at, v := range cells {
			if own, ok := m[operation][at]; !ok || math.Abs(own-v) > rounding {
				return false
			}
		}
	}
	return true
}

// reportRows reads the record sizes in line i, and the rows below, which begin with a file
// size. Blank lines may be between. It returns the line after them, or the one of the error.
func (p *parser) reportRows(operation string, quoted bool, i int) (matrix, int, error) {
	head := i - 1
	for i < len(p.lines) && strings.TrimSpace(p.lines[i]) == "" {
		i++
	}
	if i == len(p.lines) {
		return nil, head, errors.New("a report has no record sizes")
	}
	records := recordSizes(p.lines[i], quoted)
	if records == nil {
		return nil, i, errors.New("a report has no record sizes")
	}
	sizesInQuotes := 0
	if quoted {
		sizesInQuotes = 1
	}
	report, next := matrix{}, i+1
	for i++; i < len(p.lines); i++ {
		if strings.TrimSpace(p.lines[i]) == "" {
			continue
		}
		row, ok := numbers(p.lines[i], sizesInQuotes)
		if !ok {
			if quoted && damagedRow.MatchString(p.lines[i]) {
				return nil, i, errors.New("this row of a report is damaged: it must have a file size in quotes, and then a number for each record size")
			}
			break
		}
		const kibi = 1024
		if len(row) > len(records)+1 || row[0] == 0 {
			return nil, i, errors.New("a row of a report has more values than there are record sizes above it, or a file size of 0")
		}
		for k, v := range row[1:] {
			if v > 0 && records[k] > row[0] {
				return nil, i, errors.New("this row of a report has a number for a record that is larger than the file, so it is not the row that iozone printed")
			}
			if v > 0 && !report.set(operation, pair{row[0] * kibi, records[k] * kibi}, float64(v)*kibi) {
				return nil, i, errors.New("a report has a size twice")
			}
		}
		if p.cut && i == len(p.lines)-1 {
			return nil, i, errCut
		}
		next = i + 1
	}
	return report, next, nil
}

// said reports whether the text says above line i that something else begins.
func (p *parser) said(i int) bool { return printed.Said(p.lines, i, p.read) }

// numbers reads a line of numbers, of which the first so many are in quotes.
func numbers(line string, inQuotes int) ([]uint64, bool) {
	const most = 64
	fields := strings.Fields(line)
	if len(fields) == 0 || len(fields) > most {
		return nil, false
	}
	var out []uint64
	for k, field := range fields {
		if k < inQuotes {
			bare := strings.Trim(field, quotes)
			if bare == field {
				return nil, false
			}
			field = bare
		}
		v, err := strconv.ParseUint(field, 10, 40)
		if err != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}
