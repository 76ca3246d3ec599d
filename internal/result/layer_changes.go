package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxChanges is how many changes of layers are told.
const maxChanges = 8

// LayerChanges tells what of the storage changed between two moments, one sentence each.
func LayerChanges(before, after []Layer) []string {
	var out []string
	was, is := attributes(before), attributes(after)
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if is[id] == nil {
			out = append(out, fmt.Sprintf("the storage changed during the trial: %s is gone", id))
			continue
		}
		names := slices.Sorted(maps.Keys(was[id]))
		for name := range is[id] {
			if _, ok := was[id][name]; !ok {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if a, b := was[id][name], is[id][name]; a != b {
				out = append(out, fmt.Sprintf("the storage changed during the trial: %s of %s was %s and is %s", name, id, shown(a), shown(b)))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(is)) {
		if was[id] == nil {
			out = append(out, fmt.Sprintf("the storage changed during the trial: %s is new", id))
		}
	}
	return out[:min(len(out), maxChanges)]
}

// attributes are the JSON of each field of the layers, by ID and name.
func attributes(layers []Layer) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, l := range layers {
		fields := map[string]json.RawMessage{}
		if b, err := json.Marshal(l); err == nil {
			_ = json.Unmarshal(b, &fields) // it is an object
		}
		texts := map[string]string{}
		for name, value := range fields {
			texts[name] = string(value)
		}
		out[l.ID] = texts
	}
	return out
}

// shown is a value as a sentence has it. An absent one is its field's zero.
func shown(value string) string {
	if value == "" {
		return "not set"
	}
	if len(value) > maxOptions {
		value = strings.ToValidUTF8(value[:maxOptions], "") + "…"
	}
	return value
}
