package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/printed"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/verdict"
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
	postmarkNumber = `((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)`
	postmarkRate   = `(?: \(` + postmarkNumber + ` per second\))?`
	postmarkBytes  = postmarkNumber + ` (bytes|kilobytes|megabytes|gigabytes|terabytes)`
)

// postmarkLine is one line of the report, and how to store its numbers.
type postmarkLine struct {
	pattern *regexp.Regexp
	set     func(r *postmarkReport, groups []string) error
}

// postmarkReport is a report while it is being read.
type postmarkReport struct {
	metrics result.Metrics
	// total and mixed are the seconds of the whole run and of its transactions.
	total, mixed float64
	// transactions is how many were asked for; 0: unknown.
	transactions float64
	notes        []string
}

// postmarkLines are all lines in their order. A report that lacks one is incomplete.
var postmarkLines = newPostmarkLines()

func newPostmarkLines() []postmarkLine {
	literal := func(text string) postmarkLine {
		return postmarkLine{regexp.MustCompile("^" + text + "$"), func(*postmarkReport, []string) error { return nil }}
	}
	// counted is a line with a count, and its rate over the seconds that over returns.
	counted := func(pattern string, over func(*postmarkReport) float64, names ...string) postmarkLine {
		return postmarkLine{regexp.MustCompile("^" + strings.ReplaceAll(pattern, "#", postmarkNumber) + postmarkRate + "$"), func(r *postmarkReport, g []string) error {
			for _, name := range names {
				if err := r.setCounted(name, g[1], g[2], over(r)); err != nil {
					return err
				}
			}
			return nil
		}}
	}
	bytes := func(word, name string) postmarkLine {
		return postmarkLine{regexp.MustCompile("^" + postmarkBytes + " " + word + `(?: \(` + postmarkBytes + ` per second\))?$`), func(r *postmarkReport, g []string) error {
			return r.setBytes(name, g)
		}}
	}
	whole := func(r *postmarkReport) float64 { return r.total }
	mixed := func(r *postmarkReport) float64 { return r.mixed }
	unknown := func(*postmarkReport) float64 { return 0 }
	return []postmarkLine{
		literal("Time:"),
		{regexp.MustCompile("^" + postmarkNumber + " seconds? total$"), func(r *postmarkReport, g []string) (err error) {
			r.total, err = r.set("original.total.duration", result.Seconds, g[1])
			return err
		}},
		{regexp.MustCompile("^" + postmarkNumber + " seconds? of transactions" + postmarkRate + "$"), (*postmarkReport).setTransactions},
		literal("Files:"),
		counted("# created", whole, "original.create"),
		counted("Creation alone: # files?", unknown, "create.alone"),
		counted("Mixed with transactions: # files?", mixed, "create"),
		counted("# read", mixed, "read", "original.read"),
		counted("# appended", mixed, "append", "original.append"),
		counted("# deleted", whole, "original.delete"),
		counted("Deletion alone: # files?", unknown, "delete.alone"),
		counted("Mixed with transactions: # files?", mixed, "delete"),
		literal("Data:"),
		bytes("read", "original.read"),
		bytes("written", "original.write"),
	}
}

func (r *postmarkReport) setTransactions(g []string) (err error) {
	if r.mixed, err = r.set("original.transactions.duration", result.Seconds, g[1]); err != nil {
		return err
	}
	rate, ok, err := r.rate("transactions", r.transactions, g[2], r.mixed)
	if ok {
		r.metrics.Set("transactions.rate", result.PerSecond, rate)
		r.metrics.Set("original.transactions.rate", result.PerSecond, rate)
	}
	return err
}

func (r *postmarkReport) set(name, unit, text string) (float64, error) {
	v, err := numberOf(text)
	if err == nil {
		r.metrics.Set(name, unit, v)
	}
	return v, err
}

// numberOf parses a number of PostMark's and refuses one that is too long.
func numberOf(text string) (float64, error) {
	const digits = 32
	if len(text) > digits {
		return 0, fmt.Errorf("a number with %d digits is too long", len(text))
	}
	return strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
}

func (r *postmarkReport) setCounted(name, count, printedRate string, seconds float64) error {
	if strings.Contains(count, ".") {
		return fmt.Errorf("%q is a number of files and has a point: if that separates thousands, remove it", clip(count))
	}
	n, err := r.set(name+".count", result.Count, count)
	if err != nil {
		return err
	}
	rate, ok, err := r.rate(name, n, printedRate, seconds)
	if ok {
		r.metrics.Set(name+".rate", result.PerSecond, rate)
	}
	return err
}

// exact is the least rate at which rounding down to a whole number loses below 1 %.
const exact = 100

