//go:build truth

package truth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// job is a workload by chance: of fio, or of an engine of storagebench's own.
type job struct {
	// rw and engine of fio; without an engine it is own that runs.
	rw, engine, own string
	block           string
	depth           int
	direct          bool
	// sync is an option of fio that syncs, or empty; again: the same blocks come again and again.
	sync         string
	again, zeros bool
	// after: it begins when the job before it has ended.
	after bool
	// seconds that it runs: with ten or more, the samples are a second long.
	seconds int
	// more is an option of fio that changes what is measured, and not what is true of it.
	more string
}

func chooseJob(r *rand.Rand, s *storage) *job {
	if !s.block() && r.IntN(5) == 0 {
		j := &job{own: pick(r, `filesync: {files: 3000, sync: None}`, `filesync: {files: 300}`, `bandwidth: {size: 96Mi, direct: false, operations: [Write]}`,
			`bandwidth: {size: 96Mi, operations: [Write]}`)}
		j.direct = !strings.Contains(j.own, "direct: false") && strings.HasPrefix(j.own, "bandwidth")
		if !strings.Contains(j.own, "None") && strings.HasPrefix(j.own, "filesync") {
			j.sync = "dsync"
		}
		return j
	}
	j := &job{
		rw: pick(r, "randread", "randwrite", "randrw", "read", "write"), engine: pick(r, "psync", "libaio", "libaio", "io_uring", "mmap", "posixaio"),
		block: pick(r, "16k", "64k"), depth: pick(r, 1, 1, 32), direct: r.IntN(2) == 0, zeros: r.IntN(8) == 0, seconds: pick(r, 3, 3, 3, 3, 12),
	}
	if j.engine == "mmap" && s.block() {
		j.engine = "psync"
	}
	if j.engine == "mmap" {
		j.direct = false
	}
	if s.tight(j) {
		j.seconds = 3
	}
	if j.writes() {
		j.sync = pick(r, "", "", "fdatasync=1", "end_fsync=1", "fsync=32")
	}
	if j.direct {
		j.more = pick(r, "", "", "", "thinktime=200us", "rate_iops=2000", "ramp_time=1", "numjobs=2", "nrfiles=8", "random_generator=lfsr", "fallocate=none")
	}
	if s.block() && (j.more == "nrfiles=8" || j.more == "numjobs=2") {
		j.more = "" // of files
	}
	if strings.Contains(j.rw, "rand") {
		j.again = !j.direct && r.IntN(2) == 0
		return j
	}
	j.block = "1m" // of sequential I/O, small blocks are a lie of their own
	return j
}

// chooseOther is another job of the same file, or none. Of a device, only one job may write.
func chooseOther(r *rand.Rand, s *storage, j *job) *job {
	if j.engine == "" || s.block() || s.over == "bindfs" || r.IntN(2) == 0 {
		return nil
	}
	for {
		if other := chooseJob(r, s); other.engine != "" && (j.seconds == 3 || !s.tight(other)) {
			other.after, other.seconds = r.IntN(2) == 0, j.seconds
			return other
		}
	}
}

func (j *job) String() string {
	if j.engine == "" {
		return j.own
	}
	text := fmt.Sprintf("fio %s %s %s depth %d for %d s", j.rw, j.block, j.engine, j.depth, j.seconds)
	for part, is := range map[string]bool{"direct": j.direct, "again": j.again, "zeros": j.zeros, "after it": j.after} {
		if is {
			text += " " + part
		}
	}
	return strings.TrimSpace(text + " " + strings.TrimSpace(j.sync+" "+j.more))
}

func (j *job) writes() bool { return j.engine == "" || j.rw != "randread" && j.rw != "read" }

func (j *job) ramps() bool { return strings.HasPrefix(j.more, "ramp_time") }

func (j *job) reads() bool { return j.rw == "randread" || j.rw == "read" || j.rw == "randrw" }

func (j *job) mixed() bool { return j.rw == "randrw" }

// writing is the operation that writes.
func (j *job) writing() string {
	if strings.HasPrefix(j.own, "filesync") {
		return "filesync"
	}
	return "write"
}

// ignoresDepth: its engine keeps one I/O in flight, whatever is asked for.
func (j *job) ignoresDepth() bool {
	return j.depth > 1 && (slices.Contains([]string{"psync", "mmap", "posixaio"}, j.engine) || j.engine == "libaio" && !j.direct)
}

func (j *job) workload() string {
	if j.engine == "" {
		return j.own
	}
	return fio(j.section())
}

