package fio

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/workload"
)

// word of a command line, without its quotes.
type word struct {
	text string
	place
}

// maxWords bounds a command line.
const maxWords = 2048

// splitter splits a command line as a shell does, and starts nothing. What a shell would do
// beside that is either left out, with a change that says so, or a problem.
type splitter struct {
	rest    string
	at      place
	words   []word
	word    strings.Builder
	started bool
	// drop reports that the next word is the file of a redirection.
	drop bool
	// given are variables with their values, and expanded how many bytes took their places.
	given    map[string]string
	expanded int
	changes  []change
	problems []*lineError
}

// splitWords returns the words of a command line, with the variables that are given. Lines may
// be continued with a backslash.
func splitWords(text string, given map[string]string) *splitter {
	s := &splitter{rest: text, at: place{line: 1}, given: given}
	for s.rest != "" && len(s.problems) == 0 && s.step() {
	}
	s.end()
	return s
}

func (s *splitter) refuse(message, remedy string) bool {
	s.problems = append(s.problems, &lineError{place: s.at, message: message, remedy: remedy})
	return false
}

func (s *splitter) take(n int) string {
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	s.at.line += strings.Count(taken, "\n")
	return taken
}

func (s *splitter) add(text string) bool {
	s.word.WriteString(text)
	s.started = true
	return true
}

// end ends a word.
func (s *splitter) end() {
	if s.started && !s.drop {
		s.words = append(s.words, word{s.word.String(), s.at})
	}
	s.drop = s.drop && !s.started
	s.word.Reset()
	s.started = false
}

// step reads the next character, or what belongs together. It returns false at the end of the
// command.
func (s *splitter) step() bool {
	if len(s.words) >= maxWords {
		return s.refuse(fmt.Sprintf("the command line has more than %d words", maxWords), "use a job file")
	}
	switch c := s.rest[0]; {
	case strings.HasPrefix(s.rest, "\\\r\n"):
		s.take(3)
		return true
	case strings.HasPrefix(s.rest, "\\\n"):
		s.take(2)
		return true
	case lineGoesOn.MatchString(s.rest):
		s.changes = append(s.changes, change{s.at, "the line goes on after the \\, as it is meant, and what follows it is left out"})
		s.take(len(lineGoesOn.FindString(s.rest)))
		return true
	case c == '\\':
		escaped := s.take(min(2, len(s.rest)))[1:]
		return s.add(escaped)
	case c == '\'':
		return s.singleQuoted()
	case c == '"':
		return s.doubleQuoted()
	case c == '`':
		return s.refuse(outputInside, outputRemedy)
	case c == '$':
		return s.variable(false)
	case c == '#' && !s.started:
		s.take(len(firstLine(s.rest)))
		return true
	case strings.IndexByte(" \t\r", c) >= 0:
		s.end()
		s.take(1)
		return true
	case strings.IndexByte("\n;&|<>", c) >= 0:
		return s.operator()
	default:
		return s.add(s.take(1))
	}
}

func (s *splitter) singleQuoted() bool {
	inner, _, ok := strings.Cut(s.rest[1:], "'")
	if !ok {
		return s.refuse("a ' is not closed", "add the second one")
	}
	s.add(inner)
	s.take(len(inner) + 2)
	return true
}

func (s *splitter) doubleQuoted() bool {
	s.take(1)
	s.started = true
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			s.take(i + 1)
			return true
		case c == '`':
			return s.refuse(outputInside, outputRemedy)
		case c == '$':
			if s.take(i); !s.variable(true) {
				return false
			}
			i = -1
		case c == '\\' && i+1 < len(s.rest) && strings.IndexByte("\"\\$`\n", s.rest[i+1]) >= 0:
			if i++; s.rest[i] != '\n' {
				s.word.WriteByte(s.rest[i])
			}
		default:
			s.word.WriteByte(c)
		}
	}
	return s.refuse("a \" is not closed", "add the second one")
}

// operator reads what is between commands. A redirection is left out with its file, and so is
// what reads fio's output.
func (s *splitter) operator() bool {
	if s.started && strings.Trim(s.word.String(), digits) == "" && strings.IndexByte("<>", s.rest[0]) >= 0 {
		s.word.Reset() // the number of a file: 2>
		s.started = false
	}
	s.end()
	switch {
	case s.rest[0] == '<':
		return s.refuse("it reads another file", "give the file's text as fio.jobFile, or in fio.include")
	case strings.HasPrefix(s.rest, "&>") || s.rest[0] == '>':
		s.take(len(s.rest) - len(strings.TrimLeft(s.rest, "&>|")))
		if s.hasFio() {
			s.changes = append(s.changes, change{s.at, "fio's output goes into the trial's document, and not where > leads"})
		}
		s.drop = true
		return true
	case !s.hasFio():
		return s.leaveOut()
	case strings.HasPrefix(s.rest, "||"):
		s.changes = append(s.changes, change{s.at, "what follows the || is left out: it is for a fio that fails"})
		return false
	case s.rest[0] == '|':
		s.changes = append(s.changes, change{s.at, "what follows the | is left out"})
		return false
	}
	return s.follows()
}

// hasFio reports whether the words so far start fio, with arguments: cd fio and apt install fio
// do not.
func (s *splitter) hasFio() bool {
	if len(s.words) < 2 {
		return len(s.words) == 1 && strings.HasPrefix(s.words[0].text, "-")
	}
	return slices.ContainsFunc(s.words[:len(s.words)-1], isProgram) || strings.HasPrefix(s.words[0].text, "-")
}

