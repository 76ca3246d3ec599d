//go:build system

package fio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/fio/seccomptest"
)

func TestMain(m *testing.M) {
	// A test that needs a process without io_uring starts itself again.
	if os.Getenv(denyIOURing) != "" {
		if err := seccomptest.DenyIOURing(); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

const denyIOURing = "STORAGEBENCH_TEST_DENY_IO_URING"

// env is a target in dir for a workload that is called w.
func newEnv(t *testing.T, dir string, c config) workload.Env {
	t.Helper()
	if c.Prefill == "" {
		c.Prefill = prefillAuto
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "fio", Config: raw},
		Target:   trial.Target{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem},
		Dir:      dir, Scratch: t.TempDir(), State: t.TempDir(),
		Trial: trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1},
		Log:   slog.New(slog.DiscardHandler),
	}
}

func newDeviceEnv(t *testing.T, device string, c config) workload.Env {
	t.Helper()
	env := newEnv(t, "", c)
	env.Device, env.Target.Mode = device, trial.Block
	return env
}

func measureOnce(t *testing.T, env workload.Env) *result.Measurement {
	t.Helper()
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFioAcceptsEveryAllowedOption(t *testing.T) {
	examples := map[string]string{
		"size or percentage": "1m", "size": "4k", "range of sizes, as 4k-64k; up to three for read,write,trim": "4k-8k,4k-16k",
		"sizes with percentages, as 4k/60:64k/40; up to three for read,write,trim": "4k/50:8k/50", "random, zipf:θ, pareto:h, normal:σ": "zipf:1.2",
		"CPU numbers, as 0-3,8": "0", "file names in the target's directory, with : between": "x", "text without blanks": "word", "size; up to three for read,write,trim": "4k,8k",
	}
	needs := map[string]string{
		"hipri": "ioengine=io_uring", "fixedbufs": "ioengine=io_uring", "registerfiles": "ioengine=io_uring", "nonvectored": "ioengine=io_uring",
		"time_based": "runtime=1", "cpus_allowed_policy": "cpus_allowed=0", "thinktime_spin": "thinktime=5", "thinktime_blocks": "thinktime=5",
		"dedupe_percentage": "rw=write", "verify_backlog": "verify=md5",
	}
	var text strings.Builder
	for _, g := range options() {
		for _, o := range g.options {
			value, ok := examples[o.syntax.name]
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
				if strings.Contains(v, "trim") {
					mode = trial.Block
				}
				name := strings.NewReplacer("/", "-", ":", "-", ",", "-").Replace(o.name + "-" + v)
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
	m := measureOnce(t, newEnv(t, t.TempDir(), parameters("rw=randrw", "size=32m", "iodepth=4", "runtime=1", "time_based=1")))
	d, _, err := parseOutput(m.RawOutput)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, op := range []string{"read", "write"} {
		for name, p := range map[string]string{"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p99.9": "99.900000", "p99.99": "99.990000"} {
			theirs := d.Jobs[0].direction(op).Completion.Percentiles[p] / 1e9
			ours := m.Metrics[op+".latency."+name].Value
			// One bucket is 1/64 of an octave.
			if theirs == 0 || math.Abs(ours-theirs) > theirs/64 {
				t.Errorf("%s %s: ours is %v, fio's %v", op, name, ours, theirs)
			}
			compared++
		}
		if iops := d.Jobs[0].direction(op); math.Abs(m.Metrics[op+".iops"].Value-float64(iops.IOs)/iops.Runtime*1e3) > 1e-6 {
			t.Errorf("%s.iops is %v", op, m.Metrics[op+".iops"].Value)
		}
	}
	if compared != 10 {
		t.Errorf("%d percentiles were compared", compared)
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

func TestWhatWillBeReadIsWrittenOnce(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		want   map[string]int64 // sizes of files
	}{
		"files of its own": {
			config: parameters("rw=randread", "size=6m", "numjobs=2", "nrfiles=3", "direct=1", "runtime=1"),
			want:   map[string]int64{"w.0.0": 2 << 20, "w.0.2": 2 << 20, "w.1.1": 2 << 20},
		},
		"an odd size": {
			config: parameters("rw=randread", "size=1000k", "bs=4k", "runtime=1"),
			want:   map[string]int64{"w.0.0": 1000 << 10},
		},
		"parts of one file": {
			config: config{JobFile: "[a]\nfilename=x\nsize=1m\n[b]\nrw=randrw\nfilename=x:y\noffset=1m\nsize=4m"},
			want:   map[string]int64{"x": 3 << 20, "y": 3 << 20},
		},
		"overwritten": {
			config: parameters("rw=randwrite", "size=2m", "overwrite=1", "runtime=1"),
			want:   map[string]int64{"w.0.0": 2 << 20},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), c.config)
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			times := map[string]time.Time{}
			for file, size := range c.want {
				times[file] = checkWritten(t, filepath.Join(env.Dir, file), size)
			}
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			gone := ""
			for file, before := range times {
				if info, err := os.Stat(filepath.Join(env.Dir, file)); err != nil || !info.ModTime().Equal(before) {
					t.Errorf("%s was written again", file)
				}
				gone = file
			}
			if _, err := (Engine{}).Run(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(env.Dir, gone)); err != nil {
				t.Fatal(err)
			}
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			checkWritten(t, filepath.Join(env.Dir, gone), c.want[gone])
		})
	}
}

// checkWritten looks for holes, and for data that a smart device would not store.
func checkWritten(t *testing.T, path string, size int64) time.Time {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return time.Time{}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	compressed := encoder.EncodeAll(content, nil)
	if info.Size() != size || len(compressed) < len(content)*99/100 || bytes.Contains(content, make([]byte, 4096)) {
		t.Errorf("%s has %d bytes, want %d; compressed they are %d", path, info.Size(), size, len(compressed))
	}
	return info.ModTime()
}

func TestNothingIsPrefilledThatNobodyReads(t *testing.T) {
	never := parameters("rw=read", "size=1m")
	never.Prefill = prefillNever
	for name, c := range map[string]config{
		"a writer":   parameters("rw=write", "size=1m"),
		"never":      never,
		"a verifier": parameters("rw=read", "size=1m", "verify=md5"),
	} {
		env := newEnv(t, t.TempDir(), c)
		if err := (Engine{}).Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if entries, _ := os.ReadDir(env.Dir); len(entries) != 0 {
			t.Errorf("%s: %v was written", name, entries)
		}
	}
}

func TestATargetThatIsTooSmallIsLeftAlone(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	for name, c := range map[string]config{
		"one file":     parameters("rw=read", "size=1g"),
		"many clones":  parameters("rw=write", "size=16m", "numjobs=8"),
		"a late jobs":  {JobFile: "[a]\nrw=read\nsize=1m\n[b]\nrw=write\nsize=100m"},
		"an overflow":  parameters("rw=read", "size=1p", "numjobs=256", "nrfiles=100"),
		"blocks of it": parameters("rw=read", "bs=64m"),
	} {
		env := newEnv(t, dir, c)
		err := Engine{}.Prepare(t.Context(), env)
		f, ok := errors.AsType[*trial.Failure](err)
		if !ok || f.Class != trial.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" || !strings.Contains(f.Message, "MiB available") || f.Remedy == "" {
			t.Errorf("%s: %+v", name, err)
		}
		if entries, _ := filepath.Glob(filepath.Join(dir, "*.0.0")); len(entries) != 0 {
			t.Errorf("%s: %v was written", name, entries)
		}
	}
}

