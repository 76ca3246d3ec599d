package printed

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	isoTime  = `\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?`
	fromHost = `\S{1,80} [^\s:\[]{1,80}\[\d+\]: ?`
)

// repeated are what stands before several lines in a row if it does before one: the times of
// journals and of logs, levels, the name of a file that grep found, the sign of a diff. A single line may
// begin so by itself. What has a group is the same in all of them.
var repeated = []*regexp.Regexp{
	regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: ` + fromHost + `| |$)`),
	regexp.MustCompile(`^\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?(?:[ \t]|$)`),
	regexp.MustCompile(`^\[ {0,12}\d{1,9}\.\d{1,9}\](?: |$)`),
	regexp.MustCompile(`^\d{10}(?:\.\d{1,9})?(?:[ \t]|$)`),
	regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w./-]{1,80}:\d+\](?: |$)`),
	regexp.MustCompile(`^<\d{1,3}>\d? ?` + isoTime + ` \S{1,80} \S{1,80} \S{1,40} \S{1,40} (?:-|\[[^\]]{0,200}\])(?: |$)`),
	regexp.MustCompile(`^` + isoTime + ` ` + fromHost),
	regexp.MustCompile(`^` + isoTime + ` {1,4}(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)(?: {1,4}\[[^\]]{1,80}\])?(?: -)?(?: |$)`),
	regexp.MustCompile(`^[^\t\n]{1,100}\t[^\t\n]{1,100}\t` + isoTime + `(?: |$)`), // gh run view --log
	regexp.MustCompile(`^([\w-]*[./][\w./-]{0,100}):(?:\d{1,6}:)?`),
	regexp.MustCompile(`^\+`),
}

// hosted is what journals and syslog put before a line, with the machine that it is from.
var hosted = regexp.MustCompile(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|` + isoTime + `|<\d{1,3}>\d? ?` + isoTime + `) ([A-Za-z][\w.-]{0,60}) ` +
	`(?:[^\s:\[]{1,80}(?:\[\d+\])?:(?: |$)|\S{1,80} \S{1,40} \S{1,40} (?:-|\[[^\]]{0,200}\])(?: |$))`)

// byHost writes the lines of a journal of several machines as those of containers are, each behind the name of its machine: they
// come mixed, and each machine's are a report.
func byHost(lines []string) {
	hosts := map[string]int{}
	for _, line := range lines {
		if m := hosted.FindStringSubmatch(head(line)); m != nil {
			hosts[m[1]]++
		}
	}
	if len(hosts) < 2 {
		return
	}
	for _, n := range hosts {
		if n < fewestAlike {
			return
		}
	}
	for i, line := range lines {
		if m := hosted.FindStringSubmatch(head(line)); m != nil {
			lines[i] = m[1] + " | " + line[len(m[0]):]
		}
	}
}

// fewestAlike is how many lines in a row make what stands before each a decoration.
const fewestAlike = 4

// unprefixed removes what stands before several lines in a row, and the numbers of lines.
func unprefixed(lines []string) {
	for i := 0; i < len(lines); {
		if next := unnumbered(lines, i); next > i {
			i = next
			continue
		}
		next := i + 1
		for _, pattern := range repeated {
			if n := alike(lines, i, pattern); n >= fewestAlike {
				for k := i; k < len(lines) && n > 0; k++ {
					if at := pattern.FindStringIndex(head(lines[k])); at != nil {
						lines[k] = lines[k][at[1]:]
						n--
					}
					next = k + 1
				}
				break
			}
		}
		i = next
	}
}

// comment is a line of a comment as shells have it.
var comment = regexp.MustCompile(`^[ \t]{0,8}#(?:[ \t]|$)`)

// uncommented removes the marks of several lines in a row that are a comment with a report in it.
func uncommented(lines []string) {
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && comment.MatchString(head(lines[end])) {
			end++
		}
		if end-i >= fewestAlike && slices.ContainsFunc(lines[i:end], tables.MatchString) {
			for k := i; k < end; k++ {
				_, rest, _ := strings.Cut(lines[k], "#")
				lines[k] = strings.TrimPrefix(rest, " ")
			}
		}
		i = max(end, i+1)
	}
}

// head is the part of a line in which a decoration is.
func head(line string) string {
	const most = 400
	return line[:min(len(line), most)]
}

// alike is how many lines from line i on have a prefix, not counting blank lines.
func alike(lines []string, i int, pattern *regexp.Regexp) int {
	n, same := 0, ""
	for ; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "" && n > 0 {
			continue
		}
		m := pattern.FindStringSubmatch(head(lines[i]))
		if len(m) == 0 || len(m) > 1 && n > 0 && m[1] != same {
			break
		}
		if n++; len(m) > 1 {
			same = m[1]
		}
	}
	return n
}

// numbered is a line behind its number, as cat -n, grep -n and editors show it.
var numbered = regexp.MustCompile(`^ {0,8}(\d{1,6})(?:[\t:|] ?| |$)`)

// unnumbered removes the numbers of lines from line i on, if each is that of the line before plus
// one. It returns the line behind them; i: there are none.
func unnumbered(lines []string, i int) int {
	end, last := i, 0
	for ; end < len(lines); end++ {
		m := numbered.FindStringSubmatch(head(lines[end]))
		if m == nil {
			break
		}
		n, _ := strconv.Atoi(m[1]) // of six digits at most
		if end > i && n != last+1 {
			break
		}
		last = n
	}
	if end-i < fewestAlike {
		return i
	}
	for k := i; k < end; k++ {
		m := numbered.FindStringIndex(head(lines[k]))
		rest := lines[k][m[1]:]
		if strings.HasSuffix(lines[k][:m[1]], ": ") || strings.HasSuffix(lines[k][:m[1]], "\t ") {
			rest = " " + rest // it belongs to the line
		}
		lines[k] = rest
	}
	return end
}
