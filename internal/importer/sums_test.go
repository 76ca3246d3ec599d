package importer

import (
	"os"
	"slices"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/report"
)

// What is said of all machines is not about their sum.
func TestTheAnswerIsAboutMachinesAndNotAboutTheirSum(t *testing.T) {
	text, err := os.ReadFile(corpus + "/fio-clients.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Summary([]File{{Name: "two.json", Content: text}}, Options{Tool: "fio"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Imported.Sums, []string{"All clients"}) || len(s.Rows) != 3 {
		t.Errorf("sums %q, %d rows", s.Imported.Sums, len(s.Rows))
	}
	if !strings.Contains(s.Answer.Sentence, "read 100–300 IOPS") || !strings.Contains(s.Answer.SpeaksFor, "each of 2 targets") {
		t.Errorf("answer %+v", s.Answer)
	}
	if got := report.Headline(s); got != s.Answer.Sentence {
		t.Errorf("headline %q", got)
	}
}

// Sums of different runs are no repeats of one measurement.
func TestSumsOfDifferentRunsAreNotPooled(t *testing.T) {
	text, err := os.ReadFile(corpus + "/fio-clients.json")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("node1", "node3", "node2", "node4").Replace(string(text))
	s, err := Summary([]File{{Name: "a.json", Content: text}, {Name: "b.json", Content: []byte(other)}}, Options{Tool: "fio"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) != 6 || len(s.Imported.Sums) != 2 {
		t.Errorf("%d rows, sums %q", len(s.Rows), s.Imported.Sums)
	}
}