func TestTheSizeOfASmallTargetIsChosenOnce(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, dir, parameters("rw=randread", "runtime=1"))
	m := measureOnce(t, env)
	chosen := ""
	for line := range strings.Lines(m.Input) {
		if after, ok := strings.CutPrefix(line, "size="); ok {
			chosen = strings.TrimSpace(after)
		}
	}
	if n, _ := strconv.Atoi(chosen); n < 30<<20 || n > 51<<20 || n%(1<<20) != 0 {
		t.Errorf("the size is %s", chosen)
	}
	if again := measureOnce(t, env); !strings.Contains(again.Input, "size="+chosen+"\n") {
		t.Errorf("the second attempt has\n%s", again.Input)
	}
}

func TestAVolumeThatFillsUpIsNoSpace(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, dir, parameters("rw=write", "size=32m", "fallocate=none"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	// Somebody else writes meanwhile.
	if err := os.WriteFile(filepath.Join(dir, "other"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != trial.NoSpace || f.Field != "spec.targets[fast].storageClass.size" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %+v", err)
	}
	if m == nil || !strings.Contains(m.Stderr, "No space left") || len(m.RawOutput) == 0 {
		t.Error("what fio said is not kept")
	}
}

func TestIOURingThatIsRefusedIsNamed(t *testing.T) {
	if os.Getenv(denyIOURing) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), denyIOURing+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	env := newEnv(t, t.TempDir(), parameters("rw=write", "size=1m", "ioengine=io_uring"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	_, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != trial.EngineRefused || f.Field != "spec.workloads[w].fio.parameters.ioengine" ||
		!strings.Contains(f.Remedy, "libaio") || !strings.Contains(f.Remedy, "seccomp") || !strings.Contains(f.Message, "Operation not permitted") {
		t.Errorf("got %+v", err)
	}
}

func TestOtherFailuresOfFio(t *testing.T) {
	for name, c := range map[string]struct {
		config  config
		program string
		want    trial.Failure
	}{
		"direct I/O that is not aligned": {
			config: parameters("rw=write", "size=1m", "bs=1000"),
			want:   trial.Failure{Class: trial.EngineRefused, Field: "spec.workloads[w].fio.parameters.direct", Message: "Invalid argument"},
		},
		"a CPU that is not there": {
			config: config{JobFile: "[a]\nrw=write\nsize=1m\ncpus_allowed=4000"},
			want:   trial.Failure{Class: trial.InvalidJobFile, Field: "spec.workloads[w].fio.jobFile", Message: "cpus_allowed=4000"},
		},
		"no fio": {
			config: parameters("rw=write", "size=1m"), program: "/nonexistent/fio",
			want: trial.Failure{Class: trial.InternalError, Field: "spec.workloads[w].fio", Message: "no such file"},
		},
		"another program": {
			config: parameters("rw=write", "size=1m"), program: "true",
			want: trial.Failure{Class: trial.WorkloadFailed, Field: "spec.workloads[w].fio", Message: "fio printed no result"},
		},
		"data that is not what was written": {
			config: parameters("rw=read", "size=1m", "verify=md5", "runtime=1"),
			want:   trial.Failure{Class: trial.WorkloadFailed, Field: "spec.workloads[w].fio", Message: "what was read is not what was written"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t, t.TempDir(), c.config)
			e := Engine{Program: c.program}
			if err := e.Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			_, err := e.Run(t.Context(), env)
			f, ok := errors.AsType[*trial.Failure](err)
			if !ok || f.Class != c.want.Class || f.Field != c.want.Field || !strings.Contains(f.Message, c.want.Message) || f.Workload != "w" {
				t.Errorf("got %+v", err)
			}
		})
	}
}

func TestACancelledTrialLeavesNoFio(t *testing.T) {
	env := newEnv(t, t.TempDir(), parameters("rw=randwrite", "size=8m", "numjobs=4", "runtime=1h", "time_based=1"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Engine{}.Run(ctx, env)
		ended <- err
	}()
	waitFor(t, "fio to start", func() bool { return len(fiosIn(t, env.Dir)) > 0 })
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(stopWait + 10*time.Second):
		t.Fatal("it does not end")
	}
	if pids := fiosIn(t, env.Dir); len(pids) != 0 {
		t.Errorf("processes %v are left", pids)
	}
}

// fiosIn returns the processes whose working directory is dir.
func fiosIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && at == dir {
			pids = append(pids, strings.Split(link, "/")[2])
		}
	}
	return pids
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestBlockDevices(t *testing.T) {
	for name, c := range map[string]struct {
		config config
		filled int64 // bytes from the start that must hold data
		marked bool  // whether what is written to its start afterwards stays, as nothing is prefilled again
	}{
		"the default size":     {parameters("rw=randread", "runtime=1"), 64 << 20 / 10 * 8 >> 20 << 20, true},
		"half of it":           {parameters("rw=randread", "size=50%", "runtime=1"), 32 << 20, true},
		"a part":               {parameters("rw=randrw", "size=8m", "offset=4m", "runtime=1"), 12 << 20, true},
		"all of it, by a file": {config{JobFile: "[a]\nrw=randread\nruntime=1\ndirect=1"}, 64 << 20, true},
		"nothing is read":      {parameters("rw=randwrite", "size=1m", "offset=1m", "runtime=1"), 0, true},
		"trims":                {parameters("rw=randtrim", "size=1m", "runtime=1"), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			device := devicetest.Loop(t, 64<<20)
			env := newDeviceEnv(t, device, c.config)
			if err := (Engine{}).Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(device)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content[:c.filled], make([]byte, 4096)) || bytes.Trim(content[c.filled:], "\x00") != nil && len(bytes.Trim(content[c.filled:], "\x00")) > 0 {
				t.Errorf("not exactly the first %d bytes were written", c.filled)
			}
			mark := bytes.Repeat([]byte("mark"), 1024)
			writeAt(t, device, mark)
			m := measureOnce(t, env)
			if content, err = os.ReadFile(device); err != nil || c.marked != bytes.HasPrefix(content, mark) {
				t.Errorf("written again: %t, %v", !bytes.HasPrefix(content, mark), err)
			}
			if m.DirectIO.Effective != result.Direct || len(m.Metrics) == 0 {
				t.Errorf("%+v, %v", m.DirectIO, m.Metrics)
			}
		})
	}
	t.Run("too small", func(t *testing.T) {
		env := newDeviceEnv(t, devicetest.Loop(t, 8<<20), parameters("rw=randread", "size=4m", "offset=6m"))
		if f, ok := errors.AsType[*trial.Failure](Engine{}.Prepare(t.Context(), env)); !ok || f.Class != trial.TargetTooSmall {
			t.Errorf("got %+v", f)
		}
	})
}

