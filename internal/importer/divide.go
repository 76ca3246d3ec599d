package importer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"storagebench.io/storagebench/internal/printed"
)

// unquoted leaves out the tables that a text shows again, as a reply does that quotes what it
// answers: they are equal in every number to one above of the same title, and stand below the same
// titles, or below a line that says whose words follow.
func unquoted(tables []table) (own []table, notes []string) {
	seen := map[string][]*table{}
	for i := range tables {
		t := &tables[i]
		id := fmt.Sprintf("%q %q %q", t.machine, t.typed, t.settings)
		quoted := printed.Quoted(t.section)
		k := slices.IndexFunc(seen[id], func(first *table) bool {
			titled := t.titled && first.titled && first.name == t.name
			return (titled && first.section == t.section || quoted && (titled || !t.titled)) && sameNumbers(first, t)
		})
		if k >= 0 {
			notes = append(notes, fmt.Sprintf("report %d of the file (%s) is left out: it seems to quote a report above, which has all of its numbers", i+1, clip(visible(t.name))))
			continue
		}
		seen[id], own = append(seen[id], t), append(own, *t)
	}
	return own, notes
}

// sameNumbers reports whether two tables have the same numbers.
func sameNumbers(a, b *table) bool {
	return reflect.DeepEqual(a.measurement.Metrics, b.measurement.Metrics) && reflect.DeepEqual(a.measurement.Parts, b.measurement.Parts)
}

// divide tells tables apart that have the same title in different sections, and those whose title
// comes again behind others: one of those may be a section that does not look like one.
func divide(tables []table) {
	sections, ids := map[string]map[string]bool{}, make([]string, len(tables))
	for i := range tables {
		id := fmt.Sprintf("%q %q", tables[i].name, tables[i].machine)
		if ids[i] = id; sections[id] == nil {
			sections[id] = map[string]bool{}
		}
		sections[id][tables[i].section] = true
	}
	order := inOrder(tables)
	for i := range tables {
		t := &tables[i]
		if !t.titled {
			continue
		}
		divided := len(sections[ids[i]]) > 1 && t.section != ""
		after := order.doubted(i)
		if divided || after != "" {
			t.settings = maps.Clone(t.settings)
		}
		if divided {
			t.settings["section"] = whole(t.section)
		}
		if after != "" {
			t.settings["after"] = whole(after)
		}
	}
}

// titles are those of a file in their order, without those that come again at once.
type titles struct {
	// names, with their sections as ids, and the tables' places among them.
	names, ids []string
	at         []int
}

func inOrder(tables []table) titles {
	var o titles
	for i := range tables {
		id := fmt.Sprintf("%q %q", tables[i].section, tables[i].name)
		if n := len(o.ids); n == 0 || o.ids[n-1] != id {
			o.ids, o.names = append(o.ids, id), append(o.names, tables[i].name)
		}
		o.at = append(o.at, len(o.ids)-1)
	}
	return o
}

// doubted says behind which other title that of table i comes again, unless all titles do in the
// same order, as those of a second round. Empty: it comes once, or for the first time.
func (o *titles) doubted(i int) string {
	var places []int
	at, nth := o.at[i], 0
	for k, id := range o.ids {
		if id == o.ids[at] {
			places = append(places, k)
		}
		if id == o.ids[at] && k < at && k > 0 && at > 0 && o.names[k-1] == o.names[at-1] {
			nth++
		}
	}
	if places[0] == at || o.rounds(places) {
		return ""
	}
	if nth > 0 {
		return fmt.Sprintf("%s #%d", o.names[at-1], nth+1)
	}
	return o.names[at-1]
}

// rounds reports whether a title that comes at these places is part of as many whole rounds.
func (o *titles) rounds(places []int) bool {
	first, last, n := places[0], places[len(places)-1], len(places)
	period := places[1] - first
	if last-first != (n-1)*period {
		return false
	}
	for ; first > 0 && o.ids[first-1] == o.ids[first-1+period]; first-- {
	}
	end := last + 1
	for ; end < len(o.ids) && o.ids[end] == o.ids[end-period]; end++ {
	}
	for k := first; k+period < end; k++ {
		if o.ids[k] != o.ids[k+period] {
			return false
		}
	}
	return end-first >= n*period
}
