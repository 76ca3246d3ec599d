//go:build truth

package truth

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// fio writes a workload of one job.
func fio(job string) string { return `fio: {jobFile: "[j]\n` + job + `"}` }

// on returns a world on an ext4 of its own.
func on(workload string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		return world{target: ext4(t, disk(t)), workload: workload}
	}
}

const (
	randomRead  = `rw=randread\nbs=16k\nsize=64m\nruntime=2\ntime_based=1\n`
	randomWrite = `rw=randwrite\nbs=16k\nsize=64m\nruntime=2\ntime_based=1\n`
	direct      = `direct=1\n`
	// fio drops the page cache whenever it has gone through the file once. So it must not.
	again = `norandommap=1\nio_size=64g\n`
)

// synced writes small blocks, each with a sync.
var synced = fio(`rw=write\nbs=4k\nsize=8m\nfdatasync=1\n`)

// asked are lies of what a workload asks for, of limits, and of who else is there.
var asked = []kind{
	{
		name: "a buffered write", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  on(fio(`rw=write\nbs=1m\nsize=128m\n`)),
		twin: on(fio(`rw=write\nbs=1m\nsize=128m\nend_fsync=1\n`)),
	},
	{
		name: "random buffered writes", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  on(fio(randomWrite + again)),
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "reads that come again", verdict: "FromMemory", operation: "read", invalid: true,
		lie:  on(fio(randomRead + again)),
		twin: on(fio(randomRead + direct)),
	},
	{
		name: "a mixture through the page cache", verdict: "FromMemory", operation: "read", invalid: true,
		// As much as makes what is read for the first time a small share, however slow the disk is.
		lie:  on(fio(`rw=randrw\nbs=16k\nsize=64m\nnorandommap=1\nio_size=1g\n`)),
		twin: on(fio(`rw=randrw\nbs=16k\nsize=64m\nruntime=2\ntime_based=1\n` + direct)),
	},
	{
		name: "a write without sync of the bandwidth engine", verdict: "FromMemory", operation: "write",
		lie:  on(`bandwidth: {size: 128Mi, direct: false, operations: [Write]}`),
		twin: on(`bandwidth: {size: 128Mi, direct: true, operations: [Write]}`),
	},
	{
		name: "PostMark in memory", verdict: "FromMemory", operation: "transactions", invalid: true,
		lie:  on(`postmark: {files: 500, transactions: 5000}`),
		twin: on(fio(randomRead + direct)),
	},
	{
		name: "bonnie++ in memory", verdict: "FromMemory", operation: "seek",
		lie:  on(`bonnie: {size: 64Mi, files: 0}`),
		twin: on(fio(randomRead + direct)),
	},
	{
		name: "iozone's matrix in memory", verdict: "FromMemory", operation: "read",
		lie:  on(`iozone: {fileSizes: [16Mi], recordSizes: [64Ki], direct: false}`),
		twin: on(`iozone: {fileSizes: [16Mi], recordSizes: [64Ki], direct: true}`),
	},
	{
		name: "zeros", verdict: "DataReduced", operation: "write",
		lie:  on(fio(randomWrite + direct + `zero_buffers=1\n`)),
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "a bandwidth of small blocks", verdict: "BlockSizeLimited", operation: "write",
		lie:  on(fio(`rw=write\nbs=8k\nsize=32m\n` + direct)),
		twin: on(fio(`rw=write\nbs=1m\nsize=128m\n` + direct)),
	},
	{
		name: "a CPU quota", verdict: "CPUThrottled", operation: "read", timed: true,
		lie:  quota(10_000, randomRead),
		twin: quota(200_000, randomRead),
	},
	{
		name: "a limit of reads", verdict: "Throttled", operation: "read",
		lie:  throttled(fio(randomRead+direct), "read", 2<<20),
		twin: throttled(fio(randomRead+direct), "read", 64<<30),
	},
	{
		name: "a limit of writes", verdict: "Throttled", operation: "write",
		lie:  throttled(fio(randomWrite+direct), "write", 2<<20),
		twin: throttled(fio(randomWrite+direct), "write", 64<<30),
	},
	{
		name: "a file system of memory", verdict: "MemoryBacked", operation: "read", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: memory(t), workload: fio(randomRead)}
		},
		twin: on(fio(randomRead + direct)),
	},
	{
		name: "a loop device whose file is in memory", verdict: "MemoryBacked", operation: "write", invalid: true,
		lie: func(t *testing.T) world {
			t.Helper()
			return world{target: ext4(t, devicetest.Attach(t, file(t, memory(t), 256<<20), "--direct-io=on")), workload: fio(randomWrite + direct)}
		},
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "a page cache below a loop device", verdict: "CachedBelow", operation: "read", invalid: true,
		lie:  below("--direct-io=off"),
		twin: below("--direct-io=on"),
	},
	{
		name: "syncs that flush nothing", verdict: "UnsafeConfiguration", operation: "sync", invalid: true,
		lie:  made("ext4", "barrier=0", synced),
		twin: made("ext4", "barrier=1", synced),
	},
	{
		name: "a second reader", verdict: "NoisyNeighbour", operation: "read", timed: true,
		lie:  beside(true, reads),
		twin: beside(false, reads),
	},
	{
		name: "a mapped file", verdict: "FromMemory", operation: "write", invalid: true,
		lie:  on(fio(randomWrite + again + `ioengine=mmap\n`)),
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "files that are read into memory first", verdict: "FromMemory", operation: "read", invalid: true,
		lie:  on(fio(`rw=read\nbs=64k\nsize=384m\npre_read=1\ninvalidate=0\n`)),
		twin: on(fio(`rw=read\nbs=64k\nsize=384m\n`)),
	},
	{
		name: "blocks that are all the same", verdict: "DataReduced", operation: "write",
		lie:  on(fio(randomWrite + direct + `dedupe_percentage=100\n`)),
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "data that compresses", verdict: "DataReduced", operation: "write",
		lie:  on(fio(randomWrite + direct + `buffer_compress_percentage=80\nrefill_buffers=1\n`)),
		twin: on(fio(randomWrite + direct)),
	},
	{
		name: "new data for each write", verdict: "CPUBound", operation: "",
		lie:  on(fio(`rw=write\nbs=1m\nsize=128m\nruntime=2\ntime_based=1\nrefill_buffers=1\n` + direct)),
		twin: on(fio(`rw=write\nbs=1m\nsize=128m\nruntime=2\ntime_based=1\n` + direct)),
	},
	{
		name: "a bandwidth of reads of small blocks", verdict: "BlockSizeLimited", operation: "read",
		lie:  on(fio(`rw=read\nbs=4k\nsize=32m\n` + direct)),
		twin: on(fio(`rw=read\nbs=1m\nsize=128m\n` + direct)),
	},
	{
		name: "a CPU quota of writes", verdict: "CPUThrottled", operation: "write", timed: true,
		lie:  quota(10_000, randomWrite),
		twin: quota(200_000, randomWrite),
	},
	{
		name: "a limit of reads per second", verdict: "Throttled", operation: "read",
		lie:  throttled(fio(randomRead+direct), "read.iops", 100),
		twin: throttled(fio(randomRead+direct), "read.iops", 1<<30),
	},
	{
		name: "a limit of writes per second", verdict: "Throttled", operation: "write",
		lie:  throttled(fio(randomWrite+direct), "write.iops", 100),
		twin: throttled(fio(randomWrite+direct), "write.iops", 1<<30),
	},
	{
		name: "a limit that is lifted in mid-trial", verdict: "NotSteady", operation: "read", timed: true,
		lie:  lifted(4 << 20),
		twin: lifted(64 << 30),
	},
	{
		name: "a file system that stands still for a while", verdict: "NotSteady", operation: "write", timed: true,
		lie:  frozen(true),
		twin: frozen(false),
	},
	{
		name: "a second writer beside reads", verdict: "NoisyNeighbour", operation: "read", timed: true,
		lie:  beside(true, writes),
		twin: beside(false, writes),
	},
}

