package printed

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// anchors are lines of reports, from the point where they begin: nothing of a report is before it.
	anchors = regexp.MustCompile(`(?:Version +)?(?:\d\.\d{1,3}[a-z]? +)?[-–—]{2,6}Sequential (?:Output|Create)|-Per Cha?r-|\b[kK]B +reclen|Command line used:|(?:Children see|Parent sees) throughput for|\b(?:Time|Files|Data):[ \t|│║]*$|"fio version"|["“][A-Za-z -]{4,24} report["”][ \t]*$|["“]Throughput report Y-axis|` + csv)
	// records are anchors that make a report of their own, in a single line.
	records = regexp.MustCompile(csv)
	// single are those, and lines that may be all that was kept of a report.
	single = regexp.MustCompile(`(?:Children see|Parent sees) throughput for|` + csv)
)

// csv is how a line of bonnie++ begins, of versions 1.9x and before.
const csv = `[1-9]\.\d\d[a-z]?,[12]\.\d\d[a-z]?,|[\w.()/+-]+,\d{1,9}[kMGT]?(?::\d{1,9}k?)?,(?:[\d.+]*,){12}`

var (
	// clocks are words that are another one in each line: a time, a date, seconds since something.
	clocks = regexp.MustCompile(`\d:\d\d|\d[-/.]\d\d?[-/.]\d|^\W*\d+\.\d+\W*$|^\W*\d{9,}\W*$`)
	// address is one of a machine, which is the same in each of its lines.
	address = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3}`)
	digits  = regexp.MustCompile(`\d+`)
	blanks  = regexp.MustCompile(`^[ \t]*`)
)

// ahead is what stands before each line of a report.
type ahead struct {
	pattern *regexp.Regexp
	// name is what of it is the same in all lines, such as a machine's.
	name string
	// fewest is how many lines have it at least.
	fewest int
}

// aheadOf returns what stands before a line of a report, if it is nothing that is known; nil: nothing.
func aheadOf(line string) *ahead {
	at := anchors.FindStringIndex(head(line))
	if at == nil || hasOrigin(line) {
		return nil
	}
	before := strings.TrimSpace(line[:at[0]])
	if before == "" || before != "#" && before != "-" && strings.TrimSpace(unmarked(before+" |")) == "" {
		return nil // a mark is removed line by line, but for those that may stand tightly
	}
	var words, same []string
	fewest := fewestAlike
	for word := range strings.FieldsSeq(before) {
		if !clocks.MatchString(word) || address.MatchString(word) {
			words, same = append(words, regexp.QuoteMeta(word)), append(same, word)
			continue
		}
		parts := digits.Split(word, -1)
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		if records.MatchString(line) {
			fewest = 1
		}
		words = append(words, strings.Join(parts, `\d+`))
	}
	pattern, err := regexp.Compile(`^[ \t]*` + strings.Join(words, `[ \t]+`))
	if err != nil {
		return nil
	}
	return &ahead{pattern, trimmed(strings.Trim(strings.Join(same, " "), "[](){}<>|-# ")), fewest}
}

// unheaded removes what stands before the lines of a report and is nothing that is known: whatever
// is before one of its headings and before the lines around it. Reports of several sources get
// these as headings.
func unheaded(lines []string) []string {
	type report struct {
		from int
		name string
	}
	var found []report
	for i := 0; i < len(lines); i++ {
		a := aheadOf(lines[i])
		if a == nil {
			continue
		}
		from, to := a.around(lines, i)
		if a.remove(lines[from:to]) {
			found = append(found, report{from, a.name})
			i = to - 1
		}
	}
	if !slices.ContainsFunc(found, func(r report) bool { return r.name != found[0].name && r.name != "" }) {
		return lines
	}
	for _, r := range slices.Backward(found) {
		lines = slices.Insert(lines, r.from, "", "# "+r.name, "")
	}
	return lines
}

// around returns the lines around line i that all have it, and blank ones between them.
func (a *ahead) around(lines []string, i int) (from, to int) {
	from, to = i, i+1
	for k := i - 1; k >= 0 && (blank(lines[k]) || a.before(lines[k])); k-- {
		if !blank(lines[k]) {
			from = k
		}
	}
	for k := i + 1; k < len(lines) && (blank(lines[k]) || a.before(lines[k])); k++ {
		if !blank(lines[k]) {
			to = k + 1
		}
	}
	return from, to
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// before reports whether it stands before a line. The first line of a script is no comment.
func (a *ahead) before(line string) bool {
	return a.pattern.MatchString(head(line)) && !strings.HasPrefix(line, "#!")
}

// remove removes it from lines that all have it, if they are enough, with the blanks that follow in
// each of them: what is below each other stays so.
func (a *ahead) remove(lines []string) bool {
	n, gap := 0, ""
	for _, line := range lines {
		at := a.pattern.FindStringIndex(head(line))
		if at == nil {
			continue
		}
		n++
		if rest := line[at[1]:]; !blank(rest) {
			own := blanks.FindString(rest)
			if gap == "" && n == 1 || strings.HasPrefix(gap, own) {
				gap = own
			}
		}
	}
	if n < a.fewest {
		return false
	}
	for i, line := range lines {
		if at := a.pattern.FindStringIndex(head(line)); at != nil {
			lines[i] = strings.TrimPrefix(line[at[1]:], gap)
		}
	}
	return true
}
