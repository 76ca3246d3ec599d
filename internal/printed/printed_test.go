package printed

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATextIsDecodedFromWhatItIsEncodedIn(t *testing.T) {
	for name, c := range map[string]struct{ content, want, err string }{
		"UTF-8":                  {content: "read: 5 µs\n", want: "read: 5 µs\n"},
		"with a mark":            {content: "\xef\xbb\xbfread\n", want: "read\n"},
		"a mark within":          {content: "one\n\xef\xbb\xbftwo\n", want: "one\ntwo\n"},
		"UTF-16LE":               {content: "\xff\xfer\x00e\x00a\x00d\x00\n\x00", want: "read\n"},
		"UTF-16BE":               {content: "\xfe\xff\x00r\x00e\x00a\x00d\x00\n", want: "read\n"},
		"UTF-16LE without mark":  {content: "r\x00e\x00a\x00d\x00:\x00\n\x00", want: "read:\n"},
		"UTF-16 that was cut":    {content: "\xff\xfer\x00e\x00a", want: "re"},
		"Latin-1":                {content: "caf\xe9\n", want: "café\n"},
		"some zeros":             {content: "read\x00 write, and more of it\n", want: "read\x00 write, and more of it\n"},
		"nothing":                {},
		"gzip":                   {content: "\x1f\x8b\x08\x00", err: "unpack it"},
		"an archive":             {content: "PK\x03\x04", err: "unpack it"},
		"UTF-32":                 {content: "\xff\xfe\x00\x00r\x00\x00\x00", err: "UTF-32"},
		"UTF-32 from the bottom": {content: "\x00\x00\xfe\xff", err: "UTF-32"},
		"a spreadsheet":          {content: "\xd0\xcf\x11\xe0", err: "no text"},
		"records of a program":   {content: "\x09\x00\x04\x00\x02\x00\x10\x00\x04\x00\x01\x00\x00\x00", err: "no text"},
	} {
		got, err := Decode([]byte(c.content))
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestLinesHaveNoDecoration(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":             {"a  b\n", "a  b"},
		"a quotation":         {"> > a", "a"},
		"that keeps columns":  {">     a", "    a"},
		"tabs":                {">\tab\tc", "        ab      c"},
		"colours":             {"\x1b[1;32ma\x1b[0m", "a"},
		"a window's title":    {"\x1b]0;root@box\x07a", "a"},
		"no-break spaces":     {"a\u00a0\u202fb", "a  b"},
		"invisible":           {"a\u200bb", "ab"},
		"a bar":               {"| a | b |", "a   b"},
		"a box":               {"│ a │", "a"},
		"a bullet":            {"  * a", "a"},
		"a number":            {"12. a", "a"},
		"a rate":              {"12.5 a", "12.5 a"},
		"a log":               {"2024-05-01T10:00:00.1Z stderr F a", "a"},
		"the log of a unit":   {"May  1 10:00:00 box bench[12]: a", "a"},
		"a quoted log":        {"> [2024-05-01 10:00:00] a", "a"},
		"a comment":           {"#   a", "   a"},
		"a heading":           {"# a", "# a"},
		"a comment of values": {"# box 8G 1 2 3 4 5", "box 8G 1 2 3 4 5"},
		"entities":            {"a &lt;b&gt; &amp;amp;", "a <b> &amp;"},
		"tags":                {"<p>a <b>b</b></p>", "a b"},
		"no tags":             {"a <b> c", "a <b> c"},
		"a board":             {"[B]a[/B] [url]", "a [url]"},
		"plus signs":          {"+++++ +++", "+++++ +++"},
		"dashes":              {"------Sequential Output------", "------Sequential Output------"},
	} {
		var got []string
		for _, line := range Lines([]byte(c.text)) {
			if strings.TrimSpace(line) != "" {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff([]string{c.want}, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatTheTextCallsAReportIsItsTitle(t *testing.T) {
	for name, c := range map[string]struct {
		above string
		want  Title
	}{
		"a line with a colon":           {"UFS2 with write cache:\n", Title{Text: "UFS2 with write cache", Colon: true}},
		"a line":                        {"With purge mode, on the old array\n\n", Title{Text: "With purge mode, on the old array"}},
		"a heading":                     {"## Sandisk\n\n", Title{Text: "Sandisk", Heading: true}},
		"a heading above a fence":       {"## Sandisk\n\nSome words about it.\n\n```\n", Title{Text: "Sandisk", Heading: true, Said: true}},
		"a heading above a line":        {"# Disks\n\nUFS2:\n\n", Title{Text: "UFS2", Colon: true}},
		"one that is underlined":        {"Sandisk\n-------\n\n", Title{Text: "Sandisk", Heading: true}},
		"one that is bold":              {"**Sandisk**\n", Title{Text: "Sandisk", Heading: true}},
		"one in a frame":                {"=== Sandisk ===\n", Title{Text: "Sandisk", Heading: true}},
		"one of a page":                 {"<h3>Sandisk</h3><pre>\n", Title{Text: "Sandisk", Heading: true}},
		"one of a board":                {"[SIZE=5]Sandisk[/SIZE]\n\n", Title{Text: "Sandisk", Heading: true}},
		"a heading above a command":     {"## Sandisk\n$ bonnie++ -d /mnt\n", Title{Text: "Sandisk", Heading: true}},
		"a fence":                       {"```\n", Title{}},
		"what only announces it":        {"## Sandisk\n\nThe output we get is like the following:\n", Title{Text: "Sandisk", Heading: true}},
		"a heading of a manual":         {"# Sandisk\n## Usage\n", Title{Text: "Sandisk", Heading: true}},
		"an announcement in a comment":  {"/*Sample fio output:\n", Title{}},
		"a sentence in a comment":       {"# This one is read well.\n", Title{Said: true}},
		"a fence with a language":       {"```console\n", Title{}},
		"an ellipsis":                   {"...\n", Title{}},
		"a rule":                        {"----------\n", Title{}},
		"a prompt":                      {"root@pi:~# bonnie++ -d /mnt\n", Title{}},
		"a prompt alone":                {"pi@raspberrypi ~ $\n", Title{}},
		"root's prompt":                 {"# bonnie++ -d /mnt\n", Title{}},
		"what a command printed":        {"root@pi:~# cat /sys/block/sda/queue/scheduler\nnoop [cfq]\n", Title{}},
		"progress":                      {"Writing a byte at a time...done\nSeeker 1...Seeker 2...start 'em...done\n", Title{}},
		"times":                         {"real\t12m0.1s\nuser\t0m1.0s\nsys\t0m54.0s\n", Title{}},
		"times of other shells":         {"       12.10 real         1.0 user        54.9 sys\n", Title{}},
		"a date":                        {"Tue Nov 14 22:13:20 UTC 2023\n", Title{}},
		"a paragraph":                   {"I tried another kernel on it, and with that it\nworks like a charm:\n\n", Title{Said: true}},
		"a sentence":                    {"It is faster now.\n\n", Title{Said: true}},
		"a sentence with a colon":       {"Here are the results:\n\n", Title{}},
		"a long line":                   {strings.Repeat("word ", 30) + ":\n", Title{Said: true}},
		"what somebody wrote":           {"On Monday somebody wrote:\n", Title{Said: true}},
		"a word for any report":         {"Code:\n", Title{}},
		"the tool's name":               {"### bonnie++ results\n", Title{}},
		"the tool's own line":           {"Version  1.97\n", Title{}},
		"a line far above":              {"UFS2\n\nOne.\n\nTwo.\n\nThree.\n\n", Title{Said: true}},
		"nothing":                       {"", Title{}},
		"a setting":                     {"sync=disabled:\n", Title{Text: "sync=disabled", Colon: true}},
		"a command's name in its words": {"Mount with noatime:\n", Title{Text: "Mount with noatime", Colon: true}},
	} {
		lines := Lines([]byte(c.above))
		got := TitleOf(lines, len(lines), 0)
		got.floor = 0
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestARulerBelowAnEmptyLineIsNoHeading(t *testing.T) {
	for floor := range 3 {
		if got := TitleOf([]string{"", "---", "report"}, 2, floor); got.Text != "" {
			t.Errorf("from line %d on: %+v", floor, got)
		}
	}
}

func TestATitleBelongsToOneReport(t *testing.T) {
	lines := Lines([]byte("UFS2:\nreport one\nreport two\n"))
	if got := TitleOf(lines, 2, 2); got.Text != "" {
		t.Errorf("%+v", got)
	}
}

func TestTheCommandOfAReportIsTheNearestAboveIt(t *testing.T) {
	lines := Lines([]byte("$ iozone -a -e\n$ sudo ./iozone -I -t 4\nreport\n"))
	if got := CommandOf(lines, 2, 0); got != "$ sudo ./iozone -I -t 4" {
		t.Errorf("%q", got)
	}
	if got := CommandOf(lines, 2, 2); got != "" {
		t.Errorf("%q", got)
	}
}

// Whatever the text, its lines are printable, and a title is short.
func FuzzLines(f *testing.F) {
	f.Add([]byte("> ## a\n| b |\n\x1b[1m=20=\n=3D=\n"), 2)
	f.Add([]byte("<h1>x</h1>&#0;&nbsp;"), 1)
	f.Add([]byte("no line is before the first"), -284)
	f.Fuzz(func(t *testing.T, content []byte, i int) {
		text, err := Decode(content)
		if err != nil {
			return
		}
		lines := Lines(text)
		for _, line := range lines {
			if strings.ContainsAny(line, "\n\r\x1b\x00\t") && len(line) < 4096 {
				t.Errorf("%q", line)
			}
		}
		if title := TitleOf(lines, i, 0); len(title.Text) > 2*maxTitle+8 || strings.Contains(title.Text, "\n") {
			t.Errorf("%q", title.Text)
		}
		CommandOf(lines, i, 0)
		HostOf(lines, i, 0)
		Said(lines, i, 0)
	})
}