// leaveOut is at the end of a command before that of fio. What it assigns is kept.
func (s *splitter) leaveOut() bool {
	assigns := true
	var texts []string
	for _, w := range s.words {
		name, _, ok := strings.Cut(w.text, "=")
		assigns = assigns && ok && isVariable(name)
		texts = append(texts, w.text)
	}
	switch {
	case len(texts) == 0:
	case slices.Contains(shellWords, texts[0]):
		return s.refuse(shellDoes(texts[0]), shellRemedy)
	case assigns:
		for _, text := range texts {
			name, value, _ := strings.Cut(text, "=")
			s.assign(name, value)
		}
	default:
		s.changes = append(s.changes, change{s.at, fmt.Sprintf("%q is left out: only fio is started", clip(strings.Join(texts, " ")))})
	}
	s.words = nil
	s.take(1)
	return true
}

// shellDoes says that a word begins what is more than a command.
func shellDoes(word string) string {
	return fmt.Sprintf("a shell does more with %q than to start fio", clip(word))
}

const shellRemedy = "begin with fio, and make each command of fio a workload of its own"

// assign sets a variable for what follows, unless the user has set it.
func (s *splitter) assign(name, value string) {
	if _, ok := s.given[name]; !ok {
		s.given = maps.Clone(s.given)
		if s.given == nil {
			s.given = map[string]string{}
		}
		s.given[name] = value
	}
}

// lineGoesOn is a backslash with blanks after it, or a comment, which is not what a shell takes for
// the end of a line that goes on.
var lineGoesOn = regexp.MustCompile(`^\\[ \t]+(?:#[^\n]*)?\n`)

// anotherFio is a further command of fio in a text.
var anotherFio = regexp.MustCompile(`(?:^|[\s;&|(/])fio\s`)

// follows is at the end of the command of fio. Other commands of fio are workloads of their own.
func (s *splitter) follows() bool {
	next := strings.TrimLeft(s.rest, " \t\r\n;&")
	between := s.rest[:len(s.rest)-len(next)]
	word, _, _ := strings.Cut(firstLine(next), " ")
	switch {
	case next == "":
		return false
	case strings.HasPrefix(next, "-") && strings.Trim(between, " \t\r\n") == "":
		s.take(len(between))
		s.changes = append(s.changes, change{s.at, "the line is read as one with that above, as it begins with -; a shell needs a \\ for that"})
		return true
	case anotherFio.MatchString(next) || slices.Contains(shellWords, word):
		return s.refuse(fmt.Sprintf("another command follows: %q", clip(firstLine(next))), "make it a workload of its own")
	}
	s.take(len(between))
	s.changes = append(s.changes, change{s.at, fmt.Sprintf("%q is left out: only fio is started", clip(firstLine(next)))})
	return false
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// variable reads a $. In place of a variable that is given stand the words of its value, or the
// value as it is in double quotes. Others stay as they are, for the option that they are in.
func (s *splitter) variable(quoted bool) bool {
	switch {
	case strings.HasPrefix(s.rest, "$((") && s.arithmetic():
		return true
	case strings.HasPrefix(s.rest, processors):
		s.take(len(processors))
		return s.add("$ncpus") // fio's own word for it
	case strings.HasPrefix(s.rest, "$("):
		return s.refuse(outputInside, outputRemedy)
	}
	name, fallback, after, err := (&variables{shell: true}).reference(s.rest[1:])
	value, ok := s.given[name]
	if !ok && fallback != nil {
		value, ok = *fallback, true
	}
	if err != nil || !ok {
		return s.add(s.take(1))
	}
	if s.expanded += len(value); s.expanded > maxText {
		return s.refuse(fmt.Sprintf("with its variables it is longer than %d bytes", maxText), "use a job file")
	}
	s.take(len(s.rest) - len(after))
	if quoted {
		return s.add(value)
	}
	for i, field := range strings.Fields(value) {
		if i > 0 {
			s.end()
		}
		s.add(field)
	}
	return true
}

const (
	outputInside = "it has the output of another command in it"
	outputRemedy = "write what that prints"
	processors   = "$(nproc)"
)

// arithmetic reads $((8*1024)), with variables that are given.
func (s *splitter) arithmetic() bool {
	inner, _, ok := strings.Cut(s.rest[len("$(("):], "))")
	if !ok {
		return false
	}
	v := variables{given: s.given, shell: true, used: map[string]bool{}}
	text := inner
	if strings.Contains(text, "$") {
		var err error
		if text, _, err = v.expand("", text); err != nil {
			return false
		}
	}
	n, err := calculate(powers.ReplaceAllStringFunc(text, power))
	if err != nil {
		return false
	}
	s.take(len("$((") + len(inner) + len("))"))
	return s.add(strconv.FormatUint(n, 10))
}

// powers are those of a shell, 10**6.
var powers = regexp.MustCompile(`(\d+)\s*\*\*\s*(\d{1,2})`)

func power(text string) string {
	m := powers.FindStringSubmatch(text)
	n := uint64(1)
	for range number(m[2]) {
		n = workload.Product(n, number(m[1]))
	}
	return strconv.FormatUint(n, 10)
}
