package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/printed"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
)

// File is one file of a tool's output.
type File struct {
	// Name is its path, for messages and for the names of rows.
	Name    string
	Content []byte
	// Modified is when the file was written, the best guess of when the tool ran.
	Modified time.Time
}

// Options of an import.
type Options struct {
	// Tool is one of Tools.
	Tool string
	// Workload of all rows; empty: the tool's name.
	Workload string
	// Target of all rows; empty: the name in the output, or else that of the files.
	Target string
	// Node of all rows; empty: unknown.
	Node string
	// LinkBytesPerSecond is what the way to the storage carries at most; 0: unknown.
	LinkBytesPerSecond float64
	// MemoryBytes is the memory of the machine; 0: unknown.
	MemoryBytes float64
}

// table holds the measurements of one run of a tool.
type table struct {
	// name is what was measured according to the output; empty: unknown.
	name string
	// howOnly reports that name says how the tool measured, not what.
	howOnly bool
	// section has the headings above that name.
	section string
	// titled reports that the text says what was measured. Two tables of one file are
	// repeats only if it does.
	titled bool
	// apart reports that somebody says something between it and the table before: what follows may be of something else, though its
	// title is the same.
	apart bool
	// sum reports that it is the sum of tables before it.
	sum bool
	// machine and settings according to the output.
	machine  string
	settings map[string]string
	// typed is the command that somebody typed, as far as the text shows it.
	typed string
	// printed is what verdicts can be judged from.
	printed     verdict.Printed
	measurement result.Measurement
}

// parser reads the output of one tool. Its error is a *trial.Failure, or says what
// is wrong with the output.
type parser struct {
	tool  string
	parse func([]byte) ([]table, error)
	// looksLike reports whether a text may be the tool's output.
	looksLike func(string) bool
	// wants describes the output that the parser reads.
	wants string
}

// parsers returns the parsers of all tools, sorted by name.
func parsers() []parser {
	return []parser{
		{"fio", parseFio, likeFio, "the file of fio --output-format=json+ --output=FILE"},
		{"bonnie", parseBonnie, likeBonnie, "the table or the line of CSV that bonnie or bonnie++ prints at its end"},
		{"iozone", parseIozone, likeIozone, "what iozone prints: its table, in kBytes/sec"},
		{"postmark", parsePostmark, likePostmark, "the report that PostMark prints at the end of a run"},
	}
}

// Tools that can be imported from.
func Tools() []string {
	var names []string
	for _, p := range parsers() {
		names = append(names, p.tool)
	}
	return names
}

// Wants describes which output of the tool is read; empty if there is no such
// tool.
func Wants(tool string) string {
	for _, p := range parsers() {
		if p.tool == tool {
			return p.wants
		}
	}
	return ""
}

// Summary reads files, which are repeats of the same measurement, and folds them
// into one summary. Its errors are *trial.Failure.
func Summary(files []File, o Options) (result.Summary, error) {
	all := parsers()
	i := slices.IndexFunc(all, func(p parser) bool { return p.tool == o.Tool })
	if i < 0 {
		return result.Summary{}, invalid(fmt.Sprintf("there is no parser for the output of %q", o.Tool), suggest.Remedy(o.Tool, Tools()))
	}
	f := folder{options: o, byKey: map[string]*group{}, imported: result.Imported{Tool: o.Tool, Files: []result.ImportedFile{}}}
	if f.options.Workload == "" {
		f.options.Workload = o.Tool
	}
	if f.options.Node == "" {
		f.options.Node = "unknown"
	}
	for _, file := range files {
		tables, notes, err := all[i].read(file)
		if err != nil {
			return result.Summary{}, err
		}
		f.add(file, tables)
		f.note(notes...)
	}
	s := f.summary(stem(files))
	if !f.complete(s) {
		return result.Summary{}, invalid("the files have more numbers than a summary can hold", "import fewer of them at a time")
	}
	return s, nil
}

