package importer

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/trial"
)

// update writes what the importer reads now. Compare it with the texts before you commit it.
var update = flag.Bool("update", false, "write testdata/corpus.expected")

const corpus = "testdata/corpus"

// corpusFiles returns the texts by name: the name begins with the tool.
func corpusFiles(tb testing.TB) map[string][]byte {
	tb.Helper()
	const fewest = 60
	paths, err := filepath.Glob(corpus + "/*")
	if err != nil || len(paths) < fewest {
		tb.Fatalf("%d texts in %s: %v", len(paths), corpus, err)
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			tb.Fatal(err)
		}
	}
	return files
}

func toolOf(name string) string {
	tool, _, _ := strings.Cut(name, "-")
	return tool
}

// expected reads what each text says, as people have read it: a line for each rate, bandwidth
// and percentile with target, part, metric, number of repeats and value; or the error.
func expected(tb testing.TB) map[string][]string {
	tb.Helper()
	text, err := os.ReadFile(corpus + ".expected")
	if err != nil {
		tb.Fatal(err)
	}
	out, name := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "== "); ok {
			name, out[rest] = rest, nil
		} else if line != "" && !strings.HasPrefix(line, "#") {
			out[name] = append(out[name], line)
		}
	}
	return out
}

// shownMetric reports whether a metric is one that tables show.
func shownMetric(name string) bool {
	for _, suffix := range []string{".iops", ".rate", ".bandwidth", ".p50", ".p99", ".p99.9", ".latency.max"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// imported returns the lines of expected for a text.
func imported(tb testing.TB, name string, content []byte) []string {
	tb.Helper()
	s, err := Summary([]File{{Name: name, Content: content}}, Options{Tool: toolOf(name)})
	if err != nil {
		return []string{"error: " + clearly(tb, name, err)}
	}
	var lines []string
	for _, row := range report.Shown(s.Rows) {
		for _, metric := range slices.Sorted(maps.Keys(row.Metrics)) {
			if e := row.Metrics[metric]; shownMetric(metric) {
				lines = append(lines, fmt.Sprintf("%s | %s | %s | %d | %s", row.Target, row.Part, metric, e.N, strconv.FormatFloat(e.Median, 'g', 12, 64)))
			}
		}
	}
	return lines
}

// clearly checks that an error says what is wrong and what to do, and returns it.
func clearly(tb testing.TB, name string, err error) string {
	tb.Helper()
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.InvalidSpec || f.Remedy == "" || !strings.HasPrefix(f.Message, name+": ") || strings.Contains(f.Message, "\n") {
		tb.Errorf("%s: %v is no clear error", name, err)
	}
	return strings.TrimPrefix(err.Error(), name+": ")
}

func TestEveryTextOfTheCorpusIsReadRightOrRefused(t *testing.T) {
	files := corpusFiles(t)
	if *update {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&b, "== %s\n%s\n", name, strings.Join(imported(t, name, files[name]), "\n"))
		}
		if err := os.WriteFile(corpus+".expected", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := expected(t)
	for name, content := range files {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want[name], imported(t, name, content)); diff != "" || len(want[name]) == 0 {
				t.Error(diff)
			}
		})
	}
	if len(want) != len(files) {
		t.Errorf("%d texts are expected, and there are %d", len(want), len(files))
	}
}
