package printed

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// stamps are what programs that keep logs put before a line.
	stamps = regexp.MustCompile(`^(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?[ \t]?(?:std(?:out|err) [FP](?: |$))?` +
		`|\[\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\]\n]{0,20}\] ?` +
		`|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} [^\s:]{1,80}: ?)`)
	// origins are what is put before each line to say where it comes from: docker compose and
	// kubectl logs --prefix name the container, and pdsh names the machine.
	origins = regexp.MustCompile(`^(?:# )?[ \t]{0,8}(?:([A-Za-z][\w.-]{0,60}) *\||\[([a-z]+/[\w./-]{1,120})\]|([A-Za-z0-9][\w.-]{0,60}):)(?:[ \t]|$)`)
	// marks stand before a line: of quotations, lists, the bars of tables, and of comments, which may be as far to the
	// right as the code around them.
	marks = regexp.MustCompile(`^(?:[ \t]{0,8}(?:>+ ?|[|│┃║▌] ?|[*•‣·–+-] |//(?:[ \t]|$)|\d{1,3}[.)] )+|[ \t]{0,64}//[/!]?(?:[ \t]|$))`)
	// tables are lines of reports, which stand behind a # only if it is a comment.
	tables = regexp.MustCompile(`/sec|-Per Ch|Sequential (?:Output|Create)|reclen|(?:\s+[\d.+]+[kmg]?){5}|^(?:Time|Files|Data):$|[\d.]+ (?:files \(|read \(|created|appended|deleted|seconds|\w+bytes )|^Latency\s|throughput for`)
	// stressed are numbers that somebody has made bold in a table.
	stressed = regexp.MustCompile(`\*\*( *(?:[\d.]{1,20}(?:[kmg]|us|ms|s)?|\+{3,5}) *)\*\*`)
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
	byHost(lines)
	unprefixed(lines)
	lines = unheaded(lines)
	uncommented(lines)
	broken := areBroken(lines)
	for i, line := range lines {
		if broken {
			line = strings.TrimSuffix(line, `\`)
		}
		lines[i] = unmarked(line)
	}
	cut := !Ended(text)
	lines = separate(separate(lines, cut), cut) // a container's name, and a level of its log
	lines = unheaded(lines)
	for i, line := range lines {
		lines[i] = bare(line)
	}
	uncaptioned(lines)
	return lines
}

// captions stand above or below what they name, but for arrows, which point up.
var captions = regexp.MustCompile(`(?i)^[*_]{0,2}(?:(?:figure|fig\.?|table|listing|output) \d{1,3}[:.)]|\^{2,} +\w)`)

// uncaptioned removes captions that stand below what they name: none is above the first report, and one is below the last.
// Those would be taken for titles of the next one.
func uncaptioned(lines []string) {
	var of []int
	first, last := -1, -1
	for i, line := range lines {
		switch {
		case anchors.MatchString(head(line)):
			if last = i; first < 0 {
				first = i
			}
		case captions.MatchString(strings.TrimSpace(head(line))):
			of = append(of, i)
		}
	}
	if len(of) == 0 || first < 0 || of[0] < first || of[len(of)-1] < last {
		return
	}
	for _, i := range of {
		lines[i] = ""
	}
}

// separate removes the origins of lines, and puts those of one origin one after the other. Of a
// text that was cut, the last line stays the last.
func separate(lines []string, cut bool) []string {
	out := make([]string, 0, len(lines))
	for i := 0; i < len(lines); {
		var own []string
		end := i
		for k := i; k < len(lines) && (hasOrigin(lines[k]) || len(own) > 0 && strings.TrimSpace(lines[k]) == ""); k++ {
			if strings.TrimSpace(lines[k]) != "" {
				own, end = append(own, lines[k]), k+1
			}
		}
		if end == i {
			out = append(out, lines[i])
			i++
			continue
		}
		if apart := separated(own, len(own) == len(lines), cut && end == len(lines)); apart != nil {
			out = append(out, apart...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return out
}

// hasOrigin reports whether a line begins with where it comes from.
func hasOrigin(line string) bool {
	const most = 140
	return strings.ContainsAny(line[:min(len(line), most)], "|[:") && origins.MatchString(line)
}

// separated does so with lines that all have an origin; nil: they have none. Those of several come mixed: each gets
// its origin as a heading. There are few origins, with several lines each, or a line that makes a report of
// its own; else they are the first cells of a table. A single word with a colon is an origin only if it is in the whole text.
func separated(lines []string, whole, cut bool) []string {
	const few = 4
	var order []string
	of, colon := map[string][]string{}, false
	for _, line := range lines {
		m := origins.FindStringSubmatch(line)
		name := m[1] + m[2] + m[3]
		if of[name] == nil {
			order = append(order, name)
		}
		of[name], colon = append(of[name], line[len(m[0]):]), m[3] != ""
	}
	switch {
	case len(lines) <= few*len(order) && !eachReports(of), len(order) == 1 && colon && !whole:
		return nil
	case len(order) == 1:
		return of[order[0]]
	}
	if last := origins.FindStringSubmatch(lines[len(lines)-1]); cut {
		name := last[1] + last[2] + last[3]
		order = append(slices.DeleteFunc(order, func(s string) bool { return s == name }), name)
	}
	var out []string
	for _, name := range order {
		out = append(append(out, "# "+name, ""), of[name]...)
	}
	return out
}

// eachReports reports whether among the lines of each origin is one that makes a report of its own.
func eachReports(of map[string][]string) bool {
	for _, lines := range of {
		if !slices.ContainsFunc(lines, single.MatchString) {
			return false
		}
	}
	return true
}

// areBroken reports whether most lines end with the mark by which Markdown keeps a line break.
func areBroken(lines []string) bool {
	marked, all := 0, 0
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if all++; strings.HasSuffix(line, `\`) {
			marked++
		}
	}
	return marked*2 > all
}

const (
	// longest is what a line has at most of which anything is decoration.
	longest = 4096
	// nested is how deep decoration is: a quoted log of a quoted log.
	nested = 4
)

// unmarked removes what stands before a line.
func unmarked(line string) string {
	if len(line) > longest {
		return line
	}
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
	return line
}

func bare(line string) string {
	if len(line) > longest {
		return line
	}
	line = unmarked(line)
	line = stressed.ReplaceAllString(bars.ReplaceAllString(line, " "), "$1")
	switch strings.TrimSpace(line) {
	case "#", "*", "//", ";", "%":
		return "" // a comment without words
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
