package fio

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// busy is a clone whose reads took so many I/O-seconds in a second.
func busy(name string, inFlight float64) string {
	return fmt.Sprintf(`{"jobname":"%s","groupid":0,"job_runtime":1000,"read":{"io_bytes":4096000,"total_ios":1000,"runtime":1000,
	"lat_ns":{"max":1e9,"mean":%f,"N":1000,"bins":{"1000":1000}}}}`, name, inFlight*1e6)
}

func TestLittlesLawIsCheckedInAClosedLoop(t *testing.T) {
	const none = 0
	for name, c := range map[string]struct {
		options  string
		inFlight float64
		want     float64
		note     string
	}{
		"the whole depth":                 {"ioengine=libaio iodepth=8", 7.9, 7.9 / 8, ""},
		"waiting outside":                 {"ioengine=libaio iodepth=8", 6, 0.75, "a: rate × mean latency is 6 I/Os in flight, but iodepth × numjobs is 8"},
		"more than there can be":          {"ioengine=io_uring iodepth=2", 4, 2, "is 4 I/Os in flight, but iodepth × numjobs is 2"},
		"one at a time, whatever it says": {"ioengine=psync iodepth=8", 0.99, 0.99, ""},
		"fio's default engine":            {"iodepth=8", 0.99, 0.99, ""},
		"other threads submit":            {"ioengine=psync iodepth=4 io_submit_mode=offload", 4, 1, ""},
		"syncs between":                   {"ioengine=psync fdatasync=1", 0.1, 0.1, "0.1 I/Os in flight"},
		"syncs among others":              {"ioengine=libaio iodepth=8 fsync=8", 6, none, ""},
		"syncs that overlap":              {"ioengine=libaio fdatasync=1", 1.4, none, ""},
		"no syncs":                        {"ioengine=libaio iodepth=8 fsync=0", 8, 1, ""},
		"a rate":                          {"ioengine=libaio iodepth=8 rate=1m", 1, none, ""},
		"a rate of I/Os":                  {"ioengine=libaio iodepth=8 rate_iops=100", 1, none, ""},
		"pauses":                          {"ioengine=psync thinktime=5", 0.5, none, ""},
		"a depth that varies":             {"ioengine=libaio iodepth=8 latency_target=5", 1, none, ""},
		"a sync at the end":               {"ioengine=psync end_fsync=1", 0.3, none, ""},
		"no sync at the end":              {"ioengine=psync end_fsync=0", 1, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := job{name: "a", options: map[string]string{}}
			for o := range strings.FieldsSeq(c.options) {
				key, value, _ := strings.Cut(o, "=")
				j.options[key] = value
			}
			m := fold(parsed(t, busy("a", c.inFlight)), []job{j})
			got, ok := m.Metrics[littleMetric]
			if ok != (c.want != none) || math.Abs(got.Value-c.want) > 1e-9 || m.Parts[0].Metrics[littleMetric] != got {
				t.Errorf("the trial's ratio is %v, the job's %v, want %v", got, m.Parts[0].Metrics[littleMetric], c.want)
			}
			all := strings.Join(m.Notes, "\n")
			if !strings.Contains(all, c.note) || strings.Contains(all, littleMetric) != (c.note != "") {
				t.Errorf("notes: %s", all)
			}
		})
	}
}

func TestLittlesLawOfATrialIsThatOfItsClosedLoops(t *testing.T) {
	closed := map[string]string{"ioengine": "libaio", "iodepth": "4", "numjobs": "2"}
	open := map[string]string{"ioengine": "libaio", "iodepth": "4", "rate_iops": "10"}
	sync := map[string]string{"ioengine": "psync"}
	m := fold(parsed(t, busy("a", 4), busy("a", 4), busy("b", 1), busy("c", 0.5)), []job{{name: "a", options: closed}, {name: "b", options: open}, {name: "c", options: sync}})
	if got, want := m.Metrics[littleMetric].Value, 8.5/9; math.Abs(got-want) > 1e-9 {
		t.Errorf("the trial's ratio is %v, want %v", got, want)
	}
	if len(m.Notes) != 1 || !strings.HasPrefix(m.Notes[0], "c: ") {
		t.Errorf("notes: %q", m.Notes)
	}
}

