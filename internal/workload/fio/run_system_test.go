//go:build system

package fio

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

func TestFioAcceptsEveryAllowedOption(t *testing.T) {
	examples := map[string]string{ // by option, or by syntax
		"rw": "read write randread randwrite rw readwrite randrw trim randtrim trimwrite randtrimwrite read:512k write:-8k randread:8", "flow": "-8",
		"file_service_type": "random roundrobin sequential zipf:1.2 pareto:0.5 normal:10 random:4", "steadystate": "iops:5% bw_slope:0.3% iops_slope:100",
		"random_distribution": "random zipf:1.2 pareto:0.5 normal:10 zoned:60/10:40/90 zipf:1.2:0.3 zoned_abs:95/1m:5/10m", "percentile_list": "1:50:99.9", "sync_file_range": "write wait_before,write:8",
		"buffer_pattern": "0xdeadbeef 255", "verify_pattern": "0xdeadbeef 255 %o", "write_bw_log": "x", "write_lat_log": "x", "write_iops_log": "x", "filesize": "4k 4k-64k", "offset": "0 4k", "startdelay": "1s 1-3", "fill": "",
		"size or percentage": "1m", "size": "4k", "range of sizes, as 4k-64k; up to three for read,write,trim": "4k-8k,4k-16k",
		"sizes with percentages, as 4k/60:64k/40; up to three for read,write,trim": "4k/50:8k/50",
		"CPU numbers, as 0-3,8": "0", "size; up to three for read,write,trim": "4k,8k",
	}
	needs := map[string]string{
		"hipri": "ioengine=io_uring", "hipri_percentage": "ioengine=pvsync2", "userspace_reap": "ioengine=libaio", "uncached": "ioengine=io_uring", "sqthread_poll": "ioengine=io_uring", "force_async": "ioengine=io_uring", "nowait": "ioengine=pvsync2", "fixedbufs": "ioengine=io_uring", "registerfiles": "ioengine=io_uring", "nonvectored": "ioengine=io_uring",
		"time_based": "runtime=1", "cpus_allowed_policy": "cpus_allowed=0", "thinktime_spin": "thinktime=5", "thinktime_blocks": "thinktime=5",
		"dedupe_percentage": "rw=write", "verify_backlog": "verify=md5", "exit_what": "exitall", "zonemode": "zonesize=1m", "verify_pattern": "verify=pattern",
	}
	var text strings.Builder
	for _, g := range options() {
		for _, o := range g.options {
			value, ok := examples[o.name]
			if !ok {
				value, ok = examples[o.syntax.name]
			}
			switch {
			case ok:
			case strings.HasPrefix(o.syntax.name, "time in"):
				value = "1s"
			case strings.HasPrefix(o.syntax.name, "number, 0"):
				value = "0"
			case strings.HasPrefix(o.syntax.name, "number"):
				value = "1"
			case o.syntax.bare != "":
				value = o.syntax.bare
			default: // every value of an enumeration
				value = strings.ReplaceAll(o.syntax.name, ", ", " ")
			}
			for v := range strings.FieldsSeq(value) {
				mode := trial.Filesystem
				if strings.Contains(o.name+v, "trim") {
					mode = trial.Block
				}
				name := safeName(o.name+"-"+v, maxJobName)
				jobs, err := resolve(config{JobFile: "[" + name + "]\nsize=1m\n" + needs[o.name] + "\n" + o.name + "=" + v + "\n"}, mode, "")
				if err != nil {
					t.Errorf("%s=%s: %v", o.name, v, err)
					continue
				}
				text.WriteString(render(withSeed(jobs, "1"), always()))
			}
		}
	}
	file := filepath.Join(t.TempDir(), "jobs.fio")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("fio", "--parse-only", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("fio says %v\n%s", err, out)
	}
}