func writeAt(t *testing.T, device string, content []byte) {
	t.Helper()
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirectIOIsWhatTheTargetMakesOfIt(t *testing.T) {
	ext4, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	memory := t.TempDir()
	devicetest.Mount(t, memory, "tmpfs", "tmpfs", "-o", "size=64m")
	for name, c := range map[string]struct {
		dir, direct string
		requested   bool
		want        result.DirectMode
	}{
		"ext4":           {ext4, "1", true, result.Direct},
		"ext4, buffered": {ext4, "0", false, result.Buffered},
		"tmpfs":          {memory, "1", true, result.CachedAnyway},
	} {
		t.Run(name, func(t *testing.T) {
			m := measureOnce(t, newEnv(t, c.dir, parameters("rw=randread", "size=1m", "runtime=1", "direct="+c.direct)))
			if d := m.DirectIO; d.Requested != c.requested || d.Effective != c.want || d.Evidence == "" {
				t.Errorf("got %+v", d)
			}
			if left, _ := filepath.Glob(filepath.Join(c.dir, ".direct-probe*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestDirectIOThatIsRefusedIsNamed(t *testing.T) {
	dir := t.TempDir()
	devicetest.Mount(t, dir, "ramfs", "ramfs") // which has no size either
	env := newEnv(t, dir, parameters("rw=write", "size=1m", "runtime=1"))
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	m, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != trial.EngineRefused || f.Field != "spec.workloads[w].fio.parameters.direct" || !strings.Contains(f.Remedy, "direct=0") {
		t.Errorf("got %+v", err)
	}
	if m == nil || m.DirectIO.Effective != result.DirectRefused {
		t.Errorf("the measurement is %+v", m)
	}
}

func TestToolsAreNamedWithVersions(t *testing.T) {
	if v := (Engine{}).Tools(t.Context())["fio"]; !strings.HasPrefix(v, "3.") {
		t.Errorf("fio is %q", v)
	}
}
