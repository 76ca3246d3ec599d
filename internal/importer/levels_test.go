package importer

import (
	"fmt"
	"strings"
	"testing"
)

// reportsOf are reports of each tool with a number of their own.
var reportsOf = map[string]func(n int) string{
	"bonnie": func(n int) string {
		return fmt.Sprintf(`Version  1.97       ------Sequential Output------ --Sequential Input- --Random-
Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %%CP K/sec %%CP K/sec %%CP K/sec %%CP K/sec %%CP  /sec %%CP
heron           40G           %6d  61 61234  47           201234  44 121.5   5
Latency                         301ms     811ms              1999ms     402ms
`, n)
	},
	"iozone": func(n int) string {
		return fmt.Sprintf("              kB  reclen    write  rewrite    read    reread\n          204800       4   %6d    81234   701234   712345\n", n)
	},
	"postmark": func(n int) string {
		return fmt.Sprintf(`Time:
	%d seconds total
	80 seconds of transactions (250 per second)

Files:
	15000 created (150 per second)
		Creation alone: 5000 files (500 per second)
		Mixed with transactions: 10000 files (125 per second)
	9900 read (123 per second)
	10100 appended (126 per second)
	15000 deleted (150 per second)
		Deletion alone: 5000 files (1000 per second)
		Mixed with transactions: 10000 files (125 per second)

Data:
	55.10 megabytes read (551.00 kilobytes per second)
	88.20 megabytes written (882.00 kilobytes per second)
`, n)
	},
	"fio": func(n int) string {
		return fmt.Sprintf("```\n"+`{"fio version": "fio-3.33", "timestamp": %[1]d, "jobs": [{"jobname": "a", "groupid": 0, "error": 0, "job options": {"rw": "read", "bs": "4k"},
"read": {"io_bytes": %[1]d0000, "bw_bytes": %[1]d000, "iops": %[1]d, "runtime": 10000, "total_ios": %[1]d0}}]}
`+"```\n", n)
	},
}

// levels are forms in which people write a title, and one below it.
var levels = map[string][2]string{
	"alone":          {"%s", "%s"},
	"colons":         {"%s:", "%s:"},
	"a colon":        {"%s", "%s:"},
	"Markdown":       {"## %s", "### %s"},
	"one rank":       {"## %s", "## %s"},
	"bold":           {"**%s**", "**%s**"},
	"underscores":    {"__%s__", "__%s__"},
	"bold and plain": {"**%s**", "%s:"},
	"plain and bold": {"%s", "**%s**"},
	"rulers":         {"%s\n==========", "%s\n----------"},
	"one ruler":      {"%s\n----------", "%s\n----------"},
	"frames":         {"==== %s ====", "---- %s ----"},
	"one frame":      {"=== %s ===", "=== %s ==="},
	"MoinMoin":       {"= %s =", "== %s =="},
	"AsciiDoc":       {"== %s", "=== %s"},
	"Textile":        {"h2. %s", "h3. %s"},
	"rst":            {"**********\n%s\n**********", "%s\n=========="},
	"rst in rulers":  {"==========\n%s\n==========", "----------\n%s\n----------"},
	"Org":            {"* %s", "** %s"},
	"BBCode":         {"[b]%s[/b]", "[b]%s[/b]"},
	"BBCode sizes":   {"[size=5]%s[/size]", "[b]%s[/b]"},
	"HTML":           {"<h2>%s</h2>", "<h3>%s</h3>"},
	"numbers":        {"1. %s", "1.1 %s"},
}

// document writes titles, each with the titles above it, and a report below the last of each.
func document(tool string, forms [2]string, titles ...string) string {
	var b strings.Builder
	for i, path := range titles {
		parts := strings.Split(path, "/")
		for k, title := range parts {
			fmt.Fprintf(&b, forms[k+2-len(parts)]+"\n\n", title)
		}
		b.WriteString(reportsOf[tool](101+i*13) + "\n")
	}
	return b.String()
}

// repeatsIn imports a text and returns how many repeats each target has.
func repeatsIn(t *testing.T, tool, text string) map[string]int {
	t.Helper()
	s, err := Summary([]File{{Name: "x.txt", Content: []byte(text)}}, Options{Tool: tool})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	out := map[string]int{}
	for _, row := range s.Rows {
		out[row.Target] = max(out[row.Target], row.N)
	}
	return out
}

func TestEqualTitlesBelowOtherTitlesAreNoRepeats(t *testing.T) {
	for tool := range reportsOf {
		for form, forms := range levels {
			for how, titles := range map[string][]string{
				"two":             {"ext4/window 128", "window 4096", "xfs/window 128", "window 4096"},
				"three":           {"ext4/window 128", "window 512", "window 4096", "xfs/window 128", "window 512", "window 4096"},
				"one and another": {"ext4/window 128", "xfs/window 128", "btrfs/window 128"},
				"the last alone":  {"ext4/window 128", "window 4096", "xfs/window 4096"},
			} {
				got := repeatsIn(t, tool, document(tool, forms, titles...))
				if len(got) != len(titles) {
					t.Errorf("%s, %s, %s: %v", tool, form, how, got)
				}
			}
		}
	}
}

