package importer

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
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
}

// table holds the measurements of one run of a tool.
type table struct {
	// name is what was measured according to the output; empty: unknown.
	name string
	// howOnly reports that name says how the tool measured, not what.
	howOnly     bool
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
	f := folder{options: o, howOnly: map[string]bool{}, trials: map[string][]*result.Trial{}, imported: result.Imported{Tool: o.Tool, Files: []result.ImportedFile{}}}
	if f.options.Workload == "" {
		f.options.Workload = o.Tool
	}
	if f.options.Node == "" {
		f.options.Node = "unknown"
	}
	for _, file := range files {
		tables, err := all[i].read(file)
		if err != nil {
			return result.Summary{}, err
		}
		f.add(file, tables)
	}
	return f.summary(stem(files)), nil
}

// read parses a file. If that fails, the error names the tool that the output
// looks like.
func (p parser) read(file File) ([]table, error) {
	if len(bytes.TrimSpace(file.Content)) == 0 {
		return nil, invalid(file.Name+": the file is empty", "provide "+p.wants)
	}
	tables, err := p.parse(file.Content)
	if err == nil {
		return tables, nil
	}
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		f = invalid(err.Error(), "provide "+p.wants)
	}
	f.Message = file.Name + ": " + f.Message
	head := string(file.Content[:min(len(file.Content), 64<<10)])
	for _, other := range parsers() {
		if other.tool != p.tool && other.looksLike(head) && !p.looksLike(head) {
			f.Remedy = "it looks like the output of " + other.tool + ": use --tool " + other.tool
		}
	}
	return nil, f
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

// folder collects tables as the trials of a worker for each target.
type folder struct {
	options  Options
	imported result.Imported
	digests  string
	latest   time.Time
	// names of what was measured, in the order of the output, and their trials
	names     []string
	howOnly   map[string]bool
	trials    map[string][]*result.Trial
	workloads []trial.Workload
}

func (f *folder) add(file File, tables []table) {
	digest := trial.Digest(file.Content)
	f.digests += digest
	f.imported.Files = append(f.imported.Files, result.ImportedFile{Name: path.Base(file.Name), Bytes: len(file.Content), Digest: digest})
	if file.Modified.After(f.latest) {
		f.latest = file.Modified
	}
	for _, t := range tables {
		f.addTable(t)
	}
}

func (f *folder) addTable(t table) {
	name := f.options.Workload
	if !slices.ContainsFunc(f.workloads, func(w trial.Workload) bool { return w.Name == name }) {
		f.workloads = append(f.workloads, trial.Workload{Name: name, Engine: f.options.Tool})
	}
	if !slices.Contains(f.names, t.name) {
		f.names = append(f.names, t.name)
		f.howOnly[t.name] = t.howOnly
	}
	repeat := 1
	for _, other := range f.trials[t.name] {
		if other.Trial.Workload == name {
			repeat++
		}
	}
	t.measurement.Verdicts = verdict.Judge(verdict.Facts{Measurement: t.measurement, Imported: true})
	f.trials[t.name] = append(f.trials[t.name], &result.Trial{
		Trial:   trial.Trial{ID: fmt.Sprintf("%s.r%03d", name, repeat), Workload: name, Repeat: repeat},
		Outcome: result.Measured, Measurement: t.measurement,
	})
	for _, note := range t.measurement.Notes {
		if !slices.Contains(f.imported.Notes, note) {
			f.imported.Notes = append(f.imported.Notes, note)
		}
	}
}

// summary folds the trials. preset is the target of tables without a name.
func (f *folder) summary(preset string) result.Summary {
	p := &trial.Plan{
		Benchmark: trial.Benchmark{Namespace: "imported", Name: f.options.Tool},
		Run:       strings.TrimPrefix(trial.Digest([]byte(f.digests)), "sha256:")[:12],
		Workloads: f.workloads,
	}
	var workers []result.WorkerSummary
	for i, name := range f.names {
		self := trial.Worker{Name: fmt.Sprint(i), Target: f.target(name, preset), Node: f.options.Node}
		w := result.NewWorkerSummary(p, self)
		for _, t := range f.trials[name] {
			w.Fold(t, result.Object{})
		}
		p.Workers = append(p.Workers, self)
		workers = append(workers, *w)
	}
	s := stats.Summarize(p, workers, f.latest.UTC())
	s.Planned = s.Stored
	// An environment would belong to a worker, but no worker ran.
	s.Environment, s.Attempts = map[string]*result.Environment{}, map[string][]result.Attempt{}
	f.imported.Notes = append([]string{"the machine, its devices and its caches are unknown, and runs may be missing"}, f.imported.Notes...)
	s.Imported = &f.imported
	return s
}

// target returns the target of the tables of that name: the user's choice, else
// the name in the output, else preset.
func (f *folder) target(name, preset string) string {
	if f.options.Target == "" && name != "" && !f.howOnly[name] {
		return name
	}
	target := f.options.Target
	if target == "" {
		target = preset
	}
	if len(f.names) > 1 && name != "" {
		target += " " + name
	}
	return target
}
