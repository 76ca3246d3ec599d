package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/result"
)

// Verdict is a verdict on a row for all operations that have it for the same reason.
type Verdict struct {
	result.RowVerdict
	// Operations that it is about; empty: all.
	Operations []string
}

// Verdicts returns the verdicts of a row, those that invalidate first. Operations that have
// one for the same reason share it.
func Verdicts(row result.Row) []Verdict {
	var out []Verdict
	for _, v := range row.Verdicts {
		i := slices.IndexFunc(out, func(o Verdict) bool { return o.Name == v.Name && o.Effect == v.Effect && o.Sentence == v.Sentence })
		if i < 0 {
			i = len(out)
			out = append(out, Verdict{RowVerdict: v})
		}
		if v.Operation != "" {
			out[i].Operations = append(out[i].Operations, v.Operation)
		}
		out[i].Trials = max(out[i].Trials, v.Trials)
	}
	return out
}

// verdictsOn returns the names of the verdicts on an operation that have an effect.
func verdictsOn(verdicts []result.RowVerdict, op string, effect result.Effect) []string {
	var names []string
	for _, v := range verdicts {
		if v.About(op) && v.Effect == effect && !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return names
}

// Worth describes in a few words what the numbers of an operation of a row are worth: "invalid:
// FromMemory", "qualified: Throttled", "short: 8.1ms", or nothing if there is nothing to say.
func Worth(row result.Row, op string) string {
	return worth(row.Verdicts, row.TrialSeconds, op)
}

func worth(verdicts []result.RowVerdict, short float64, op string) string {
	var parts []string
	if names := verdictsOn(verdicts, op, result.Invalidates); len(names) > 0 {
		parts = append(parts, "invalid: "+strings.Join(names, ", "))
	}
	if names := verdictsOn(verdicts, op, result.Qualifies); len(names) > 0 {
		parts = append(parts, "qualified: "+strings.Join(names, ", "))
	}
	if short > 0 {
		parts = append(parts, "short: "+Seconds(short))
	}
	return strings.Join(parts, "; ")
}

// measuredBelow are metrics that are not of the workload: the kernel or the runner counts them,
// whatever a workload's own numbers are worth.
var measuredBelow = regexp.MustCompile(`^(device|cpu|zfs|limit|background|below|others|runner)\.`)

// Invalid returns the names of the verdicts that make a metric of a row worthless. What the workload
// says of the whole trial, as PostMark's original.total.duration, is worth nothing if none of its operations is.
func Invalid(row result.Row, metric string) []string {
	op := OperationOf(row, metric)
	names := verdictsOn(row.Verdicts, op, result.Invalidates)
	if op != "" || measuredBelow.MatchString(metric) {
		return names
	}
	for _, op := range Operations(row) {
		of := verdictsOn(row.Verdicts, op, result.Invalidates)
		if len(of) == 0 {
			return verdictsOn(row.Verdicts, "", result.Invalidates)
		}
		for _, name := range of {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Qualified returns the names of the verdicts that qualify a metric of a row. What the workload says of the whole
// trial is qualified by those on any of its operations.
func Qualified(row result.Row, metric string) []string {
	op := OperationOf(row, metric)
	if op != "" || measuredBelow.MatchString(metric) {
		return verdictsOn(row.Verdicts, op, result.Qualifies)
	}
	names := verdictsOn(row.Verdicts, "", result.Qualifies)
	for _, op := range Operations(row) {
		for _, name := range verdictsOn(row.Verdicts, op, result.Qualifies) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// OperationOf returns the operation that a metric is about, or "" if it is about the whole
// trial. PostMark says what of it: phase.create.duration and original.create.count are of create.
func OperationOf(row result.Row, metric string) string {
	for _, of := range []string{"phase.", "original."} {
		metric = strings.TrimPrefix(metric, of)
	}
	longest := ""
	for _, op := range Operations(row) {
		if strings.HasPrefix(metric, op+".") && len(op) > len(longest) {
			longest = op
		}
	}
	return longest
}

// WriteVerdicts writes a line for each verdict, and what would settle it. Rows that have one
// for the same reason share it.
func WriteVerdicts(w io.Writer, s result.Summary) error {
	type line struct {
		Verdict
		where []string
	}
	var lines []*line
	known := map[string]*line{}
	for _, row := range Shown(s.Rows) {
		for _, v := range Verdicts(row) {
			key := strings.Join(append([]string{v.Name, string(v.Effect), v.Sentence}, v.Operations...), "\n")
			l := known[key]
			if l == nil {
				l = &line{Verdict: v}
				known[key], lines = l, append(lines, l)
			}
			l.where = append(l.where, place(row, v))
		}
	}
	for i, l := range lines {
		if i == 0 {
			fmt.Fprintln(w)
		}
		text := fmt.Sprintf("%s %s (%s): %s", l.Name, strings.ToLower(string(l.Effect)), few(l.where), l.Sentence)
		if l.Settle != "" {
			text += " " + l.Settle
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return writeShort(w, s, len(lines) == 0)
}

// writeShort names the rows whose trials measured for less than a second.
func writeShort(w io.Writer, s result.Summary, first bool) error {
	var where []string
	for _, row := range Shown(s.Rows) {
		if row.TrialSeconds > 0 {
			where = append(where, placeOf(row)+", "+Seconds(row.TrialSeconds))
		}
	}
	if len(where) == 0 {
		return nil
	}
	if first {
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "short (%s): less than a second was measured, so start, end and caches weigh more than the storage. Raise size, or set runtime.\n", few(where))
	return err
}

// few joins texts, of many only some.
func few(texts []string) string {
	const most = 3
	if more := len(texts) - most; more > 0 {
		texts = append(slices.Clone(texts[:most]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, "; ")
}

// placeOf names a row.
func placeOf(row result.Row) string {
	text := row.Target + "/" + WithPart(row.Workload, row.Part)
	if row.Variant != "" {
		text += "." + row.Variant
	}
	return text + "/" + row.Node
}

// place names the row and the operations of a verdict, and how many of the trials have it.
func place(row result.Row, v Verdict) string {
	text := placeOf(row)
	if len(v.Operations) > 0 {
		text += " " + strings.Join(v.Operations, ", ")
	}
	return text + fmt.Sprintf(", %d of %d", v.Trials, row.N)
}