// read parses a file. If that fails, the error names the tool that the output
// looks like.
func (p parser) read(file File) (tables []table, notes []string, err error) {
	text, err := printed.Decode(file.Content)
	if err != nil {
		return nil, nil, invalid(file.Name+": "+err.Error(), "provide "+p.wants)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil, invalid(file.Name+": the file is empty", "provide "+p.wants)
	}
	tables, err = p.parse(text)
	if err == nil {
		tables, notes = rated(tables)
		tables, again := unquoted(tables)
		notes = append(notes, again...)
		if len(tables) > 0 {
			distinguish(tables)
			return tables, notes, nil
		}
		err = invalid("the file contains no number that could be imported: "+strings.Join(notes, "; "), "let the tool run for longer, and provide "+p.wants)
	}
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		f = invalid(err.Error(), "provide "+p.wants)
	}
	f.Message = file.Name + ": " + f.Message
	head := string(text[:min(len(text), 64<<10)])
	for _, other := range parsers() {
		if other.tool != p.tool && other.looksLike(head) && !p.looksLike(head) {
			f.Remedy = "it looks like the output of " + other.tool + ": use --tool " + other.tool
		}
	}
	if p.inStrings(text) {
		f = invalid(file.Name+": the report stands within strings of JSON or of a program, as ansible and the logs of containers have it", "provide the content of these strings, such as with jq -r .stdout FILE, or jq -j .log FILE")
	}
	return nil, nil, f
}

// rated returns the tables that have a rate, and a note for each other.
func rated(tables []table) (with []table, notes []string) {
	for i, t := range tables {
		if hasRate(t.measurement) {
			with = append(with, t)
			continue
		}
		notes = append(notes, fmt.Sprintf("report %d of a file (%s) has no rate and no row: %s", i+1, clip(visible(cmp.Or(t.name, "untitled"))), strings.Join(t.measurement.Notes, "; ")))
	}
	return with, notes
}

func hasRate(m result.Measurement) bool {
	for name := range m.Metrics {
		if strings.HasSuffix(name, ".iops") || strings.HasSuffix(name, ".rate") || strings.HasSuffix(name, ".bandwidth") {
			return true
		}
	}
	return false
}

// distinguish names the tables of a file so that two are taken for repeats only if the text
// itself calls both the same, and says nothing between them.
func distinguish(tables []table) {
	for i := range tables {
		tables[i].name = visible(tables[i].name)
	}
	divide(tables)
	count, repeated := map[string]int{}, map[string]int{}
	first := make([]int, len(tables)) // of those that it repeats
	for i, id := range identities(tables) {
		t := &tables[i]
		if before, known := repeated[id]; known && t.titled && !t.apart {
			first[i] = before
			continue
		}
		first[i], repeated[id] = i, i
		count[id]++
	}
	for i, id := range identities(tables) {
		if t := &tables[i]; count[id] > 1 {
			t.howOnly = t.howOnly || t.name == ""
			t.name = strings.TrimSpace(fmt.Sprintf("%s report %d", t.name, first[i]+1))
		}
	}
}

// identities are those of all tables.
func identities(tables []table) []string {
	out := make([]string, len(tables))
	for i := range tables {
		out[i] = tables[i].identity()
	}
	return out
}

// identity has name, machine and settings: tables that are equal in these are repeats, if
// the command that was typed is equal too. That is in no name: it would make one of a prompt.
func (t *table) identity() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q", t.name, t.machine)
	for _, name := range slices.Sorted(maps.Keys(t.settings)) {
		fmt.Fprintf(&b, " %q=%q", name, t.settings[name])
	}
	return b.String()
}

// visible makes a name fit to be printed: files can hold anything. It does not cut it, as its
// end may be what distinguishes it.
func visible(s string) string {
	return whole(strings.Join(strings.Fields(string(printed.Clean([]byte(s)))), " "))
}

func invalid(message, remedy string) *trial.Failure {
	return &trial.Failure{Class: reason.InvalidSpec, Message: message, Remedy: remedy}
}

// stem returns the common part of the files' names, without the numbers of repeats:
// nvme for nvme-1.json and nvme-2.json.
func stem(files []File) string {
	common := ""
	for i, f := range files {
		name := path.Base(f.Name)
		if dot := strings.IndexByte(name, '.'); dot > 0 {
			name = name[:dot]
		}
		if i == 0 {
			common = name
			continue
		}
		n := 0
		for n < min(len(common), len(name)) && common[n] == name[n] {
			n++
		}
		common = common[:n]
	}
	if len(files) > 1 {
		common = strings.TrimRight(common, "0123456789")
	}
	common = strings.Trim(common, "-_. ")
	if common == "" || common == "stdin" {
		return "imported"
	}
	return common
}