// quota is a world whose workload has so many microseconds of a processor in each 100 ms.
func quota(microseconds int, job string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		w := on(fio(job + direct))(t)
		w.cgroup = []limit{{what: "cpu", value: microseconds}}
		return w
	}
}

// throttled is a world in which the kernel lets so many bytes a second through.
func throttled(workload, what string, rate int) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		return world{target: ext4(t, device), workload: workload, cgroup: []limit{{what: what, value: rate, device: device}}}
	}
}

// steadily is a job that takes long enough for something to happen in its middle.
const steadily = `bs=16k\nsize=64m\nruntime=8\ntime_based=1\noverwrite=1\n` + direct

// lifted is a world whose limit of reads is lifted in the middle of the trial.
func lifted(rate int) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		w := world{target: ext4(t, device), workload: fio(`rw=randread\n` + steadily), deserved: []string{"Throttled"}}
		w.cgroup = []limit{{what: "read", value: rate, device: device}}
		number := devicetest.Run(t, "cat", "/sys/class/block/"+filepath.Base(device)+"/dev")
		w.meanwhile = inTheMiddle(t, device, readsField, func() error {
			return os.WriteFile(filepath.Join(cgroupDirectory("blkio", 0), "blkio.throttle.read_bps_device"), []byte(number+" 0"), 0o600)
		})
		return w
	}
}

