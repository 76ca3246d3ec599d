package bonnie

import (
	"regexp"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/printed"
)

// restOfRow is what a line has that goes on with the row above it: numbers, of which the first may
// have begun there.
var restOfRow = regexp.MustCompile(`^(?:\.?\d|\+)[\d.+kmg]*(?:\s+(?:[\d.]+[kmg]?|\++))*$`)

// latencyBehind are latencies as bonnie++ prints them, or two without their label.
var latencyBehind = regexp.MustCompile(`\bLatency\b|\b\d{1,9}(?:us|ms|s)\s+\d{1,9}(?:us|ms|s)\b`)

// endOfNumber is a line with the last digits of a number, and nothing else.
var endOfNumber = regexp.MustCompile(`^\.?\d{1,2}$`)

// joined is line i, with the rest that has been wrapped into the line below, and the last line of
// them. A mail wraps between two numbers, and a terminal also within one: what has the columns of the
// table is right.
func (p *parser) joined(i int) (string, int, error) {
	const nearby = 2
	line, next := p.lines[i], i+1
	for next < min(len(p.lines), i+nearby) && strings.TrimSpace(p.lines[next]) == "" {
		next++
	}
	row, all := p.header.whole(line)
	if cut, err := p.header.alone(line, row); cut != "" || err != nil {
		return cut, i, err
	}
	if next >= len(p.lines) || !row && values(line) < fewestValues {
		return line, i, nil
	}
	rest := strings.TrimSpace(p.lines[next])
	if all {
		if next > i+1 || !endOfNumber.MatchString(rest) || p.header.overhang(line) >= 0 {
			return line, i, nil
		}
		if over := p.header.overhang(line + rest); over < 0 || over > 1 {
			return "", i, errWrapped
		}
		return line + rest, next, nil
	}
	if !restOfRow.MatchString(rest) || len(strings.Fields(rest)) >= len(p.header.ends) {
		return line, i, nil
	}
	var whole []string
	for _, both := range []string{line + " " + rest, line + p.lines[next]} {
		if _, all := p.header.whole(both); all && values(both) >= len(p.header.ends) {
			whole = append(whole, both)
		}
	}
	if len(whole) == 0 || len(whole) > 1 && strings.Join(strings.Fields(whole[0]), " ") != strings.Join(strings.Fields(whole[1]), " ") {
		return "", i, errWrapped
	}
	return whole[0], next, nil
}

// alone returns a row without the comment behind it; empty: it has none, or is no row. A second row behind it, or
// its latencies, is an error.
func (h *header) alone(line string, row bool) (string, error) {
	if row {
		if labels, _ := h.split(line); values(strings.Join(labels, " ")) >= fewestValues {
			return "", errBehind
		}
		return "", nil
	}
	cut := h.uncommented(line)
	if cut == "" {
		return "", nil
	}
	if behind := line[len(cut):]; values(behind) >= fewestValues || latencyBehind.MatchString(behind) {
		return "", errBehind
	}
	return cut, nil
}

// beginsRow reports whether line i has a size, and the first numbers of a row that goes on in the line
// below.
func (p *parser) beginsRow(i int) bool {
	if i+1 >= len(p.lines) || !restOfRow.MatchString(strings.TrimSpace(p.lines[i+1])) || values(p.lines[i])+values(p.lines[i+1]) < fewestValues {
		return false
	}
	words := strings.Fields(p.lines[i])
	for k := range words {
		if numbers := strings.Join(words[k+1:], " "); p.header.labelled(words[:k+1]) && values(numbers) == len(words)-k-1 {
			return true
		}
	}
	return false
}

// overhang is how many characters the last number of a row stands out of its column; less than 0: it
// ends before it, or the numbers are not below the columns.
func (h *header) overhang(line string) int {
	found := words.FindAllStringIndex(line, -1)
	if h.align(line, found, make([]string, len(h.ends))) == len(found) {
		return -1
	}
	return found[len(found)-1][1] - h.ends[len(h.ends)-1]
}

// latenciesAlone is a line that has latencies and nothing else.
var latenciesAlone = regexp.MustCompile(`^\s*(?:\d+(?:us|ms|s)|[um]?s)(?:\s+\d+(?:us|ms|s))*\s*$`)

// joinedLatencies is line i, which has latencies, with the rest that has been wrapped into the line
// below, and the last line of them.
func (p *parser) joinedLatencies(i int) (string, int) {
	line, next := p.lines[i], below(p.lines, i)
	if next == len(p.lines) || !latenciesAlone.MatchString(p.lines[next]) {
		return line, i
	}
	between := " "
	if !strings.HasSuffix(line, "s") {
		between = "" // within a number
	}
	return line + between + strings.TrimSpace(p.lines[next]), next
}

// brokenName reports whether line i has the beginning of a machine's name, of which a row above tells the
// whole, and the line below goes on with it.
func (p *parser) brokenName(i int) bool {
	if i+1 >= len(p.lines) {
		return false
	}
	labels, _ := p.header.split(p.lines[i+1])
	if len(labels) < 2 || !p.header.labelled(labels) {
		return false
	}
	name := strings.TrimSpace(p.lines[i]) + strings.Join(labels[:len(labels)-1], " ")
	return slices.ContainsFunc(p.entries, func(e *entry) bool { return e.Machine == name })
}

// label takes line i as the title of the rows below, if it is one between rows. A sentence there
// ends what the title above says.
func (p *parser) label(i int) bool {
	const nearby = 3
	next := i + 1
	for next < min(len(p.lines), i+nearby) && strings.TrimSpace(p.lines[next]) == "" {
		next++
	}
	if next >= len(p.lines) || values(p.lines[i]) >= fewestValues { // a row that was damaged
		return false
	}
	line, _, err := p.joined(next)
	if row, _ := p.header.whole(line); !row && (err == nil && values(line) < fewestValues || !p.follows(i)) {
		return false
	}
	title := printed.TitleOf(p.lines, i+1, i)
	if title.Text == "" && !printed.Sentence(p.lines[i]) {
		return false
	}
	p.outline.ReadTo(p.lines, i+1)
	p.title, p.section, p.apart, p.read = title.Text, p.outline.Above(title), title.Said, i+1
	return true
}
