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
	// titled reports that the text says what was measured. Two tables of one file are
	// repeats only if it does.
	titled bool
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
	f := folder{options: o, imported: result.Imported{Tool: o.Tool, Files: []result.ImportedFile{}}}
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
	return nil, nil, f
}

// rated returns the tables that have a rate, and a note for each other.
func rated(tables []table) (with []table, notes []string) {
	for i, t := range tables {
		if hasRate(t.measurement) {
			with = append(with, t)
			continue
		}
		notes = append(notes, fmt.Sprintf("report %d of a file (%s) has no rate and no row: %s", i+1, visible(cmp.Or(t.name, "untitled")), strings.Join(t.measurement.Notes, "; ")))
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
// itself calls both the same.
func distinguish(tables []table) {
	for i := range tables {
		tables[i].name = visible(tables[i].name)
	}
	same := make([]bool, len(tables))
	for i := range tables {
		for k := range tables[:i] {
			if tables[i].looksLike(&tables[k]) {
				same[i], same[k] = true, true
			}
		}
	}
	for i := range tables {
		if t := &tables[i]; same[i] && !t.titled {
			t.howOnly = t.howOnly || t.name == ""
			t.name = strings.TrimSpace(fmt.Sprintf("%s report %d", t.name, i+1))
		}
	}
}

// repeats reports whether two tables have equal name, machine and settings.
func (t *table) repeats(o *table) bool { return t.typed == o.typed && t.looksLike(o) }

// looksLike reports whether only the commands that were typed tell two tables apart. These
// are in no name: they would make one of a prompt.
func (t *table) looksLike(o *table) bool {
	return t.name == o.name && t.machine == o.machine && maps.Equal(t.settings, o.settings)
}

// visible makes a name fit to be printed: files can hold anything.
func visible(s string) string {
	return clip(strings.Join(strings.Fields(string(printed.Clean([]byte(s)))), " "))
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

// group holds the tables that are repeats of the same: its trials.
type group struct {
	table
	trials []*result.Trial
}

// folder collects tables as the trials of a worker for each target.
type folder struct {
	options  Options
	imported result.Imported
	digests  string
	latest   time.Time
	// groups in the order of the output.
	groups []*group
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

// addTable adds a table to those of equal name, machine and settings.
func (f *folder) addTable(t table) {
	i := slices.IndexFunc(f.groups, func(g *group) bool {
		return g.repeats(&t)
	})
	if i < 0 {
		i = len(f.groups)
		f.groups = append(f.groups, &group{table: t})
	}
	g, workload := f.groups[i], f.options.Workload
	t.printed.LinkBytesPerSecond, t.printed.MemoryBytes = f.options.LinkBytesPerSecond, f.options.MemoryBytes
	t.measurement.Verdicts = verdict.Judge(verdict.Facts{Measurement: t.measurement, Imported: true, Printed: t.printed})
	repeat := len(g.trials) + 1
	g.trials = append(g.trials, &result.Trial{
		Trial:   trial.Trial{ID: fmt.Sprintf("%s.r%03d", workload, repeat), Workload: workload, Repeat: repeat},
		Outcome: result.Measured, Measurement: t.measurement,
	})
	f.note(t.measurement.Notes...)
}

func (f *folder) note(notes ...string) {
	for _, note := range notes {
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
		Workloads: []trial.Workload{{Name: f.options.Workload, Engine: f.options.Tool}},
	}
	targets := f.targets(preset)
	var workers []result.WorkerSummary
	for i, g := range f.groups {
		self := trial.Worker{Name: fmt.Sprint(i), Target: targets[i], Node: f.options.Node}
		w := result.NewWorkerSummary(p, self)
		for _, t := range g.trials {
			w.Fold(t, result.Object{})
		}
		p.Workers = append(p.Workers, self)
		workers = append(workers, *w)
		if n := len(g.trials); n > 1 {
			f.note(fmt.Sprintf("%d reports are taken for repeats of one measurement (%s): their titles, machines and settings are equal, as far as the output shows them", n, targets[i]))
		}
	}
	s := stats.Summarize(p, workers, f.latest.UTC())
	s.Planned = s.Stored
	// An environment would belong to a worker, but no worker ran.
	s.Environment, s.Attempts = map[string]*result.Environment{}, map[string][]result.Attempt{}
	f.imported.Notes = append([]string{"the machine, its devices and its caches are unknown, and runs may be missing"}, f.imported.Notes...)
	s.Imported = &f.imported
	return s
}

// complete reports whether all trials are in the summary.
func (f *folder) complete(s result.Summary) bool {
	n := 0
	for _, g := range f.groups {
		n += len(g.trials)
	}
	return s.Stored == n
}

// targets returns the target of each group: the user's choice, else the name in the output,
// else preset. Groups of the same name are told apart by what differs.
func (f *folder) targets(preset string) []string {
	names := make([]string, len(f.groups))
	for i, g := range f.groups {
		names[i] = g.name
		if f.options.Target != "" || g.name == "" || g.howOnly {
			names[i] = cmp.Or(f.options.Target, preset)
			if g.name != "" && slices.ContainsFunc(f.groups, func(o *group) bool { return o.name != g.name }) {
				names[i] += " " + g.name
			}
		}
		if difference := f.difference(g); difference != "" {
			names[i] += " " + difference
		}
	}
	seen := map[string]int{}
	for i, name := range names {
		if seen[name]++; seen[name] > 1 {
			names[i] = fmt.Sprintf("%s #%d", name, seen[name])
		}
	}
	return names
}

// difference is what distinguishes a group from others of its name.
func (f *folder) difference(g *group) string {
	var parts []string
	for _, o := range f.groups {
		if o == g || o.name != g.name {
			continue
		}
		if o.machine != g.machine && !slices.Contains(parts, g.machine) && !strings.Contains(g.name, g.machine) {
			parts = append(parts, g.machine)
		}
		for _, name := range slices.Sorted(maps.Keys(g.settings)) {
			if text := name + "=" + g.settings[name]; o.settings[name] != g.settings[name] && !slices.Contains(parts, text) {
				parts = append(parts, text)
			}
		}
	}
	return visible(strings.Join(parts, " "))
}
