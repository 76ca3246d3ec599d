package fio

import (
	"fmt"
	"path"
	"strings"
)

// Bounds of a job file with all that it includes. The API allows 32 KiB of text.
const (
	maxText     = 32 << 10
	maxSections = 256
	maxOptions  = 256 // of one section
	maxIncludes = 64
	maxRead     = 2 << 20 // with files as often as they are included
	maxNested   = 4
	// maxProblems is how many problems are noted: they are for people.
	maxProblems = 100
)

// place is where something is written: a line, counted from 1, of the job file or of a file
// that it includes. The zero value is a configuration without lines.
type place struct {
	file string
	line int
}

// String is empty for the zero value.
func (p place) String() string {
	switch {
	case p.line == 0:
		return ""
	case p.file != "":
		return fmt.Sprintf("%s line %d", clip(p.file), p.line)
	default:
		return fmt.Sprintf("line %d", p.line)
	}
}

// option is one line of a section: name, or name=value.
type option struct {
	name, value string
	hasValue    bool
	place
}

// section is a [name] and the options below it.
type section struct {
	name    string
	options []option
	// words reports that it is of a command line, whose options count in their order.
	words bool
	place
}

// lineError is what is wrong with one line.
type lineError struct {
	place
	message string
	remedy  string
	// field that it is about, if it is not the text that is read.
	field string
}

func (e *lineError) Error() string {
	if at := e.String(); at != "" {
		return at + ": " + e.message
	}
	return e.message
}

// parser reads the text of a job file and of what it includes.
type parser struct {
	includes map[string]string
	sections []section
	problems []*lineError
	included int
	// read is how many bytes were read, with files as often as they are included.
	read int
	used map[string]bool
}

func newParser(includes map[string]string) *parser {
	return &parser{includes: includes, used: map[string]bool{}}
}

// parse reads fio's job file syntax: [section] headers, name and name=value lines, and
// comments from # or ; to the end of the line, wherever they begin, as fio has it. Lines that
// are wrong become problems, and it goes on.
func (p *parser) parse(text string) ([]section, []*lineError) {
	size := len(text)
	for _, t := range p.includes {
		size += len(t)
	}
	if size > maxText {
		p.problem(place{}, fmt.Sprintf("the job file has %d bytes, more than the limit of %d", size, maxText), "leave out comments, or split it into several workloads")
		return nil, p.problems
	}
	p.text(strings.TrimPrefix(text, "\ufeff"), "", 0)
	return p.sections, p.problems
}

func (p *parser) problem(at place, message, remedy string) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, &lineError{place: at, message: message, remedy: remedy})
	}
}

// text reads the lines of a file, or of one that is included.
func (p *parser) text(text, file string, depth int) {
	at := place{file: file}
	if p.read += len(text); p.read > maxRead {
		p.problem(at, fmt.Sprintf("more than %d bytes are read, with what is included", maxRead), "include fewer files")
		return
	}
	for raw := range strings.SplitSeq(text, "\n") {
		at.line++
		line := raw
		if i := strings.IndexAny(line, "#;"); i >= 0 {
			line = line[:i]
		}
		line = strings.TrimSpace(line)
		name, isInclude := includeOf(line)
		switch {
		case line == "":
		case line[0] == '[' && depth > 0:
			p.problem(at, "a file that is included has a section, which fio does not allow", "leave only options in it")
		case line[0] == '[':
			p.header(line, at)
		case len(p.sections) == 0:
			p.problem(at, fmt.Sprintf("%q comes before the first section", clip(line)), "begin with [global] or with a job's name in brackets")
		case isInclude:
			p.include(name, at, depth)
		default:
			last := &p.sections[len(p.sections)-1]
			if len(last.options) == maxOptions {
				p.problem(at, fmt.Sprintf("section [%s] has more than %d options", clip(last.name), maxOptions), "remove some")
				return
			}
			last.options = append(last.options, splitOption(line, at))
		}
	}
}

// includeOf returns the file that a line includes. fio looks at the first word only.
func includeOf(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "include")
	if !ok || rest == "" || !strings.ContainsAny(rest[:1], " \t=") {
		return "", false
	}
	return strings.TrimSpace(strings.TrimLeft(rest, " \t=")), true
}

// include reads one of the files that were given, by its name as the job file has it or by
// the last element of that. No file is opened.
func (p *parser) include(name string, at place, depth int) {
	text, ok := p.includes[name]
	if !ok {
		name = path.Base(name)
		text, ok = p.includes[name]
	}
	p.used[name] = true
	p.included++
	switch {
	case !ok:
		p.problem(at, fmt.Sprintf("the file %q that it includes is not given", clip(name)), "put its text into fio.include, with this name as the key")
	case depth == maxNested:
		p.problem(at, fmt.Sprintf("%q is included in the %dth file that includes another", clip(name), maxNested), "include fewer levels")
	case p.included > maxIncludes:
		p.problem(at, fmt.Sprintf("more than %d files are included", maxIncludes), "write the options instead")
	default:
		p.text(text, name, depth+1)
	}
}

func (p *parser) header(line string, at place) {
	if len(p.sections) == maxSections {
		p.problem(at, fmt.Sprintf("more than %d sections", maxSections), "split the job file into several workloads")
		return
	}
	end := strings.LastIndexByte(line, ']')
	if end < 0 || strings.TrimSpace(line[end+1:]) != "" {
		p.problem(at, fmt.Sprintf("%q is not a section", clip(line)), "write [name] and nothing else on the line")
		end = len(line) // its options are read nevertheless
	}
	name := strings.TrimSpace(strings.TrimSuffix(line[1:end], "]"))
	switch {
	case strings.HasPrefix(name, global):
		name = global // as fio has it
	case strings.EqualFold(name, global):
		p.problem(at, fmt.Sprintf("[%s] is a job of that name to fio, and its options are the defaults of none", clip(name)), "did you mean [global]?")
	case name == "":
		p.problem(at, "the section has no name", "write a name for the job, as in [rand-read]")
	}
	p.sections = append(p.sections, section{name: name, place: at})
}

// global is the section whose options are the defaults of those after it. fio takes every
// section that begins so for it.
const global = "global"

func splitOption(line string, at place) option {
	name, value, has := strings.Cut(line, "=")
	return option{
		name:     strings.TrimSpace(name),
		value:    strings.TrimSpace(value),
		hasValue: has,
		place:    at,
	}
}

// clip shortens the user's text for messages, and leaves out what is not to be printed.
func clip(s string) string {
	long := len(s) > 60
	if long {
		s = s[:60]
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if long {
		s = strings.TrimRight(s, "?") + "…"
	}
	return s
}
