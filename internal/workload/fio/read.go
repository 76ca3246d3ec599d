package fio

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// change is something that is not done as it is written.
type change struct {
	place
	text string
}

func (c change) String() string {
	if at := c.place.String(); at != "" {
		return at + ": " + c.text
	}
	return c.text
}

// reader reads a configuration. It notes all that is wrong, and all that it changes.
type reader struct {
	config   config
	mode     trial.Mode
	known    catalogue
	vars     variables
	jobs     []job
	changes  []change
	problems []*lineError
}

func newReader(c config, mode trial.Mode) *reader {
	return &reader{
		config: c, mode: mode, known: newCatalogue(),
		vars: variables{given: c.Variables, machine: c.machine, used: map[string]bool{}},
	}
}

// problem notes an error of an option or a job.
func (r *reader) problem(err error) {
	if len(r.problems) >= maxProblems {
		return
	}
	if e, ok := errors.AsType[*lineError](err); ok {
		r.problems = append(r.problems, e)
		return
	}
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok {
		f = invalid(r.config.field(), err.Error(), "")
	}
	r.problems = append(r.problems, &lineError{message: f.Message, remedy: f.Remedy, field: f.Field})
}

// change notes one, once: what [global] says is not repeated for each job.
func (r *reader) change(at place, format string, arguments ...any) {
	c := change{at, fmt.Sprintf(format, arguments...)}
	if !slices.Contains(r.changes, c) && len(r.changes) < maxProblems {
		r.changes = append(r.changes, c)
	}
}

// read makes jobs of the configuration. name is what the job of parameters is called.
func (r *reader) read(name string) {
	switch {
	case len(r.config.Parameters) > 0:
		r.parameters(name)
	case r.config.Preset != "":
		p, err := findPreset(r.config.Preset)
		if err == nil {
			err = p.checkMode(r.mode)
		}
		if err != nil {
			r.problem(err)
			return
		}
		sections, problems := newParser(nil).parse(p.text)
		r.problems = problems
		r.sections(r.known.without(sections, r.mode))
		r.changes = nil // the preset is ours
	case r.config.CommandLine != "":
		c := parseCommandLine(r.config.CommandLine, r.config.Include, r.config.Variables, r.known)
		r.problems, r.changes, r.vars.shell = c.problems, c.changes, true
		if r.vars.given = maps.Clone(c.assigned); r.vars.given != nil {
			maps.Copy(r.vars.given, r.config.Variables)
			for name := range c.assigned {
				r.vars.used[name] = true
			}
		}
		for name := range r.config.Variables { // also in what is left out
			if strings.Contains(r.config.CommandLine, "$"+name) || strings.Contains(r.config.CommandLine, "${"+name) {
				r.vars.used[name] = true
			}
		}
		r.sections(c.sections)
		r.includes(c.used)
		r.readonly(c.readonly)
	default:
		p := newParser(r.config.Include)
		sections, problems := p.parse(r.config.JobFile)
		r.problems = problems
		if r.sections(sections); len(problems) == 0 {
			r.includes(p.used)
		}
	}
	r.problems = append(r.problems, r.vars.check(len(r.problems) == 0)...)
}

// includes finds files that are given and not included: a name is misspelt.
func (r *reader) includes(used map[string]bool) {
	for _, name := range sortedKeys(r.config.Include) {
		if !used[name] {
			r.problem(&lineError{field: fieldInclude + "." + clip(name), message: "nothing includes this file", remedy: "remove it, or include it by this name"})
		}
	}
}

// readonly does what fio's option of that name does: it refuses jobs that write.
func (r *reader) readonly(o *option) {
	if o == nil {
		return
	}
	for _, j := range r.jobs {
		if p := j.pattern(); p != "read" && p != "randread" {
			r.problem(&lineError{place: o.place, message: fmt.Sprintf("--readonly, but job %s has rw=%s", j.name, p), remedy: "remove --readonly, or let the job only read"})
			return
		}
	}
	r.change(o.place, "--readonly is left out: no job writes, but what they read is written before the first trial")
}

func (r *reader) sections(sections []section) {
	created := map[string]bool{}                                                                     // by jobs that are left out
	defaults := job{options: map[string]string{}, at: map[string]place{}, raws: map[string]option{}} // a later [global] adds to an earlier one
	for _, s := range sections {
		into := defaults
		if s.name != global {
			into = defaults.clone()
			into.name, into.section, into.place = s.name, s.name, s.place
		}
		for _, o := range s.inOrder() {
			r.option(&into, o, s.name)
		}
		if s.name == global {
			defaults.decimal = into.decimal
			continue
		}
		if o, ok := into.raws["create_only"]; ok {
			created[into.name] = true
			r.change(o.place, "the job %q is left out, as it only creates files: they are written before the first trial", clip(s.name))
			continue
		}
		r.jobs = append(r.jobs, into)
	}
	switch {
	case len(r.jobs) == 0 && len(r.problems) == 0 && r.config.CommandLine != "":
		r.problem(invalid(fieldCommandLine, "the command line has no job", "add --name=NAME before the options of a job"))
	case len(r.jobs) == 0 && len(r.problems) == 0:
		r.problem(invalid(r.config.field(), "the job file has no job, only [global]", "add a section named after the job, for example [rand-read]"))
	}
	r.waits(created)
	r.nameJobs()
}

