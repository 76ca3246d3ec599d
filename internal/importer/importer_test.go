package importer

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/report"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func fioJob(name string, group, ios int) string {
	job, _ := json.Marshal(map[string]any{
		"jobname": name, "groupid": group, "job_runtime": 1000,
		"read": map[string]any{"io_bytes": ios * 4096, "total_ios": ios, "runtime": 1000, "clat_ns": map[string]any{"N": ios, "mean": 1000, "max": 2000, "bins": map[string]int{"1000": ios}}},
	})
	return string(job)
}

func fioFile(name string, jobs ...string) File {
	return File{Name: name, Content: []byte(`{"fio version":"fio-3.36","jobs":[` + strings.Join(jobs, ",") + `]}`), Modified: time.Unix(1e9, 0)}
}

func TestFilesOfOneToolAreRepeats(t *testing.T) {
	var files []File
	for i, ios := range []int{600, 100, 300, 200, 500, 400} {
		files = append(files, fioFile("runs/nvme-"+string(rune('1'+i))+".json", fioJob("a", 0, ios)))
	}
	s, err := Summary(files, Options{Tool: "fio"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) != 1 || s.Schema != result.SummarySchema || s.Planned != 6 || s.Stored != 6 || s.Imported.Tool != "fio" || len(s.Imported.Files) != 6 || s.Imported.Files[0].Name != "nvme-1.json" {
		t.Fatalf("%+v", s)
	}
	row := s.Rows[0]
	if row.Target != "nvme" || row.Workload != "fio" || row.Node != "unknown" || row.N != 6 || row.Histograms["read.completion"].Count() != 2100 {
		t.Errorf("%+v", row)
	}
	if e := row.Metrics["read.completion.p99"]; e.Pooled == nil || *e.Pooled != float64(row.Histograms["read.completion"].Percentile(99))/1e9 {
		t.Errorf("%+v", e)
	}
	if e := row.Metrics["read.iops"]; e.Median != 350 || e.Low == nil || *e.Low != 100 || *e.High != 600 {
		t.Errorf("%+v", e)
	}
	if len(s.Environment) != 0 || !strings.Contains(s.Imported.Notes[0], "are unknown") || !s.FinishedAt.Equal(time.Unix(1e9, 0)) {
		t.Errorf("%+v", s)
	}
	again, _ := Summary(files, Options{Tool: "fio"})
	if again.Run != s.Run || len(s.Run) != 12 {
		t.Errorf("the same files are run %s and %s", s.Run, again.Run)
	}
	document, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read result.Summary
	if err := result.Decode(document, result.SummarySchema, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Imported, read.Imported); diff != "" {
		t.Error(diff)
	}
}

func TestJobsOfFioAreRowsOfTheirOwn(t *testing.T) {
	for name, c := range map[string]struct {
		file File
		want []string
	}{
		"one":             {fioFile("a.json", fioJob("x", 0, 10)), []string{"fio"}},
		"clones of one":   {fioFile("a.json", fioJob("x", 0, 10), fioJob("x", 0, 10)), []string{"fio"}},
		"together":        {fioFile("a.json", fioJob("x", 0, 10), fioJob("y", 0, 10)), []string{"fio", "fio[x]", "fio[y]"}},
		"one after other": {fioFile("a.json", fioJob("x", 0, 10), fioJob("y", 1, 10)), []string{"fio[x]", "fio[y]"}},
		"groups of two":   {fioFile("a.json", fioJob("x", 0, 10), fioJob("y", 0, 10), fioJob("z", 1, 10)), []string{"fio[x + y]", "fio[x]", "fio[y]", "fio[z]"}},
	} {
		s, err := Summary([]File{c.file}, Options{Tool: "fio"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range report.Shown(s.Rows) {
			got = append(got, report.WithPart(row.Workload, row.Part))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestReportsOfSeveralLocationsAreSeveralTargets(t *testing.T) {
	text, err := os.ReadFile("testdata/postmark.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options Options
		want    []string
	}{
		"as the output names them": {Options{Tool: "postmark"}, []string{"/scsi_zfs postmark unknown 2", "/export/scsi_ufs postmark unknown 2"}},
		"as the user names them":   {Options{Tool: "postmark", Target: "lab", Workload: "mail", Node: "v210"}, []string{"lab /scsi_zfs mail v210 2", "lab /export/scsi_ufs mail v210 2"}},
	} {
		s, err := Summary([]File{{Name: "a.txt", Content: text}, {Name: "b.txt", Content: text}}, c.options)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range s.Rows {
			got = append(got, strings.Join([]string{row.Target, row.Workload, row.Node, string(rune('0' + row.N))}, " "))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTablesOfBonnieAreTargetsByTheirTitles(t *testing.T) {
	text, err := os.ReadFile("../workload/bonnie/testdata/bonnie-quoted.txt")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Summary([]File{{Name: "mail.txt", Content: text}}, Options{Tool: "bonnie"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, row := range s.Rows {
		got[row.Target] = row.Metrics["write.bandwidth"].Median / 1024
	}
	want := map[string]float64{
		"UFS2 with write cache": 91630, "UFS2 without write cache": 4685,
		"ZFS with write cache (384M ARC, 1GB max kmem)": 45026, "ZFS without write cache (384M ARC, 1GB max kmem)": 2258,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheTableOfIozoneIsTheFilesTarget(t *testing.T) {
	text, err := os.ReadFile("../workload/iozone/testdata/iozone-3-auto.txt")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Summary([]File{{Name: "san-1.txt", Content: text}, {Name: "san-2.txt", Content: text}}, Options{Tool: "iozone"})
	if err != nil || len(s.Rows) != 1 {
		t.Fatalf("%d rows: %v", len(s.Rows), err)
	}
	if row := s.Rows[0]; row.Target != "san" || row.N != 2 || row.Metrics["write.bandwidth"].Median != 211106*1024 || row.Metrics["read.64MiB.128KiB.bandwidth"].Median != 210321*1024 {
		t.Errorf("%+v", row)
	}
	other := strings.Replace(string(text), "-e -I", "-I", 1)
	if s, err = Summary([]File{{Name: "san.txt", Content: []byte(string(text) + other)}}, Options{Tool: "iozone"}); err != nil || len(s.Rows) != 2 || !strings.HasPrefix(s.Rows[1].Target, "san iozone -a -I") {
		t.Errorf("two command lines in one file: %v, %+v", err, s.Rows)
	}
}

func TestTargetsAreNamedForTheFiles(t *testing.T) {
	for want, names := range map[string][]string{
		"nvme":      {"/tmp/nvme.json"},
		"raid10":    {"raid10.txt"},
		"disk":      {"disk-1.json", "disk-2.json", "disk-13.json"},
		"imported":  {"before.json", "after.json"},
		"before":    {"before.run1.json", "before.run2.json"},
		"my_volume": {"my_volume_01", "my_volume_02"},
	} {
		var files []File
		for _, name := range names {
			files = append(files, File{Name: name})
		}
		if got := stem(files); got != want {
			t.Errorf("%v: %q, want %q", names, got, want)
		}
	}
}

func TestWrongInputIsNamedWithWhatWasExpected(t *testing.T) {
	postmark, err := os.ReadFile("testdata/postmark.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool    string
		content string
		want    []string
	}{
		"an unknown tool":          {"dd", "x", []string{`"dd"`, "fio, bonnie, iozone, postmark"}},
		"an empty file":            {"fio", " \n", []string{"f.out: the file is empty", "--output-format=json+"}},
		"an empty report":          {"postmark", "", []string{"f.out: the file is empty", "the report that PostMark prints"}},
		"PostMark's output to fio": {"fio", string(postmark), []string{"f.out: ", "looks like the output of postmark: use --tool postmark"}},
		"bonnie++'s CSV to fio":    {"fio", "home,4G,1,2,3,4,5,6,7,8,9,10,11,12,16,+++++,+++,+++++,+++\n", []string{"looks like the output of bonnie"}},
		"iozone's rates to bonnie": {"bonnie", "Children see throughput for  4 readers = 27.50 kB/sec\n", []string{"looks like the output of iozone"}},
		"fio's words to iozone":    {"iozone", "a: (groupid=0, jobs=1): err= 0\n  clat (usec): min=1\n", []string{"looks like the output of fio"}},
		"fio's output to PostMark": {"postmark", string(fioFile("x", fioJob("a", 0, 1)).Content), []string{"f.out: ", "use --tool fio"}},
		"fio's text for people":    {"fio", "a: (g=0): rw=read, ioengine=psync\nfio-3.33\n clat (usec): min=1\nRun status group 0\n", []string{"human-readable", "--output-format=json+"}},
		"a report cut short":       {"postmark", string(postmark[:700]), []string{"f.out: the PostMark report is incomplete", "at the end of a run"}},
	} {
		_, err := Summary([]File{{Name: "f.out", Content: []byte(c.content)}}, Options{Tool: c.tool})
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != reason.InvalidSpec {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(f.Error(), want) {
				t.Errorf("%s: %q is not in %q", name, want, f.Error())
			}
		}
	}
}
