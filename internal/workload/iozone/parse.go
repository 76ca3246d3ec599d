package iozone

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/printed"
	"storagebench.io/storagebench/internal/result"
)

const (
	// maxText bounds what Parse reads: a line of a table is 140 bytes.
	maxText = 16 << 20
	// maxTables bounds what it returns.
	maxTables = 10_000
)

// Table is one run of iozone that a text reports, or one number of processes of its
// throughput mode.
type Table struct {
	// Title is what the text says about the table, or empty, and Section what stands above that.
	Title, Section string
	// Command is the command line; empty: it is not in the text.
	Command string
	// Typed is the command that somebody typed, as far as the text shows it.
	Typed string
	// Program is iozone, with its version if the text says so.
	Program string
	// Settings by which runs are told apart.
	Settings map[string]string
	// LargestFile in bytes; 0: unknown.
	LargestFile uint64
	// Direct reports O_DIRECT, and Unsynced that writes were not flushed.
	Direct, Unsynced bool
	// Measurement of the run: metrics, operations and notes.
	Measurement result.Measurement
}

// run is a Table while it is being read.
type run struct {
	title, section, version, command string
	// typed is the command that somebody typed, as far as the text shows it.
	typed string
	// failure is the first error that iozone printed; empty: none.
	failure string
	// flush and direct are what iozone says of its options.
	flush, direct bool
	cells         matrix
	// excel reports that the cells are from a report for spreadsheets, which repeats a
	// table.
	excel bool
	// throughput is read in throughput mode.
	throughput *throughput
}

// parser goes through the lines of a text.
type parser struct {
	lines []string
	runs  []*run
	// read is the first line that belongs to nothing yet, and top the first line of what
	// iozone says before its next table; -1: nothing yet.
	read, top int
	// cut reports that the last line of the text has no end.
	cut bool
	// outline has the headings so far.
	outline printed.Outline
}

// Parse reads every run of iozone that a text reports, in its order: the table that
// iozone prints, whichever tests it has, or where there is none the reports of -R, or the
// rates of throughput mode (-t). Other lines may stand between them, and the text may be
// decorated, as by quotation. Bandwidths are wanted: output in operations per second (-O) or
// microseconds (-N) is refused.
func Parse(text []byte) ([]Table, error) {
	runs, err := parse(text)
	if err != nil {
		return nil, err
	}
	tables := make([]Table, len(runs))
	for i, r := range runs {
		tables[i] = r.table()
	}
	return tables, nil
}

// parse returns the runs that have a table: at least one.
func parse(text []byte) ([]*run, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("iozone: a text of %d MiB is larger than %d MiB", len(text)>>20, maxText>>20)
	}
	p := &parser{lines: printed.Lines(text), cut: !printed.Ended(text), top: -1}
	for i := 0; i < len(p.lines); {
		next, err := p.at(i)
		if err != nil {
			return nil, fmt.Errorf("iozone: line %d: %w", i+1, err)
		}
		if len(p.runs) > maxTables {
			return nil, fmt.Errorf("iozone: more than %d runs in one text", maxTables)
		}
		i = next
	}
	runs := slices.DeleteFunc(p.runs, func(r *run) bool { return !r.measured() })
	if len(runs) == 0 {
		if strings.Contains(string(text), "Throughput") {
			return nil, errors.New("iozone: the text is from throughput mode, but has no line of \"Children see throughput for …\"")
		}
		return nil, errors.New("iozone: the text contains no table of iozone")
	}
	return runs, nil
}

// measured reports whether anything was read of a run.
func (r *run) measured() bool {
	return len(r.cells) > 0 || r.throughput != nil && len(r.throughput.metrics) > 0
}

func (r *run) table() Table {
	t := Table{Title: r.title, Section: r.section, Command: r.command, Typed: r.typed, Program: strings.TrimSpace("iozone " + r.version), Direct: r.direct}
	t.Settings = map[string]string{"program": t.Program, "command": r.command}
	if r.throughput != nil && len(r.throughput.metrics) > 0 {
		r.throughput.put(&t)
	} else {
		t.Measurement, t.LargestFile = r.cells.measurement(), r.cells.largest()
		t.Settings["sizes"] = r.cells.sizes()
	}
	if r.failure != "" {
		t.Measurement.Notes = append(t.Measurement.Notes, "iozone printed an error: "+r.failure)
	}
	if r.command == "" {
		return t // who says nothing of options may have used them
	}
	t.Measurement.DirectIO = &result.DirectIO{Effective: result.Buffered, Evidence: "iozone says nothing of O_DIRECT"}
	if r.direct {
		t.Measurement.DirectIO = &result.DirectIO{Requested: true, Effective: result.DirectUnknown, Evidence: "iozone says that it used O_DIRECT"}
	} else if !r.flush {
		t.Unsynced = true
		t.Measurement.Notes = append(t.Measurement.Notes, noFlush)
	}
	return t
}

