package fio

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ofProgram are options of fio's command line that are no options of a job: what they ask for
// is left out. true: a value follows.
var ofProgram = map[string]bool{
	"output": true, "output-format": true, "append-terse": false, "minimal": false, "terse-version": true,
	"eta": true, "eta-newline": true, "eta-interval": true, "status-interval": true, "bandwidth-log": false, "latency-log": false,
	"showcmd": false, "max-jobs": true, "warnings-fatal": false, "alloc-size": true, "debug": true,
	"parse-only": false, "idle-prof": true, "inflate-log": true, "aux-path": true, "version": false,
}

// commandLine makes sections of a fio command line, as a job file would have them: what comes
// before the first --name is [global], each --name begins a job, and a file among the arguments
// stands for its text.
type commandLine struct {
	known    catalogue
	includes map[string]string
	words    []word
	sections []section
	// only are the sections that --section chooses.
	only     []string
	changes  []change
	problems []*lineError
	// readonly is that option, if it is given: no job may write.
	readonly *option
	assigned map[string]string
	used     map[string]bool
	// included and read are those of all job files together.
	included, read int
}

func parseCommandLine(text string, includes, given map[string]string, known catalogue) *commandLine {
	c := &commandLine{known: known, includes: includes, assigned: map[string]string{}, used: map[string]bool{}}
	if len(text) > maxText {
		c.problem(place{}, fmt.Sprintf("the command line has %d bytes, more than the limit of %d", len(text), maxText), "use a job file")
		return c
	}
	if prompt := strings.TrimSpace(text); strings.HasPrefix(prompt, "# ") && !strings.Contains(prompt, "\n") {
		text = prompt[len("# "):] // as root sees it, and no comment: there is nothing else
	}
	s := splitWords(text, given)
	c.words, c.changes, c.problems = s.words, s.changes, s.problems
	if len(c.problems) > 0 || !c.program() {
		return c
	}
	c.sections = []section{{name: global, words: true}}
	for len(c.words) > 0 && len(c.problems) < maxProblems {
		w := c.words[0]
		c.words = c.words[1:]
		if strings.HasPrefix(w.text, "-") && len(w.text) > 1 {
			c.option(w)
		} else {
			c.file(w)
		}
	}
	if len(c.only) > 0 {
		c.sections = slices.DeleteFunc(c.sections, func(s section) bool { return s.name != global && !slices.Contains(c.only, s.name) })
	}
	return c
}

func (c *commandLine) problem(at place, message, remedy string) {
	c.problems = append(c.problems, &lineError{place: at, message: message, remedy: remedy})
}

// program removes the words up to fio. Without one, all words are arguments.
func (c *commandLine) program() bool {
	i := slices.IndexFunc(c.words, isProgram)
	for n := range c.words { // kubectl exec POD -- fio, docker run IMAGE fio
		if n > 0 && isProgram(c.words[n]) && (c.words[n-1].text == "--" || isProgram(c.words[n-1])) {
			i = n
		}
	}
	if i < 0 {
		if len(c.words) > 0 && strings.HasPrefix(c.words[0].text, "-") {
			return true
		}
		c.problem(place{}, "it is no command line of fio", "begin with fio, as in fio --name=a --rw=read --size=1GiB")
		return false
	}
	var before []string
	for _, w := range c.words[:i] {
		name, value, assigns := strings.Cut(w.text, "=")
		switch {
		case assigns && isVariable(name) && len(before) == 0:
			c.assigned[name] = value
		case slices.Contains(shellWords, w.text):
			c.problem(w.place, shellDoes(w.text), shellRemedy)
			return false
		case !slices.Contains([]string{"sudo", "time", "env", "$"}, w.text) || len(before) > 0:
			before = append(before, w.text)
		}
	}
	if len(before) > 0 {
		c.changes = append(c.changes, change{c.words[0].place, fmt.Sprintf("%q is left out: only fio is started", clip(strings.Join(before, " ")))})
	}
	c.words = c.words[i+1:]
	return true
}

