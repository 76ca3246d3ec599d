package printed

import (
	"slices"
	"strings"
	"testing"
)

// A line has the number that it has in the text, however Lines has changed what is above it.
func TestALineHasItsNumberInTheText(t *testing.T) {
	const report = "Time:\n9 seconds total\n\nFiles:\n7 created\n8 deleted\n"
	ahead := func(mark, text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimRight(mark+line, " \n") + "\n")
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"nothing":        report + "here\n",
		"two prefixes":   ahead("pod-a main ", report) + "\n" + ahead("pod-b main ", report) + "\nhere\n",
		"two containers": ahead("web | ", report) + ahead("db | ", report) + "\nhere\n",
		"within one":     ahead("web | ", report+"here\n") + ahead("db | ", report),
		"a page":         "<p>one<br>two<br>three</p>\n<pre>\n" + report + "here\n</pre>\n",
		"a mail":         "one=20=3D\nand a line that goes on=\n here and there=3D\nhere\n",
		"of equal lines": ahead("pod-a main ", report+strings.Repeat("here\n", 2)) + ahead("pod-b main ", report) + strings.Repeat("here\n", 2),
	} {
		lines := Lines([]byte(text))
		own := strings.Split(text, "\n")
		i, want := len(lines)-1, 0
		for strings.TrimSpace(lines[i]) != "here" {
			i--
		}
		for k, line := range own {
			if line == "here" || strings.HasSuffix(line, " here") && !strings.Contains(line, "and") {
				want = k + 1
			}
		}
		if got := LineOf([]byte(text), i); got != want {
			t.Errorf("%s: %d, want %d\n%s", name, got, want, strings.Join(lines, "\n"))
		}
	}
}

// Whatever is asked for, a line of the text is the answer.
func TestEachLineHasANumber(t *testing.T) {
	for _, text := range []string{"", "\n", "a\n", "web | a\ndb | b\n", strings.Repeat("web | a\ndb | b\n", 9)} {
		for _, i := range []int{0, 1, 7, 40} {
			if got := LineOf([]byte(text), i); got < 1 || got > max(i+1, strings.Count(text, "\n")) {
				t.Errorf("line %d of %q: %d", i, text, got)
			}
		}
	}
}

func TestACommandHasAllOfItsLines(t *testing.T) {
	lines := Lines([]byte("$ docker run \\\n  -v /data:/data \\\n  example/tool \\\n  iozone -a \\\n  -e\nreport\none\ntwo\nthree\nfour\n"))
	if got := CommandOf(lines, 5, 0); got != "$ docker run -v /data:/data example/tool iozone -a -e" {
		t.Errorf("%q", got)
	}
	if got := TitleOf(lines, 5, 0); got.Text != "" {
		t.Errorf("%+v", got)
	}
	if got := TitleOf(slices.Concat([]string{"The lake", ""}, lines), 7, 0); got.Text != "The lake" {
		t.Errorf("%+v", got)
	}
}

func TestNamesWithDigitsAreTitles(t *testing.T) {
	for line, want := range map[string]bool{
		"A64 4200+, XY8420, HD5160021QW or HD5240033QW": true, "linux-2.6.11 A64 3000+": true, "启动 -I": true,
		"heron 512M 7131 97 42133 58": false, "d41d8cd98f00b204e9800998ecf8427e": false, "ext4 -o noatime": false,
		`filename="report.txt"`: false, "charset=utf-8;": false, `title*0="x";`: false,
	} {
		if title := TitleOf([]string{line, "", "report"}, 2, 0); (title.Text != "") != want {
			t.Errorf("%q: %+v", line, title)
		}
	}
	for _, printed := range []string{"$ trim /\n[sudo] password for ann: \n", "$ trim /\n"} {
		lines := Lines([]byte(printed + "/: 2 GiB trimmed\nreport\n"))
		if title := TitleOf(lines, len(lines)-1, 0); title.Text != "" {
			t.Errorf("%q: %+v", printed, title)
		}
	}
	if got := TitleOf(Lines([]byte("ext4:\n\n# 10.0.0.1\n\nreport\n")), 4, 0); got.Text != "10.0.0.1" {
		t.Errorf("%+v", got)
	}
}
