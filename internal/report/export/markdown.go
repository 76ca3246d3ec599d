package export

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
)

// maxLines is how many rows a comment on a pull request shows; GitHub takes 65,536 characters.
const maxLines = 60

// Markdown writes a summary for a pull request: the answer, the rows, what variants changed, and
// what the numbers are worth, in the tables of GitHub and GitLab.
func Markdown(w io.Writer, s result.Summary) error {
	m := &markdown{w: w}
	m.line("### storagebench: %s", name(cmp.Or(strings.Trim(s.Benchmark.Namespace+"/"+s.Benchmark.Name, "/"), "a run")))
	m.line("")
	m.line("%s", answer(s))
	m.line("")
	m.gates(s)
	m.rows(s)
	m.sweeps(s)
	m.comparisons(s)
	m.verdicts(s)
	m.failures(s)
	return m.err
}

type markdown struct {
	w   io.Writer
	err error
}

func (m *markdown) line(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format+"\n", args...)
	}
}

// answer is the run in one sentence.
func answer(s result.Summary) string {
	headline := report.Headline(s)
	if headline == "" {
		headline = "nothing was measured"
	}
	if s.Answer != nil && s.Answer.Answer != result.JustMeasured {
		headline = s.Answer.Answer + ": " + cmp.Or(strings.TrimSuffix(s.Answer.Sentence, "."), headline)
		if s.Answer.SpeaksFor != "" {
			headline += ". Speaks for " + strings.TrimSuffix(s.Answer.SpeaksFor, ".")
		}
	}
	text := prose(headline) + fmt.Sprintf(". %d of %d trials measured", s.Stored, s.Planned)
	if s.Run != "" {
		text += ", run " + name(s.Run)
	}
	return text + "."
}

func (m *markdown) gates(s result.Summary) {
	for i, g := range s.Gates[:min(len(s.Gates), maxLines)] {
		if i == 0 {
			m.line("| Gate | Of | Metric | Limit | Why |")
			m.line("|---|---|---|---|---|")
		}
		where := g.Target + "/" + report.WithPart(g.Workload, g.Part)
		if g.Variant != "" {
			where += "." + g.Variant
		}
		m.line("| %s | %s | %s | %s | %s |", prose(string(g.Outcome)), tableName(where+"/"+g.Node), prose(report.MetricName(g.Metric)), prose(report.GateLimit(g)), prose(g.Sentence))
	}
	if left := max(0, len(s.Gates)-maxLines) + s.GatesOmitted; left > 0 {
		m.line("")
		m.line("%d more gates are in summary.json.", left)
	}
	if len(s.Gates) > 0 {
		m.line("")
	}
}

func (m *markdown) rows(s result.Summary) {
	n, left := 0, 0
	for _, row := range report.Shown(s.Rows) {
		for _, op := range report.Operations(row) {
			if n == maxLines {
				left++
				continue
			}
			if n++; n == 1 {
				m.line("| Target | Node | Workload | Operation | n | Per second | 95 %% interval | Bandwidth | p50 | p99 | p99.9 | Worth |")
				m.line("|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|")
			}
			l := report.LineOf(row, op)
			workload := report.WithPart(row.Workload, row.Part)
			if row.Variant != "" {
				workload += "." + row.Variant
			}
			m.line("| %s | %s | %s | %s | %d | %s | %s | %s | %s | %s | %s | %s |", tableName(row.Target), tableName(row.Node), tableName(workload), tableName(op),
				l.N, l.Rate, prose(l.Interval), l.Bandwidth, l.P50, l.P99, l.P999, cmp.Or(prose(report.Worth(row, op)), "–"))
		}
	}
	if left > 0 {
		m.line("")
		m.line("%d more rows are in summary.json.", left)
	}
}

func (m *markdown) sweeps(s result.Summary) {
	n, left := 0, 0
	for _, sweep := range s.Sweeps {
		if n >= maxLines {
			left++
			continue
		}
		m.line("")
		m.line("Sweep of %s: %s.", name(report.SweepPlace(sweep)), prose(sweep.Sentence))
		m.line("")
		m.line("| Setting | n | %s | 95 %% interval | p99 | Note |", prose(report.MetricName(sweep.Metric)))
		m.line("|---|--:|--:|--:|--:|---|")
		notes := report.SweepNotes(s.Rows, sweep)
		for i, p := range sweep.Points {
			n++
			m.line("| %s | %d | %s | %s | %s | %s |", tableName(report.Setting(sweep, p)), p.N, report.EstimateText(p.Estimate, sweep.Unit),
				prose(report.IntervalText(p.Estimate, sweep.Unit)), report.EstimateText(p.Latency, result.Seconds), prose(notes[i]))
		}
	}
	if left > 0 {
		m.line("")
		m.line("%d more sweeps are in summary.json.", left)
	}
}

