package bonnie

import (
	"errors"
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
	// top is its first line.
	top int
	// rows that were read below it.
	rows int
}

// above is the nearest line above line i that is not blank; -1: there is none nearby.
func above(lines []string, i int) int {
	const nearby = 3
	for k := i - 1; k >= max(0, i-nearby); k-- {
		if strings.TrimSpace(lines[k]) != "" {
			return k
		}
	}
	return -1
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

// columnsOfATable are a rate and a share of CPU for each of six tests.
const columnsOfATable = 12

// newHeader reads the header whose last line is line i, or returns nil.
func newHeader(lines []string, i int) *header {
	found := columns.FindAllStringIndex(lines[i], -1)
	second := above(lines, i)
	if len(found) != columnsOfATable || second < 0 {
		return nil
	}
	first, last := found[1], found[len(found)-1]
	if lines[i][first[0]:first[1]] != lines[i][last[0]:last[1]] {
		return nil // its right edge was cut, and so may be that of the rows
	}
	h := &header{program: classic, sizeUnit: 1 << 20, top: max(0, above(lines, second))}
	if first := lines[h.top]; !strings.Contains(first, "Sequential ") && !program.MatchString(strings.TrimSpace(first)) {
		h.top = second // its first line is missing
	}
	switch names := lines[second]; {
	case strings.Contains(names, "-Rewrite-"):
	case strings.Contains(names, "-Create-"):
		h.files = true
		machine, _, _ := strings.Cut(names, "-Create-")
		h.machine = strings.TrimSpace(machine)
	default:
		return nil
	}
	if strings.Contains(lines[i], "%CP ") { // bonnie writes %CPU
		h.program = plusPlus
	}
	if m := program.FindStringSubmatch(strings.TrimSpace(lines[h.top])); m != nil {
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

// latencyLabel begins the line of latencies below a row.
var latencyLabel = regexp.MustCompile(`^\s*Latency(?:\s|$)`)

// row reads a line below a header. It reports whether it was a row, or the latencies
// of one.
func (p *parser) row(h *header, line string) (bool, error) {
	if at := latencyLabel.FindStringIndex(line); at != nil {
		return p.latencies(h, line[at[1]:])
	}
	labels, cells := h.split(line)
	// A row without a size, or number of files, has lost a word: its columns are others.
	if cells == nil || len(labels) == 0 {
		return false, nil
	}
	labels = joinVolumes(labels)
	if !h.labelled(labels) {
		return false, nil
	}
	label := labels[len(labels)-1]
	machine := strings.Join(labels[:len(labels)-1], " ")
	if h.files {
		return true, p.fileRow(h, machine, label, cells)
	}
	e := &entry{reading: newReading(), text: true}
	size, _ := parseSize(label, h.sizeUnit)
	e.Title, e.Program, e.Machine, e.Size, e.Command = p.title, h.program, machine, size, p.command
	e.Section, e.Apart, p.apart = p.section, p.apart, false
	p.entries, p.last = append(p.entries, e), e
	return true, e.add(ioTests, cells)
}

// volumes is a number of files whose size stands behind a blank: 3* 512.
var volumes = regexp.MustCompile(`^\d{1,4}\*$`)

// joinVolumes makes one word of a number of files and their size.
func joinVolumes(labels []string) []string {
	n := len(labels)
	if n < 2 || !volumes.MatchString(labels[n-2]) {
		return labels
	}
	return append(labels[:n-2:n-2], labels[n-2]+labels[n-1])
}

// numberOfFiles is how bonnie++ writes the number of small files, and their sizes.
var numberOfFiles = regexp.MustCompile(`^\d{1,9}[kKMG]?(?::[\d:/kKMG]*)?$`)

// fileRow reads a row of the table of small files.
func (p *parser) fileRow(h *header, machine, files string, cells []cell) error {
	if machine == "" {
		machine = h.machine
	}
	e := p.entryOfFiles(h, machine)
	e.files, e.Files, p.last = true, files, e
	for _, program := range []string{h.program, e.Program} {
		if wrongRates.MatchString(program) {
			e.dropRates(program, cells)
			break
		}
	}
	return e.add(fileTests, cells)
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

// entryOfFiles finds the run that a row of small files belongs to: the first of that machine
// in the table above, the table of the large file. A row that names no machine belongs to the
// run whose turn it is. If there is none, it is a run without a large file.
func (p *parser) entryOfFiles(h *header, machine string) *entry {
	for _, same := range []func(a, b string) bool{equal, sameMachine} {
		for _, e := range p.entries[p.group:] {
			if e.text && !e.files && (machine == "" || same(e.Machine, machine)) {
				return e
			}
		}
	}
	e := &entry{reading: newReading(), text: true}
	e.Title, e.Program, e.Machine, e.Command = p.title, h.program, machine, p.command
	e.Section, e.Apart, p.apart = p.section, p.apart, false
	p.entries = append(p.entries, e)
	return e
}

func equal(a, b string) bool { return a == b }

// sameMachine reports whether two names are of one machine. bonnie++ cuts them to different
// lengths.
func sameMachine(a, b string) bool {
	const whole = 12 // no shorter name is cut
	return min(len(a), len(b)) >= whole && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

var errLatencies = errors.New("it is not clear which test each of these latencies belongs to")

// latencies reads the line of latencies below a row. Each has ten columns.
func (p *parser) latencies(h *header, rest string) (bool, error) {
	if p.last == nil {
		return false, nil
	}
	tests := ioTests
	if h.files {
		tests = fileTests
	}
	words := strings.Fields(rest)
	fields := words
	if len(fields) != len(tests) {
		const label, width = len("         "), 10
		fields = make([]string, len(tests))
		whole := 0
		for i := range fields {
			begin := min(label+i*width, len(rest))
			fields[i] = strings.TrimSpace(rest[begin:min(begin+width, len(rest))])
			if fields[i] != "" && whole < len(words) && fields[i] == words[whole] {
				whole++
			}
		}
		if whole != len(words) {
			return false, errLatencies
		}
	}
	cells := make([]cell, len(tests))
	for i := range cells {
		cells[i].latency = fields[i]
	}
	return true, p.last.add(tests, cells)
}

// split divides a row into its labels and the cells of six tests; nil if it is no row.
func (h *header) split(line string) ([]string, []cell) {
	found := words.FindAllStringIndex(line, -1)
	texts := make([]string, len(h.ends))
	labels := h.place(line, found, texts)
	if labels == len(found) {
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

// place puts the words of a row into the columns, and returns how many stand before them: all of
// them if it is no row. A row may have lost its blanks; but one that has another number before its
// size may have one too many, or a size that is none, if its columns are elsewhere.
func (h *header) place(line string, found [][]int, texts []string) int {
	labels := h.align(line, found, texts)
	last := len(found) - len(h.ends)
	if last < 0 || !allValues(line, found[last:]) || labels == last {
		return labels
	}
	if last > 1 && value.MatchString(line[found[last-1][0]:found[last-1][1]]) && (labels > last && labels < len(found) || isNumber(line[found[last-2][0]:found[last-2][1]])) {
		return len(found)
	}
	for i, at := range found[last:] {
		texts[i] = line[at[0]:at[1]]
	}
	return last
}

// isNumber reports whether a word may be a number of a table, or a size.
func isNumber(word string) bool {
	_, ok := parseSize(word, 1)
	return ok || value.MatchString(word)
}

// whole reports whether a line is a row, and whether that has a number in its last column.
func (h *header) whole(line string) (row, all bool) {
	labels, cells := h.split(line)
	if len(labels) == 0 || !h.labelled(labels) {
		return false, false
	}
	return true, cells[len(cells)-1].rate != ""
}

// fraction ends a share of CPU as bonnie prints it.
var fraction = regexp.MustCompile(`\.\d$`)

// shortened reports whether the last number of a row of bonnie's has lost its end: unlike the
// others, it has no digit behind a point.
func (h *header) shortened(line string) bool {
	_, cells := h.split(line)
	last := len(cells) - 1
	return h.program == classic && fraction.MatchString(cells[0].cpu) && !fraction.MatchString(cells[last].cpu)
}

// uncommented is a row without the words that somebody wrote behind it; empty: it is no row, or
// has none.
func (h *header) uncommented(line string) string {
	found := words.FindAllStringIndex(line, -1)
	for first := 1; first+len(h.ends) < len(found); first++ {
		behind := found[first+len(h.ends)]
		if !allValues(line, found[first:first+len(h.ends)]) || value.MatchString(line[behind[0]:behind[1]]) {
			continue
		}
		if label := line[found[first-1][0]:found[first-1][1]]; h.labelled([]string{label}) {
			return line[:found[first+len(h.ends)-1][1]]
		}
	}
	return ""
}

// labelled reports whether the words before a row end with a size, or a number of files.
func (h *header) labelled(labels []string) bool {
	last := labels[len(labels)-1]
	_, ok := parseSize(last, h.sizeUnit)
	return ok || h.files && numberOfFiles.MatchString(last)
}

func allValues(line string, found [][]int) bool {
	for _, at := range found {
		if !value.MatchString(line[at[0]:at[1]]) {
			return false
		}
	}
	return true
}

// widthOfFirst is how wide the first column is, with the blank before it.
const widthOfFirst = 6

// align puts the words of a row, in which columns are blank, into the columns that they
// end with, or one character beside. A number that is wider than its column has moved all
// behind it to the right. It returns how many words stand before them: all of them if it is
// no row.
func (h *header) align(line string, found [][]int, texts []string) int {
	labels := 0
	for labels < len(found) && found[labels][1] <= h.ends[0]-widthOfFirst+1 {
		labels++
	}
	column, moved := 0, 0
	for _, at := range found[labels:] {
		for column < len(h.ends) && !h.holds(column, at[0]-moved, at[1]-moved) {
			column++
		}
		if column == len(h.ends) || !value.MatchString(line[at[0]:at[1]]) {
			return len(found)
		}
		texts[column] = line[at[0]:at[1]]
		moved = at[1] - h.ends[column]
		column++
	}
	return labels
}

// holds reports whether a column has the number that begins and ends there: one that ends
// with the column, or begins with it and is wider.
func (h *header) holds(column, begin, end int) bool {
	const beside = 1
	first := h.ends[0] - widthOfFirst + 1
	if column > 0 {
		first = h.ends[column-1] + 1
	}
	over := end - h.ends[column]
	return over >= -beside && over <= beside || over > 0 && begin == first
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
