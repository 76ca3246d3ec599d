package importer

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// PostMark's report, line by line. Rates are rounded down to whole numbers, and
// missing if no time passed.
//
// Metrics have the names that our own PostMark uses: original.… for the whole run, no
// prefix for the phase of transactions, and ….alone for the phases before and after it.
//
//	Time:
//		220 seconds total
//		214 seconds of transactions (4672 per second)
//	Files:
//		519830 created (2362 per second)
//			Creation alone: 20000 files (4000 per second)
//			Mixed with transactions: 499830 files (2335 per second)
//	…
//	Data:
//		3240.97 megabytes read (14.73 megabytes per second)
//		3365.07 megabytes written (15.30 megabytes per second)
const (
	postmarkCount = `(\d+)`
	postmarkRate  = `(?: \((\d+) per second\))?`
	postmarkBytes = `(\d+(?:\.\d+)?) (bytes|kilobytes|megabytes|gigabytes)`
)

// postmarkLine is one line of the report, and how to store its numbers.
type postmarkLine struct {
	pattern *regexp.Regexp
	set     func(m result.Metrics, groups []string) error
}

// postmarkLines are all lines in their order. A report that lacks one is incomplete.
var postmarkLines = newPostmarkLines()

func newPostmarkLines() []postmarkLine {
	literal := func(text string) postmarkLine {
		return postmarkLine{regexp.MustCompile("^" + text + "$"), func(result.Metrics, []string) error { return nil }}
	}
	counted := func(pattern string, names ...string) postmarkLine {
		return postmarkLine{regexp.MustCompile("^" + strings.ReplaceAll(pattern, "#", postmarkCount) + postmarkRate + "$"), func(m result.Metrics, g []string) error {
			var errs []error
			for _, name := range names {
				errs = append(errs, setCounted(m, name, g[1], g[2]))
			}
			return errors.Join(errs...)
		}}
	}
	bytes := func(word, name string) postmarkLine {
		return postmarkLine{regexp.MustCompile("^" + postmarkBytes + " " + word + `(?: \(` + postmarkBytes + ` per second\))?$`), func(m result.Metrics, g []string) error {
			return setBytes(m, name, g)
		}}
	}
	return []postmarkLine{
		literal("Time:"),
		{regexp.MustCompile("^" + postmarkCount + " seconds total$"), func(m result.Metrics, g []string) error {
			return setNumber(m, "original.total.duration", result.Seconds, g[1])
		}},
		{regexp.MustCompile("^" + postmarkCount + " seconds of transactions" + postmarkRate + "$"), setTransactions},
		literal("Files:"),
		counted("# created", "original.create"),
		counted("Creation alone: # files", "create.alone"),
		counted("Mixed with transactions: # files", "create"),
		counted("# read", "read", "original.read"),
		counted("# appended", "append", "original.append"),
		counted("# deleted", "original.delete"),
		counted("Deletion alone: # files", "delete.alone"),
		counted("Mixed with transactions: # files", "delete"),
		literal("Data:"),
		bytes("read", "original.read"),
		bytes("written", "original.write"),
	}
}

func setTransactions(m result.Metrics, g []string) error {
	err := setNumber(m, "original.transactions.duration", result.Seconds, g[1])
	for _, name := range []string{"transactions.rate", "original.transactions.rate"} {
		if g[2] != "" && err == nil {
			err = setNumber(m, name, result.PerSecond, g[2])
		}
	}
	return err
}

func setNumber(m result.Metrics, name, unit, text string) error {
	v, err := postmarkNumber(text)
	if err == nil {
		m.Set(name, unit, v)
	}
	return err
}

// postmarkNumber parses a number of PostMark's and refuses one that is too
// long.
func postmarkNumber(text string) (float64, error) {
	const digits = 32
	if len(text) > digits {
		return 0, fmt.Errorf("a number with %d digits is too long", len(text))
	}
	return strconv.ParseFloat(text, 64)
}

func setCounted(m result.Metrics, name, count, rate string) error {
	if err := setNumber(m, name+".count", result.Count, count); err != nil || rate == "" {
		return err
	}
	return setNumber(m, name+".rate", result.PerSecond, rate)
}

// setBytes stores a size and, if present, a rate. PostMark's kilobytes have 1024 bytes.
func setBytes(m result.Metrics, name string, g []string) error {
	for i, to := range []struct{ suffix, unit string }{{".bytes", result.Bytes}, {".bandwidth", result.BytesPerSecond}} {
		number, unit := g[1+2*i], g[2+2*i]
		if number == "" {
			continue
		}
		v, err := postmarkNumber(number)
		if err != nil {
			return err
		}
		m.Set(name+to.suffix, to.unit, v*map[string]float64{"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20, "gigabytes": 1 << 30}[unit])
	}
	return nil
}

var (
	postmarkLocation = regexp.MustCompile(`(?:^|pm>)\s*set location[ =]+(\S+)\s*$`)
	postmarkTerse    = regexp.MustCompile(`(?m)^\d+ \d+(?: \d+\.\d\d){11}\s*$`)
)

// postmarkNotes apply to every report.
var postmarkNotes = []string{
	"PostMark counts whole seconds and rounds rates down, so those of a short run are coarse",
	"PostMark counts transactions that found nothing to do; storagebench's own rates leave them out",
	"PostMark syncs nothing, so its data may still have been in memory when it ended",
}

// parsePostmark reads every report in the text. A report's name is the location set
// before it, if the text of the terminal shows that.
func parsePostmark(output []byte) ([]table, error) {
	var tables []table
	location := ""
	lines := strings.Split(string(output), "\n")
	wanted := postmarkLines
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if g := postmarkLocation.FindStringSubmatch(line); g != nil {
			location = clip(g[1])
		}
		if !wanted[0].pattern.MatchString(line) {
			continue
		}
		m := result.Measurement{
			Metrics:    result.Metrics{},
			Operations: []string{"transactions", "create", "read", "append", "delete"},
			Notes:      postmarkNotes,
		}
		var err error
		if i, err = readReport(lines, i, wanted, m.Metrics); err != nil {
			return nil, err
		}
		tables = append(tables, table{name: location, measurement: m})
	}
	switch {
	case len(tables) > 0:
		return tables, nil
	case postmarkTerse.Match(output):
		return nil, invalid("the file contains PostMark's terse report", "run PostMark again with: set report verbose")
	default:
		return nil, errors.New("the file contains no PostMark report")
	}
}

// readReport reads a report that begins at line i and returns the index of its
// last line.
func readReport(lines []string, i int, wanted []postmarkLine, m result.Metrics) (int, error) {
	for k, want := range wanted {
		for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
			i++
		}
		if i == len(lines) {
			return 0, fmt.Errorf("the PostMark report is incomplete: it has %d of %d lines", k, len(wanted))
		}
		g := want.pattern.FindStringSubmatch(strings.TrimSpace(lines[i]))
		if g == nil {
			return 0, fmt.Errorf("line %d: %q is not line %d of a PostMark report", i+1, clip(strings.TrimSpace(lines[i])), k+1)
		}
		if err := want.set(m, g); err != nil {
			return 0, fmt.Errorf("line %d: %w", i+1, err)
		}
		i++
	}
	return i - 1, nil
}

func likePostmark(text string) bool {
	return strings.Contains(text, "seconds of transactions") || strings.Contains(text, "PostMark v")
}

// clip shortens untrusted text.
func clip(s string) string {
	const longest = 80
	s = strings.ToValidUTF8(s, "?")
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}