// A title that has a report of its own may stand above those that follow, too.
func TestATitleThatComesAgainBehindOthersIsInDoubt(t *testing.T) {
	for tool := range reportsOf {
		for how, c := range map[string]struct {
			titles []string
			rows   int
		}{
			"at once":         {[]string{"ext4", "ext4", "xfs"}, 2},
			"rounds":          {[]string{"ext4", "xfs", "ext4", "xfs"}, 2},
			"rounds, then":    {[]string{"ext4", "xfs", "ext4", "xfs", "btrfs"}, 3},
			"sections":        {[]string{"ext4", "window 4096", "xfs", "window 4096"}, 4},
			"a round cut off": {[]string{"ext4", "xfs", "ext4"}, 3},
			"three sections":  {[]string{"a b", "c d", "e f", "c d", "g h", "c d"}, 6},
		} {
			got := repeatsIn(t, tool, document(tool, [2]string{"", "%s:"}, c.titles...))
			if len(got) != c.rows {
				t.Errorf("%s, %s: %v", tool, how, got)
			}
		}
	}
}

// Whoever answers quotes what was said: that is no second run.
func TestAReportThatIsQuotedIsNoRepeat(t *testing.T) {
	for tool := range reportsOf {
		if tool == "fio" {
			continue // a document within marks of quotation is read, too, but not as part of a mail
		}
		first := "I have measured two of them:\n\n" + document(tool, [2]string{"", "%s:"}, "Old driver", "New driver")
		reply := first + "-- \nA. Writer\n\nOn Monday, A. Writer wrote:\n" + prefixed("> ")(first) + "\nThat is good to know, thanks.\n"
		if got := repeatsIn(t, tool, reply); len(got) != 2 || got["Old driver"] != 1 || got["New driver"] != 1 {
			t.Errorf("%s: %v", tool, got)
		}
		part := document(tool, [2]string{"", "%s:"}, "Old driver", "New driver")
		if got := repeatsIn(t, tool, "That is it:\n\n"+part+"\n-- \nA. Writer\n\nOn Monday, A. Writer wrote:\n"+prefixed("> ")(part)); len(got) != 2 {
			t.Errorf("%s, a part: %v", tool, got)
		}
		tight := "Old driver:\n" + reportsOf[tool](77) + "\nOn Monday, A. Writer wrote:\n> Old driver:\n" + prefixed("> ")(reportsOf[tool](77)) + "\nThanks.\n"
		if got := repeatsIn(t, tool, tight); len(got) != 1 || got["Old driver"] != 1 {
			t.Errorf("%s, tight: %v", tool, got)
		}
		apart := "Old driver:\n\n" + reportsOf[tool](77) + "\nNew driver:\n\n" + reportsOf[tool](77)
		if got := repeatsIn(t, tool, apart); len(got) != 2 {
			t.Errorf("%s, of other titles: %v", tool, got)
		}
	}
}

// Pages end the lines of a paragraph, and some double each line break: its last words are no title.
func TestTheEndOfAParagraphIsNoTitle(t *testing.T) {
	for tool, report := range reportsOf {
		if tool == "fio" {
			continue // only headings are its titles
		}
		text := "To begin with I have run it with all of its defaults on a small\nvolume:\n\n" + report(91) +
			"\nAnd to compare, here it is on the same machine with a large\nvolume:\n\n" + report(92) + "\nThat is all there is.\n"
		for how, page := range map[string]string{
			"breaks":         "<div>" + strings.ReplaceAll(text, "\n", "<br />\n") + "</div>\n",
			"double spacing": strings.ReplaceAll(text, "\n", "\n\n"),
		} {
			if got := repeatsIn(t, tool, page); len(got) != 2 {
				t.Errorf("%s, %s: %v", tool, how, got)
			}
		}
	}
}

// What other programs print, and comments, are no titles.
func TestLinesOfOtherProgramsAreNoTitles(t *testing.T) {
	for tool, report := range reportsOf {
		for _, above := range []string{
			"Script started on Mon Nov 23 09:00:00 2026\n", "Bonnie 1.2: File './Bonnie.4711'\n\n", "Tiobench: 2 threads\n",
			"# foreach I (1 2 3)\n#    sudo nice measure >> out.txt\n# end\n\n",
			"         File   Block   Num    Seq Read     Rand Read\n\n", "done\nend\n",
		} {
			got := repeatsIn(t, tool, above+report(55))
			if got["x"] == 0 && got["heron"] == 0 {
				t.Errorf("%s below %q: %v", tool, above, got)
			}
		}
	}
}