func TestPercentilesAreThoseThatFioReports(t *testing.T) {
	env := newEnv(t, t.TempDir(), parameters("rw=randrw", "size=32m", "iodepth=4", "runtime=1"))
	m := measureOnce(t, env)
	if m.Seed != env.Seed() || !strings.Contains(m.Input, fmt.Sprintf("randseed=%d\n", m.Seed)) {
		t.Errorf("the seed is %d, fio's job\n%s", m.Seed, m.Input)
	}
	d, _, err := parseOutput(m.RawOutput)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, op := range []string{"read", "write"} {
		for kind, theirs := range map[string]latency{
			op + ".latency": d.Jobs[0].direction(op).Total, op + ".completion": d.Jobs[0].direction(op).Completion, op + ".submission": d.Jobs[0].direction(op).Submission,
		} {
			for name, p := range map[string]string{"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p99.9": "99.900000", "p99.99": "99.990000"} {
				theirs := theirs.Percentiles[p] / 1e9
				ours := m.Metrics[kind+"."+name].Value
				// One bucket is 1/64 of an octave.
				if theirs == 0 || math.Abs(ours-theirs) > theirs/64 {
					t.Errorf("%s %s: ours is %v, fio's %v", kind, name, ours, theirs)
				}
				compared++
			}
		}
		mean := func(kind string) float64 { return m.Metrics[op+"."+kind+".mean"].Value }
		if total, parts := mean("latency"), mean("submission")+mean("completion"); math.Abs(total-parts) > total/50 {
			t.Errorf("%s: the mean latency is %v, that of its parts together %v", op, total, parts)
		}
		if iops := d.Jobs[0].direction(op); math.Abs(m.Metrics[op+".iops"].Value-float64(iops.IOs)/iops.Runtime*1e3) > 1e-6 {
			t.Errorf("%s.iops is %v", op, m.Metrics[op+".iops"].Value)
		}
	}
	if compared != 30 {
		t.Errorf("%d percentiles were compared", compared)
	}
	if r := m.Metrics[result.LittlesLaw].Value; r < 0.5 || r > 1.05 {
		t.Errorf("%s is %v", result.LittlesLaw, r)
	}
}

func TestJobsClonesGroupsAndSyncs(t *testing.T) {
	m := measureOnce(t, newEnv(t, t.TempDir(), config{JobFile: `
[global]
size=8m
direct=1
ioengine=libaio
[log]
rw=write
fdatasync=4
numjobs=2
[scan]
stonewall
rw=read
bs=64k
`}))
	if len(m.Parts) != 2 || m.Parts[0].Name != "log" || m.Parts[1].Name != "scan" {
		t.Fatalf("parts: %+v", m.Parts)
	}
	for name, want := range map[string]float64{"write.ios": 4096, "write.bytes": 16 << 20, "read.ios": 128, "read.bytes": 8 << 20} {
		if got := m.Metrics[name].Value; got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	// Each clone syncs after every fourth of its 2048 writes; fio 3.33 may leave
	// out the last.
	if got := m.Metrics["sync.ios"].Value; got < 1020 || got > 1026 || m.Histograms["sync"].Count() != uint64(got) {
		t.Errorf("sync.ios = %v with %d in the histogram", got, m.Histograms["sync"].Count())
	}
	if m.Metrics["sync.latency.p99"].Value <= 0 || m.Parts[1].Metrics["sync.ios"].Value != 0 {
		t.Error("sync latencies are not where they belong")
	}
}

func TestWithoutLatenciesThereAreNone(t *testing.T) {
	m := measureOnce(t, newEnv(t, t.TempDir(), parameters("rw=read", "size=4m", "gtod_reduce=1", "runtime=1")))
	if _, ok := m.Metrics["read.iops"]; !ok {
		t.Error("there is no rate")
	}
	for name := range m.Metrics {
		if strings.Contains(name, "latency") {
			t.Errorf("%s is there", name)
		}
	}
	if len(m.Notes) == 0 || !strings.Contains(m.Notes[0], "gtod_reduce") {
		t.Errorf("notes: %q", m.Notes)
	}
}

func TestDirectIOIsWhatTheTargetMakesOfIt(t *testing.T) {
	ext4, disk := devicetest.Filesystem(t, "ext4", 64<<20)
	devicetest.DirectIO(t, disk)
	cached, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	memory := t.TempDir()
	devicetest.Mount(t, memory, "tmpfs", "tmpfs", "-o", "size=64m")
	for name, c := range map[string]struct {
		dir, direct string
		requested   bool
		want        result.DirectMode
	}{
		"ext4":           {ext4, "1", true, result.Direct},
		"ext4, buffered": {ext4, "0", false, result.Buffered},
		"a cached file":  {cached, "1", true, result.CachedAnyway},
		"tmpfs":          {memory, "1", true, result.CachedAnyway},
	} {
		t.Run(name, func(t *testing.T) {
			m := measureOnce(t, newEnv(t, c.dir, parameters("rw=randread", "size=1m", "runtime=1", "direct="+c.direct)))
			if d := m.DirectIO; d.Requested != c.requested || d.Effective != c.want || d.Evidence == "" {
				t.Errorf("got %+v", d)
			}
			if left, _ := filepath.Glob(filepath.Join(c.dir, "*", ".direct-probe*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestToolsAreNamedWithVersions(t *testing.T) {
	if v := (Engine{}).Tools(t.Context())["fio"]; !strings.HasPrefix(v, "3.") {
		t.Errorf("fio is %q", v)
	}
}
