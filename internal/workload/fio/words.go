package fio

import (
	"fmt"
	"strings"
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
	drop     bool
	changes  []change
	problems []*lineError
}

// splitWords returns the words of a command line. Lines may be continued with a backslash.
func splitWords(text string) *splitter {
	s := &splitter{rest: text, at: place{line: 1}}
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
	case c == '\\':
		escaped := s.take(min(2, len(s.rest)))[1:]
		return s.add(escaped)
	case c == '\'':
		return s.singleQuoted()
	case c == '"':
		return s.doubleQuoted()
	case strings.HasPrefix(s.rest, "$(") || c == '`':
		return s.refuse("it has the output of another command in it", "write what that prints")
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
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			s.started = true
			s.take(i + 1)
			return true
		case c == '`' || strings.HasPrefix(s.rest[i:], "$("):
			return s.refuse("it has the output of another command in it", "write what that prints")
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
		s.changes = append(s.changes, change{s.at, "fio's output goes into the trial's document, and not where > leads"})
		s.drop = true
		return true
	case s.rest[0] == '|' && !strings.HasPrefix(s.rest, "||"):
		s.changes = append(s.changes, change{s.at, "what follows the | is left out"})
		return false
	}
	s.take(1)
	s.rest = strings.TrimLeft(s.rest, " \t\r\n;&")
	if s.rest == "" || len(s.words) == 0 && s.rest[0] != '|' {
		return s.rest != ""
	}
	return s.refuse(fmt.Sprintf("another command follows: %q", clip(firstLine(s.rest))), "make it a workload of its own")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
