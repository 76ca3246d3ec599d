package importer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// targetsOf are the targets of the rows of a text.
func targetsOf(t *testing.T, tool, text string) (targets []string, trials int) {
	t.Helper()
	s, err := Summary([]File{{Name: "text", Content: []byte(text)}}, Options{Tool: tool})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range s.Rows {
		if !slices.Contains(targets, row.Target) {
			targets = append(targets, row.Target)
		}
		trials = max(trials, row.N)
	}
	return targets, trials
}

// What follows the 80th character distinguishes rows like what stands before it.
func TestTheEndOfALongNameDistinguishesRows(t *testing.T) {
	long := strings.Repeat("long-", 30)
	csv := func(machine string, n int) string {
		return fmt.Sprintf("%s,4G,%d,61,32009,14,33011,7,34013,58,35017,8,230.9,1,16,511,97,+++++,+++,521,95,523,98,+++++,+++,541,96\n", machine, n)
	}
	table := func(title string, n int) string {
		return fmt.Sprintf("# %s\n\n```\n%s```\n\n", title, csv("barn", n))
	}
	fio := func(path string) string {
		return `{"fio version":"fio-3.36","jobs":[{"jobname":"a","groupid":0,"error":0,"job_runtime":2000,"job options":{"filename":"` + path + `"},"read":{"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1000}}]}` + "\n"
	}
	for name, c := range map[string]struct{ tool, text string }{
		"machines": {"bonnie", csv(long+"east", 31001) + csv(long+"west", 31003)},
		"headings": {"bonnie", table(long+"east", 31001) + table(long+"west", 31003)},
		"settings": {"fio", "# A\n" + fio("/"+long+"east") + "# A\n" + fio("/"+long+"west")},
	} {
		targets, trials := targetsOf(t, c.tool, c.text)
		if len(targets) != 2 || trials != 1 {
			t.Fatalf("%s: targets %q, %d trials", name, targets, trials)
		}
		for i, end := range []string{"east", "west"} {
			if !strings.HasSuffix(targets[i], end) || len(targets[i]) > longestShown+2*len("…") {
				t.Errorf("%s: target %q", name, targets[i])
			}
		}
	}
}

func TestNamesAreCutOnlyWhereTheyStayDifferent(t *testing.T) {
	long := strings.Repeat("a", 200)
	names := []string{"short", long + "1", long + "2", long, strings.Repeat("ä", 200)}
	got := shortened(names)
	for i, name := range got {
		if len(name) > longestShown+2*len("…") || strings.ContainsRune(name, '\ufffd') || slices.Contains(got[:i], name) {
			t.Errorf("%q", name)
		}
	}
	if got[0] != "short" {
		t.Errorf("%q", got[0])
	}
}
