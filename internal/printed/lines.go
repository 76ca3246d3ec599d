package printed

import (
	"regexp"
	"strings"
)

var (
	// stamps are what programs that keep logs put before a line.
	stamps = regexp.MustCompile(`^(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?[ \t]?(?:std(?:out|err) [FP](?: |$))?` +
		`|\[\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\]\n]{0,20}\] ?` +
		`|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} [^\s:]{1,80}: ?)`)
	// composed is what docker compose puts before each line: the name of a container.
	composed = regexp.MustCompile(`^([A-Za-z][\w.-]{0,60}) *\|(?: |$)`)
	// marks stand before a line: of quotations, lists, and the bars of tables.
	marks = regexp.MustCompile(`^[ \t]{0,8}(?:(?:>+ ?|[|│┃║▌] ?|[*•‣·–+-] |//(?: |$)|\d{1,3}[.)] ))+`)
	// tables are lines of reports, which stand behind a # only if it is a comment.
	tables = regexp.MustCompile(`/sec|-Per Ch|Sequential (?:Output|Create)|reclen|(?:\s+[\d.+]+[kmg]?){5}|^(?:Time|Files|Data):$|[\d.]+ (?:files \(|read \(|created|appended|deleted|seconds|\w+bytes )|^Latency\s|throughput for`)
	// bars stand between the cells of a table.
	bars = regexp.MustCompile(`[|│┃║]`)
)

// Lines returns the lines of a text without decoration: what Clean removes, and what stands
// before and behind a line. Tabs become blanks, so that columns stay below each other.
func Lines(text []byte) []string {
	var lines []string
	for line := range strings.Lines(string(Clean(text))) {
		lines = append(lines, strings.TrimRight(line, "\n"))
	}
	ofContainers := areComposed(lines)
	for i, line := range lines {
		if ofContainers {
			line = composed.ReplaceAllString(line, "")
		}
		lines[i] = bare(line)
	}
	return lines
}

// areComposed reports whether docker compose has printed the lines: all begin with the name of
// a container, of which there are few. In a row of a table it would be the first cell.
func areComposed(lines []string) bool {
	const few = 4
	names, all := map[string]bool{}, 0
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := composed.FindStringSubmatch(line)
		if m == nil || len(names) > few {
			return false
		}
		names[m[1]] = true
		all++
	}
	return all > few && len(names) <= few
}

func bare(line string) string {
	const most = 4096 // of a longer line nothing is decoration
	if len(line) > most {
		return line
	}
	const nested = 4 // a quoted log of a quoted log
	for range nested {
		before := line
		line = marks.ReplaceAllString(stamps.ReplaceAllString(line, ""), "")
		if strings.HasPrefix(line, "#  ") || strings.HasPrefix(line, "#\t") {
			line = line[1:] // a comment; what follows stays below what is above
		}
		if line == before {
			break
		}
	}
	line = bars.ReplaceAllString(line, " ")
	if strings.TrimSpace(line) == "#" {
		return ""
	}
	if rest, ok := strings.CutPrefix(line, "# "); ok && tables.MatchString(rest) {
		line = rest // a comment, and no heading
	}
	return strings.TrimRight(expand(line), " ")
}

// expand replaces tabs by blanks, up to the next multiple of eight.
func expand(line string) string {
	const stop = 8
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for _, r := range line {
		if r != '\t' {
			b.WriteRune(r)
			column++
			continue
		}
		n := stop - column%stop
		b.WriteString(strings.Repeat(" ", n))
		column += n
	}
	return b.String()
}

// Ended reports whether a text ends with a line break. If it does not, its last line may
// have been cut.
func Ended(text []byte) bool {
	return len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r')
}
