package iozone

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// reports are the headings of what -R adds.
var reports = map[string]string{
	`"writer report"`: "write", `"re-writer report"`: "rewrite", `"reader report"`: "read", `"re-reader report"`: "reread",
	`"random read report"`: "random.read", `"random write report"`: "random.write", `"backward read report"`: "backward.read",
	`"record rewrite report"`: "record.rewrite", `"stride read report"`: "stride.read", `"fwrite report"`: "fwrite",
	`"re-fwrite report"`: "frewrite", `"fread report"`: "fread", `"re-fread report"`: "freread",
}

// readReport reads a report that begins in line i with the record sizes, and has a file
// size before each row. It repeats the table above it, if there is one.
func (p *parser) readReport(operation string, i int) (int, error) {
	r := p.current()
	if r.excel && r.cells[operation] != nil {
		r = p.begin() // another run, of which only the reports were kept
	}
	p.name(r, i-1)
	repeats := len(r.cells) > 0 && !r.excel
	r.excel = !repeats
	if i >= len(p.lines) {
		return 0, errors.New("a report has no record sizes")
	}
	records, ok := numbers(p.lines[i], len(strings.Fields(p.lines[i])))
	if !ok {
		return 0, errors.New("a report has no record sizes")
	}
	for i++; i < len(p.lines); i++ {
		row, ok := numbers(p.lines[i], 1)
		if !ok {
			break
		}
		const kibi = 1024
		if len(row) > len(records)+1 || row[0] == 0 || slices.Contains(records, 0) {
			return 0, errors.New("a report has more values than record sizes, or a size of 0")
		}
		for k, v := range row[1:] {
			if v > 0 && !repeats && !r.cells.set(operation, pair{row[0] * kibi, records[k] * kibi}, float64(v)*kibi) {
				return 0, errors.New("a report appears twice")
			}
		}
		if p.cut && i == len(p.lines)-1 {
			return 0, errCut
		}
		p.read = i + 1
	}
	return i, nil
}

// numbers reads a line of numbers, of which the first so many are in quotes.
func numbers(line string, inQuotes int) ([]uint64, bool) {
	const most = 64
	fields := strings.Fields(line)
	if len(fields) == 0 || len(fields) > most {
		return nil, false
	}
	var out []uint64
	for k, field := range fields {
		if unquoted := strings.Trim(field, `"`); k < inQuotes {
			if len(unquoted) != len(field)-2 {
				return nil, false
			}
			field = unquoted
		}
		v, err := strconv.ParseUint(field, 10, 40)
		if err != nil {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}