// shellWords begin what is more than a command.
var shellWords = []string{"if", "then", "else", "elif", "for", "while", "until", "do", "case", "function", "select", "!", "{", "(", "[", "[["}

// isProgram reports whether a word is fio, also by a path, or a variable that stands for it.
func isProgram(w word) bool {
	name := path.Base(w.text)
	return name == "fio" || slices.Contains([]string{"$fio", "${fio}", "$fio_prog", "$fio_bin", "${fio_bin}"}, strings.ToLower(name))
}

// option reads an option with one dash or two, and its value, which may be the next word.
func (c *commandLine) option(w word) {
	o := splitOption(strings.TrimPrefix(strings.TrimPrefix(w.text, "-"), "-"), w.place)
	if whole := c.whole(o.name); whole != o.name {
		c.changes = append(c.changes, change{w.place, "--" + clip(o.name) + " is read as --" + whole + ", which it abbreviates"})
		o.name = whole
	}
	takes, ours := ofProgram[o.name]
	if !ours {
		takes = c.takesNext(o.name)
	}
	if !o.hasValue && takes && len(c.words) > 0 {
		o.value, o.hasValue = c.words[0].text, true
		c.words = c.words[1:]
	}
	switch {
	case ours:
		why := "it does not change what is measured"
		if o.name == "parse-only" || o.name == "showcmd" || o.name == "version" {
			why = "it keeps fio from running, and a benchmark runs; storagebench lint only checks"
		}
		c.changes = append(c.changes, change{w.place, "--" + o.name + " is left out: " + why})
	case o.name == "readonly":
		c.readonly = &o
	case o.name == "section":
		c.only = append(c.only, o.value)
	case o.name == "name":
		name := strings.TrimSpace(o.value)
		if strings.HasPrefix(name, global) {
			name = global
		}
		if len(c.sections) == maxSections {
			c.problem(w.place, fmt.Sprintf("more than %d jobs", maxSections), "split it into several workloads")
			return
		}
		c.sections = append(c.sections, section{name: name, words: true, place: w.place})
	default:
		last := &c.sections[len(c.sections)-1]
		if len(last.options) == maxOptions {
			c.problem(w.place, fmt.Sprintf("a job has more than %d options", maxOptions), "remove some")
			return
		}
		last.options = append(last.options, o)
	}
}

// takesNext reports whether the next word is the value of an option that has none.
func (c *commandLine) takesNext(name string) bool {
	if len(c.words) == 0 {
		return false
	}
	if name == "readonly" {
		return false
	}
	a, ok := c.known[name]
	switch next := c.words[0].text; {
	case strings.HasPrefix(next, "-"):
		return false
	case !ok: // an option without a syntax of ours; a file would be given
		_, file := c.includes[next]
		return !file
	case a.syntax.flag:
		return false
	case a.syntax.bare != "":
		return next == "0" || next == "1"
	default:
		return true
	}
}

// file puts the sections of a job file that is given where its name stands.
func (c *commandLine) file(w word) {
	name := w.text
	text, ok := c.includes[name]
	if !ok {
		name = path.Base(name)
		text, ok = c.includes[name]
	}
	if !ok {
		c.problem(w.place, fmt.Sprintf("the job file %q is not given", clip(w.text)), "put its text into fio.include, with this name as the key")
		return
	}
	c.used[name] = true
	p := newParser(c.includes)
	p.used, p.included, p.read = c.used, c.included, c.read
	p.text(text, name, 0)
	c.included, c.read = p.included, p.read
	c.problems = append(c.problems, p.problems...)
	if c.sections = append(c.sections, p.sections...); len(c.sections) > maxSections {
		c.sections = c.sections[:maxSections]
		c.problem(w.place, fmt.Sprintf("more than %d sections", maxSections), "split it into several workloads")
	}
}