// frozen is a world whose file system takes no writes for a while in the middle of the trial, or does.
func frozen(really bool) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		device := disk(t)
		// So long that samples are a second long, as the pause is.
		w := world{target: ext4(t, device), workload: fio(`rw=randwrite\n` + strings.Replace(steadily, "runtime=8", "runtime=14", 1))}
		if really {
			w.meanwhile = inTheMiddle(t, device, writesField, func() error {
				err := exec.CommandContext(t.Context(), "fsfreeze", "--freeze", w.target).Run()
				time.Sleep(time.Second)
				// Also when the test is over: a frozen file system cannot be unmounted.
				return errors.Join(err, exec.CommandContext(context.WithoutCancel(t.Context()), "fsfreeze", "--unfreeze", w.target).Run())
			})
		}
		return w
	}
}

// Fields of a disk's stat file.
const readsField, writesField = 0, 4

// inTheMiddle does something two seconds after a disk has begun to do thousands of I/Os: then the trial
// runs, and has some seconds left.
func inTheMiddle(t *testing.T, device string, field int, do func() error) func(context.Context) {
	t.Helper()
	count := func() int {
		text, err := os.ReadFile("/sys/class/block/" + filepath.Base(device) + "/stat")
		if err != nil {
			t.Error(err)
			return 0
		}
		n, err := strconv.Atoi(strings.Fields(string(text))[field])
		if err != nil {
			t.Error(err)
		}
		return n
	}
	return func(ctx context.Context) {
		for begin := count(); count() < begin+400; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
			if err := do(); err != nil {
				t.Error(err)
			}
		}
	}
}

// below is a world on a loop device that uses the page cache for its file, or not.
func below(option string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		return world{target: ext4(t, devicetest.Attach(t, file(t, scratch(t), 512<<20), option)), workload: fio(randomRead + direct)}
	}
}

// Programs that use a directory until they are stopped.
var (
	reads  = []string{"if=%s/other", "of=/dev/null", "iflag=direct"}
	writes = []string{"if=/dev/zero", "of=%s/other", "oflag=direct"}
)

// beside is a world in which somebody else reads or writes all the time: on the same disk, or on
// one in memory.
func beside(same bool, does []string) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		target := ext4(t, disk(t))
		other := target
		if !same {
			other = ext4(t, devicetest.Attach(t, file(t, memory(t), 128<<20), "--direct-io=on"))
		}
		devicetest.Run(t, "dd", "if=/dev/urandom", "of="+other+"/other", "bs=1M", "count=16", "oflag=direct", "status=none")
		argv := []string{"dd", "bs=64k", "count=256", "conv=notrunc", "status=none"}
		for _, argument := range does {
			argv = append(argv, strings.ReplaceAll(argument, "%s", other))
		}
		return world{
			target: target, workload: fio(randomRead + direct),
			meanwhile: func(ctx context.Context) {
				for ctx.Err() == nil {
					// It ends when the context does.
					_ = exec.CommandContext(ctx, argv[0], argv[1:]...).Run()
				}
			},
		}
	}
}
