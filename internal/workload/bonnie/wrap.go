package bonnie

import (
	"regexp"
	"strings"
)

// Mail programs wrap lines of more than about 72 characters. Those of bonnie++ have 79, and its
// CSV more. unwrap puts headers and CSV together again; what it takes from a line leaves that
// blank, so that lines keep their numbers. Rows are put together as they are read.
func unwrap(lines []string) []string {
	last := len(lines) - 1
	for i, line := range lines {
		if headWords.MatchString(line) {
			lines[i] = dashes.Replace(line)
		}
	}
	for i := range lines {
		end := i
		switch {
		case headBegins.MatchString(lines[i]) && !headed(lines, i):
			end = unwrapHeader(lines, i)
		case partOfCSV(bareCSV(lines[i])):
			end = unwrapCSV(lines, i)
		}
		if end == last && end > i {
			return lines[:i+1] // the line that was put together is the last of the text
		}
	}
	return lines
}

var (
	// headWords are in the lines of a header, in which a page may have made long dashes of hyphens.
	headWords  = regexp.MustCompile(`[-–—](?:Sequential |Per Ch|Create|Random|Seeks)`)
	dashes     = strings.NewReplacer("—", "--", "–", "-")
	headBegins = regexp.MustCompile(`-Sequential (?:Output|Create)-`)
	// The ends of a header's first two lines.
	headEnds  = regexp.MustCompile(`-Random(?: Create)?-+$`)
	namesEnd  = regexp.MustCompile(`-Seeks-+$|-Delete-.*-Delete-+$`)
	narrowGap = regexp.MustCompile(`(%CPU?|files) /sec`)
)

// below is the nearest line below line i that is not blank; len(lines): there is none nearby.
func below(lines []string, i int) int {
	const nearby = 3
	for k := i + 1; k < min(len(lines), i+1+nearby); k++ {
		if strings.TrimSpace(lines[k]) != "" {
			return k
		}
	}
	return len(lines)
}

// headed reports whether line i begins a header whose three lines are whole.
func headed(lines []string, i int) bool {
	third := below(lines, below(lines, i))
	return third < len(lines) && newHeader(lines, third) != nil
}

// unwrapHeader puts the three lines of a header together and returns the last line that it
// took. A header that stays incomplete is left as it is.
func unwrapHeader(lines []string, i int) int {
	var heads [3]string
	var places [3]int
	next := i
	for k, whole := range []func(string) bool{headEnds.MatchString, namesEnd.MatchString, hasAllColumns} {
		places[k] = next
		text, end := together(lines, next, whole)
		if end == len(lines) {
			return i
		}
		heads[k] = text
		next = below(lines, end)
		for next < len(lines) && strings.Trim(lines[next], " -") == "" { // dashes that were cut off
			next = below(lines, next)
		}
		if k == len(heads)-1 {
			next = end
		}
	}
	clear(lines[i : next+1])
	for k, at := range places {
		lines[at] = heads[k]
	}
	// Where a line was wrapped, blanks are lost that place the columns of seeks and files.
	lines[places[2]] = narrowGap.ReplaceAllString(heads[2], "$1  /sec")
	return next
}

// together joins line i with those below it until it is whole: with a blank, or without one
// where a word was cut. It returns the last of them; len(lines): it never is.
func together(lines []string, i int, whole func(string) bool) (string, int) {
	const most = 4
	if i >= len(lines) {
		return "", len(lines)
	}
	text, at := strings.TrimRight(lines[i], " "), i
	for range most {
		if whole(text) {
			return text, at
		}
		if at = below(lines, at); at == len(lines) {
			break
		}
		rest := strings.TrimSpace(lines[at])
		if values(rest) >= fewestValues || headBegins.MatchString(rest) || headLine.MatchString(rest) && headLine.MatchString(text) {
			break // a row, or another header
		}
		if cut := text + rest; whole(cut) && (!whole(text+" "+rest) || cutUnit.MatchString(text+"\n"+rest)) {
			return cut, at
		}
		if !cutUnit.MatchString(text + "\n" + rest) {
			text += " "
		}
		text += rest
	}
	return "", len(lines)
}

// cutUnit is a unit that was cut in two, of which each half looks like another: K, /sec.
var cutUnit = regexp.MustCompile(`(?:\s[KM]\n/|%CP\nU)`)

func hasAllColumns(line string) bool {
	return len(columns.FindAllStringIndex(line, columnsOfATable+1)) == columnsOfATable
}

// restOfCSV is what a line has that goes on with the CSV above it.
var restOfCSV = regexp.MustCompile(`^[\d.+,:/*kMGTums]{1,250}$`)

// begins103 is the beginning of a line of CSV without versions. The number of small files may have their sizes
// with it.
var begins103 = regexp.MustCompile(`^[^,]{0,80},(?:\d{1,9}[kMGT]?(?::[^,]{0,20})?)?(?:(?:,[\d.+]{0,20}){6,24}|(?:,[\d.+]{0,20}){10,13},\d{1,9}[:kMG][\d:/kMG]{0,40}(?:,[\d.+]{0,20}){0,12})$`)

var (
	// versions begin a line of CSV that has them, also behind other words.
	versions = regexp.MustCompile(`(?:^|[\s"'“‘=:;(\[{])((?:1\.9\d[a-z]?|2\.\d\d[a-z]?),[12]\.\d\d[a-z]?,)`)
	// printing are commands that print what follows.
	printing = regexp.MustCompile(`\b(?:echo|printf)\b`)
)

// bareCSV is a line of CSV without what stands before and behind it.
func bareCSV(line string) string {
	if at := versions.FindStringSubmatchIndex(line); len(at) > 2 && !printing.MatchString(line[:at[2]]) {
		line = line[at[2]:]
	}
	return strings.Trim(strings.TrimSpace(line), "\"'`“”‘’")
}

// partOfCSV reports whether a line begins like a line of CSV, but lacks fields.
func partOfCSV(line string) bool {
	return (beginsCSV.MatchString(line) || begins103.MatchString(line)) && !allFields(line)
}

// allFields reports whether a line of CSV has as many fields as its version.
func allFields(line string) bool {
	fields := strings.Split(line, ",")
	switch version := fields[0]; {
	case !formatVersion.MatchString(version):
		return len(fields) >= layout103.fields
	case version == "1.98":
		return len(fields) >= layout198.fields
	default:
		short := len(fields) == layout196.fields-1 && fields[layout196.size] == ""
		return len(fields) >= layout196.fields || short
	}
}

// unwrapCSV puts a line of CSV together, which was cut anywhere, and returns the last line
// that it took. Where the last number may go on in yet another line, it leaves all as it is.
func unwrapCSV(lines []string, i int) int {
	text, last := strings.TrimSpace(lines[i]), i
	width := len(text)
	for !allFields(bareCSV(text)) {
		next := below(lines, last)
		if next == len(lines) {
			return i
		}
		rest := strings.TrimSpace(lines[next])
		if !restOfCSV.MatchString(bareCSV(rest)) {
			return i
		}
		text, last = text+rest, next
	}
	full := len(strings.TrimSpace(lines[last])) >= width
	if full && last+1 < len(lines) && restOfCSV.MatchString(strings.TrimSpace(lines[last+1])) {
		return i
	}
	clear(lines[i : last+1])
	lines[i] = text
	return last
}