// noFlush is what a reader of writes must know.
const noFlush = "writes were not flushed (no -e): a file that fits into memory was written only to memory"

// current is the run that a line belongs to.
func (p *parser) current() *run {
	if len(p.runs) == 0 {
		p.begin()
	}
	return p.runs[len(p.runs)-1]
}

// preparing is the run that an option in line i belongs to: one that has measured nothing.
func (p *parser) preparing(i int) *run {
	if p.top < 0 {
		p.top = i
	}
	if r := p.current(); !r.measured() {
		return r
	}
	return p.begin()
}

func (p *parser) begin() *run {
	r := &run{cells: matrix{}}
	p.runs = append(p.runs, r)
	return r
}

// name gives a run its title: what the text says above line i, or above what iozone said
// before it. A command that asks for something else than bandwidths is an error.
func (p *parser) name(r *run, i int) error {
	if p.top >= 0 {
		i = p.top
	}
	p.outline.ReadTo(p.lines, i)
	if r.title == "" {
		title := printed.TitleOf(p.lines, i, p.read)
		r.title, r.section = title.Text, p.outline.Above(title)
	}
	r.typed = printed.CommandOf(p.lines, i, p.read)
	p.top = -1
	for _, command := range []string{r.typed, r.command} {
		if otherUnits.MatchString(command) {
			return fmt.Errorf("%s: %s", clip(command), onlyBandwidths)
		}
	}
	return nil
}

// otherUnits are options with which iozone prints operations per second, or microseconds.
var otherUnits = regexp.MustCompile(`iozone\b.*\s-[a-zA-Z]{0,8}[ON](?:\s|$)`)

const onlyBandwidths = "only bandwidths are supported: run iozone without -O and -N"

// at reads what begins at line i, and returns the line after it.
func (p *parser) at(i int) (int, error) {
	line := strings.TrimSpace(p.lines[i])
	if columns := newColumns(p.lines[i]); columns != nil {
		return p.readTable(columns, i)
	}
	if operation, ok := reports[strings.ToLower(line)]; ok {
		return p.readReport(operation, i+1)
	}
	if ok, err := p.readThroughput(i, line); ok || err != nil {
		return i + 1, err
	}
	return i + 1, p.option(i, line)
}

// failure is what iozone prints when a system call failed, or what was read is wrong.
var failure = regexp.MustCompile(`^(?:Error (?:writing|reading|in file|in position)|(?:write|read|fsync|open|pwrite|pread|fwrite|fread|close|mmap): [A-Z]|Can not (?:open|write|read|fdopen))`)

var revision = regexp.MustCompile(`^Version \$Revision: *([0-9.]{1,20}) *\$`)

// option reads a line of what iozone says before its table.
func (p *parser) option(i int, line string) error {
	command, isCommand := strings.CutPrefix(line, "Command line used:")
	switch {
	case strings.HasPrefix(line, "Iozone: Performance Test of File I/O"):
		p.top = i
		if r := p.current(); r.measured() || r.command != "" || r.version != "" {
			p.begin()
		}
	case strings.HasPrefix(line, "OPS Mode."), strings.HasPrefix(line, "Microseconds/op Mode."):
		return fmt.Errorf("%s: %s", clip(strings.TrimSuffix(line, ".")), onlyBandwidths)
	case strings.HasPrefix(line, "Performance measurements are invalid"):
		return errors.New("iozone says that its measurements are invalid in this mode: run it without -+d and -V")
	case failure.MatchString(line):
		if r := p.current(); r.failure == "" {
			r.failure = clip(line)
		}
	case strings.HasPrefix(line, "Include fsync in write timing"), strings.HasPrefix(line, "SYNC Mode."):
		p.preparing(i).flush = true
	case strings.HasPrefix(line, "O_DIRECT feature enabled"):
		p.preparing(i).direct = true
	case isCommand:
		r := p.preparing(i)
		if r.command != "" {
			r = p.begin()
		}
		r.command = clip(strings.TrimSpace(command))
	}
	if m := revision.FindStringSubmatch(line); m != nil {
		p.preparing(i).version = m[1]
	}
	return nil
}

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
	rows, next := 0, i+1
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
		const kibi = 1024
		at := pair{values[0] * kibi, values[1] * kibi}
		for k, v := range values[2:] {
			if v > 0 && !r.cells.set(operations[k], at, float64(v)*kibi) {
				return 0, fmt.Errorf("files of %s with records of %s appear twice", sizeName(at.file), sizeName(at.record))
			}
		}
		rows++
		p.read = next + 1
	}
	if rows == 0 {
		return 0, errors.New("a table begins here but has no rows")
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
				return nil, fmt.Errorf("%q is not a number, in a row of the table", clip(line[at[0]:at[1]]))
			}
			return nil, nil
		}
		if k < sizes || len(found) == len(ends) {
			column = k
		} else if column = nearest(ends, at[1]-moved, column+1); column < 0 {
			return nil, fmt.Errorf("the column of %d is not clear", v)
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
