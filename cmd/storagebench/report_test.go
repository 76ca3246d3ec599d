package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// summaryOf is a run of one row whose rate has the given interval over n trials.
func summaryOf(target string, n int, low, median, high float64) result.Summary {
	e := result.Estimate{Unit: result.PerSecond, N: n, Median: median}
	if n >= 6 {
		e.Low, e.High = &low, &high
	}
	return result.Summary{
		Schema: result.SummarySchema, Benchmark: trial.Benchmark{Namespace: "lab", Name: "b"}, Run: "one", Planned: n, Stored: n,
		Rows: []result.Row{{Target: target, Workload: "oltp", Node: "a", N: n, Metrics: map[string]result.Estimate{"read.iops": e}}},
	}
}

// stored writes a document into dir, which it makes.
func stored(t *testing.T, path string, document any) string {
	t.Helper()
	b, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := document.(string); ok {
		b = []byte(text)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReportPrintsTheSummaryOfAFileOrARun(t *testing.T) {
	results := t.TempDir()
	file := stored(t, filepath.Join(results, "lab/b/one/summary.json"), summaryOf("fast", 6, 990, 1000, 1010))
	// Of the same name, and no runs of their own.
	stored(t, filepath.Join(results, "lab/b/one/workers/fast.a/summary.json"), result.WorkerSummary{Schema: result.WorkerSchema})
	for _, path := range []string{file, filepath.Dir(file), results} {
		stdout, stderr, code := output(t, "report", path)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if code != exitDone || stderr != "" || len(lines) != 2 || strings.Join(strings.Fields(lines[1])[:7], " ") != "fast a oltp read 6 1.00k 990–1.01k" {
			t.Errorf("%s: exit code %d, %s\n%s", path, code, stderr, stdout)
		}
	}
	stdout, _, _ := output(t, "report", "-o", "csv", file)
	if want := ",read.iops,1/s,6,1000,990,1010,,,,0,false\n"; !strings.HasPrefix(stdout, "target,node,workload,") || !strings.HasSuffix(stdout, want) {
		t.Errorf("csv:\n%s", stdout)
	}
	stdout, _, _ = output(t, "report", "-o", "json", file)
	var s result.Summary
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || s.Rows[0].Metrics["read.iops"].Median != 1000 {
		t.Errorf("json: %v\n%s", err, stdout)
	}
}

func TestReportWritesAPageToAFile(t *testing.T) {
	file := stored(t, filepath.Join(t.TempDir(), "s.json"), summaryOf("fast", 6, 990, 1000, 1010))
	html := filepath.Join(t.TempDir(), "report.html")
	stdout, stderr, code := output(t, "report", "-o", "html", "--out", html, file)
	written, err := os.ReadFile(html)
	if code != exitDone || stdout != "" || stderr != "" || err != nil || !strings.Contains(string(written), "lab/b") || !strings.HasPrefix(string(written), "<!doctype html>") {
		t.Errorf("exit code %d, %v, %s\n%s%.300s", code, err, stderr, stdout, written)
	}
	if stdout, _, _ = output(t, "report", "-o", "html", "--out", "-", file); stdout == "" {
		t.Error("nothing on stdout")
	}
	_, stderr, code = output(t, "report", "--out", t.TempDir(), file)
	if code != exitInvalid || !strings.Contains(stderr, "--out") {
		t.Errorf("a directory for --out: exit code %d, %s", code, stderr)
	}
}

func TestReportSaysWhatIsMissing(t *testing.T) {
	s := summaryOf("fast", 6, 990, 1000, 1010)
	s.Planned = 8
	s.Failures = map[string]*trial.Failure{"fast.a": {Class: reason.NoSpace, Message: "the target became full"}}
	s.Imported = &result.Imported{Tool: "fio", Notes: []string{"nothing is known"}}
	_, stderr, code := output(t, "report", stored(t, filepath.Join(t.TempDir(), "s.json"), s))
	if want := "imported from the output of fio\n- nothing is known\n2 of 8 trials not measured\nfast.a failed: the target became full\n"; code != exitDone || stderr != want {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

func TestWhatIsNoSummaryIsRefused(t *testing.T) {
	dir := t.TempDir()
	good := stored(t, filepath.Join(dir, "two/a/summary.json"), summaryOf("fast", 6, 990, 1000, 1010))
	stored(t, filepath.Join(dir, "two/b/summary.json"), summaryOf("fast", 6, 990, 1000, 1010))
	other := summaryOf("fast", 6, 990, 1000, 1010)
	other.Rows[0].Workload = "mail"
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no argument":          {[]string{"report"}, []string{"expected 1 argument (RUN), got 0", "--help"}},
		"too many arguments":   {[]string{"report", good, good}, []string{"expected 1 argument (RUN), got 2"}},
		"no such file":         {[]string{"report", filepath.Join(dir, "none")}, []string{"none", "no such file"}},
		"no run below it":      {[]string{"report", t.TempDir()}, []string{"no summary.json", "a run that has finished"}},
		"two runs below it":    {[]string{"report", filepath.Join(dir, "two")}, []string{"2 runs", "two/a/summary.json", "two/b/summary.json", "use one"}},
		"an empty file":        {[]string{"report", stored(t, filepath.Join(dir, "empty"), "")}, []string{"empty: the run summary was rejected: unexpected end", "summary.json of a run"}},
		"a file cut short":     {[]string{"report", stored(t, filepath.Join(dir, "cut"), `{"schema":"storagebench.io/summary.v1","rows":[{`)}, []string{"cut: the run summary was rejected: unexpected end"}},
		"a worker's summary":   {[]string{"report", stored(t, filepath.Join(dir, "worker"), result.WorkerSummary{Schema: result.WorkerSchema})}, []string{"worker.v1", "expected \"storagebench.io/summary.v1\""}},
		"an unknown output":    {[]string{"report", "-o", "xml", good}, []string{"xml", "csv"}},
		"one run to compare":   {[]string{"compare", good}, []string{"expected 2 arguments (FIRST and SECOND), got 1"}},
		"the second is none":   {[]string{"compare", good, filepath.Join(dir, "empty")}, []string{"empty: the run summary was rejected: unexpected end"}},
		"nothing in common":    {[]string{"compare", good, stored(t, filepath.Join(dir, "mail.json"), other)}, []string{"fast/oltp/a", "fast/mail/a", "same workloads"}},
		"a limit without %":    {[]string{"compare", "--max-regression", "5", good, good}, []string{"--max-regression 5", "5%"}},
		"a limit below 0":      {[]string{"compare", "--max-regression=-1%", good, good}, []string{"percentage"}},
		"a limit that is huge": {[]string{"compare", "--max-regression", "100%", good, good}, []string{"percentage"}},
		"a limit of words":     {[]string{"compare", "--max-regression", "NaN%", good, good}, []string{"percentage"}},
		"compare as csv":       {[]string{"compare", "-o", "csv", good, good}, []string{"csv", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := output(t, c.args...)
			if code != exitInvalid || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr does not name %q: %s", want, stderr)
				}
			}
		})
	}
}
