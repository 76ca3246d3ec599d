package fio

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/result"
)

// busy is a clone whose reads took so many I/O-seconds in a second.
func busy(name string, inFlight float64) string { return ran(name, inFlight, 1000, 1000) }

// ran is one that did so many I/Os in so many milliseconds, and had so many of them in flight.
func ran(name string, inFlight float64, ios, ms int) string {
	return fmt.Sprintf(`{"jobname":"%s","groupid":0,"job_runtime":%[4]d,"read":{"io_bytes":4096000,"total_ios":%[3]d,"runtime":%[4]d,
	"lat_ns":{"max":1e9,"mean":%[2]f,"N":%[3]d,"bins":{"1000":%[3]d}}}}`, name, inFlight*1e6*float64(ms)/float64(ios), ios, ms)
}

func TestLittlesLawIsCheckedInAClosedLoop(t *testing.T) {
	const none = 0
	for name, c := range map[string]struct {
		options  string
		inFlight float64
		want     float64
	}{
		"the whole depth":                 {"ioengine=libaio iodepth=8", 7.9, 7.9 / 8},
		"waiting outside":                 {"ioengine=libaio iodepth=8", 6, 0.75},
		"more than there can be":          {"ioengine=io_uring iodepth=2", 4, 2},
		"one at a time, whatever it says": {"ioengine=psync iodepth=8", 0.99, 0.99},
		"fio's default engine":            {"iodepth=8", 0.99, 0.99},
		"other threads submit":            {"ioengine=psync iodepth=4 io_submit_mode=offload", 4, 1},
		"syncs between":                   {"ioengine=psync fdatasync=1", 0.1, 0.1},
		"syncs among others":              {"ioengine=libaio iodepth=8 fsync=8", 6, none},
		"syncs that overlap":              {"ioengine=libaio fdatasync=1", 1.4, none},
		"syncs of a range":                {"ioengine=libaio iodepth=8 sync_file_range=write:8", 6, none},
		"no syncs":                        {"ioengine=libaio iodepth=8 fsync=0", 8, 1},
		"a rate":                          {"ioengine=libaio iodepth=8 rate=1m", 1, none},
		"a rate of I/Os":                  {"ioengine=libaio iodepth=8 rate_iops=100", 1, none},
		"no rate":                         {"ioengine=libaio iodepth=8 rate_iops=0", 8, 1},
		"pauses":                          {"ioengine=psync thinktime=5", 0.5, none},
		"a depth that varies":             {"ioengine=libaio iodepth=8 latency_target=5", 1, none},
		"a queue that empties":            {"ioengine=libaio iodepth=8 iodepth_low=2", 5, none},
		"overlaps that wait":              {"ioengine=libaio iodepth=8 serialize_overlap=1", 5, none},
		"overlaps that do not":            {"ioengine=libaio iodepth=8 serialize_overlap=0", 8, 1},
		"locks":                           {"ioengine=psync lockfile=exclusive", 0.5, none},
		"no locks":                        {"ioengine=psync lockfile=none", 0.5, 0.5},
		"a sync at the end":               {"ioengine=psync end_fsync=1", 0.3, none},
		"no sync at the end":              {"ioengine=psync end_fsync=0", 1, 1},
		"new data for each write":         {"ioengine=psync refill_buffers=1", 0.7, 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			m := fold(parsed(t, busy("a", c.inFlight)), []job{jobOf("a", c.options)})
			got, ok := m.Metrics[result.LittlesLaw]
			if ok != (c.want != none) || math.Abs(got.Value-c.want) > 1e-9 || m.Parts[0].Metrics[result.LittlesLaw] != got {
				t.Errorf("the trial's ratio is %v, the job's %v, want %v", got, m.Parts[0].Metrics[result.LittlesLaw], c.want)
			}
		})
	}
}

// jobOf is a job with options that spaces separate.
func jobOf(name, options string) job {
	j := job{name: name, options: map[string]string{}}
	for o := range strings.FieldsSeq(options) {
		key, value, _ := strings.Cut(o, "=")
		j.options[key] = value
	}
	return j
}

// How it begins and ends, and whether it once waited for a CPU, decide the ratio of a job that did little.
func TestLittlesLawIsNotCheckedOfTooFewIOs(t *testing.T) {
	for name, c := range map[string]struct {
		options string
		ios, ms int
		law     bool
	}{
		"one at a time":                  {"ioengine=psync", 50, 1000, true},
		"too few":                        {"ioengine=psync", 49, 1000, false},
		"fifty times a depth":            {"ioengine=libaio iodepth=8", 400, 1000, true},
		"too few of a depth":             {"ioengine=libaio iodepth=8", 399, 1000, false},
		"long enough":                    {"ioengine=psync", 5000, 100, true},
		"a slice of the scheduler":       {"ioengine=psync", 5000, 99, false},
		"too few of a synchronous depth": {"ioengine=psync iodepth=32", 50, 1000, true},
	} {
		m := fold(parsed(t, ran("a", 0.5, c.ios, c.ms)), []job{jobOf("a", c.options)})
		if _, law := m.Metrics[result.LittlesLaw]; law != c.law {
			t.Errorf("%s: checked is %t", name, law)
		}
	}
}

func TestLittlesLawOfATrialIsThatOfItsClosedLoops(t *testing.T) {
	jobs := []job{jobOf("a", "ioengine=libaio iodepth=4 numjobs=2"), jobOf("b", "ioengine=libaio iodepth=4 rate_iops=10"), jobOf("c", "ioengine=psync")}
	m := fold(parsed(t, busy("a", 4), busy("a", 4), busy("b", 1), busy("c", 0.5)), jobs)
	if got, want := m.Metrics[result.LittlesLaw].Value, 8.5/9; math.Abs(got-want) > 1e-9 {
		t.Errorf("the trial's ratio is %v, want %v", got, want)
	}
	if _, open := m.Parts[1].Metrics[result.LittlesLaw]; open {
		t.Error("the law is checked of an open loop")
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
			j := jobOf("a", "numjobs=2 "+c.options)
			j.elsewhere = strings.HasPrefix(name, "another system")
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