func (m *markdown) comparisons(s result.Summary) {
	n, left := 0, 0
	for _, c := range s.Comparisons {
		for _, metric := range report.Changed(c) {
			if n == maxLines {
				left++
				continue
			}
			if n++; n == 1 {
				m.line("")
				m.line("| Target | Workload | Variant | Metric | Pairs | Control | Variant | Ratio | 95 %% interval | Worth |")
				m.line("|---|---|---|---|--:|--:|--:|--:|--:|---|")
			}
			change := c.Metrics[metric]
			ratio, interval := "–", "–"
			if change.Ratio != nil {
				if ratio = fmt.Sprintf("%.3f", change.Ratio.Median); change.Ratio.Low != nil && change.Ratio.High != nil {
					interval = fmt.Sprintf("%.3f–%.3f", *change.Ratio.Low, *change.Ratio.High)
				}
			}
			m.line("| %s | %s | %s to %s | %s | %d | %s | %s | %s | %s | %s |", tableName(c.Target), tableName(report.WithPart(c.Workload, c.Part)), tableName(c.Variant), tableName(c.Control),
				tableName(metric), change.Pairs, report.InUnit(change.Unit, change.Control), report.InUnit(change.Unit, change.Variant), ratio, interval, cmp.Or(prose(report.InvalidArms(s.Rows, c, metric)), "–"))
		}
	}
	if left > 0 {
		m.line("")
		m.line("%d more comparisons are in summary.json.", left)
	}
}

func (m *markdown) verdicts(s result.Summary) {
	var seen []string
	for _, row := range report.Shown(s.Rows) {
		for _, v := range report.Verdicts(row) {
			key := v.Name + "\n" + v.Sentence
			if slices.Contains(seen, key) || len(seen) == maxLines {
				continue
			}
			if seen = append(seen, key); len(seen) == 1 {
				m.line("")
				m.line("What the numbers are worth:")
				m.line("")
			}
			where := row.Target + "/" + report.WithPart(row.Workload, row.Part) + "/" + row.Node
			text := fmt.Sprintf("- **%s** %s (%s, %d of %d trials): %s", prose(v.Name), strings.ToLower(string(v.Effect)), name(where), v.Trials, row.N, prose(v.Sentence))
			if v.Settle != "" {
				text += " " + prose(v.Settle)
			}
			m.line("%s", text)
		}
	}
}

func (m *markdown) failures(s result.Summary) {
	for i, f := range failuresOf(s) {
		if i == 0 {
			m.line("")
			m.line("Failures:")
			m.line("")
		}
		if i == maxLines {
			m.line("- and more in summary.json")
			return
		}
		m.line("- %s: %s", name(f.worker), prose(f.Failure.Error()))
	}
}

// name shows a name in a span of code, where nothing is a mention, a link or a tag.
func name(text string) string {
	text = oneLine(text)
	if text == "" {
		return "–"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// tableName is name in a table, where a bar would end the cell, also in a span of code.
func tableName(text string) string { return strings.ReplaceAll(name(text), "|", `\|`) }

// prose shows a sentence as a sentence: its punctuation is only that, and nobody is mentioned.
func prose(text string) string {
	const joiner = "\u2060" // invisible, and no letter: @team is no mention any more
	var b strings.Builder
	previous := rune(0)
	for _, r := range oneLine(text) {
		switch {
		case strings.ContainsRune("\\`*_{}[]<>|~!&$", r):
			b.WriteString(`\` + string(r))
		case r == '@' || r == '#':
			b.WriteString(string(r) + joiner)
		case r == '/' && previous == ':', r == '.' && previous == 'w':
			b.WriteString(joiner + string(r)) // an address, which would become a link
		default:
			b.WriteRune(r)
		}
		previous = r
	}
	return b.String()
}

// oneLine leaves out what cannot be seen, or turns the direction of text.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, text))
}