// nameJobs makes names of jobs that are safe, as fio makes names of files from them, and
// unique, as results are stored by name.
func (r *reader) nameJobs() {
	taken := map[string]bool{}
	for _, j := range r.jobs {
		taken[j.name] = taken[j.name] || j.name == safeName(j.name, maxJobName)
	}
	given := map[string]bool{}
	for i := range r.jobs {
		j := &r.jobs[i]
		name := safeName(j.name, maxJobName)
		base := name
		for n := 2; given[name] || name != j.name && taken[name]; n++ {
			suffix := "-" + strconv.Itoa(n)
			name = base[:min(len(base), maxJobName-len(suffix))] + suffix
		}
		if name != j.name {
			r.change(j.place, "the job %q is called %s", clip(j.name), name)
		}
		j.name = name
		given[name] = true
	}
}

const maxJobName = 64

// safeName replaces all but letters, digits and some marks, so that the result is a file name
// on every system and a value that fio does not interpret.
func safeName(name string, limit int) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case strings.ContainsRune(letters+digits+"-_+.", r):
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	safe := strings.TrimLeft(b.String(), "-.")
	safe = strings.TrimRight(safe[:min(len(safe), limit)], "-")
	if safe == "" || strings.HasPrefix(strings.ToLower(safe), global) {
		return strings.TrimSuffix("job-"+safe, "-")
	}
	return safe
}

func (r *reader) parameters(name string) {
	j := job{name: name, options: map[string]string{}, at: map[string]place{}, raws: map[string]option{}}
	for _, key := range slices.Sorted(maps.Keys(r.config.Parameters)) {
		value := strings.TrimSpace(r.config.Parameters[key])
		before := len(r.problems)
		r.option(&j, option{name: key, value: value, hasValue: value != ""}, name)
		for _, p := range r.problems[before:] {
			p.field = fieldParameters + "." + clip(key)
		}
	}
	direct, hasDirect := r.config.Parameters["direct"]
	if buffered, ok := r.config.Parameters["buffered"]; ok && hasDirect && direct == buffered {
		r.problem(invalid(fieldParameters, fmt.Sprintf("the job has direct=%s and buffered=%[1]s, which contradict each other", clip(direct)), "remove one"))
	}
	_, long := r.config.Parameters["readwrite"]
	if _, ok := r.config.Parameters["rw"]; !ok && !long {
		r.problem(invalid(fieldParameters, "rw is missing", "set rw to read, write, randread, randwrite, readwrite, randrw, trim or randtrim"))
	}
	if o, ok := j.raws["create_only"]; ok {
		r.problem(&lineError{place: o.place, message: "the option create_only is not allowed: no I/O would be measured", remedy: "remove it", field: fieldParameters + ".create_only"})
	}
	j.name = name
	j.addDefaults()
	r.jobs = []job{j}
	r.waits(nil)
}

// option checks one option and puts its canonical value into the job, or notes why not.
func (r *reader) option(j *job, o option, section string) {
	if len(r.problems) >= maxProblems {
		return // nobody learns what else is wrong, and to find what a name resembles is work
	}
	if strings.ContainsRune(o.value, '$') && !r.replaceVariables(&o) {
		return
	}
	r.calculate(&o, "(")
	o.value = unquote(o)
	if o.name == "description" || r.special(j, o, section) {
		return // a description is for people, who read it in the spec
	}
	if why := leftOut(o); why != "" {
		r.change(o.place, "%s is left out: %s", written(o), why)
		return
	}
	a, ok := r.known[o.name]
	if ok && a.mode != "" && a.mode != r.mode {
		if o.name == "filesize" { // of the only file there is
			j.raw("filesize", o)
		}
		why := "a device has no files"
		if a.mode == trial.Block {
			why = "files cannot be trimmed"
		}
		r.change(o.place, "%s is left out: %s", written(o), why)
		return
	}
	if j.decimal && !a.syntax.timed && !slices.Contains(patternOptions, o.name) {
		o.value = decimal(o.value)
	}
	r.separate(&o)
	if err := r.known.apply(j.options, o, r.mode); err != nil {
		r.problem(err)
		return
	}
	if j.at[a.name] = o.place; unitChanged(o.value) && a.syntax.numeric && r.config.Preset == "" {
		r.change(o.place, "%s: %s", written(o), "KiB, MiB and so on are powers of 1024; fio 3 itself takes them for powers of 1000")
	}
}

// replaceVariables in a value. It reports whether the option can be read.
func (r *reader) replaceVariables(o *option) bool {
	value, calculated, err := r.vars.expand(o.name, o.value)
	var missing *missingError
	switch {
	case err != nil && (o.name == "description" || leftOut(*o) != ""):
		return true // nothing is made of it
	case errors.As(err, &missing) && missing.ofFormat():
		r.problem(&lineError{place: o.place, message: fmt.Sprintf("%s: fio takes ${%s} for a variable of the environment, which has no value; it replaces $%[2]s, only in filename_format", o.name, missing.name), remedy: "write filename_format=…$" + missing.name + "… for a file of each clone, or set the variable in fio.variables"})
		return false
	case err != nil:
		r.problem(&lineError{place: o.place, message: o.name + ": " + err.Error(), remedy: "set the variable in fio.variables, or write the value"})
		return false
	}
	if o.value = strings.TrimSpace(value); calculated {
		r.calculate(o, "+-*/")
	}
	return true
}