// rate is what PostMark printed. That is rounded down to a whole number, which makes 0 of 9
// in 10 s: below exact it is the count over its seconds, where both are known and agree with
// what was printed. Not ok: there is none, or it is 0 and was not.
func (r *postmarkReport) rate(name string, count float64, text string, seconds float64) (rate float64, ok bool, err error) {
	own, known := 0.0, count > 0 && seconds > 0
	if known {
		own = count / seconds
	}
	if text == "" {
		return own, known, nil
	}
	rate, err = numberOf(text)
	switch {
	case err != nil:
		return 0, false, err
	case strings.Contains(text, "."): // a version that measures parts of a second
		return rate, true, nil
	case known && rate < exact && rate == math.Floor(own):
		return own, true, nil
	case rate == 0 && (known || count > 0 || name == "transactions"):
		r.notes = append(r.notes, name+": PostMark printed a rate of 0, which is one below 1 per second; it is left out")
		return 0, false, nil
	}
	return rate, true, nil
}

// postmarkUnits are its units. Its kilobytes have 1024 bytes.
var postmarkUnits = map[string]float64{"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20, "gigabytes": 1 << 30, "terabytes": 1 << 40}

// setBytes stores a size and, if present, a rate.
func (r *postmarkReport) setBytes(name string, g []string) error {
	size, err := numberOf(g[1])
	if err != nil {
		return err
	}
	r.metrics.Set(name+".bytes", result.Bytes, size*postmarkUnits[g[2]])
	if g[3] == "" {
		return nil
	}
	bandwidth, ok, err := r.bandwidth(name, size, postmarkUnits[g[2]], g[3], postmarkUnits[g[4]])
	if ok {
		r.metrics.Set(name+".bandwidth", result.BytesPerSecond, bandwidth)
	}
	return err
}

// coarse is the bandwidth below which two digits behind the point say too little.
const coarse = 1

// bandwidth is what PostMark printed with two digits behind the point: below coarse it is the size over
// the seconds of the run, where these are known and agree with it, and the size has more digits. Not ok: it is 0 and
// was not.
func (r *postmarkReport) bandwidth(name string, size, sizeUnit float64, text string, unit float64) (bandwidth float64, ok bool, err error) {
	const step = 0.01
	shown, err := numberOf(text)
	if err != nil {
		return 0, false, err
	}
	if shown < coarse && size > shown && r.total > 0 {
		if own := size * sizeUnit / r.total; math.Abs(own-shown*unit) <= step*unit {
			return own, true, nil
		}
	}
	if shown == 0 && size > 0 {
		r.notes = append(r.notes, name+": PostMark printed a bandwidth of 0, although it moved data; it is left out")
		return 0, false, nil
	}
	return shown * unit, true, nil
}

var (
	postmarkBanner  = regexp.MustCompile(`^PostMark v`)
	postmarkPrompt  = regexp.MustCompile(`^pm>`)
	postmarkQuit    = regexp.MustCompile(`^pm> ?(?:quit|exit)\b`)
	postmarkSetting = regexp.MustCompile(`(?:^|pm> ?)\s*set (location|number|transactions|size|seed|subdirectories|read|write|buffering|bias [a-z]+)[ =]+(\S.{0,900}?)\s*$`)
	postmarkError   = regexp.MustCompile(`(?i)^\s*(?:pm> ?)?error: `)
	postmarkTerse   = regexp.MustCompile(`^\d+ \d+(?: \d+\.\d\d){11}$`)
	postmarkPart    = regexp.MustCompile(`^[\d.,]+ seconds? of transactions\b`)
	postmarkBehind  = regexp.MustCompile(`\b[\d.,]+ seconds? of transactions\b`)
	postmarkRest    = regexp.MustCompile(`^[\d.,]+ (?:created|\w+bytes (?:read|written)) \(\d|^Creation alone: \d`)
)

// postmarkShown are the settings that "show" prints as they are set.
var postmarkShown = map[string]*regexp.Regexp{
	"number":       regexp.MustCompile(`^The base number of files is (\d+)$`),
	"transactions": regexp.MustCompile(`^Transactions: (\d+)$`),
	"location":     regexp.MustCompile(`^Working directory: (\S.{0,900})$`),
}

// postmarkNotes apply to every report.
var postmarkNotes = []string{
	"PostMark counts whole seconds and rounds rates down, so those of a short run are coarse; rates below 100, and bandwidths below 1.00, are counts over seconds where it prints both",
	"PostMark counts transactions that found nothing to do; storagebench's own rates leave them out",
	"PostMark syncs nothing, so its data may still have been in memory when it ended",
}

// postmarkParser goes through the lines of a text.
type postmarkParser struct {
	text     []byte
	lines    []string
	settings map[string]string
	// known reports that the text shows the session to which a report belongs: the prompt, or a
	// setting. Else it has other settings than the report before it.
	known bool
	// transactions are those that the session shows, or the report before this one: of its rate, only
	// what agrees with them is counted.
	transactions string
	// read is the first line that belongs to nothing yet, and top where the program began.
	read, top int
	// host is the machine that the last prompt names; empty: none does.
	host    string
	tables  []table
	outline printed.Outline
}

// parsePostmark reads every report in the text. Its name is the heading above it and the
// location set before it, if the text of the terminal shows that.
func parsePostmark(output []byte) ([]table, error) {
	p := &postmarkParser{text: output, lines: printed.Lines(output), settings: map[string]string{}, top: -1}
	terse, rest := false, 0
	for i := 0; i < len(p.lines); i++ {
		line := strings.TrimSpace(p.lines[i])
		if postmarkBanner.MatchString(line) {
			p.top = i
		}
		if postmarkBanner.MatchString(line) || postmarkQuit.MatchString(line) {
			p.settings, p.known, p.transactions = map[string]string{}, true, ""
		}
		if postmarkPrompt.MatchString(line) {
			p.known = true
		}
		if g := postmarkSetting.FindStringSubmatch(line); g != nil {
			p.settings[g[1]], p.known = whole(g[2]), true
		}
		for name, pattern := range postmarkShown {
			if g := pattern.FindStringSubmatch(line); g != nil {
				p.settings[name], p.known = whole(g[1]), true
			}
		}
		if rest == 0 && postmarkRest.MatchString(line) {
			rest = i + 1
		}
		terse = terse || postmarkTerse.MatchString(line)
		switch {
		case postmarkLines[0].pattern.MatchString(line) && p.begins(i+1):
			next, err := p.report(i)
			if err != nil {
				return nil, err
			}
			i = next
		case postmarkPart.MatchString(line):
			return nil, p.noBeginning(i)
		}
	}
	switch {
	case len(p.tables) > 0:
		return p.tables, nil
	case terse:
		return nil, invalid("the file contains PostMark's terse report", "run PostMark again with: set report verbose")
	case rest > 0:
		return nil, p.noBeginning(rest - 1)
	}
	for i, line := range p.lines {
		if at := postmarkBehind.FindStringIndex(line); at != nil {
			return nil, fmt.Errorf("line %d: %q stands before this line of PostMark's report: remove it here and in the lines around", printed.LineOf(output, i), clip(strings.TrimSpace(line[:at[0]])))
		}
	}
	return nil, errors.New("the file contains no PostMark report")
}

func (p *postmarkParser) noBeginning(i int) error {
	return fmt.Errorf("line %d: the beginning of this PostMark report is missing, the line Time: and what follows it", printed.LineOf(p.text, i))
}

// begins reports whether what follows line i says that it is a report, and not something
// else with a time.
func (p *postmarkParser) begins(i int) bool {
	for ; i < len(p.lines); i++ {
		if line := strings.TrimSpace(p.lines[i]); line != "" {
			return strings.Contains(line, " second")
		}
	}
	return true
}

// report reads the report in line i, and returns its last line.
func (p *postmarkParser) report(i int) (int, error) {
	if !p.known {
		p.settings = map[string]string{}
	}
	p.known = false
	r := &postmarkReport{metrics: result.Metrics{}, notes: append([]string{}, postmarkNotes...)}
	p.transactions = cmp.Or(p.settings["transactions"], p.transactions)
	if n, err := numberOf(p.transactions); err == nil {
		r.transactions = n
	}
	top := i
	if p.top >= p.read {
		top = p.top
	}
	if at := slices.IndexFunc(p.lines[p.read:i], postmarkError.MatchString); at >= 0 {
		r.notes = append(r.notes, "PostMark printed an error: "+clip(strings.TrimSpace(p.lines[p.read+at])))
	}
	title := printed.TitleOf(p.lines, top, p.read)
	last, err := p.readReport(i, r)
	if err != nil {
		return 0, err
	}
	settings := maps.Clone(p.settings)
	name := strings.TrimSpace(title.Text + " " + settings["location"])
	if p.host = cmp.Or(printed.HostOf(p.lines, top, p.read), p.host); p.host != "" {
		settings["host"] = p.host
	}
	p.outline.ReadTo(p.lines, top)
	t := table{name: name, section: p.outline.Above(title), apart: title.Said, titled: name != "", settings: settings, typed: printed.CommandOf(p.lines, top, p.read), measurement: result.Measurement{Metrics: r.metrics, Notes: r.notes}}
	for _, op := range []string{"transactions", "create", "read", "append", "delete"} {
		if _, ok := r.metrics[op+".rate"]; ok {
			t.measurement.Operations = append(t.measurement.Operations, op)
		}
	}
	t.printed = verdict.Printed{WrittenBytes: r.metrics["original.write.bytes"].Value, ReadsBack: true, Unsynced: true}
	p.tables, p.read = append(p.tables, t), last+1
	return last, nil
}

// readReport reads a report that begins at line i and returns the index of its
// last line.
func (p *postmarkParser) readReport(i int, r *postmarkReport) (int, error) {
	for k, want := range postmarkLines {
		for i < len(p.lines) && strings.TrimSpace(p.lines[i]) == "" {
			i++
		}
		if i == len(p.lines) {
			return 0, fmt.Errorf("the PostMark report is incomplete: it has %d of %d lines", k, len(postmarkLines))
		}
		line := strings.Join(strings.Fields(p.lines[i]), " ")
		g := want.pattern.FindStringSubmatch(line)
		if g == nil {
			return 0, fmt.Errorf("line %d: %q stands where line %d of the PostMark report should be", printed.LineOf(p.text, i), clip(line), k+1)
		}
		if err := want.set(r, g); err != nil {
			return 0, fmt.Errorf("line %d: %w", printed.LineOf(p.text, i), err)
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
