package printed

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	markdown = regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	strong   = regexp.MustCompile(`^(?:\*\*|__)([^*_].*?)(?:\*\*|__):?$`)
	framed   = regexp.MustCompile(`^(?:={1,}|-{2,}|\*{2,}|#{2,}|~{2,}) *([^=*#~-].*?) *(?:={1,}|-{2,}|\*{2,}|#{2,}|~{2,})$`)
	// opened are headings of AsciiDoc, which nothing closes, and of Textile.
	opened  = regexp.MustCompile(`^(?:={2,6} +|h[1-6]\. +)([^=\s].*)$`)
	bracket = regexp.MustCompile(`(?i)^\[(?:b|h\d?|size[^\]]*)\](.+?)\[/(?:b|h\d?|size)\]:?$`)
	// adHoc stands above what ansible got from a machine; its bars are blanks.
	adHoc = regexp.MustCompile(`^([\w.-]{1,80}) +(?:CHANGED|SUCCESS|FAILED) +(?:rc=\d+ +)?(?:>>|=> )`)
	ruler = regexp.MustCompile(`^(?:={3,}|-{3,}|~{3,}|\*{3,}|\^{3,}|#{3,})$`)
)

// embedded is a picture, or a link alone.
var embedded = regexp.MustCompile(`^(?:!?\[[^\]]*\]\(\S*\)|<?https?://\S*)$`)

// atx begins the forms of headings whose rank is known: that of Markdown.
const atx = "#"

// formOf returns the form of the heading in line k, and its text; empty: it has the marks of none.
// Two headings of one form may have different ranks.
func formOf(lines []string, k, floor int) (form, text string) {
	line := strings.TrimSpace(lines[k])
	if m := markdown.FindStringSubmatch(line); m != nil {
		return atx + strconv.Itoa(len(line)-len(strings.TrimLeft(line, "#"))), m[1]
	}
	for _, pattern := range []*regexp.Regexp{strong, framed, bracket, adHoc, opened} {
		if m := pattern.FindStringSubmatch(line); m != nil {
			if text, ok := checked(m[1]); ok {
				mark, _, _ := strings.Cut(line, m[1])
				return pattern.String() + mark, text
			}
			return "", ""
		}
	}
	if k+1 == len(lines) || sentence(line) {
		return "", ""
	}
	rule, above := strings.TrimSpace(lines[k+1]), ""
	if k > max(floor, 0) {
		above = strings.TrimSpace(lines[k-1])
	}
	if ruler.MatchString(rule) && (above == "" || above[0] == rule[0] && ruler.MatchString(above)) {
		if text, ok := checked(line); ok {
			return "ruled " + rule[:1] + above[:min(1, len(above))], text
		}
	}
	return "", ""
}

// headingIn returns the heading in line k, if there is one. One that nothing closes is no better
// than any short line, and a sentence behind a # is a comment.
func headingIn(lines []string, k, floor int) (string, bool) {
	line := strings.TrimSpace(lines[k])
	if opened.MatchString(line) && !framed.MatchString(line) {
		return "", false
	}
	const words = 4
	if text := strings.TrimLeft(line, atx+" "); markdown.MatchString(line) && strings.HasSuffix(text, ".") && len(strings.Fields(text)) >= words {
		return "", false
	}
	if form, text := formOf(lines, k, floor); form != "" {
		return checked(text)
	}
	return "", false
}

// aloneIn returns the form of line k, and its text, if it looks like a title without any mark: it
// stands alone, and is short. A line that says whose words follow, or announces something, is one
// here, though it names no report.
func aloneIn(lines []string, k, floor int) (form, text string) {
	line := strings.TrimSpace(lines[k])
	colon := announced(line)
	switch {
	case embedded.MatchString(line), continues(lines, k), noise(line) || noise(markdown.ReplaceAllString(line, "$1")):
		return "", ""
	case sentence(line) && (!colon || len(line) > maxTitle || len(strings.Fields(line)) > maxWords):
		return "", ""
	}
	around := []string{"", ""}
	if k > floor {
		around[0] = nextTo(lines, k, -1)
	}
	if k+1 < len(lines) {
		around[1] = nextTo(lines, k, 1)
	}
	if !colon && !noise(around[1]) && !ruler.MatchString(around[1]) || !noise(around[0]) && !attribution.MatchString(around[0]) && !announces(line, around[0]) {
		return "", ""
	}
	switch {
	case attribution.MatchString(line):
		return "attribution", line
	case colon:
		return "colon", line
	}
	return "plain", line
}

// nextTo is the line before or behind line k. In a text in which every other line is blank, as
// some pages print it, it is the one after the next.
func nextTo(lines []string, k, step int) string {
	if next := k + step; next >= 0 && next < len(lines) {
		if line := strings.TrimSpace(lines[next]); line != "" || !spaced(lines, k) {
			return line
		}
	}
	if next := k + 2*step; next >= 0 && next < len(lines) {
		return strings.TrimSpace(lines[next])
	}
	return ""
}

// spaced reports whether every other line around line k is blank, which those of no report are by
// themselves.
func spaced(lines []string, k int) bool {
	const around, fewest, below = 24, 6, 3
	n, behind, double := 0, 0, 0
	for i := max(k-around, 0); i < min(k+around, len(lines)); i++ {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		if n++; i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" {
			return false
		}
		if i > k {
			behind++
		}
		if i+2 < len(lines) && strings.TrimSpace(lines[i+2]) != "" {
			double++
		}
	}
	return n >= fewest && behind >= below && double*3 >= n
}
