package fio

import (
	"strings"
	"testing"
)

// plainClone is a clone of a group with reads, as trimmed json has it.
func plainClone(name, group, extra, reads string) string {
	return `{"jobname":"` + name + `","groupid":` + group + `,"error":0,"job_runtime":2000,` + extra + `"read":{` + reads + `}}`
}

func TestRatesThatContradictTheirCountsAreNoted(t *testing.T) {
	for name, c := range map[string]struct{ reads, want string }{
		"all the same":    {`"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1000,"bw_bytes":4096000,"bw":4000`, ""},
		"rounded":         {`"io_bytes":8193000,"total_ios":2001,"runtime":2000,"iops":1000,"bw_bytes":4096500,"bw":4000`, ""},
		"other IOPS":      {`"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1400,"bw_bytes":4096000`, "fio printed 1400 IOPS, and 2000 I/Os in 2 s are 1000 IOPS"},
		"other bandwidth": {`"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1000,"bw_bytes":6096000`, "fio printed 6.096e+06 bytes/s"},
		"other KiB":       {`"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1000,"bw":9000`, "fio printed 9000 KiB/s"},
		"no count":        {`"iops":1000,"total_ios":2000,"bw_bytes":4096000`, ""},
	} {
		m, err := parseOne([]byte(document1(plainClone("a", "0", "", c.reads))))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		notes := strings.Join(m.Notes, "\n")
		if noted := strings.Contains(notes, "contradict"); noted != (c.want != "") || !strings.Contains(notes, c.want) {
			t.Errorf("%s: notes %q", name, notes)
		}
		if m.Metrics["read.iops"].Value < 999 || m.Metrics["read.iops"].Value > 1001 {
			t.Errorf("%s: %v", name, m.Metrics["read.iops"])
		}
	}
}

func TestJobsWithoutRatesAreNamed(t *testing.T) {
	const reads = `"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1000`
	busy := plainClone("busy", "0", "", reads)
	m, err := parseOne([]byte(document1(busy, plainClone("lazy", "0", "", `"total_ios":0`))))
	if notes := strings.Join(m.Notes, "\n"); err != nil || !strings.Contains(notes, "did no I/O that has a rate: lazy") {
		t.Errorf("%v, notes %q", err, notes)
	}
	_, err = parseOne([]byte(document1(busy, plainClone("both", "0", `"mixed":{"total_ios":7},`, `"total_ios":0`))))
	if err == nil || !strings.Contains(err.Error(), "the job both reports reads, writes and trims only as one mix") {
		t.Errorf("%v", err)
	}
}

func TestPercentilesWithoutCountAndMaximumAreRead(t *testing.T) {
	const reads = `"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1000,"clat_ns":{"percentile":{"50.000000":70000,"99.000000":410000}}`
	m, err := parseOne([]byte(document1(plainClone("a", "0", "", reads))))
	if err != nil || m.Metrics["read.completion.p99"].Value != 410e-6 {
		t.Errorf("%v, %v", m.Metrics, err)
	}
	if notes := strings.Join(m.Notes, "\n"); strings.Contains(notes, "no percentiles") {
		t.Errorf("notes %q", notes)
	}
	zeros := strings.NewReplacer("70000", "0", "410000", "0").Replace(reads)
	m, err = parseOne([]byte(document1(plainClone("a", "0", "", zeros))))
	if _, ok := m.Metrics["read.completion.p99"]; err != nil || ok || !strings.Contains(strings.Join(m.Notes, "\n"), "measured no latencies") {
		t.Errorf("of zeros: %v, %v, %q", m.Metrics, err, m.Notes)
	}
}

func TestGroupsThatRanTogetherAreAddedUp(t *testing.T) {
	const reads = `"io_bytes":8192000,"total_ios":2000,"runtime":2000,"iops":1000`
	for name, c := range map[string]struct {
		first, second string
		iops          float64
		note          string
	}{
		"new_group":           {`"job options":{"rw":"read"},`, `"job options":{"rw":"read","new_group":""},`, 2000, "1 of 2 groups did not wait"},
		"a stonewall":         {`"job options":{"rw":"read"},`, `"job options":{"rw":"read","stonewall":""},`, 1000, "2 groups ran one after the other"},
		"both":                {`"job options":{"rw":"read"},`, `"job options":{"rw":"read","stonewall":"","new_group":""},`, 1000, "2 groups ran one after the other"},
		"began at once":       {`"job_start":1700000000000,`, `"job_start":1700000000004,`, 2000, "1 of 2 groups did not wait"},
		"began later":         {`"job_start":1700000000000,`, `"job_start":1700000002010,`, 1000, "2 groups ran one after the other"},
		"reported together":   {`"job_runtime":16000,"job_start":1700000000000,`, `"job_start":1700000004010,`, 1000, "2 groups ran one after the other"},
		"nobody knows":        {``, ``, 1000, "which is assumed"},
		"new_group, switched": {`"job options":{"rw":"read"},`, `"job options":{"rw":"read","new_group":"0"},`, 1000, "which is assumed"},
	} {
		m, err := parseOne([]byte(document1(plainClone("a", "0", c.first, reads), plainClone("b", "1", c.second, reads))))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := m.Metrics["read.iops"].Value; got != c.iops || m.PartsOnly != (c.iops == 1000) {
			t.Errorf("%s: %v IOPS, parts only: %v", name, got, m.PartsOnly)
		}
		if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, c.note) {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}
