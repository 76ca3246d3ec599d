package printed

import (
	"strings"
	"testing"
)

func TestWhatIsAheadOfAReportIsRemoved(t *testing.T) {
	const report = "Time:\n\t9 seconds total\n\nFiles:\n\t7 created\n\t8 deleted\n"
	plain := strings.Join(Lines([]byte(report)), "\n")
	ahead := func(marks ...string) string {
		var b strings.Builder
		i := 0
		for line := range strings.Lines(report) {
			b.WriteString(strings.TrimRight(marks[i%len(marks)]+line, " \n") + "\n")
			i++
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"dates":      {ahead("1/2/2026 8:59:59 PM ", "1/2/2026 9:00:00 PM "), plain},
		"a pod":      {ahead("pod-x1 main "), plain},
		"seconds":    {ahead("  9.500  ", " 10.750  "), plain},
		"a mark":     {ahead("#"), plain},
		"two pods":   {ahead("pod-a main ") + ahead("pod-b main "), "\n# pod-a main\n\n" + plain + "\n\n# pod-b main\n\n" + plain},
		"interlaced": {ahead("pod-1 ", "pod-2 "), strings.Join(separateLines(ahead("pod-1 ", "pod-2 ")), "\n")},
		"few lines":  {"at 9:00:01 Time:\nat 9:00:02 9 seconds total\n", "at 9:00:01 Time:\nat 9:00:02 9 seconds total"},
		"a script":   {"#!/bin/sh\n" + ahead("#"), "#!/bin/sh\n" + plain},
		"addresses":  {ahead("10.0.0.1 ", "10.0.0.2 "), strings.Join(separateLines(ahead("10.0.0.1 ", "10.0.0.2 ")), "\n")},
	} {
		if got := strings.Join(Lines([]byte(c.text)), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// separateLines returns the lines of a text as they are, but for tabs.
func separateLines(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(expand(lines[i]), " ")
	}
	return lines
}
