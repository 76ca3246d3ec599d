package printed

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Title is what a text says about a report.
type Title struct {
	Text string
	// Heading reports that it is a heading, such as one of Markdown, and no other line.
	Heading bool
	// Colon reports that it ends with a colon, and so announces what follows.
	Colon bool
	// Said reports that somebody says something above the report, in a sentence.
	Said bool
	// floor is the first line that may say something about the report.
	floor int
}

const (
	// maxTitle and maxWords bound a line that is a title and no sentence.
	maxTitle, maxWords = 80, 12
	// longestHeading is how many bytes a heading has at most. It is not cut: its end may be what
	// distinguishes it from another.
	longestHeading = 400
)

// TitleOf returns the title of the report that begins in line i: the nearest heading from
// line floor on, or a short line of its own. Empty: there is none.
func TitleOf(lines []string, i, floor int) Title {
	i, floor = max(min(i, len(lines)), 0), max(floor, 0)
	t := Title{floor: floor, Said: slices.ContainsFunc(lines[min(floor, i):i], Sentence)}
	own := shortLine(lines, i, floor)
	if announced(own) {
		t.Text, t.Colon = trimmed(own), true
		return t
	}
	for k := i - 1; k >= floor; k-- {
		if text, ok := headingIn(lines, k, floor); ok {
			t.Text, t.Heading = text, true
			return t
		}
	}
	t.Text = trimmed(own)
	return t
}

var typed = regexp.MustCompile(`(?:^|[\s/$#%>])(?:fio|bonnie(?:\+\+)?|iozone|postmark)[\s<].*[-<].*$`)

// CommandOf returns the line, between line floor and line i, in which somebody typed the
// command whose report begins in line i, as far as the text shows it.
func CommandOf(lines []string, i, floor int) string {
	const most = 2000
	for k := min(i, len(lines)) - 1; k >= max(floor, 0); k-- {
		if continues(lines, k) && k > floor {
			continue // it belongs to the line above
		}
		if line := wholeCommand(lines[:min(i, len(lines))], k); len(line) <= most && typed.MatchString(line) && !strings.HasPrefix(line, "Command line") {
			return line
		}
	}
	return ""
}

// Said reports whether somebody says something between two reports, from line floor up to line i: a title, a sentence, or
// a command. What follows is then of another run.
func Said(lines []string, i, floor int) bool {
	t := TitleOf(lines, i, floor)
	return t.Text != "" || t.Said || CommandOf(lines, i, floor) != ""
}

// at is a prompt that names its machine.
var at = regexp.MustCompile(`^\[?[\w.-]{1,40}@([\w.-]{1,80})[^$#%>]{0,80}[$#%>](?: |$)`)

// HostOf returns the machine that the last prompt between line floor and line i names; empty: there is none.
func HostOf(lines []string, i, floor int) string {
	for k := min(i, len(lines)) - 1; k >= max(floor, 0); k-- {
		if m := at.FindStringSubmatch(strings.TrimSpace(lines[k])); m != nil {
			return m[1]
		}
	}
	return ""
}

