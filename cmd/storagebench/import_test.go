package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// fioOutput is a json+ document of so many reads in a second.
func fioOutput(iops int) string {
	return fmt.Sprintf(`{"fio version":"fio-3.36","jobs":[{"jobname":"a","job_runtime":1000,"read":{"io_bytes":4096,"total_ios":%d,"runtime":1000,"clat_ns":{"N":%[1]d,"mean":1000,"max":2000,"bins":{"1000":%[1]d}}}}]}`, iops)
}

func TestWhatWasImportedIsReportedAndCompared(t *testing.T) {
	dir := t.TempDir()
	var before, after []string
	for i := range 6 {
		before = append(before, stored(t, filepath.Join(dir, fmt.Sprintf("old-%d.json", i)), fioOutput(1000+i)))
		after = append(after, stored(t, filepath.Join(dir, fmt.Sprintf("new-%d.json", i)), fioOutput(700+i)))
	}
	out := filepath.Join(dir, "out")
	stdout, stderr, code := output(t, append([]string{"import", "--tool", "fio", "--out", out}, before...)...)
	if code != exitDone || !strings.Contains(stdout, "old     unknown  fio       read       6") {
		t.Fatalf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	for _, want := range []string{"written to " + out, "imported from the output of fio", "the machine, its devices and its caches are unknown"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr does not say %q: %s", want, stderr)
		}
	}
	printed, stderr, code := output(t, append([]string{"import", "--tool", "fio", "-o", "json", "--workload", "fio", "--target", "t"}, after...)...)
	if code != exitDone || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	second := stored(t, filepath.Join(dir, "second.json"), printed)
	reported, _, code := output(t, "report", out)
	if code != exitDone || reported != stdout {
		t.Errorf("exit code %d, the report is not what import printed:\n%s\n%s", code, reported, stdout)
	}
	stdout, _, code = output(t, "compare", out, second)
	if code != exitRegression || !strings.Contains(stdout, "old -> t") || !strings.Contains(stdout, "the first run was imported from the output of fio") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

func TestAReportOfPostMarkIsImportedWithItsTotals(t *testing.T) {
	stdout, stderr, code := output(t, "import", "--tool", "postmark", "-o", "json", "../../internal/importer/testdata/postmark.txt")
	var s result.Summary
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v, %s", code, err, stderr)
	}
	if len(s.Rows) != 2 || s.Rows[0].Metrics["original.create.count"].Median != 519830 || s.Rows[1].Metrics["transactions.rate"].Median != 292 || s.Rows[1].Target != "/export/scsi_ufs" {
		t.Errorf("%+v", s.Rows)
	}
}

func TestStandardInputIsImported(t *testing.T) {
	cmd := program(t.Context(), "import", "--tool", "fio", "-o", "csv", "-")
	cmd.Stdin = strings.NewReader(fioOutput(5))
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), ",read.iops,1/s,1,5,,,,,invalid: ImpossibleUncached; qualified: NoDeviceEvidence,0,false\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWhatCannotBeImportedIsNamedWithWhatWasExpected(t *testing.T) {
	dir := t.TempDir()
	good := stored(t, filepath.Join(dir, "good.json"), fioOutput(5))
	report := "../../internal/importer/testdata/postmark.txt"
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no tool":             {[]string{good}, []string{"--tool is missing", "fio, bonnie, iozone, postmark"}},
		"an unknown tool":     {[]string{"--tool", "dd", good}, []string{`--tool: there is no importer for "dd"`, "use one of fio"}},
		"a misspelt tool":     {[]string{"--tool", "fioo", good}, []string{"did you mean fio?"}},
		"no file":             {[]string{"--tool", "fio"}, []string{"(FILE: ", "--output-format=json+"}},
		"a file that is gone": {[]string{"--tool", "fio", filepath.Join(dir, "gone")}, []string{"gone: no such file"}},
		"a directory":         {[]string{"--tool", "fio", dir}, []string{dir + ": expected a file, got a directory"}},
		"an empty file":       {[]string{"--tool", "fio", stored(t, filepath.Join(dir, "empty"), "")}, []string{"empty: the file is empty", "json+"}},
		"a file cut short":    {[]string{"--tool", "fio", stored(t, filepath.Join(dir, "cut"), fioOutput(5)[:80])}, []string{"cut: fio's JSON is incomplete or damaged"}},
		"another tool's":      {[]string{"--tool", "fio", report}, []string{"postmark.txt: ", "use --tool postmark"}},
		"one good, one bad":   {[]string{"--tool", "fio", good, report}, []string{"use --tool postmark"}},
		"an unknown output":   {[]string{"--tool", "fio", "-o", "xml", good}, []string{"xml", "csv"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			stdout, stderr, code := output(t, append([]string{"import", "--out", out}, c.args...)...)
			if code != exitInvalid || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr does not name %q: %s", want, stderr)
				}
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}

func TestWhatTheUserKnowsOfTheMachineIsJudged(t *testing.T) {
	const text = "../../internal/importer/testdata/corpus/iozone-san.txt"
	stdout, stderr, code := output(t, "import", "--tool", "iozone", "--link", "425M", "--memory", "12Gi", text)
	if code != exitDone || !strings.Contains(stdout, "invalid: ImpossibleUncached") || !strings.Contains(stdout, "WorkingSetTooSmall") {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	for flag, value := range map[string]string{"--link": "fast", "--memory": "-1Gi"} {
		stdout, stderr, code := output(t, "import", "--tool", "iozone", flag, value, text)
		if code != exitInvalid || stdout != "" || !strings.Contains(stderr, flag+": ") || !strings.Contains(stderr, "12Gi") {
			t.Errorf("%s %s: exit code %d, %q, %q", flag, value, code, stdout, stderr)
		}
	}
}

func TestAnImportWithoutANumberFails(t *testing.T) {
	for name, tool := range map[string]string{"fio-iops-only.json": "fio", "fio-too-short.json": "fio", "fio-terse-3.txt": "fio", "bonnie-all-too-fast.txt": "bonnie", "iozone-diagnostics.txt": "iozone", "postmark-terse.txt": "postmark"} {
		stdout, stderr, code := output(t, "import", "--tool", tool, "../../internal/importer/testdata/corpus/"+name)
		if code != exitInvalid || stdout != "" || !strings.Contains(stderr, "; ") {
			t.Errorf("%s: exit code %d, %q, %q", name, code, stdout, stderr)
		}
	}
}
