//go:build truth

package truth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
)

// world is what a benchmark is run in.
type world struct {
	// target is a directory or a block device.
	target string
	// workload is the engine's part of a workload, as YAML in one line.
	workload string
	// cgroup holds limits for the benchmark: file (cpu.quota, read.bytes, …) and value.
	cgroup []limit
	// meanwhile runs beside the benchmark until its context ends.
	meanwhile func(context.Context)
	// job is the one of several whose row is judged; empty: there is one. Rows of the others deserve no verdict.
	job string
	// jobs of the workload, of which each row is judged; none: there is one.
	jobs []string
	// second is another target, whose row is not judged; empty: none.
	second string
	// trials are how many are measured; 0: one.
	trials int
	// machine returns a program that runs a benchmark elsewhere; nil: here.
	machine func(spec string) []string
	// prefix is a program that runs the benchmark.
	prefix []string
	// deserved are verdicts that are true of this world.
	deserved []string
}

// limit is what a cgroup may use.
type limit struct {
	// what is cpu (cores), memory (bytes), read or write (bytes a second of device), or read.iops or
	// write.iops.
	what   string
	value  int
	device string // as in /dev
}

const benchmark = `apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmark
metadata: {name: truth, namespace: default}
spec:
  targets:
  - {name: t, hostPath: {path: /mnt}}
  workloads:
  - {name: w, %s}
  trials: {min: %d}
`

// deadline of one benchmark. They take seconds.
const deadline = 3 * time.Minute

// run measures once, and returns the row.
func (w world) run(t *testing.T) (row result.Row, taken float64) {
	t.Helper()
	rows, taken := w.rows(t)
	for part, r := range rows {
		if part != w.job && slices.ContainsFunc(r.Verdicts, func(v result.RowVerdict) bool { return !ofTheHost(v.Verdict, taken) }) {
			t.Fatalf("job %s is accused: %s", part, said(r))
		}
	}
	return rows[w.job], taken
}

// rows measures once, and returns the target's rows by the name of the job; "": of the whole; and
// how much of the CPUs' time the machine's host gave to others meanwhile.
func (w world) rows(t *testing.T) (of map[string]result.Row, taken float64) {
	t.Helper()
	before := countCPUs(t)
	s, err := w.measure(t)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]result.Row{}
	for _, r := range s.Rows {
		if r.Target == "t" {
			rows[r.Part] = r
		}
	}
	return rows, countCPUs(t).share(before)
}