// blank is what templates have in place of a value: {{ size }}, {size}, @SIZE@ or <size>.
var blank = regexp.MustCompile(`\{[^{}$]+\}|@\w+@|<[\w -]+>`)

// unitChanged reports whether a size has a unit that fio reads otherwise.
func unitChanged(value string) bool { return strings.Contains(strings.ToLower(value), "ib") }

// calculate replaces an expression by its value, if an option is a number and the value has
// one of these characters.
func (r *reader) calculate(o *option, characters string) {
	a, ok := r.known[o.name]
	if !ok || !a.syntax.numeric || !strings.ContainsAny(o.value, characters) {
		return
	}
	n, err := calculate(o.value)
	if err != nil {
		return // the syntax of the option refuses the value
	}
	r.change(o.place, "%s is %d", written(*o), n)
	o.value = strconv.FormatUint(n, 10)
}

// unquote removes quotes around a whole value, which mean nothing to fio, and blanks around
// commas.
func unquote(o option) string {
	v := o.value
	if slices.Contains(patternOptions, o.name) {
		return v
	}
	for _, q := range []string{`"`, `'`} {
		if len(v) >= 2 && strings.HasPrefix(v, q) && strings.HasSuffix(v, q) {
			v = strings.TrimSpace(v[1 : len(v)-1])
		}
	}
	if !strings.Contains(v, ",") || o.name == "filename" || o.name == "directory" {
		return v
	}
	parts := strings.Split(v, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, ",")
}

// written is an option as a change names it.
func written(o option) string {
	if !o.hasValue {
		return clip(o.name)
	}
	return clip(o.name) + "=" + clip(o.value)
}

// apply checks one option and puts its canonical value into the job.
func (c catalogue) apply(into map[string]string, o option, mode trial.Mode) error {
	a, ok := c[o.name]
	if !ok {
		return c.refuse(o)
	}
	if a.mode != "" && a.mode != mode {
		return &lineError{place: o.place, message: fmt.Sprintf("%s works only on targets with volume mode %s, but a target has %s", o.name, a.mode, mode), remedy: "remove " + o.name}
	}
	value := o.value
	if !o.hasValue {
		if a.syntax.bare == "" {
			return &lineError{place: o.place, message: o.name + " has no value", remedy: "write " + o.name + "=… (" + a.syntax.name + ")"}
		}
		value = a.syntax.bare
	}
	if e := a.notCalculated(o); e != nil {
		return e
	}
	if err := checkCharacters(value); err != nil && !slices.Contains(patternOptions, a.name) {
		remedy := "write plain values: backquotes, quotes and expressions of a shell are not expanded"
		if blank.MatchString(value) {
			remedy = "it is a blank of a template: write the value that belongs there"
		}
		return &lineError{place: o.place, message: o.name + ": " + err.Error(), remedy: remedy}
	}
	if a.unsets(value) {
		delete(into, a.name)
		return nil
	}
	canonical, err := a.syntax.check(value)
	if choice, ok := errors.AsType[*choiceError](err); ok {
		return &lineError{place: o.place, message: o.name + ": " + err.Error(), remedy: suggest.Remedy(choice.given, choice.choices)}
	}
	if err != nil {
		return &lineError{place: o.place, message: o.name + ": " + err.Error(), remedy: "use: " + a.syntax.name}
	}
	a.put(into, canonical)
	return nil
}

// put sets the option, and removes what it takes the place of.
func (a allowed) put(into map[string]string, canonical string) {
	switch {
	case slices.Contains(dropped, a.name):
	case a.syntax.flag && canonical == "0" && a.name != "time_based", canonical == "":
		delete(into, a.name)
	case a.name == "buffered": // the same as direct, the other way round: the last one counts
		into["direct"] = map[string]string{"0": "1", "1": "0"}[canonical]
	case a.name == "rwmixread" || a.name == "rwmixwrite":
		delete(into, "rwmixread")
		delete(into, "rwmixwrite")
		into[a.name] = canonical
	default:
		into[a.name] = canonical
	}
}

func (c catalogue) refuse(o option) error {
	if reason := refusals()[o.name]; reason != "" {
		return &lineError{place: o.place, message: fmt.Sprintf("the option %s is not allowed: %s", o.name, reason), remedy: "remove it"}
	}
	message := fmt.Sprintf("%q is not a fio option that storagebench allows", clip(o.name))
	if names := append(c.names(), namesAndTargets...); suggest.Nearest(o.name, names) != "" {
		return &lineError{place: o.place, message: message, remedy: suggest.Remedy(o.name, names)}
	}
	return &lineError{place: o.place, message: message, remedy: "remove it; docs/reference/fio-options.md lists those that are allowed"}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
