package iozone

import (
	"errors"
	"maps"
	"math"
	"slices"
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

// reportIn returns the operation of the report whose heading is in line i. Without quotes, it is
// one only if record sizes follow.
func (p *parser) reportIn(i int) (operation string, ok bool) {
	line := strings.ToLower(strings.TrimSpace(p.lines[i]))
	bare := strings.Trim(line, quotes)
	if operation, ok = reports[bare]; !ok || bare != line {
		return operation, ok
	}
	for i++; i < len(p.lines) && strings.TrimSpace(p.lines[i]) == ""; i++ {
	}
	if i == len(p.lines) {
		return "", false
	}
	_, ok = numbers(p.lines[i], 0)
	return operation, ok
}

// readReport reads a report that begins in line i with the record sizes. It repeats the table
// above it, if that says the same; else it is of a run of which only the reports were kept.
func (p *parser) readReport(operation string, i int) (int, error) {
	report, next, err := p.reportRows(operation, i)
	if err != nil {
		return next, err
	}
	r := p.current()
	table := len(r.cells) > 0 && !r.excel
	if !table || !r.cells.says(report) {
		if table || r.throughput != nil || r.cells[operation] != nil || r.excel && p.announced(i-1) {
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
func (p *parser) reportRows(operation string, i int) (matrix, int, error) {
	head := i - 1
	for i < len(p.lines) && strings.TrimSpace(p.lines[i]) == "" {
		i++
	}
	if i == len(p.lines) {
		return nil, head, errors.New("a report has no record sizes")
	}
	records, ok := numbers(p.lines[i], len(strings.Fields(p.lines[i])))
	if !ok {
		return nil, i, errors.New("a report has no record sizes")
	}
	report, next := matrix{}, i+1
	for i++; i < len(p.lines); i++ {
		if strings.TrimSpace(p.lines[i]) == "" {
			continue
		}
		row, ok := numbers(p.lines[i], 1)
		if !ok {
			break
		}
		const kibi = 1024
		if len(row) > len(records)+1 || row[0] == 0 || slices.Contains(records, 0) {
			return nil, i, errors.New("a row of a report has more values than there are record sizes above it, or a file size of 0")
		}
		for k, v := range row[1:] {
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

// announced reports whether the text says above line i that something else begins.
func (p *parser) announced(i int) bool {
	title := printed.TitleOf(p.lines, i, p.read)
	return title.Heading || title.Colon || printed.CommandOf(p.lines, i, p.read) != ""
}

// numbers reads a line of numbers, of which the first so many may be in quotes.
func numbers(line string, inQuotes int) ([]uint64, bool) {
	const most = 64
	fields := strings.Fields(line)
	if len(fields) == 0 || len(fields) > most {
		return nil, false
	}
	var out []uint64
	for k, field := range fields {
		if k < inQuotes {
			field = strings.Trim(field, quotes)
		}
		v, err := strconv.ParseUint(field, 10, 40)
		if err != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}