// withOther is the workload of two jobs.
func withOther(j, other *job) string { return fio(j.section() + `\n[other]\n` + other.section()) }

// section is the job's part of a job file.
func (j *job) section() string {
	lines := []string{"rw=" + j.rw, "bs=" + j.block, "size=64m", "ioengine=" + j.engine, fmt.Sprint("iodepth=", j.depth), fmt.Sprint("runtime=", j.seconds), "time_based=1"}
	if j.direct {
		lines = append(lines, "direct=1")
	}
	for _, option := range []string{j.sync, j.more} {
		if option != "" {
			lines = append(lines, option)
		}
	}
	if j.again {
		lines = append(lines, "norandommap=1", "io_size=64g")
	}
	if j.zeros {
		lines = append(lines, "zero_buffers=1")
	}
	if j.after {
		lines = append(lines, "stonewall=1")
	}
	return strings.Join(lines, `\n`) + `\n`
}

// disturbance is a limit, or somebody else on the disk, or that it stands still.
type disturbance struct {
	what  string
	limit *limit
}

const standsStill = "the file system stands still for a second"

func chooseDisturbance(r *rand.Rand, s *storage, j *job) *disturbance {
	d := &disturbance{}
	if j.engine == "" || s.over == "bindfs" {
		return d
	}
	switch r.IntN(10) {
	case 0:
		d.what, d.limit = "a tenth of a processor", &limit{what: "cpu", value: 10_000}
	case 1:
		d.what, d.limit = "a limit of reads", &limit{what: "read", value: 2 << 20}
	case 2:
		d.what, d.limit = "a limit of writes", &limit{what: "write", value: 2 << 20}
	case 3:
		d.what = "a second reader"
	case 4, 5:
		if !s.block() && !s.tight(j) {
			d.what, j.seconds = standsStill, 12
		}
	}
	return d
}

func (d *disturbance) apply(t *testing.T, w *world, device string) {
	t.Helper()
	switch {
	case d.limit != nil:
		d.limit.device = device
		w.cgroup = []limit{*d.limit}
	case d.what == standsStill:
		w.meanwhile = freeze(t, device)
	case d.what != "":
		w.meanwhile = reader(device)
	}
}

// reader reads the beginning of a device again and again, past the page cache.
func reader(device string) func(context.Context) {
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			// It ends when the context does.
			_ = exec.CommandContext(ctx, "dd", "if="+device, "of=/dev/null", "bs=64k", "count=256", "iflag=direct", "status=none").Run()
		}
	}
}

// freeze makes the file system of a device stand still for a second, once fio has run for three: what it does before a trial is shorter.
func freeze(t *testing.T, device string) func(context.Context) {
	t.Helper()
	dir := devicetest.Run(t, "findmnt", "--first-only", "--noheadings", "--output", "TARGET", device)
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			// Of processes of that name, the age in seconds of the oldest.
			out, _ := exec.CommandContext(ctx, "ps", "-C", "fio", "-o", "etimes=", "--sort=-etimes").Output()
			if age, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n"); len(age) == 1 && age >= "3" {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if ctx.Err() != nil {
			return // and what stands still is missed
		}
		err := exec.CommandContext(ctx, "fsfreeze", "--freeze", dir).Run()
		time.Sleep(time.Second)
		// Also when the test is over: a frozen file system cannot be unmounted.
		if err = errors.Join(err, exec.CommandContext(context.WithoutCancel(ctx), "fsfreeze", "--unfreeze", dir).Run()); err != nil {
			t.Error(err)
		}
	}
}

// follow says what the disturbance makes true.
func (d *disturbance) follow(c *truth, s *storage, j *job) {
	if d.what == "" {
		return
	}
	c.may = append(c.may, "NotSteady", "CPUBound", "QueueHidesLatency", "Throttled", "CPUThrottled")
	past := j.direct && !s.journalsData() && !s.compresses() && (!s.copies() || !j.writes())
	switch {
	case d.what == "a limit of reads" && past && j.rw == "randread", d.what == "a limit of writes" && past && j.rw == "randwrite":
		c.lie("Throttled", "")
	case d.what == "a second reader":
		c.may = append(c.may, "NoisyNeighbour", "BackgroundIO")
		if past && j.rw == "randread" && s.device == "a disk" {
			c.lie("NoisyNeighbour", "")
		}
	case d.what == standsStill && j.writes() && !j.after && j.engine != "mmap" && !j.ramps():
		c.lie("NotSteady", "")
	}
}
