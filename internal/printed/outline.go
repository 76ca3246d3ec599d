package printed

import (
	"regexp"
	"slices"
	"strings"
)

// Outline follows everything in a text that looks like a title, of whatever form, and has what
// stands above a report. Of most forms nobody knows the rank: a title directly below another one of
// its form is under it, and one behind a report takes the place of that report's title.
type Outline struct {
	path []level
	// lines from next up to until are to be read when it is known where the report before has
	// ended.
	lines       []string
	next, until int
}

// level is a title that holds, and its form.
type level struct {
	form, text string
	// used reports that a report stands below it.
	used bool
}

// ReadTo has the lines before line i read that were not.
func (o *Outline) ReadTo(lines []string, i int) {
	o.lines, o.until = lines, min(i, len(lines))
}

// Read has lines read that follow those before.
func (o *Outline) Read(lines []string) {
	o.take(0)
	o.lines, o.next, o.until = lines, 0, len(lines)
}

// take reads what is to be read. Up to line floor these are lines of reports, in which only
// headings are titles.
func (o *Outline) take(floor int) {
	var found []level
	for k := o.next; k < o.until; k++ {
		form, text := formOf(o.lines, k, floor)
		switch {
		case form == "" && k >= floor:
			form, text = aloneIn(o.lines[:o.until], k, floor)
		case form == atx && number.MatchString(text):
		case form != "":
			if text, _ = checked(text); text == "" {
				form = "" // a command of root, or a comment
			}
		}
		if form != "" {
			found = append(found, level{form: form, text: trimmed(text)})
		}
	}
	o.next = max(o.next, o.until)
	for i, l := range found {
		o.place(l, found[i+1:])
	}
}

// place puts a title into the path. Those behind it, up to the next report, say how many of its
// form it replaces.
func (o *Outline) place(l level, behind []level) {
	top := len(o.path) - 1
	if rank, ok := strings.CutPrefix(l.form, atx); ok {
		lower := func(other level) bool { return strings.HasPrefix(other.form, atx) && other.form > atx+rank }
		if at := slices.IndexFunc(o.path, lower); at >= 0 {
			o.path = o.path[:at]
		}
	}
	var places []int
	for i, other := range o.path {
		if other.form == l.form {
			places = append(places, i)
		}
	}
	if n := len(places); n > 0 && (places[n-1] < top || o.path[places[n-1]].used) {
		own := 1
		for _, other := range behind {
			if other.form == l.form {
				own++
			}
		}
		at := places[max(0, n-own)]
		if fresh := slices.ContainsFunc(o.path[at:], func(other level) bool { return !other.used }); !fresh || strings.HasPrefix(l.form, atx) {
			o.path = o.path[:at]
		}
	}
	o.path = append(o.path, l)
}

// number is a heading that is only that, or a date: it ends the section before it.
var number = regexp.MustCompile(`^[\d./: -]{1,24}$`)

// counted is a heading that only counts repeats.
var counted = regexp.MustCompile(`(?i)^(?:run|test|trial|repeat|iteration|round|attempt|pass|try)\s*#?\d{1,4}$`)

// between stands between the titles above a report.
const between = " / "

// Above returns the titles that stand above that of a report, without those that only count.
func (o *Outline) Above(title Title) string {
	o.take(title.floor)
	var above []string
	for i, l := range o.path {
		o.path[i].used = true
		if l.text != title.Text && !counted.MatchString(l.text) && !number.MatchString(l.text) {
			above = append(above, l.text)
		}
	}
	return strings.Join(above, between)
}

// Quoted reports whether among titles above a report is a line that says whose words follow.
func Quoted(above string) bool {
	return slices.ContainsFunc(strings.Split(above, between), attribution.MatchString)
}
