package printed

import "testing"

func TestAnOutlineHasTheHeadingsAboveATitle(t *testing.T) {
	lines := Lines([]byte("# Lab\n\n## Rack seven\n\n### Reads\n\nx\n\n## Rack nine\n\n### Reads\n\ny\n\n## Run 3\n\n### Reads\n\nz\n"))
	var o Outline
	for line, want := range map[int]string{6: "Lab / Rack seven", 12: "Lab / Rack nine", 18: "Lab"} {
		o = Outline{}
		o.ReadTo(lines, line)
		if got := o.Above(Title{Text: "Reads", Heading: true}); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}

func TestLinesOfSeveralOriginsAreSeparated(t *testing.T) {
	text := "Two machines:\n"
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		text += "a-1: left " + n + "\nb-2: right " + n + "\n"
	}
	got := Lines([]byte(text))
	want := []string{"Two machines:", "# a-1", "", "left 1", "left 2", "left 3", "left 4", "left 5", "# b-2", "", "right 1", "right 2", "right 3", "right 4", "right 5"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: %q, want %q", i+1, got[i], want[i])
		}
	}
}
