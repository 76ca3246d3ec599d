package bonnie

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// plusPlus is the name of the program that writes CSV.
const plusPlus = "bonnie++"

// layout says where in a line of CSV things are. A rate is followed by its CPU.
type layout struct {
	fields              int
	size, io, files     int // the first field of each
	latency             int // 0: there are none
	machine, version    int
	formatVersionAtZero bool
}

// Layouts of bonnie++'s CSV. 1.0x has no version in it. 1.98, which is the format of
// bonnie++ 1.98 and 2.00, has the numbers of seeks and of seekers after the size;
// the line of field names that bonnie++ prints forgets them.
var (
	layout103 = layout{fields: 27, machine: 0, size: 1, io: 2, files: 15}
	layout196 = layout{fields: 48, version: 1, machine: 2, size: 5, io: 7, files: 24, latency: 36, formatVersionAtZero: true}
	layout198 = layout{fields: 50, version: 1, machine: 2, size: 5, io: 9, files: 26, latency: 38, formatVersionAtZero: true}
)

var (
	formatVersion = regexp.MustCompile(`^[12]\.\d\d[a-z]?$`)
	// beginsCSV is the beginning of a line that has versions.
	beginsCSV = regexp.MustCompile(`^(?:1\.9\d[a-z]?|2\.\d\d[a-z]?),[12]\.\d\d[a-z]?(?:,|$)`)
	format196 = regexp.MustCompile(`^1\.9[3-7][a-z]?$`)
)

// spans are what people put between marks in a sentence.
var spans = regexp.MustCompile("`([^`]{20,})`|\"([^\"]{20,})\"|'([^']{20,})'")

// csv reads a line of CSV, or one that stands between marks in a sentence. Nil without an error:
// there is none.
func (p *parser) csv(line string) (*entry, error) {
	if m := spans.FindStringSubmatch(line); m != nil {
		if quoted := strings.TrimSpace(m[1] + m[2] + m[3]); quoted != bareCSV(line) {
			if e, err := readCSV(quoted); e != nil || err != nil {
				if e != nil {
					e.quoted = true
				}
				return e, err
			}
			return nil, nil
		}
	}
	line = bareCSV(line)
	part := begins103.MatchString(line) && partOfCSV(line)
	if part && !p.begun(line) {
		return nil, incomplete(line)
	}
	e, err := readCSV(line)
	if e == nil && err == nil && !part && overfull(line) {
		return nil, incomplete(line)
	}
	return e, err
}

var (
	errFormat = errors.New("format version")
	errCSV    = errors.New("a CSV line of bonnie++ is incomplete: provide it whole, in one line")
)

// nameAndSize are those of a machine and its large file in one field.
var nameAndSize = regexp.MustCompile(`^[^,]*\w:\d{1,9}[kMGT]$`)

// incomplete says what is wrong with a line of CSV without versions that has not as many fields as bonnie++
// prints.
func incomplete(line string) error {
	fields := strings.Split(line, ",")
	if n := len(fields); n == layout103.fields-1 && nameAndSize.MatchString(fields[0]) {
		return fmt.Errorf("a CSV line of bonnie++ has %d fields instead of %d: the name and the size are one field, %q, so write a comma between them", n, layout103.fields, clip(fields[0]))
	}
	if n := len(fields); n > layout103.fields {
		return fmt.Errorf("a CSV line of bonnie++ has %d fields instead of %d: if there is a comma in the name, remove it", n, layout103.fields)
	}
	return fmt.Errorf("a CSV line of bonnie++ has %d fields instead of %d: provide it whole, in one line", len(fields), layout103.fields)
}

var (
	// ofRates is a field of a line of CSV that has a rate, or a share of CPU.
	ofRates = regexp.MustCompile(`^(?:[\d.]{0,20}|\+{3,5})$`)
	// ofBonnie is one that other programs do not write: of plus signs, or a size.
	ofBonnie = regexp.MustCompile(`^(?:\+{5}|\d{1,9}[kMGT](?::\d{1,9}k?)?)$`)
)

// overfull reports whether a line is one of CSV without versions that has more fields than bonnie++ prints,
// as behind a name with a comma: all but a few are rates.
func overfull(line string) bool {
	const most, others = 5, 5 // such as the name, the size, the number of files
	fields := strings.SplitN(line, ",", layout103.fields+most+1)
	if n := len(fields); n <= layout103.fields || n > layout103.fields+most || !slices.ContainsFunc(fields, ofBonnie.MatchString) {
		return false
	}
	rates := 0
	for _, field := range fields {
		if ofRates.MatchString(field) {
			rates++
		}
	}
	return len(fields)-rates <= others
}

