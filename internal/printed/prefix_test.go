package printed

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatStandsBeforeSeveralLinesIsRemoved(t *testing.T) {
	const table = "a  1\n\n  b  2\n   c  3\nd\n"
	for name, c := range map[string]struct{ text, want string }{
		"numbers":               {"   7\ta  1\n   8\t\n   9\t  b  2\n  10\t   c  3\n  11\td\n", table},
		"numbers of grep":       {"7:a  1\n8:\n9:  b  2\n10:   c  3\n11:d\n", table},
		"times":                 {"10:00:01 a  1\n10:00:01\n10:00:02   b  2\n10:00:02    c  3\n10:00:03 d\n", table},
		"one time":              {"10:00:01 a  1\nb\nc\nd\n", "10:00:01 a  1\nb\nc\nd\n"},
		"numbers of a table":    {"64 4 1\n64 8 2\n64 16 3\n128 4 4\n", "64 4 1\n64 8 2\n64 16 3\n128 4 4\n"},
		"other names":           {"a.txt:1\nb.txt:2\nc.txt:3\nd.txt:4\n", "a.txt:1\nb.txt:2\nc.txt:3\nd.txt:4\n"},
		"the rest of the times": {"10:00:01 a\n10:00:02 b\n10:00:03 c\n10:00:04 d\nat 10:00:05 it ended\n", "a\nb\nc\nd\nat 10:00:05 it ended\n"},
	} {
		if got := strings.Join(Lines([]byte(c.text)), "\n") + "\n"; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLinesKeepTheirNumbers(t *testing.T) {
	text := "1: a\n2: b\n3: c\n4: d\n5: e\n"
	if got := Lines([]byte(text)); !slices.Equal(got, []string{" a", " b", " c", " d", " e"}) {
		t.Errorf("%q", got)
	}
}
