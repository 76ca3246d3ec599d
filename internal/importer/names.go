package importer

import "strings"

const (
	// longestShown is how many bytes of a name are shown.
	longestShown = 160
	// longestWhole is how many bytes distinguish names.
	longestWhole = 4096
)

// whole is a text that distinguishes one table from others: it is bounded, but not cut as one
// that is only shown.
func whole(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), longestWhole)], "?")
}

// shortened cuts names that are too long to be shown: at their end, or, where that would make two
// alike, before what they differ in.
func shortened(names []string) []string {
	const head, context = 60, 20
	alike := map[string][]string{}
	for _, name := range names {
		cut := beginning(name, longestShown)
		alike[cut] = append(alike[cut], name)
	}
	out := make([]string, len(names))
	for i, name := range names {
		cut := beginning(name, longestShown)
		common := commonPrefix(alike[cut])
		if cut == name || common == len(name) || len(alike[cut]) == 1 {
			out[i] = cut
			continue
		}
		rest := strings.ToValidUTF8(name[max(head, common-context):], "")
		out[i] = beginning(name, head) + beginning(rest, longestShown-head)
	}
	return out
}

// beginning is a text of at most so many bytes, with an ellipsis if it was longer.
func beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// commonPrefix is how many bytes texts begin with that are the same in all.
func commonPrefix(texts []string) int {
	n := len(texts[0])
	for _, text := range texts[1:] {
		n = min(n, len(text))
		for k := range n {
			if text[k] != texts[0][k] {
				n = k
				break
			}
		}
	}
	return n
}