// begun reports whether a line of CSV that was cut begins one that the table above tells: the
// same machine, and nothing that the table does not have.
func (p *parser) begun(line string) bool {
	fields := strings.Split(line, ",")
	if len(p.entries) == 0 || !p.entries[len(p.entries)-1].text {
		return false
	}
	fields = append(fields[:len(fields)-1], make([]string, layout103.fields-len(fields)+1)...) // the last one may be cut
	e, err := readCSV(strings.Join(fields, ","))
	return err == nil && e != nil && p.entries[len(p.entries)-1].repeatedBy(e)
}

// echoed is the end of a line whose command prints the line of CSV below, which a mail has wrapped.
var echoed = regexp.MustCompile(`\b(?:echo|printf)$`)

// said reports whether a line of CSV is one of those above, which somebody quotes in a sentence or
// in a command.
func (p *parser) said(e *entry, i int) bool {
	if k := above(p.lines, i); !e.quoted && (k < 0 || !echoed.MatchString(strings.TrimSpace(p.lines[k]))) {
		return false
	}
	return slices.ContainsFunc(p.entries, func(other *entry) bool {
		if other.text {
			return len(other.metrics) > 0 && other.repeatedBy(e)
		}
		return other.Machine == e.Machine && other.Size == e.Size && maps.Equal(other.metrics, e.metrics)
	})
}

// readCSV reads a line of CSV. Nil without an error: it is another line.
func readCSV(line string) (*entry, error) {
	const fewest = 27
	if strings.Count(line, ",") < fewest-1 {
		if beginsCSV.MatchString(line) {
			return nil, errCSV
		}
		return nil, nil
	}
	const most = 200 // a longer line is cut, so that no text becomes a million strings
	fields := strings.SplitN(line, ",", most)
	l, fields, err := layoutOf(fields)
	if l == nil || err != nil {
		return nil, err
	}
	e := &entry{reading: newReading()}
	e.Machine, e.Program, e.files = fields[l.machine], plusPlus, true
	if l.formatVersionAtZero {
		e.Program += " " + clip(fields[l.version])
	}
	if s := fields[l.size]; s != "" {
		size, ok := parseSize(s, 1<<20)
		if !ok {
			return nil, fmt.Errorf("%q is not a size", clip(s))
		}
		e.Size = size
	}
	const kibi = 1024 // bandwidths are in KiB/s
	if f := fields[l.files-1]; f != "" && l.latency == 0 {
		e.Files = clip(f)
	} else if l.latency > 0 {
		e.Files = clip(smallFiles(fields[l.files-5 : l.files]))
	}
	if err := e.add(ioTests, l.cells(fields, l.io, l.latency, kibi)); err != nil {
		return nil, err
	}
	latency := l.latency
	if latency > 0 {
		latency += len(ioTests)
	}
	if err := e.add(fileTests, l.cells(fields, l.files, latency, 1)); err != nil {
		return nil, err
	}
	return e, nil
}

// smallFiles writes the number of small files, their sizes and directories as tables do:
// 16, 60:32:32, 20:900:90/4.
func smallFiles(fields []string) string {
	var text strings.Builder
	text.WriteString(fields[0])
	for i, mark := range []string{":", ":", "/"} {
		if field := fields[i+1]; field != "" {
			text.WriteString(mark + field)
		}
	}
	return text.String()
}

// layoutOf finds the layout of a line. Nil without an error: it is no line of bonnie++.
func layoutOf(fields []string) (*layout, []string, error) {
	version := fields[0]
	if !formatVersion.MatchString(version) {
		last := fields[len(fields)-1] // with a blank in it, somebody typed it: echo host,1G,… | bon_csv2html
		if _, ok := parseSize(fields[1], 1); len(fields) != layout103.fields || !ok && fields[1] != "" || strings.Contains(last, " ") {
			return nil, nil, nil
		}
		return &layout103, fields, nil
	}
	var l *layout
	switch {
	case version == "1.98":
		l = &layout198
	case format196.MatchString(version):
		l = &layout196
		if len(fields) == l.fields-1 && fields[l.size] == "" {
			// Without a large file, versions before 1.97 forget a comma.
			fields = append(append(fields[:l.size:l.size], ""), fields[l.size:]...)
		}
	default:
		return nil, nil, fmt.Errorf("a CSV line has %w %s; versions 1.93 to 1.98 are supported", errFormat, version)
	}
	if len(fields) != l.fields {
		return nil, nil, fmt.Errorf("a CSV line of format version %s has %d fields instead of %d", version, len(fields), l.fields)
	}
	return l, fields, nil
}

// cells of six tests, whose first rate is in field first.
func (*layout) cells(fields []string, first, latency int, unit float64) []cell {
	cells := make([]cell, len(ioTests))
	for i := range cells {
		cells[i] = cell{rate: fields[first+2*i], cpu: fields[first+2*i+1], unit: unit}
		if latency > 0 {
			cells[i].latency = fields[latency+i]
		}
	}
	return cells
}
