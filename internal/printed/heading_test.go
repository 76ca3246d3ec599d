package printed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestALineBreakOfAPageIsOneBreak(t *testing.T) {
	want := []string{"one", "two", "", "three"}
	for _, page := range []string{"one<br />\ntwo<br />\n<br />\nthree", "one<br>\r\ntwo<br>\r\n<br>\r\nthree", "one<br>two<br><br>three"} {
		if diff := cmp.Diff(want, Lines([]byte(page))); diff != "" {
			t.Errorf("%q: %s", page, diff)
		}
	}
}

// The columns of a table stay below each other, and its lines are no headings.
func TestCommentsLoseTheirMarks(t *testing.T) {
	text := "# one 1 2 3 4 5\n# \ttwo\n#   three\n#\n# four\n\n# Heading\n\nfive\n"
	want := []string{"one 1 2 3 4 5", "        two", "  three", "", "four", "", "# Heading", "", "five"}
	if diff := cmp.Diff(want, Lines([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

func TestTheLogOfAJobIsReadWithoutItsSteps(t *testing.T) {
	text, want := "", []string{}
	for _, line := range []string{"one", "  two", "", "three", "four"} {
		text += "bench\tRun it\t2026-11-28T09:00:01.1234567Z " + line + "\n"
		want = append(want, line)
	}
	if diff := cmp.Diff(want, Lines([]byte(text))); diff != "" {
		t.Error(diff)
	}
}

func TestLinesOfOtherProgramsAreNoTitles(t *testing.T) {
	for _, line := range []string{
		"Script started on Mon Nov 23 09:00:00 2026", "end", "esac", "foreach I (1 2 3)", "Bonnie 1.2: File './Bonnie.4711'", "Tiobench: 2 threads",
		"Item          Average latency   Maximum latency   Errors", "  Dir    Size   Size   Thr   Rate", //nolint:dupword // as tiobench prints it
	} {
		if title := TitleOf([]string{line, "", "report"}, 2, 0); title.Text != "" {
			t.Errorf("%q: %q", line, title.Text)
		}
	}
}

// Whatever the form of titles, those below one that was replaced go with it.
func TestAnOutlineFollowsTitlesOfAllForms(t *testing.T) {
	for form, forms := range map[string][2]string{
		"alone": {"X", "X"}, "colons": {"X:", "X:"}, "bold": {"**X**", "**X**"}, "frames": {"== X ==", "-- X --"}, "one rank": {"# X", "# X"},
		"rulers": {"X\n===", "X\n---"}, "one ruler": {"X\n---", "X\n---"}, "AsciiDoc": {"== X", "=== X"}, "Textile": {"h2. X", "h3. X"}, "plain": {"X", "**X**"},
	} {
		write := func(level int, title string) string { return strings.ReplaceAll(forms[level], "X", title) + "\n\n" }
		texts := []string{
			write(0, "ext4") + write(1, "narrow"), write(1, "wide"), write(0, "xfs") + write(1, "narrow"), write(1, "wide"),
		}
		var o Outline
		var got []string
		for _, text := range texts {
			lines := Lines([]byte(text))
			o.Read(lines)
			got = append(got, o.Above(TitleOf(lines, len(lines), 0)))
		}
		if diff := cmp.Diff([]string{"ext4", "ext4", "xfs", "xfs"}, got); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
}
