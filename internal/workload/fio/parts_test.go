package fio

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/result"
)

// did is a clone that did operations, such as "read write sync".
func did(name string, group int, operations string) string {
	text := fmt.Sprintf(`{"jobname":%q,"groupid":%d,"job_runtime":2000`, name, group)
	for op := range strings.FieldsSeq(operations) {
		latency := `{"max":2000,"mean":1000,"N":1000,"bins":{"1000":1000}}`
		if op == "sync" {
			text += `,"sync":{"lat_ns":` + latency + `}`
		} else {
			text += fmt.Sprintf(`,%q:{"io_bytes":4096000,"total_ios":1000,"runtime":2000,"lat_ns":%s,"clat_ns":%[2]s,"slat_ns":%[2]s}`, op, latency)
		}
	}
	return text + "}"
}

// shown are a trial's rows, with their operations.
func shown(t *testing.T, m result.Measurement) []string {
	t.Helper()
	d := &result.Trial{Outcome: result.Measured, Measurement: m}
	s := &result.WorkerSummary{}
	s.Fold(d, result.Object{})
	rows := []string{}
	if ops := s.Trials[0].Operations; len(ops) > 0 {
		rows = append(rows, "(all): "+strings.Join(ops, " "))
	}
	for _, p := range s.Trials[0].Parts {
		rows = append(rows, p.Name+": "+strings.Join(p.Operations, " "))
	}
	return rows
}

func TestEachJobIsARowAndSumsAreOfWhatRanTogether(t *testing.T) {
	for name, c := range map[string]struct {
		clones string // name/group/operations, separated by commas
		want   string
	}{
		"one job":                     {"a/0/read write", "(all): read write"},
		"clones of one":               {"a/0/read,a/0/read", "(all): read"},
		"together, of one operation":  {"a/0/read,b/0/read", "(all): read,a: read,b: read"},
		"together, of the same two":   {"a/0/read write,b/0/read write", "(all): read write,a: read write,b: read write"},
		"together, of different ones": {"a/0/read,b/0/write sync", "a: read,b: write sync"},
		"one after the other":         {"a/0/read,b/1/read", "a: read,b: read"},
		"printed in another order":    {"b/1/read,a/0/read", "a: read,b: read"},
		"four sections":               {"a/0/read,b/1/write,c/2/read,d/3/write", "a: read,b: write,c: read,d: write"},
		"two together, then one":      {"a/0/read,b/0/read,c/1/write", "a + b: read,a: read,b: read,c: write"},
		"two of two kinds, then one":  {"a/0/read,b/0/write,c/1/write", "a: read,b: write,c: write"},
		"one did nothing":             {"a/0/read,b/0/", "a: read"},
		"all did nothing":             {"a/0/,b/0/", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var clones []string
			var jobs []job
			for text := range strings.SplitSeq(c.clones, ",") {
				f := strings.Split(text, "/")
				clones = append(clones, did(f[0], int(f[1][0]-'0'), f[2]))
				if len(jobs) == 0 || jobs[len(jobs)-1].name != f[0] {
					jobs = append(jobs, job{name: f[0]})
				}
			}
			m := fold(parsed(t, clones...), jobs)
			if diff := cmp.Diff(c.want, strings.Join(shown(t, m), ",")); diff != "" {
				t.Error(diff)
			}
			foreign, err := parseOne([]byte(document1(clones...)))
			if c.want == "" {
				return // an import of nothing is refused
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strings.Join(shown(t, foreign), ",")); diff != "" {
				t.Errorf("imported: %s", diff)
			}
		})
	}
}

func TestASumIsOfItsJobs(t *testing.T) {
	m := fold(parsed(t, did("a", 0, "read"), did("b", 0, "read"), did("c", 1, "read")), []job{{name: "a"}, {name: "b"}, {name: "c"}})
	sum := m.Parts[0]
	if sum.Name != "a + b" || sum.Metrics["read.iops"].Value != 1000 || sum.Histograms["read"].Count() != 2000 || m.Parts[1].Metrics["read.iops"].Value != 500 {
		t.Errorf("the sum is %+v", sum)
	}
	if !strings.Contains(strings.Join(m.Notes, "\n"), "2 groups ran one after the other") {
		t.Errorf("notes: %q", m.Notes)
	}
}

func TestNamesOfSumsFitAndAreUnique(t *testing.T) {
	var jobs []job
	var clones []string
	for group := range 3 {
		for i := range 5 {
			name := fmt.Sprintf("%s%d%d", strings.Repeat("x", 62), group, i)
			jobs = append(jobs, job{name: name})
			clones = append(clones, did(name, group, "read"))
		}
	}
	m := fold(parsed(t, clones...), jobs)
	r := &result.EngineResult{Schema: result.EngineSchema, Measurement: &m}
	if _, err := result.DecodeEngineResult(encoded(t, r)); err != nil || len(shown(t, m)) != 18 {
		t.Errorf("%v, rows %q", err, shown(t, m))
	}
}

func TestManyJobsHaveADocumentButNotAllHaveRows(t *testing.T) {
	var jobs []job
	var clones []string
	for i := range 200 {
		jobs = append(jobs, job{name: fmt.Sprint("j", i)})
		clones = append(clones, did(jobs[i].name, i, "read"))
	}
	m := fold(parsed(t, clones...), jobs)
	if len(m.Parts) != 200 || len(shown(t, m)) != result.MaxRowParts || !strings.Contains(strings.Join(m.Notes, "\n"), "only the first 32 of 200") {
		t.Errorf("%d parts, %d rows, notes %q", len(m.Parts), len(shown(t, m)), m.Notes)
	}
	r := &result.EngineResult{Schema: result.EngineSchema, Measurement: &m}
	if _, err := result.DecodeEngineResult(encoded(t, r)); err != nil {
		t.Error(err)
	}
}

func encoded(t *testing.T, document any) []byte {
	t.Helper()
	b, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