// That fio makes data between two writes is noted, and the law is not asked. Between reads it makes none, and a job with a rate waits for its time.
func TestDataThatFioMakesIsNotedOfWrites(t *testing.T) {
	for name, c := range map[string]struct {
		options string
		writes  uint64
		law     bool
		note    string
	}{
		"writes":           {"ioengine=psync refill_buffers=1", 5, false, "for 25 % of the time fio had no I/O in flight"},
		"writes at a rate": {"ioengine=psync refill_buffers=1 rate_iops=10", 5, false, ""},
		"reads":            {"ioengine=psync refill_buffers=1", 0, true, "0.75 I/Os in flight"},
		"data made once":   {"ioengine=psync refill_buffers=0", 5, true, "0.75 I/Os in flight"},
	} {
		options := map[string]string{}
		for o := range strings.FieldsSeq(c.options) {
			key, value, _ := strings.Cut(o, "=")
			options[key] = value
		}
		clone := parsed(t, busy("a", 0.75))
		clone.Jobs[0].Write.IOs = c.writes
		if c.writes > 0 {
			clone.Jobs[0].Write.Total = clone.Jobs[0].Read.Total
			clone.Jobs[0].Write.Total.Mean = 0
		}
		m := fold(clone, []job{{name: "a", options: options}})
		_, law := m.Metrics[littleMetric]
		if notes := strings.Join(m.Notes, "; "); law != c.law || !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "in flight") {
			t.Errorf("%s: law %t, notes %s", name, law, notes)
		}
	}
}

// What fio counts as in flight and what is at the storage differ where the call that submits waits.
func TestTheDepthThatAnEngineKeepsIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		options  string
		inFlight float64
		kept     float64 // 0: as many as are asked for
	}{
		"past the page cache":                {"ioengine=libaio direct=1 iodepth=8", 8, 0},
		"past the page cache, said of it":    {"ioengine=libaio buffered=0 iodepth=8", 8, 0},
		"through the page cache":             {"ioengine=libaio iodepth=8", 8, 2},
		"through it, said twice":             {"ioengine=libaio direct=0 buffered=1 iodepth=8", 8, 2},
		"through it, and an engine of rings": {"ioengine=io_uring iodepth=8", 8, 0},
		"other threads submit":               {"ioengine=libaio iodepth=8 io_submit_mode=offload", 8, 0},
		"one at a time":                      {"ioengine=psync direct=1 iodepth=8", 1, 2},
		"fio's default engine":               {"iodepth=8", 1, 2},
		"another system's default engine":    {"iodepth=8", 8, 0},
		"a depth of one":                     {"ioengine=libaio iodepth=1", 1, 0},
		"threads of glibc, one for a file":   {"ioengine=posixaio direct=1 iodepth=8", 8, 2},
		"one for each of three files":        {"ioengine=posixaio direct=1 iodepth=8 nrfiles=3", 8, 6},
	} {
		t.Run(name, func(t *testing.T) {
			j := job{name: "a", options: map[string]string{"numjobs": "2"}, elsewhere: strings.HasPrefix(name, "another system")}
			for o := range strings.FieldsSeq(c.options) {
				key, value, _ := strings.Cut(o, "=")
				j.options[key] = value
			}
			m := fold(parsed(t, busy("a", c.inFlight), busy("a", c.inFlight)), []job{j})
			if got := m.Metrics[result.DepthKept].Value; got != c.kept {
				t.Errorf("%g are kept, want %g", got, c.kept)
			}
			if got := m.Metrics[result.DepthAsked].Value; c.kept > 0 && got != 16 {
				t.Errorf("%g are asked for, want 16", got)
			}
		})
	}
}