// continues reports whether line k goes on with the command in the line above it.
func continues(lines []string, k int) bool {
	return k > 0 && strings.HasSuffix(strings.TrimSpace(lines[k-1]), `\`)
}

// wholeCommand is line k with the lines that go on with it.
func wholeCommand(lines []string, k int) string {
	const most = 50 // lines of one command
	line := strings.TrimSpace(lines[k])
	for n := k + 1; n < min(len(lines), k+most) && continues(lines, n); n++ {
		line = strings.TrimSpace(strings.TrimSuffix(line, `\`)) + " " + strings.TrimSpace(lines[n])
	}
	return line
}

// shortLine is the nearest line above line i, if it is short and no part of a paragraph.
func shortLine(lines []string, i, floor int) string {
	for k := i - 1; k >= max(floor, 0); k-- {
		line := strings.TrimSpace(lines[k])
		if _, ok := headingIn(lines, k, floor); ok {
			return ""
		}
		if continues(lines, k) || noise(line) || noise(markdown.ReplaceAllString(line, "$1")) {
			continue
		}
		above := ""
		if k > floor {
			above = nextTo(lines, k, -1)
		}
		if sentence(line) || !noise(above) && !attribution.MatchString(above) && !announces(line, above) || output(lines, k, floor, above) {
			return "" // a paragraph, or what a command printed
		}
		return opened.ReplaceAllString(line, "$1")
	}
	return ""
}

// output reports whether line k, below which nothing has been printed, is what a command printed: it
// is directly below the command, but for what that asked and said before.
func output(lines []string, k, floor int, above string) bool {
	if prompt.MatchString(above) || command.MatchString(above) {
		return true
	}
	for k--; k > floor && progress.MatchString(strings.TrimSpace(lines[k])); k-- {
		if prompt.MatchString(strings.TrimSpace(lines[k-1])) {
			return true
		}
	}
	return false
}

// announces reports whether a line ends with a colon, and is not the end of what the line above
// begins, as that has ended.
func announces(line, above string) bool {
	return announced(line) && strings.ContainsAny(above[len(above)-1:], ".!?:;`")
}

func announced(line string) bool {
	return strings.HasSuffix(line, ":") || strings.HasSuffix(line, "：")
}

// sized are short names with a number, as of a device or a block size, and addresses of machines: they are no
// noise in a heading.
var sized = regexp.MustCompile(`^(?:[A-Za-z]{1,6}[-_ ]?\d{1,6}|\d{1,6} ?(?:[kKMGT](?:i?[bB])?|[bB])|\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?)$`)

// checked refuses headings that name nothing, and the commands of root, whose prompt is #.
func checked(text string) (string, bool) {
	text = trimmed(text)
	if text == "" || noise(text) && !sized.MatchString(text) || command.MatchString(text) || len(text) > longestHeading {
		return "", false
	}
	return text, true
}

// unstressed removes what makes words of a title bold, or code.
var unstressed = strings.NewReplacer("`", "", "**", "")

func trimmed(s string) string {
	s = strings.TrimSpace(strings.Trim(strings.TrimSpace(unstressed.Replace(s)), ":：*_#="))
	return s
}

var (
	prompt = regexp.MustCompile(`^(?:\[?[\w.-]+@[\w.-]+[^$#%>]{0,80}[$#%>]|(?:\(\w+\) ?)?[\w.~/:-]{0,40}[$%>]|[\w.-]{1,40}[:~/][\w.~/-]{0,40}[$#%]|[\w.-]{1,40} [~/][\w.~/-]{0,60}[$#%>]|\w[\w.-]{0,30}#|PS [A-Z]:[^>]*>|[A-Z]:\\[^>]*>)(?: |$)|^pm>`)
	// command is what people type to measure, or around it.
	command = regexp.MustCompile(`^(?:\$ |# |% )?(?:cat .*|(?:sudo|time|nice|ptime|taskset|ionice|numactl|chrt|env|for|while|do|done|end|fi|esac|cd|ls|df|mount|umount|mkdir|mkfs\S*|rm|echo|zpool (?:iostat|status|create|destroy|list|get|set)|zfs (?:set|get|create|list|destroy)|dd|fio|bonnie(?:\+\+)?|iozone|postmark|kubectl|docker|exit|free|lsblk|hdparm|smartctl|uname)\b(?: .*[-/=;|&].*|$| <.*| >.*| \S+\.[a-z]\w*$)|foreach \w+ \(.*|(?:\./|/\w)\S*(?: |$)|[^\s\x80-\x{10ffff}]+ (?:-\w|--\w).*)`)
	times   = regexp.MustCompile(`(?i)^(?:(?:real|user|sys)\b[\s:]*[\d.]+.*|[\d.]+ +(?:real|user|sys)\b.*|[\d.:]+(?:user|system|elapsed)\b.*|\d+inputs\+\d+outputs.*|.*pagefaults.*swaps.*|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d.*|run began:.*|\d{1,2}:\d\d(?::\d\d)?.*|date:.*)$`)
	// progress is what the tools print while they run.
	progress = regexp.MustCompile(`(?i)^(?:\[sudo\] |password:|(?:writing|rewriting|reading)(?: with | a byte| intelligently|\.\.)|seeker \d|seeking\b|start '?em|creat(?:e|ing) files|stat files|delet(?:e|ing) files|performing transactions|creating subdirectories|deleting subdirectories|using uid|file '.*', size|wait(?:ing)?\b|done\b|bonnie(?: [\d.]+)?:|script (?:started|done)\b|iozone test complete|excel output is below|iozone:|jobs: |starting \d|fio[-:]|tio(?:bench|test)\b|postmark v|reading configuration|laying out|run status group|disk stats).*`)
	// mailed are lines above the text of a mail, but for its subject, what divides its parts, and the parameters of
	// these, which stand on lines of their own.
	mailed = regexp.MustCompile(`(?i)^(?:(?:content-[a-z]+(?:-[a-z]+)?|mime-version|message-id|received|return-path|to|cc|from|sender|reply-to|references|in-reply-to|date|sent|user-agent|x-[a-z-]+|list-[a-z]+): ` +
		`|[a-z][a-z-]{1,20}\*?(?:\d{1,2}\*?)?="[^"]*";?$|(?:charset|boundary|filename|format|delsp|reply-type)\*?=[^\s;]+;?$|--[^\s-]\S{0,69}$)`)
	// posts head what somebody writes to a forum.
	posts   = regexp.MustCompile(`(?i)^(?:post(?:ed)?|comment|reply|answer|message) (?:by|from|#\d)`)
	generic = regexp.MustCompile(`(?i)^(?:code|quote|results?|outputs?|spoiler|(?:example|sample)(?: (?:reports?|results?|outputs?|runs?))?|bash|shell|sh|text|txt|json|plain|plaintext|console|terminal|logs?|info|warn(?:ing)?|debug|error|std(?:out|err)|select all|copy|view raw|(?:fio|bonnie(?:\+\+)?|iozone|postmark)(?: (?:results?|outputs?|benchmarks?|tests?))?|benchmarks?|expand|\[/?(?:code|quote|spoiler|pre|b)[^\]]*\])[:\s]*$`)
	own     = regexp.MustCompile(`^(?:Version|Machine|Concurrency|Name:Size|Latency|format_version|Contributors|Build|Compiled|Include|Command line used|Output is|Time Resolution|Processor cache|File stride|Record Size|File size set|Auto Mode|O_DIRECT|Time:|Files:|Data:|random|KB|kB|Iozone|The top row)\b|-Per Ch|Sequential (?:Output|Create|Input)|(?:Create|Random|Input|Output)[-–—]{2}|/sec %CP|reclen`)
	opening = regexp.MustCompile(`(?i)^(?:i|i'm|i've|i'd|we|we've|here|here's|heres|this|these|that|those|and|then|now|so|but|ok|okay|well|below|it|its|it's|let|let's|hi|hello|hey|thanks|thank|note|edit|update|finally|also|again|my|your|you|as|if|when|however|there|what|why|how|running|ran|doing)\b`)
)

// attribution stands above what somebody quotes.
var attribution = regexp.MustCompile(`(?i)\b(?:wrote|said|schrieb|writes|posted|reported)\b[ :]*$`)

// noise reports whether a line says nothing about what was measured: it is blank, a rule, a
// fence, an ellipsis, a prompt with its command, progress, a time, or the tool's own.
func noise(line string) bool {
	if ofNumbers(line) {
		return true
	}
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "#!") || strings.HasPrefix(line, "~~~") || strings.HasPrefix(line, "...") || strings.HasSuffix(line, "...") || strings.HasPrefix(line, "…") || strings.Contains(line, "...done") {
		return true
	}
	if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "}") || strings.HasPrefix(line, `"`) && strings.Contains(line, `" :`) || strings.Count(line, ",") >= 10 {
		return true
	}
	for _, pattern := range []*regexp.Regexp{prompt, command, times, progress, mailed, posts, generic, own} {
		if pattern.MatchString(line) {
			return true
		}
	}
	return hollow(line)
}

