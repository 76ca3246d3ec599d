package bonnie

import (
	"regexp"
	"strings"
)

// classic is the program that bonnie++ is made from.
const classic = "bonnie"

// header is what stands above the rows of a table for people: three lines, of which
// the last has the units and says where the columns end.
type header struct {
	// program with its version.
	program string
	// machine, where the header names it and not the row.
	machine string
	// files reports that it is the table of the tests on small files.
	files bool
	// ends of the twelve columns.
	ends []int
	// units of the six rates, in bytes; 0: it is a suffix of the number.
	units []float64
	// sizeUnit is the unit of a size without a suffix.
	sizeUnit uint64
}

var (
	columns = regexp.MustCompile(`[KM]?/sec|%CPU?`)
	program = regexp.MustCompile(`^Version +(\S+)`)
	words   = regexp.MustCompile(`\S+`)
	value   = regexp.MustCompile(`^(?:\d+(?:\.\d*)?[kmg]?|\++)$`)
	// wrongRates are those bonnie++ versions that print a float as if it were an
	// integer in the table of small files: the rate is that of another number.
	wrongRates = regexp.MustCompile(`^bonnie\+\+ (?:1\.98|2\.00)`)
)

// newHeader reads the header whose last line is line i, or returns nil.
func newHeader(lines []string, i int) *header {
	const columnsOfATable = 12
	found := columns.FindAllStringIndex(lines[i], -1)
	if len(found) != columnsOfATable || i < 2 {
		return nil
	}
	h := &header{program: classic, sizeUnit: 1 << 20}
	switch names := lines[i-1]; {
	case strings.Contains(names, "-Rewrite-"):
	case strings.Contains(names, "-Create-"):
		h.files = true
		machine, _, _ := strings.Cut(names, "-Create-")
		h.machine = clip(strings.TrimSpace(machine))
	default:
		return nil
	}
	if strings.Contains(lines[i], "%CP ") { // bonnie writes %CPU
		h.program = plusPlus
	}
	if m := program.FindStringSubmatch(strings.TrimSpace(lines[i-2])); m != nil {
		h.program = plusPlus + " " + clip(m[1])
	}
	if strings.Contains(lines[i][:found[0][0]], "GB") {
		h.sizeUnit = 1 << 30
	}
	for k, at := range found {
		h.ends = append(h.ends, at[1])
		if k%2 > 0 {
			continue
		}
		unit := 0.0
		switch lines[i][at[0]] {
		case 'K':
			unit = 1 << 10
		case 'M':
			unit = 1 << 20
		}
		h.units = append(h.units, unit)
	}
	return h
}

// row reads a line below a header. It reports whether it was a row, or the latencies
// of one.
func (p *parser) row(h *header, line, title string) (bool, error) {
	if rest, ok := strings.CutPrefix(line, "Latency "); ok {
		return p.latencies(h, rest)
	}
	labels, cells := h.split(line)
	// A row without a size, or number of files, has lost a word: its columns are others.
	if cells == nil || len(labels) == 0 {
		return false, nil
	}
	size, ok := parseSize(labels[len(labels)-1], h.sizeUnit)
	if !ok && !h.files {
		return false, nil
	}
	e := p.entryFor(h, strings.Join(labels[:len(labels)-1], " "), size, title)
	tests := ioTests
	if h.files {
		tests = fileTests
		if wrongRates.MatchString(h.program) {
			e.dropRates(h.program, cells)
		}
	}
	return true, e.add(tests, cells)
}

// dropRates removes rates that are not what was measured.
func (e *entry) dropRates(program string, cells []cell) {
	dropped := false
	for i := range cells {
		if strings.Trim(cells[i].rate, "+") != "" {
			cells[i].rate, dropped = "", true
		}
	}
	if dropped {
		e.Measurement.Notes = append(e.Measurement.Notes,
			"the rates of creates, stats and deletes are left out: "+program+" prints wrong ones in its table, and right ones in its line of CSV")
	}
}

