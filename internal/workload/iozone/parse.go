package iozone

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
	// Apart reports that somebody says something between it and the report before, in a sentence.
	Apart bool
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
	// Direct reports O_DIRECT, which tests with stdio (fwrite, fread) never have, Unsynced that
	// writes were not flushed, and Flushed that they were. Neither of the last two: it is unknown.
	Direct, Unsynced, Flushed bool
	// Measurement of the run: metrics, operations and notes.
	Measurement result.Measurement
}

// run is a Table while it is being read.
type run struct {
	// columns of its table; 0: it has none.
	columns                          int
	title, section, version, command string
	// apart reports that somebody says something above it, in a sentence.
	apart bool
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
	// header of the last table, and how many numbers its last row has, in which columns; 0: it
	// has ended.
	header  header
	numbers int
	columns []int
	// summary is the report of throughput mode that is being read; nil: none.
	summary *summary
	// outline has the headings so far.
	outline printed.Outline
	// edge is where the longest lines end.
	edge edge
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
	p.edge = edgeOf(p.lines)
	for i := 0; i < len(p.lines); {
		next, err := p.at(i)
		if err != nil {
			return nil, fmt.Errorf("iozone: line %d: %w", printed.LineOf(text, next), err)
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
	options := optionsOf(cmp.Or(r.command, r.typed))
	direct, flush := r.direct || options["I"], r.flush || options["e"] || options["o"] || options["G"]
	t := Table{Title: r.title, Section: r.section, Apart: r.apart, Command: clip(r.command), Typed: r.typed, Program: strings.TrimSpace("iozone " + r.version)}
	t.Settings = map[string]string{"program": t.Program, "command": r.command, "said": fmt.Sprintf("direct=%t flush=%t", r.direct, r.flush)}
	if r.throughput != nil && len(r.throughput.metrics) > 0 {
		r.throughput.put(&t)
	} else {
		t.Measurement, t.LargestFile = r.cells.measurement(), r.cells.largest()
		t.Settings["sizes"] = r.cells.sizes()
	}
	if r.failure != "" {
		t.Measurement.Notes = append(t.Measurement.Notes, "iozone printed an error: "+r.failure)
	}
	if lacks(r.columns) {
		t.Measurement.Notes = append(t.Measurement.Notes, fmt.Sprintf("the table has %d of its %d columns: if its right edge was cut, other numbers are missing, and the last one of a row may be, too", r.columns, len(labels)))
	}
	t.Direct, t.Flushed = direct, flush
	if r.command == "" && !direct {
		return t // who says nothing of an option may have used it
	}
	t.Unsynced = r.command != "" && !flush
	switch {
	case r.direct:
		t.Measurement.DirectIO = &result.DirectIO{Requested: true, Effective: result.DirectUnknown, Evidence: "iozone says that it used O_DIRECT"}
	case direct:
		t.Measurement.DirectIO = &result.DirectIO{Requested: true, Effective: result.DirectUnknown, Evidence: "iozone was called with -I"}
	default:
		t.Measurement.DirectIO = &result.DirectIO{Effective: result.Buffered, Evidence: "iozone says nothing of O_DIRECT"}
	}
	if t.Unsynced && !direct {
		t.Measurement.Notes = append(t.Measurement.Notes, noFlush)
	}
	return t
}

// withValue are the options of iozone that a value follows, in the same word or in the next.
const withValue = "+bdfFgHiJjklLnPqrsStuUVXyY"

// called is what stands before the options of iozone, behind whatever else its line begins with.
var called = regexp.MustCompile(`^.*?\biozone(?:\.exe)?\s`)

// optionsOf returns the options of a command line that have no value. Several may be in one word (-ceI).
func optionsOf(command string) map[string]bool {
	out := map[string]bool{}
	command, _, _ = strings.Cut(called.ReplaceAllString(command, ""), "|")
	for word := range strings.FieldsSeq(command) {
		letters, ok := strings.CutPrefix(word, "-")
		for _, letter := range letters {
			if !ok || strings.ContainsRune(withValue, letter) {
				break
			}
			out[string(letter)] = true
		}
	}
	return out
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
	beside := ""
	if p.top >= 0 {
		i = p.top
	} else if i > p.read && overHeader.MatchString(p.lines[i-1]) {
		beside = strings.TrimSpace(overHeader.ReplaceAllString(p.lines[i-1], ""))
		p.lines[i-1] = beside
	}
	p.outline.ReadTo(p.lines, i)
	if r.title == "" {
		title := printed.TitleOf(p.lines, i, p.read)
		r.title, r.section, r.apart = cmp.Or(title.Text, beside), p.outline.Above(title), title.Said
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

// overHeader are the words above the header of a table, where a title stands in the same line.
var overHeader = regexp.MustCompile(`(?: {2,}(?:random|bkwd|record|stride)){1,5}$`)

// otherUnits are options with which iozone prints operations per second, or microseconds.
var otherUnits = regexp.MustCompile(`iozone\b.*\s-[a-zA-Z]{0,8}[ON](?:\s|$)`)

const onlyBandwidths = "only bandwidths are supported: run iozone without -O and -N"

// at reads what begins at line i, and returns the line after it, or the one of the error.
func (p *parser) at(i int) (int, error) {
	line := strings.TrimSpace(p.lines[i])
	if h := newHeader(p.lines[i]); h != nil {
		return p.readTable(*h, i)
	}
	if p.goesOn(i) {
		return p.readRest(i)
	}
	if operation, quoted, err := p.reportIn(i); operation != "" || err != nil {
		if err != nil {
			return i, err
		}
		return p.readReport(operation, quoted, i+1)
	}
	ok, err := p.readSummary(i, line)
	if !ok && err == nil {
		ok, err = p.readThroughput(i, line)
	}
	if !ok && err == nil {
		err = cmp.Or(p.stray(i), p.option(i, line))
	}
	if err != nil {
		return i, err
	}
	return i + 1, nil
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
	case strings.HasPrefix(line, "iozone test complete"):
		p.numbers = 0
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
		r.command = strings.TrimSpace(command)
	}
	if m := revision.FindStringSubmatch(line); m != nil {
		p.preparing(i).version = m[1]
	}
	return nil
}