// ofNumbers reports whether a line has no letter, or mostly digits: not counting those of names such as
// ST3120026AS.
func ofNumbers(line string) bool {
	const longest = 24 // of a name; what is longer is a checksum
	letters, digits, all := 0, 0, 0
	for word := range strings.FieldsSeq(line) {
		own := 0
		for _, r := range word {
			switch {
			case unicode.IsLetter(r):
				letters++
			case unicode.IsDigit(r):
				own++
			}
			all++
		}
		if first, _ := utf8.DecodeRuneInString(word); !unicode.IsLetter(first) || len(word) > longest {
			digits += own
		}
	}
	return letters == 0 || digits*2 > all
}

// cells are the columns of some table.
var cells = regexp.MustCompile(`(?:\S {3,}\S.*){3}`)

// sentence reports whether a line is one, or empty, or of a table, and no title.
func sentence(line string) bool {
	if cells.MatchString(line) || attribution.MatchString(line) || len(line) > maxTitle || len(strings.Fields(line)) > maxWords || opening.MatchString(line) {
		return true
	}
	return line == "" || strings.ContainsRune(".,;!?", rune(line[len(line)-1]))
}

// Sentence reports whether a line is one that says something, and no title.
func Sentence(line string) bool {
	line = strings.TrimSpace(line)
	return !noise(line) && sentence(line)
}
