package fio

import (
	"fmt"
	"strings"
)

// Bounds of a job file. The API allows 32 KiB of text.
const (
	maxText     = 32 << 10
	maxSections = 64
	maxOptions  = 128 // of one section
)

// option is one line of a section: name, or name=value.
type option struct {
	name, value string
	hasValue    bool
	line        int
}

// section is a [name] and the options below it.
type section struct {
	name    string
	line    int
	options []option
}

// lineError is what is wrong with one line, counted from 1.
type lineError struct {
	line    int
	message string
	remedy  string
}

func (e *lineError) Error() string {
	if e.line == 0 {
		return e.message
	}
	return fmt.Sprintf("line %d: %s", e.line, e.message)
}

// parse reads fio's job file syntax: [section] headers, name and name=value
// lines, and comments from # or ; to the end of the line, wherever they begin,
// as fio has it.
func parse(text string) ([]section, error) {
	if len(text) > maxText {
		return nil, &lineError{message: fmt.Sprintf("the job file has %d bytes, more than the limit of %d", len(text), maxText)}
	}
	var sections []section
	number := 0
	for raw := range strings.SplitSeq(text, "\n") {
		number++
		line := raw
		if i := strings.IndexAny(line, "#;"); i >= 0 {
			line = line[:i]
		}
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line[0] == '[':
			name, err := header(line, number)
			if err != nil {
				return nil, err
			}
			if len(sections) == maxSections {
				return nil, &lineError{number, fmt.Sprintf("more than %d sections", maxSections), "split the job file into several workloads"}
			}
			sections = append(sections, section{name: name, line: number})
		case len(sections) == 0:
			return nil, &lineError{number, fmt.Sprintf("%q comes before the first section", clip(line)), "begin with [global] or with a job's name in brackets"}
		default:
			last := &sections[len(sections)-1]
			if len(last.options) == maxOptions {
				return nil, &lineError{number, fmt.Sprintf("section [%s] has more than %d options", last.name, maxOptions), ""}
			}
			last.options = append(last.options, splitOption(line, number))
		}
	}
	return sections, nil
}

func header(line string, number int) (string, error) {
	name, rest, closed := strings.Cut(line[1:], "]")
	if !closed || strings.TrimSpace(rest) != "" {
		return "", &lineError{number, fmt.Sprintf("%q is not a section", clip(line)), "write [name] and nothing else on the line"}
	}
	name = strings.TrimSpace(name)
	if name == global {
		return name, nil
	}
	if err := checkJobName(name); err != nil {
		return "", &lineError{number, err.Error(), "use up to 64 letters, digits, - and _, as in [rand-read]"}
	}
	return name, nil
}

// global is the section whose options are the defaults of those after it.
const global = "global"

// checkJobName keeps names to what is safe in file names, which fio makes of
// them. fio takes every section that begins with "global" for the global one.
func checkJobName(name string) error {
	if name == "" || len(name) > 64 || strings.Trim(name, letters+digits+"-_+.") != "" || name[0] == '.' || name[0] == '-' {
		return fmt.Errorf("%q is not a name for a job", clip(name))
	}
	if strings.HasPrefix(strings.ToLower(name), global) {
		return fmt.Errorf("[%s] begins with global, so fio would read it as the [global] section", clip(name))
	}
	return nil
}

func splitOption(line string, number int) option {
	name, value, has := strings.Cut(line, "=")
	return option{
		name:     strings.TrimSpace(name),
		value:    strings.TrimSpace(value),
		hasValue: has,
		line:     number,
	}
}

// clip shortens the user's text for messages.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return strings.ToValidUTF8(s, "?")
}