// entryFor finds the run that a row belongs to: the table of small files stands below
// that of the large one.
func (p *parser) entryFor(h *header, machine string, size uint64, title string) *entry {
	e := &entry{reading: newReading(), text: true, files: h.files}
	e.Title, e.Program, e.Machine, e.Size = title, h.program, clip(machine), size
	if h.files {
		if last := len(p.entries) - 1; last >= 0 && p.entries[last].text && !p.entries[last].files {
			p.entries[last].files = true
			return p.entries[last]
		}
		e.Machine, e.Size = h.machine, 0
	}
	p.entries = append(p.entries, e)
	return e
}

// latencies reads the line of latencies below a row. Each has ten columns.
func (p *parser) latencies(h *header, rest string) (bool, error) {
	if len(p.entries) == 0 {
		return false, nil
	}
	tests := ioTests
	if h.files {
		tests = fileTests
	}
	fields := strings.Fields(rest)
	if len(fields) != len(tests) {
		const label, width = len("         "), 10
		fields = make([]string, len(tests))
		for i := range fields {
			begin := min(label+i*width, len(rest))
			fields[i] = strings.TrimSpace(rest[begin:min(begin+width, len(rest))])
		}
	}
	cells := make([]cell, len(tests))
	for i := range cells {
		cells[i].latency = fields[i]
	}
	return true, p.entries[len(p.entries)-1].add(tests, cells)
}

// split divides a row into its labels and the cells of six tests; nil if it is no row.
func (h *header) split(line string) ([]string, []cell) {
	found := words.FindAllStringIndex(line, -1)
	texts := make([]string, len(h.ends))
	labels := len(found) - len(h.ends)
	if labels >= 0 && allValues(line, found[labels:]) {
		for i, at := range found[labels:] {
			texts[i] = line[at[0]:at[1]]
		}
	} else if labels = h.align(line, found, texts); labels == len(found) {
		return nil, nil // also an empty line
	}
	cells := make([]cell, len(h.units))
	for i := range cells {
		cells[i] = cell{rate: texts[2*i], cpu: texts[2*i+1], unit: h.units[i]}
		// What lacks a half was cut, and bonnie has no way to leave out a test.
		if (cells[i].rate == "") != (cells[i].cpu == "") || cells[i].rate == "" && h.program == classic {
			return nil, nil
		}
		cells[i].scale()
	}
	var names []string
	for _, at := range found[:labels] {
		names = append(names, line[at[0]:at[1]])
	}
	return names, cells
}

func allValues(line string, found [][]int) bool {
	for _, at := range found {
		if !value.MatchString(line[at[0]:at[1]]) {
			return false
		}
	}
	return true
}

// align puts the words of a row, in which columns are blank, into the columns that they
// end with. It returns how many words stand before them: all of them if it is no row.
func (h *header) align(line string, found [][]int, texts []string) int {
	const width = 6 // of the first column
	labels := 0
	for labels < len(found) && found[labels][1] <= h.ends[0]-width+1 {
		labels++
	}
	column := 0
	for _, at := range found[labels:] {
		for column < len(h.ends) && h.ends[column] < at[1] {
			column++
		}
		if column == len(h.ends) || h.ends[column] != at[1] || !value.MatchString(line[at[0]:at[1]]) {
			return len(found)
		}
		texts[column] = line[at[0]:at[1]]
	}
	return labels
}

// scale takes the suffix of a number as its unit: 1293k, 13.2m, 1.9g.
func (c *cell) scale() {
	for i, suffix := range []string{"k", "m", "g"} {
		if digits, ok := strings.CutSuffix(c.rate, suffix); ok {
			c.rate, c.unit = digits, float64(uint64(1)<<(10*(i+1)))
		}
	}
	if c.unit == 0 {
		c.unit = 1
	}
}
