//go:build system

package observe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/samples"
)

// issued is what the kernel's tracer saw go to a disk: flushes, and bytes read and written.
type issued struct{ flushes, reads, readBytes, writeBytes float64 }

// trace counts, with tracepoints of the kernel, what is issued to a disk while f runs.
func trace(t *testing.T, disk string, f func()) issued {
	t.Helper()
	tracing := t.TempDir()
	devicetest.Mount(t, tracing, "tracefs", "nodev")
	instance := filepath.Join(tracing, "instances", fmt.Sprintf("observe%d", os.Getpid()))
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
	var major, minor uint64
	if _, err := fmt.Sscanf(deviceNumber("/", disk), "%d:%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	set("buffer_size_kb", "16384")
	set("events/block/block_rq_issue/filter", fmt.Sprintf("dev == %d", major<<20|minor))
	set("events/block/block_rq_issue/enable", "1")
	f()
	set("events/block/block_rq_issue/enable", "0")
	text, err := os.ReadFile(filepath.Join(instance, "trace"))
	if err != nil {
		t.Fatal(err)
	}
	return countIssued(t, string(text))
}

// countIssued reads lines such as "… block_rq_issue: 7,0 WS 4096 () 2048 + 8 none,0,0 [fio]".
func countIssued(t *testing.T, text string) (sum issued) {
	t.Helper()
	for line := range strings.Lines(text) {
		_, event, ok := strings.Cut(line, "block_rq_issue: ")
		if !ok {
			continue
		}
		fields := strings.Fields(event)
		bytes, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			t.Fatalf("the line %q: %v", line, err)
		}
		switch operation := fields[1]; {
		case strings.HasPrefix(operation, "FF"), operation == "F":
			sum.flushes++
		case strings.HasPrefix(operation, "R"):
			sum.reads, sum.readBytes = sum.reads+1, sum.readBytes+bytes
		case strings.Contains(operation, "W"):
			sum.writeBytes += bytes
		}
	}
	return sum
}

// What is counted of a trial, and what is sampled, is what an independent count has: flushes within
// 1 %, bytes within 0.1 %. Writes are not compared: to the kernel's counters, a flush without data is
// a write of no bytes, which is never issued.
func TestCountsAreThoseOfTheTracepoints(t *testing.T) {
	device := devicetest.Loop(t, 256<<20)
	// Nothing is left to initialise, or to be written while the tracer begins.
	devicetest.Run(t, "mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
	dir := t.TempDir()
	devicetest.Mount(t, dir, "ext4", device)
	disk := filepath.Base(device)
	w := Watch{Root: "/", Target: []string{disk}}
	settle(t, w)
	var before, end Moment
	var table *samples.Table
	traced := trace(t, disk, func() {
		sampler := w.Start(time.Second)
		before = w.Read(time.Now())
		writeAndSync(t, filepath.Join(dir, "file"))
		devicetest.Run(t, "fio", "--name=x", "--filename="+filepath.Join(dir, "file"), "--size=32m", "--rw=randread", "--bs=16k", "--direct=1", "--number_ios=1000")
		unix.Sync()
		end = w.Read(time.Now())
		table = sampler.Table(nil)
	})
	m := w.Trial(before, end, end)
	sampled := map[samples.Column]float64{}
	for _, row := range table.Select(samples.Disk, disk) {
		for _, c := range []samples.Column{samples.FlushCount, samples.ReadBytes, samples.WriteBytes, samples.ReadCount} {
			sampled[c] += table.Values[c][row]
		}
	}
	if traced.flushes < 200 || traced.readBytes < 10<<20 || traced.writeBytes < 1<<20 {
		t.Fatalf("the tracer saw too little to tell: %+v", traced)
	}
	for name, c := range map[string]struct{ counted, sampled, traced, tolerance float64 }{
		"flushes":       {m["device.flush.count"].Value, sampled[samples.FlushCount], traced.flushes, 0.01},
		"bytes read":    {m["device.read.bytes"].Value, sampled[samples.ReadBytes], traced.readBytes, 0.001},
		"bytes written": {m["device.write.bytes"].Value, sampled[samples.WriteBytes], traced.writeBytes, 0.001},
		"reads":         {m["device.read.count"].Value, sampled[samples.ReadCount], traced.reads, 0.01},
	} {
		for how, got := range map[string]float64{"counted": c.counted, "sampled": c.sampled} {
			if math.Abs(got-c.traced) > c.tolerance*c.traced {
				t.Errorf("%s: %s %v, but the tracer saw %v", name, how, got, c.traced)
			}
		}
	}
}

// settle waits until a disk has nothing to do.
func settle(t *testing.T, w Watch) {
	t.Helper()
	unix.Sync()
	deadline := time.Now().Add(30 * time.Second)
	for last := w.Read(time.Now()); ; {
		time.Sleep(300 * time.Millisecond)
		now := w.Read(time.Now())
		if now.Err != nil || time.Now().After(deadline) {
			t.Fatalf("the disk does not come to rest: %v", now.Err)
		}
		if !w.Busy(last, now) && now.target.disks[0].count[inFlight] == 0 {
			return
		}
		last = now
	}
}

// writeAndSync writes 32 MiB, and then a block after the other with a sync after each.
func writeAndSync(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was synced
	if _, err := f.Write(make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if _, err := f.WriteAt([]byte(fmt.Sprint("block ", i)), int64(i)<<16); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}
