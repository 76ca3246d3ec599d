//go:build system

package blockio

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
)

// asUser makes this program one that tries to observe a disk without privileges.
const asUser = "STORAGEBENCH_TEST_OBSERVE"

func TestMain(m *testing.M) {
	if os.Getenv(asUser) != "" {
		_, err := Open([]Disk{{Name: "loop0", number: 7 << minorBits, requests: 128}})
		fmt.Print(err)
		return
	}
	os.Exit(m.Run())
}

// watched is a loop device, and a collector that observes it. If the kernel cannot do that,
// there is none, and it must say so.
func watched(t *testing.T) (device string, c *Collector) {
	t.Helper()
	device = devicetest.Loop(t, 256<<20)
	devicetest.DirectIO(t, device)
	disks, unseen := Disks("/", []string{filepath.Base(device)})
	if len(disks) != 1 {
		t.Fatalf("the loop device cannot be observed: %v", unseen)
	}
	c, err := Open(disks)
	if _, missing := os.Stat("/sys/kernel/btf/vmlinux"); missing != nil {
		if err == nil || !strings.Contains(err.Error(), "CONFIG_DEBUG_INFO_BTF") {
			t.Errorf("without BTF: %v", err)
		}
		return device, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return device, c
}

// during returns what the disk's requests did while f ran.
func during(t *testing.T, c *Collector, f func()) (result.DeviceRequests, result.Metrics) {
	t.Helper()
	before, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	f()
	end, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	devices, m := c.Trial(before, end)
	return devices[0], m
}

// fio runs a job on a device with direct I/O, and returns how many reads, writes and syncs it did.
func fio(t *testing.T, device string, options ...string) (reads, writes, syncs uint64) {
	t.Helper()
	// Its warnings, as of a disk that goes away meanwhile, are no part of the result.
	out, err := exec.CommandContext(t.Context(), "fio", append([]string{"--name=x", "--filename=" + device, "--direct=1", "--output-format=json"}, options...)...).Output()
	if err != nil {
		t.Fatalf("fio: %v", err)
	}
	var report struct {
		Jobs []struct {
			Read, Write, Sync struct {
				Total uint64 `json:"total_ios"`
			}
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	job := report.Jobs[0]
	return job.Read.Total, job.Write.Total, job.Sync.Total
}

// traced counts, with the kernel's own tracer, the bytes and the number of completed requests of a
// device while f runs, by the letters of their operation.
func traced(t *testing.T, device string, f func()) (counts, bytes map[string]uint64) {
	t.Helper()
	tracing := t.TempDir()
	devicetest.Mount(t, tracing, "tracefs", "nodev")
	instance := filepath.Join(tracing, "instances", fmt.Sprintf("storagebench%d", os.Getpid()))
	if err := os.Mkdir(instance, 0o700); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Remove(instance); err != nil {
			t.Error(err)
		}
	}()
	set := func(file, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(instance, file), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	disks, _ := Disks("/", []string{filepath.Base(device)})
	set("buffer_size_kb", "8192")
	set("events/block/block_rq_complete/filter", fmt.Sprintf("dev == %d", disks[0].number))
	set("events/block/block_rq_complete/enable", "1")
	f()
	set("events/block/block_rq_complete/enable", "0")
	text, err := os.ReadFile(filepath.Join(instance, "trace"))
	if err != nil {
		t.Fatal(err)
	}
	counts, bytes = map[string]uint64{}, map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		// … block_rq_complete: 7,0 WS () 1024 + 8 [0]
		_, event, ok := strings.Cut(line, "block_rq_complete: ")
		if !ok {
			continue
		}
		before, after, ok := strings.Cut(event, " + ")
		operation, sectors := strings.Fields(before)[1], strings.Fields(after)[0]
		n, err := strconv.ParseUint(sectors, 10, 64)
		if err != nil || !ok {
			t.Fatalf("the line %q", line)
		}
		counts[operation]++
		bytes[operation] += n << sectorBits
	}
	return counts, bytes
}

// stat returns the kernel's counters of a device.
func stat(t *testing.T, device string) []uint64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	var out []uint64
	for word := range strings.FieldsSeq(string(text)) {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func near(t *testing.T, what string, got, want uint64, tolerance float64) {
	t.Helper()
	if want == 0 || math.Abs(float64(got)-float64(want)) > tolerance*float64(want) {
		t.Errorf("%s: counted %d, but it was %d", what, got, want)
	}
}

func TestCountsAreThoseOfTheKernelAndOfTheTracer(t *testing.T) {
	device, c := watched(t)
	if c == nil {
		return
	}
	var d result.DeviceRequests
	var m result.Metrics
	var reads, writes, syncs uint64
	before := stat(t, device)
	counts, bytes := traced(t, device, func() {
		d, m = during(t, c, func() {
			_, writes, syncs = fio(t, device, "--rw=randwrite", "--bs=4k", "--size=64m", "--number_ios=2000", "--fsync=10")
			reads, _, _ = fio(t, device, "--rw=randread", "--bs=16k", "--size=64m", "--number_ios=1000")
			// Without force, it looks for a file system, and the readahead goes on when it has ended.
			devicetest.Run(t, "blkdiscard", "--force", "--offset", "128MiB", "--length", "32MiB", device)
		})
	})
	after := stat(t, device)
	sum := func(values map[string]uint64, of func(operation string) bool) (n uint64) {
		for operation, v := range values {
			if of(operation) {
				n += v
			}
		}
		return n
	}
	starts := func(letter string) func(string) bool {
		return func(operation string) bool { return strings.HasPrefix(operation, letter) }
	}
	flush := func(operation string) bool { return strings.HasPrefix(operation, "FF") }
	ops := d.Operations
	near(t, "flushes, against the tracer", ops["flush"].Count, sum(counts, flush), 0.01)
	near(t, "flushes, against the kernel's counter", ops["flush"].Count, after[15]-before[15], 0.01)
	near(t, "flushes, against fio", ops["flush"].Count, syncs, 0.02) // it also syncs at its end
	near(t, "bytes written, against the tracer", ops["write"].Bytes, sum(bytes, starts("W")), 0.001)
	near(t, "bytes written, against the kernel's counter", ops["write"].Bytes, (after[6]-before[6])<<sectorBits, 0.001)
	near(t, "bytes written, against fio", ops["write"].Bytes, writes*4096, 0.001)
	near(t, "bytes read, against the tracer", ops["read"].Bytes, sum(bytes, starts("R")), 0.001)
	near(t, "bytes read, against the kernel's counter", ops["read"].Bytes, (after[2]-before[2])<<sectorBits, 0.001)
	near(t, "bytes read, against fio", ops["read"].Bytes, reads*16384, 0.001)
	near(t, "bytes discarded", ops["discard"].Bytes, 32<<20, 0)
	if d.Dropped != 0 {
		t.Errorf("dropped %d", d.Dropped)
	}
	// Some kernels do not run programs for every completion: of what is missing, it must be said.
	missing := uint64(0)
	for op, r := range ops {
		if r.Latency.Count() > r.Count || r.Latency.Count() < r.Count*8/10 || r.Wait.Count() != r.Latency.Count() {
			t.Errorf("%s: %d requests, %d times, %d waits", op, r.Count, r.Latency.Count(), r.Wait.Count())
		}
		missing += r.Count - r.Latency.Count()
	}
	if got := m["device.requests.missed"].Value; got != float64(missing) {
		t.Errorf("%v requests are said to be missing, and %d are", got, missing)
	}
	if sizes := ops["write"].Sizes; len(sizes) != 1 || sizes[0] != [2]uint64{4096, ops["write"].Latency.Count()} {
		t.Errorf("fio wrote %d times 4096 bytes, and the sizes are %v", writes, sizes)
	}
}

// The kernel knows only how long requests took in sum, from their beginning to their end. With more
// requests than the disk takes at a time, they wait in the scheduler.
func TestTheWaitInTheQueueIsNotTheDisks(t *testing.T) {
	device, c := watched(t)
	if c == nil {
		return
	}
	scheduler := filepath.Join("/sys/block", filepath.Base(device), "queue/scheduler")
	if err := os.WriteFile(scheduler, []byte("mq-deadline"), 0); err != nil {
		t.Fatal(err)
	}
	run := func(depth int) (wait, latency, await float64) {
		before := stat(t, device)
		_, m := during(t, c, func() {
			fio(t, device, "--rw=randwrite", "--bs=128k", "--size=64m", "--runtime=4", "--time_based", "--ioengine=libaio", fmt.Sprintf("--iodepth=%d", depth))
		})
		after := stat(t, device)
		await = float64(after[7]-before[7]) / 1e3 / float64(after[4]-before[4])
		return m["device.write.wait.mean"].Value, m["device.write.latency.mean"].Value, await
	}
	// Blocks so large that every request is observed: what a sample tells has tests of its own.
	for depth, waits := range map[int]bool{1: false, 512: true} {
		wait, latency, await := run(depth)
		t.Logf("depth %d: wait %.6f s, device %.6f s, the kernel's await %.6f s", depth, wait, latency, await)
		if total := wait + latency; math.Abs(total-await) > 0.1*await+100e-6 {
			t.Errorf("depth %d: %.6f s in the queue and %.6f s in the disk, but the kernel counted %.6f s", depth, wait, latency, await)
		}
		if share := wait / (wait + latency); waits != (share > 0.25) {
			t.Errorf("depth %d: %.0f %% of the time is in the queue", depth, share*100)
		}
	}
}

func TestSequentialIsToldFromRandom(t *testing.T) {
	device, c := watched(t)
	if c == nil {
		return
	}
	for name, job := range map[string]struct {
		options  []string
		random   [2]float64
		furthest uint64
	}{
		"one stream":   {[]string{"--rw=read", "--bs=64k", "--size=64m"}, [2]float64{0, 0.05}, 0},
		"four streams": {[]string{"--rw=read", "--bs=64k", "--size=16m", "--numjobs=4", "--offset_increment=64m", "--group_reporting"}, [2]float64{0, 0.1}, 64 << 20},
		"anywhere":     {[]string{"--rw=randread", "--bs=4k", "--size=128m", "--number_ios=1000"}, [2]float64{0.95, 1}, 16 << 20},
	} {
		d, m := during(t, c, func() { fio(t, device, job.options...) })
		if got := m["device.seek.random"].Value; got < job.random[0] || got > job.random[1] {
			t.Errorf("%s: %v of the requests are random, want %v (%d, %d, %v)", name, got, job.random, d.Sequential, d.Random, d.Distances)
		}
		if got := m["device.seek.distance.p50"].Value; name == "one stream" && got != 0 || name == "anywhere" && got < float64(job.furthest) {
			t.Errorf("%s: the median distance is %v", name, got)
		}
	}
}

// owned starts a shell in a mount namespace of its own, which runs a command when it is told to.
func owned(t *testing.T, command string) (pid int, run func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read line && "+command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, func() {
		t.Helper()
		if _, err := io.WriteString(stdin, "go\n"); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOthersAreToldFromTheWorkload(t *testing.T) {
	device, c := watched(t)
	if c == nil {
		return
	}
	write := func(megabytes int, options string) string {
		return fmt.Sprintf("dd if=/dev/zero of=%s bs=1M count=%d %s 2>/dev/null", device, megabytes, options)
	}
	pid, own := owned(t, write(8, "oflag=direct")+" && "+write(16, "conv=fsync"))
	if err := c.Own(pid); err != nil {
		t.Fatal(err)
	}
	d, m := during(t, c, func() {
		devicetest.Run(t, "sh", "-c", write(4, "oflag=direct"))
		own()
	})
	// What was written through the page cache is written by the process that syncs, or by the
	// kernel's threads.
	if got := d.Origins["foreign"].Bytes; got != 4<<20 {
		t.Errorf("%d bytes are of others, want 4 MiB: %v", got, d.Origins)
	}
	if own, unknown := d.Origins["own"].Bytes, d.Origins["unknown"].Bytes; own < 8<<20 || own+unknown != 24<<20 {
		t.Errorf("%d bytes are our own and %d unknown, want at least 8 MiB, and 24 in sum", own, unknown)
	}
	if got := m["device.foreign.share"].Value; math.Abs(got-4.0/28) > 1e-9 {
		t.Errorf("the share of others is %v", got)
	}
	// Nobody can tell without a namespace.
	if err := c.Own(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	d, m = during(t, c, func() { devicetest.Run(t, "sh", "-c", write(4, "oflag=direct")) })
	if _, ok := m["device.foreign.share"]; ok || d.Origins["unknown"].Bytes != 4<<20 {
		t.Errorf("without a namespace: %v, %v", d.Origins, m)
	}
}

func TestWithoutPrivilegesTheReasonIsSaid(t *testing.T) {
	copied := filepath.Join(os.TempDir(), fmt.Sprintf("blockio%d.test", os.Getpid()))
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(copied, program, 0o755) //nolint:gosec // another user runs it
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(copied) }()
	cmd := exec.CommandContext(t.Context(), copied)
	cmd.Dir, cmd.Env = "/", []string{asUser + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "CAP_BPF and CAP_PERFMON") {
		t.Errorf("%v: %s", err, out)
	}
}
