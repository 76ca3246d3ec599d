package printed

import (
	"regexp"
	"strings"
)

// Outline follows the headings of a text, which have the ranks of Markdown.
type Outline struct {
	// path has the headings that hold now, by rank.
	path [6]string
	next int
}

// ReadTo reads the lines before line i that it has not read.
func (o *Outline) ReadTo(lines []string, i int) {
	for ; o.next < min(i, len(lines)); o.next++ {
		o.read(strings.TrimSpace(lines[o.next]))
	}
}

// Read reads lines that follow those before.
func (o *Outline) Read(lines []string) {
	for _, line := range lines {
		o.read(strings.TrimSpace(line))
	}
}

func (o *Outline) read(line string) {
	m := markdown.FindStringSubmatch(line)
	if m == nil {
		return
	}
	text, ok := checked(m[1])
	if !ok && !number.MatchString(m[1]) {
		return // a command of root, or a comment
	}
	rank := len(line) - len(strings.TrimLeft(line, "#"))
	o.path[rank-1] = text
	clear(o.path[rank:])
}

// number is a heading that is only that, or a date: it ends the section before it.
var number = regexp.MustCompile(`^[\d./: -]{1,24}$`)

// counted is a heading that only counts repeats.
var counted = regexp.MustCompile(`(?i)^(?:run|test|trial|repeat|iteration|round|attempt|pass|try)\s*#?\d{1,4}$`)

// Above returns the headings that stand above a title, and a short line there, without those
// that only count.
func (o *Outline) Above(title Title) string {
	var above []string
	for _, text := range append(o.path[:len(o.path):len(o.path)], title.over) {
		if text != "" && text != title.Text && !counted.MatchString(text) {
			above = append(above, text)
		}
	}
	return strings.Join(above, " / ")
}