// measure runs the benchmark once. The error of one that fails has what it printed.
func (w world) measure(t *testing.T) (result.Summary, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	dir := t.TempDir()
	file := filepath.Join(dir, "benchmark.yaml")
	spec := fmt.Sprintf(benchmark, w.workload, max(1, w.trials))
	if strings.HasPrefix(w.target, "/dev/") {
		spec = strings.Replace(spec, "hostPath: {path: /mnt}", "blockDevice: {path: "+w.target+", allowDataDestruction: true}", 1)
	}
	rows := 1
	if w.second != "" {
		rows, spec = 2, strings.Replace(spec, "  workloads:", "  - {name: u, hostPath: {path: /srv}}\n  workloads:", 1)
	}
	if err := os.WriteFile(file, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	argv := []string{program(t), "run", "-f", file, "--target", "t=" + w.target, "--out", filepath.Join(dir, "results"), "-o", "json"}
	if w.second != "" {
		argv = append(argv, "--target", "u="+w.second)
	}
	argv = slices.Concat(w.prefix, argv)
	if w.machine != nil {
		argv = w.machine(spec)
	}
	if len(w.cgroup) > 0 {
		argv = inCgroup(t, w.cgroup, argv)
	}
	if w.meanwhile != nil {
		beside, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { defer close(done); w.meanwhile(beside) }()
		defer func() { stop(); <-done }()
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var s result.Summary
	if err := cmd.Run(); err != nil {
		return s, fmt.Errorf("%v: %w\n%s", argv, err, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil || len(s.Rows) < rows || len(s.Rows) > rows && w.job == "" && len(w.jobs) == 0 {
		t.Fatalf("%v: %d rows\n%s", err, len(s.Rows), stderr.String())
	}
	return s, nil
}

// program returns the path of the storagebench under test.
func program(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/storagebench")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// undo runs a program at the end of the test. What is in use is tried again for a while.
func undo(t *testing.T, argv ...string) {
	t.Helper()
	t.Cleanup(func() {
		var err error
		var out []byte
		for range 50 {
			if out, err = exec.CommandContext(context.Background(), argv[0], argv[1:]...).CombinedOutput(); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	})
}

// scratch is a directory on a disk, not in memory.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "truth-") //nolint:usetesting // that can be in memory
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// file makes a file of so many bytes that are all written.
func file(t *testing.T, dir string, size int) string {
	t.Helper()
	path := filepath.Join(dir, "disk.img")
	devicetest.Run(t, "dd", "if=/dev/urandom", "of="+path, "bs=1M", fmt.Sprintf("count=%d", size>>20), "conv=fsync", "status=none")
	return path
}

// memory mounts a tmpfs.
func memory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	devicetest.Mount(t, dir, "tmpfs", "truth", "-o", "mode=0755")
	return dir
}

// disk is a loop device of 512 MiB on a disk, past the page cache.
func disk(t *testing.T) string {
	t.Helper()
	return devicetest.Attach(t, image(t), "--direct-io=on")
}

const imageSize = 512 << 20

// idle are files of disks that no world uses now: filling one takes longer than most trials.
var idle []string

// image is the file of a disk, all of whose blocks are written.
func image(t *testing.T) string {
	t.Helper()
	var path string
	if n := len(idle); n > 0 {
		path, idle = idle[n-1], idle[:n-1]
	} else {
		dir, err := os.MkdirTemp("/var/tmp", "truth-") //nolint:usetesting // that can be in memory, and ends with the test
		if err != nil {
			t.Fatal(err)
		}
		path = file(t, dir, imageSize)
	}
	t.Cleanup(func() { // after the device was detached
		var s unix.Stat_t
		attached, err := exec.CommandContext(context.Background(), "losetup", "--associated", path).Output()
		if err == nil && len(attached) == 0 && unix.Stat(path, &s) == nil && s.Blocks*512 >= imageSize { // a trim makes holes
			idle = append(idle, path)
		} else if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Error(err)
		}
	})
	return path
}

func TestMain(m *testing.M) {
	// What compiling these tests has left in memory is written back for some seconds, to the disk below the worlds': a neighbour.
	syscall.Sync()
	code := m.Run()
	for _, path := range idle {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// format makes a file system that has nothing left to initialise, and keeps the disk's blocks.
func format(t *testing.T, kind, device string) {
	t.Helper()
	options := map[string][]string{"ext4": {"-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}, "xfs": {"-f", "-K"}, "btrfs": {"-f", "-K"}}[kind]
	devicetest.Run(t, slices.Concat([]string{"mkfs." + kind, "-q"}, options, []string{device})...)
}

// mount mounts a device, and returns where.
func mount(t *testing.T, kind, device string, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	devicetest.Mount(t, dir, kind, device, options...)
	return dir
}

// ext4 makes a file system, and mounts it.
func ext4(t *testing.T, device string) string {
	t.Helper()
	format(t, "ext4", device)
	return mount(t, "ext4", device)
}

// cgroupDirectory is where the cgroup of a limit is.
func cgroupDirectory(controller string, i int) string {
	return filepath.Join("/sys/fs/cgroup", controller, fmt.Sprintf("truth-%d-%d", os.Getpid(), i))
}

// A twin that is accused is measured again, in the same test, which must not fail for that.
func TestAWorldWithALimitCanBeMeasuredAgain(t *testing.T) {
	for range 3 {
		argv := inCgroup(t, []limit{{what: "cpu", value: 50_000}, {what: "memory", value: 1 << 30}}, []string{"true"})
		devicetest.Run(t, argv...)
	}
}

// inCgroup makes cgroups of version 1 with the limits, and returns an argv that runs in them.
func inCgroup(t *testing.T, limits []limit, argv []string) []string {
	t.Helper()
	var joins []string
	for i, l := range limits {
		what, unit, _ := strings.Cut(l.what, ".")
		controller := map[string]string{"cpu": "cpu", "memory": "memory", "read": "blkio", "write": "blkio"}[what]
		var set [2]string
		switch what {
		case "cpu":
			set = [2]string{"cpu.cfs_quota_us", fmt.Sprint(l.value)} // of 100 ms
		case "memory":
			set = [2]string{"memory.limit_in_bytes", fmt.Sprint(l.value)}
		default:
			number := devicetest.Run(t, "cat", "/sys/class/block/"+filepath.Base(l.device)+"/dev")
			set = [2]string{"blkio.throttle." + what + "_" + cmp.Or(unit, "bps") + "_device", fmt.Sprintf("%s %d", number, l.value)}
		}
		if _, err := os.Stat(filepath.Join("/sys/fs/cgroup", controller)); err != nil {
			t.Fatalf("this kind of lie needs cgroups of version 1, which this machine has not: %v", err)
		}
		dir := cgroupDirectory(controller, i)
		switch err := os.Mkdir(dir, 0o700); {
		case err == nil:
			undo(t, "rmdir", dir)
		case !errors.Is(err, os.ErrExist): // a world that is measured again has it
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, set[0]), []byte(set[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		joins = append(joins, filepath.Join(dir, "cgroup.procs"))
	}
	script := `n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1" || exit; shift; n=$((n-1)); done; exec "$@"`
	return slices.Concat([]string{"sh", "-c", script, "sh", fmt.Sprint(len(joins))}, joins, argv)
}
