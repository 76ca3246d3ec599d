package fio

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"storagebench.io/storagebench/internal/printed"
)

// ofFio are lines that fio itself prints between its documents.
var ofFio = regexp.MustCompile(`^(?:fio\b|Jobs: |Starting |\S{1,80}: (?:\(g=|Laying out))`)

// says reports whether somebody says something before a document that is not also before the first of its run: a title, or if any
// is set, just a word that is not fio's. What a log puts before each of its lines says nothing.
func (f *foundDocument) says(first *foundDocument, anything bool) bool {
	if max(len(f.before), len(first.before)) < longestPrefix && slices.Equal(unclocked(f.before), unclocked(first.before)) {
		return false
	}
	lines := slices.DeleteFunc(printed.Lines(f.before), func(line string) bool { return ofFio.MatchString(strings.TrimSpace(line)) })
	said := func(line string) bool {
		return !strings.HasPrefix(line, "```") && strings.ContainsFunc(line, unicode.IsLetter)
	}
	return titleIn(lines).Text != "" || anything && slices.ContainsFunc(lines, said)
}

// longestPrefix is how long what a log puts before a line may be.
const longestPrefix = 400

var (
	clock      = regexp.MustCompile(`\d:\d\d|\d[-/.]\d\d?[-/.]\d|^\W*\d+\.\d+\W*$|^\W*\d{9,}\W*$`)
	lineNumber = regexp.MustCompile(`:\d{1,6}:`)
)

// unclocked are the words of a text without times, dates, and the numbers of a file's lines.
func unclocked(text []byte) []string {
	var out []string
	for word := range strings.FieldsSeq(string(text)) {
		if !clock.MatchString(word) {
			out = append(out, lineNumber.ReplaceAllString(word, ":"))
		}
	}
	return out
}

// stateOf reports whether a document is an earlier state of the same run: --status-interval
// prints the sums so far, one below the other. Jobs that began at another time are those of another run. Where fio
// does not say when they began, run time and clock must have gone on together.
func (f *foundDocument) stateOf(next *foundDocument) bool {
	a, b := f.all(), next.all()
	if len(a) == 0 || len(a) > len(b) || f.Version != next.Version || f.within != next.within || next.says(f, a[0].Start == 0) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Group != b[i].Group || a[i].on != b[i].on || a[i].Start != b[i].Start || !maps.Equal(a[i].settings(), b[i].settings()) {
			return false
		}
		for _, op := range operations {
			if x, y := a[i].direction(op), b[i].direction(op); x.IOs > y.IOs || x.Bytes > y.Bytes || x.Runtime > y.Runtime {
				return false
			}
		}
	}
	return a[0].Start > 0 || f.goesOn(next)
}

// goesOn reports whether jobs of which nobody says when they began went on from one document to the next: their run times grew as
// the clock did, and fio did not expect their end, or what they did since is what they could do. The same document twice is one, too.
func (f *foundDocument) goesOn(next *foundDocument) bool {
	if f.Time == 0 || next.Time == 0 {
		return false
	}
	a, b := f.all(), next.all()
	grown, longest, ended, same := 0.0, 0.0, true, len(a) == len(b) && f.Time == next.Time
	for i := range a {
		ended = ended && a[i].Left == 0 && a[i].Elapsed > 0
		for _, op := range operations {
			x, y := a[i].direction(op), b[i].direction(op)
			grown, longest = max(grown, y.Runtime-x.Runtime), max(longest, x.Runtime)
			same = same && x.IOs == y.IOs && x.Bytes == y.Bytes && x.Runtime == y.Runtime
		}
	}
	if same || grown == 0 {
		return same
	}
	const slack, milli = 1500, 1000
	passed := float64(next.Time-f.Time) * milli
	if f.TimeMilli > 0 && next.TimeMilli > 0 {
		passed = float64(next.TimeMilli - f.TimeMilli)
	}
	if ended && (longest <= slack || !f.keepsPace(next, grown/longest)) {
		return false
	}
	return math.Abs(passed-grown) <= slack
}

// keepsPace reports whether jobs whose run time grew by a share did more, and no more than that time allows at about the rate until then.
func (f *foundDocument) keepsPace(next *foundDocument, share float64) bool {
	const much = 10
	a, b := f.all(), next.all()
	more := false
	for i := range a {
		for _, op := range operations {
			x, y := a[i].direction(op), b[i].direction(op)
			if more = more || y.IOs > x.IOs; float64(y.IOs-x.IOs) > 1+much*share*float64(x.IOs) {
				return false
			}
		}
	}
	return more
}
