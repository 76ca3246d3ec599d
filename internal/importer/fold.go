package importer

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/stats"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/verdict"
)

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
	// groups in the order of the output, and by what their tables have in common.
	groups []*group
	byKey  map[string]*group
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
	key := t.typed + "\n" + t.identity()
	g, workload := f.byKey[key], f.options.Workload
	if g == nil {
		g = &group{table: t}
		f.byKey[key], f.groups = g, append(f.groups, g)
	}
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
		if g.sum {
			f.imported.Sums = append(f.imported.Sums, targets[i])
		}
		p.Workers = append(p.Workers, self)
		workers = append(workers, *w)
		if n := len(g.trials); n > 1 {
			f.note(fmt.Sprintf("%d reports are taken for repeats of one measurement (%s): their titles, machines and settings are equal, as far as the output shows them", n, targets[i]))
		}
	}
	s := stats.Summarize(p, workers, f.latest.UTC())
	s.Answer = f.answer(p, workers, s.Answer)
	s.Planned = s.Stored
	// An environment would belong to a worker, but no worker ran.
	s.Environment, s.Attempts = map[string]*result.Environment{}, map[string][]result.Attempt{}
	f.imported.Notes = append([]string{"the machine, its devices and its caches are unknown, and runs may be missing"}, f.imported.Notes...)
	s.Imported = &f.imported
	return s
}

// answer is that of the targets that are no sums of others, or else the one of all.
func (f *folder) answer(p *trial.Plan, workers []result.WorkerSummary, all *result.Answer) *result.Answer {
	single := *p
	single.Workers = nil
	var own []result.WorkerSummary
	for i, g := range f.groups {
		if !g.sum {
			single.Workers, own = append(single.Workers, p.Workers[i]), append(own, workers[i])
		}
	}
	if len(own) == len(workers) || len(own) == 0 {
		return all
	}
	return stats.Summarize(&single, own, f.latest.UTC()).Answer
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
	alike := map[string]*varied{}
	for _, g := range f.groups {
		if alike[g.name] == nil {
			alike[g.name] = newVaried()
		}
		alike[g.name].add(&g.table)
	}
	for i, g := range f.groups {
		names[i] = g.name
		if f.options.Target != "" || g.name == "" || g.howOnly {
			names[i] = cmp.Or(f.options.Target, preset)
			if g.name != "" && len(alike) > 1 {
				names[i] += " " + g.name
			}
		}
		if difference := alike[g.name].difference(&g.table); difference != "" {
			names[i] += " " + difference
		}
	}
	names = shortened(names)
	seen := map[string]int{}
	for i, name := range names {
		if seen[name]++; seen[name] > 1 {
			names[i] = fmt.Sprintf("%s #%d", name, seen[name])
		}
	}
	return names
}

// varied holds the values of the settings that tables of one name have, to find those that
// differ.
type varied struct {
	tables   int
	machines map[string]bool
	values   map[string]map[string]int
}

func newVaried() *varied {
	return &varied{machines: map[string]bool{}, values: map[string]map[string]int{}}
}

func (v *varied) add(t *table) {
	v.tables++
	v.machines[t.machine] = true
	for name, value := range t.settings {
		if v.values[name] == nil {
			v.values[name] = map[string]int{}
		}
		v.values[name][value]++
	}
}

// difference is what distinguishes a table from others of its name.
func (v *varied) difference(t *table) string {
	var parts []string
	if len(v.machines) > 1 && !strings.Contains(t.name, t.machine) {
		parts = append(parts, t.machine)
	}
	for _, name := range slices.Sorted(maps.Keys(t.settings)) {
		if value := t.settings[name]; v.values[name][value] < v.tables {
			parts = append(parts, name+"="+value)
		}
	}
	return visible(strings.Join(parts, " "))
}
