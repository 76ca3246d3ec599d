package printed

import (
	"slices"
	"strings"
)

// lineEnds are those that Clean knows as well.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// LineOf returns the number, from 1, of the line in a text that Lines returns as line i. Lines may have
// added headings above that line, moved it, or made several of one. A blank line has the number of the
// one above it.
func LineOf(text []byte, i int) int {
	lines, own := Lines(text), strings.Split(lineEnds.Replace(string(text)), "\n")
	if n := len(own); n > 0 && own[n-1] == "" {
		own = own[:n-1] // the text ends with a line break
	}
	if len(lines) == len(own) || len(lines) == 0 || len(own) == 0 {
		return i + 1
	}
	i = max(0, min(i, len(lines)-1))
	for i > 0 && blank(lines[i]) {
		i--
	}
	want, nth := undecorated(lines[i]), 0
	for _, line := range lines[:i+1] {
		if strings.Contains(undecorated(line), want) {
			nth++
		}
	}
	found := slices.IndexFunc(own, func(line string) bool {
		if strings.Contains(undecorated(string(Clean([]byte(line)))), want) {
			nth--
		}
		return nth == 0
	})
	if found < 0 {
		found = min(i, len(own)-1) // it was put together
	}
	return found + 1
}

// marksWithin stand also within a line.
var marksWithin = strings.NewReplacer("**", "", `\`, "")

// undecorated is a line without what makes it look otherwise than in the text.
func undecorated(line string) string {
	line = marksWithin.Replace(bars.ReplaceAllString(line, " "))
	return strings.Join(strings.Fields(line), " ")
}
