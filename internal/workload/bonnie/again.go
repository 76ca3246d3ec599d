package bonnie

import (
	"math"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/printed"
)

// addCSV takes a line of CSV, in the place of the table that says the same. Lines may stand below
// several tables, in any order; but only the last table may say something else than the digits
// that it prints.
func (p *parser) addCSV(e *entry, i int) {
	at := slices.IndexFunc(p.entries, func(table *entry) bool {
		return table.text && len(table.metrics) > 0 && table.repeatedBy(e) && table.printedAs(e)
	})
	if last := len(p.entries) - 1; at < 0 && last >= 0 && p.entries[last].text && p.entries[last].repeatedBy(e) && !printed.Said(p.lines, i, p.read) {
		at = last
	}
	if at >= 0 {
		table := p.entries[at]
		e.Title, e.Command, e.Section, e.Apart = table.Title, table.Command, table.Section, table.Apart
		switch {
		case strings.HasPrefix(table.Machine, e.Machine):
			e.Machine = table.Machine
		case !strings.HasPrefix(e.Machine, table.Machine):
			e.Title = "" // the beginning of its name
		}
		p.entries[at] = e
		return
	}
	title := printed.TitleOf(p.lines, i, p.read)
	p.outline.ReadTo(p.lines, i)
	e.Title, e.Section, e.Apart, e.Command = title.Text, p.outline.Above(title), title.Said, printed.CommandOf(p.lines, i, p.read)
	p.entries = append(p.entries, e)
}

// repeatedBy reports whether a line of CSV says what a table says, but for rounding. Somebody may
// have removed the machine's name from it, or its domain, or broken the line of the table within that name: its beginning is
// then the title.
func (e *entry) repeatedBy(csv *entry) bool {
	domain := csv.Machine != "" && strings.HasPrefix(e.Machine, csv.Machine+".")
	named := csv.Machine == "" || domain || strings.HasPrefix(csv.Machine, e.Machine) || e.Title != "" && e.Machine != "" && strings.HasPrefix(csv.Machine, e.Title+e.Machine)
	if !named || !strings.HasPrefix(e.Program, plusPlus) || e.Size != csv.Size && e.Size != 0 {
		return false
	}
	for name, m := range e.metrics {
		const rounding = 0.06 // of two digits: 1.9g
		if v, ok := csv.metrics[name]; ok && math.Abs(v.Value-m.Value) > rounding*math.Max(v.Value, m.Value) {
			return false
		}
	}
	return true
}

// printedAs reports whether a table has the numbers of a line of CSV, each with as many digits as
// the table shows.
func (e *entry) printedAs(csv *entry) bool {
	for name, m := range e.metrics {
		v, ok := csv.metrics[name]
		if !ok || math.Abs(v.Value-m.Value) > e.steps[name]+1e-9*m.Value {
			return false
		}
	}
	return true
}

// toldAbove reports whether a table tells what a line of CSV says whose format is not known.
func (p *parser) toldAbove(line string) bool {
	fields := strings.SplitN(bareCSV(line), ",", 4)
	if len(fields) < 4 {
		return false
	}
	at := slices.IndexFunc(p.entries, func(e *entry) bool {
		return e.text && e.Program == plusPlus+" "+fields[1] && e.Machine != "" && strings.HasPrefix(fields[2], e.Machine)
	})
	if at < 0 {
		return false
	}
	notes := &p.entries[at].Measurement.Notes
	*notes = append(*notes, "the line of CSV below the table is not read: its format is not known, and the table has rounded numbers")
	return true
}
