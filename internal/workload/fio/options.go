package fio

import (
	"math"
	"slices"
	"time"

	"storagebench.io/storagebench/internal/trial"
)

// allowed is an option that a job may have.
type allowed struct {
	name    string
	aliases []string
	syntax  syntax
	// mode restricts the option to one mode of targets; empty: both.
	mode trial.Mode
	// about is one line for the reference.
	about string
}

const (
	maxBlock    = 1 << 30         // of reads and writes: those of trims have no buffer
	maxRuntime  = 144 * time.Hour // the longest timeout of a benchmark
	maxThink    = time.Hour
	anyNumber   = math.MaxInt64
	maxClones   = 1024 // numjobs of one job
	maxTogether = 1024 // of jobs that run together
	maxThreads  = 2048 // of all jobs: fio prints about 100 KB of each
	maxFiles    = 500_000
	maxAllFiles = 500_000 // fio has 1 KiB of memory for each
)

// options is the allow-list, by section of the reference. Nothing in it can name
// a path outside the target, start a program, or change the node.
func options() []group {
	return []group{
		{"What is done", patterns()},
		{"Where and how much", places()},
		{"How I/O is issued", issuing()},
		{"How long, and in which order", timing()},
		{"How fast", rates()},
		{"What is written", contents()},
		{"What is recorded", records()},
	}
}

func patterns() []allowed {
	block := size(1, maxSize) // see checkWhole
	return []allowed{
		{name: "rw", aliases: []string{"readwrite"}, syntax: patternName(), about: "the pattern; fio's default is read"},
		{name: "bs", aliases: []string{"blocksize"}, syntax: list(block), about: "size of an I/O; fio's default is 4k"},
		{name: "bsrange", aliases: []string{"blocksize_range"}, syntax: list(sizeRange(block)), about: "sizes drawn from a range"},
		{name: "bssplit", syntax: list(sizeSplit(block)), about: "a mix of sizes"},
		{name: "blockalign", aliases: []string{"ba"}, syntax: list(block), about: "alignment of random offsets; default: bs"},
		{name: "bs_is_seq_rand", syntax: boolean(), about: "the two sizes of bs are for sequential and random I/Os, and not for reads and writes"},
		{name: "bs_unaligned", aliases: []string{"blocksize_unaligned"}, syntax: flag(), about: "sizes of a range need not be multiples of its minimum"},
		{name: "rwmixread", syntax: integer(0, 100), about: "percentage of reads in a mix; default 50"},
		{name: "rwmixwrite", syntax: integer(0, 100), about: "percentage of writes in a mix"},
		{name: "random_distribution", syntax: distribution(), about: "how random offsets are distributed; default random"},
		{name: "percentage_random", syntax: list(integer(0, 100)), about: "percentage of I/Os at random offsets"},
		{name: "norandommap", syntax: flag(), about: "do not keep track of blocks that were visited"},
		{name: "softrandommap", syntax: boolean(), about: "go on without the map if there is no memory for it"},
		{name: "random_generator", syntax: oneOf("tausworthe", "lfsr", "tausworthe64"), about: "generator of offsets"},
		{name: "randrepeat", syntax: boolean(), about: "same sequence in every trial; setting it turns off the seed that differs for each trial"},
		{name: "allrandrepeat", syntax: boolean(), about: "as randrepeat, for every random choice"},
		{name: "randseed", syntax: integer(0, math.MaxInt32), about: "seed; default: another one for each run, target, node, variant and repeat"},
		{name: "rw_sequencer", syntax: oneOf("sequential", "identical"), about: "with rw=randread:N, whether the offset of N I/Os grows"},
		{name: "loops", syntax: integer(1, math.MaxInt32), about: "how often the job is done in a trial"},
		{name: "number_ios", syntax: integer(1, anyNumber), about: "end after so many I/Os"},
		{name: "flow", syntax: signed(), about: "share of I/Os between jobs of one flow_id"},
		{name: "flow_id", syntax: integer(0, 1000), about: "jobs that share a flow"},
		{name: "flow_sleep", syntax: integer(0, 1_000_000), about: "microseconds to wait when a job is ahead of its flow"},
		{name: "zonemode", syntax: zoneMode(), about: "strided: zonesize bytes of every zonerange are used"},
		{name: "zonesize", syntax: size(1, maxSize), about: "size of a zone"},
		{name: "zonerange", syntax: size(1, maxSize), about: "distance between zones"},
		{name: "zoneskip", syntax: size(0, maxSize), about: "bytes to skip when a zone is done"},
	}
}

func places() []allowed {
	return []allowed{
		{name: "size", syntax: sizeOrPercent(), about: "size of the job's files together, or of the part of the device; a percentage is of a device, or of a file whose size is given or chosen"},
		{name: "io_size", aliases: []string{"io_limit"}, syntax: sizeOrPercent(), about: "bytes to read or write, if not size"},
		{name: "filesize", syntax: sizeOrRange(size(1, maxSize)), mode: trial.Filesystem, about: "size of each file"},
		{name: "nrfiles", aliases: []string{"nr_files"}, syntax: integer(1, maxFiles), mode: trial.Filesystem, about: "number of files of each clone"},
		{name: "openfiles", syntax: integer(1, maxFiles), mode: trial.Filesystem, about: "number of files that are open at a time"},
		{name: "file_service_type", syntax: serviceType(), mode: trial.Filesystem, about: "which file is next"},
		{name: "offset", aliases: []string{"fileoffset"}, syntax: orPercent(size(0, maxSize)), about: "first byte"},
		{name: "offset_align", syntax: size(0, maxSize), about: "what an offset in percent is aligned to"},
		{name: "offset_increment", syntax: orPercent(size(0, maxSize)), about: "distance between the offsets of clones"},
		{name: "fallocate", syntax: oneOf("none", "native", "posix", "keep", "truncate", "0", "1"), mode: trial.Filesystem, about: "how space is reserved; default native"},
		{name: "overwrite", syntax: boolean(), mode: trial.Filesystem, about: "write files before the first trial, so that writes never allocate"},
		{name: "create_on_open", syntax: boolean(), mode: trial.Filesystem, about: "create files when they are opened"},
		{name: "create_serialize", syntax: boolean(), mode: trial.Filesystem, about: "create files one after the other"},
		{name: "create_fsync", syntax: boolean(), mode: trial.Filesystem, about: "sync files after creation"},
		{name: "file_append", syntax: boolean(), mode: trial.Filesystem, about: "begin at the end of the file"},
		{name: "lockfile", syntax: oneOf("none", "exclusive", "readwrite"), mode: trial.Filesystem, about: "whether clones lock the file for each I/O"},
		{name: "unlink", syntax: boolean(), mode: trial.Filesystem, about: "remove the files after the job"},
		{name: "unlink_each_loop", syntax: boolean(), mode: trial.Filesystem, about: "remove the files after each loop"},
	}
}

func issuing() []allowed {
	return []allowed{
		{name: "ioengine", syntax: engineName(), about: "how I/O is issued; default libaio for parameters, psync in a job file"},
		{name: "iodepth", syntax: integer(1, 65536), about: "I/Os in flight of each clone; default 1; synchronous engines, and libaio without direct=1, have 1 whatever it says, and posixaio 1 for each file"},
		{name: "iodepth_batch", aliases: []string{"iodepth_batch_submit"}, syntax: integer(0, 65536), about: "I/Os submitted at once"},
		{name: "iodepth_batch_complete_min", aliases: []string{"iodepth_batch_complete"}, syntax: integer(0, 65536), about: "completions to wait for"},
		{name: "iodepth_batch_complete_max", syntax: integer(0, 65536), about: "completions to fetch at most"},
		{name: "iodepth_low", syntax: integer(1, 65536), about: "depth at which the queue is filled again"},
		{name: "io_submit_mode", syntax: submitMode(), about: "who submits"},
		{name: "serialize_overlap", syntax: boolean(), about: "no two I/Os in flight at overlapping offsets"},
		{name: "direct", syntax: boolean(), about: "bypass the page cache; default 1 for parameters (but with mmap, which cannot), 0 in a job file"},
		{name: "buffered", syntax: boolean(), about: "the opposite of direct"},
		{name: "sync", syntax: oneOf("0", "1", "none", "sync", "dsync"), about: "open with O_SYNC or O_DSYNC"},
		{name: "fsync", syntax: integer(0, anyNumber), about: "fsync after so many writes"},
		{name: "fdatasync", syntax: integer(0, anyNumber), about: "fdatasync after so many writes"},
		{name: "end_fsync", syntax: boolean(), about: "fsync at the end of the job"},
		{name: "fsync_on_close", syntax: boolean(), about: "fsync when a file is closed"},
		{name: "invalidate", syntax: boolean(), about: "drop the file's cached pages before the job; default 1"},
		{name: "pre_read", syntax: boolean(), about: "read the files into the cache before the job"},
		{name: "fadvise_hint", syntax: oneOf("0", "1", "random", "sequential"), about: "what the kernel is told of the pattern"},
		{name: "sync_file_range", syntax: syncRange(), about: "sync_file_range after so many writes, as write:8"},
		{name: "userspace_reap", syntax: flag(), about: "completions are fetched without the kernel (libaio)"},
		{name: "nowait", syntax: flag(), about: "fail instead of waiting for a lock or a request"},
		{name: "force_async", syntax: integer(0, anyNumber), about: "every so many I/Os at once in a thread of the kernel (io_uring)"},
		{name: "sqthread_poll", syntax: flag(), about: "a thread of the kernel submits (io_uring)"},
		{name: "uncached", syntax: boolean(), about: "buffered I/O that leaves nothing in the page cache (io_uring, pvsync2)"},
		{name: "hipri", syntax: flag(), about: "polled completions (io_uring, pvsync2)"},
		{name: "hipri_percentage", syntax: integer(0, 100), about: "percentage of I/Os for which hipri polls (pvsync2)"},
		{name: "fixedbufs", syntax: flag(), about: "registered buffers (io_uring)"},
		{name: "registerfiles", syntax: flag(), about: "registered files (io_uring)"},
		{name: "nonvectored", syntax: boolean(), about: "read and write instead of readv and writev (io_uring)"},
		{name: "mem", aliases: []string{"iomem"}, syntax: oneOf("malloc", "mmap"), about: "where buffers come from"},
		{name: "iomem_align", aliases: []string{"mem_align"}, syntax: size(1, 2<<20), about: "alignment of buffers"},
		{name: "write_hint", syntax: oneOf("none", "short", "medium", "long", "extreme"), about: "expected lifetime of what is written"},
	}
}

func timing() []allowed {
	return []allowed{
		{name: "runtime", aliases: []string{"timeout"}, syntax: duration(time.Second, maxRuntime), about: "end after this time; default 30s for parameters"},
		{name: "time_based", syntax: flag(), about: "run for all of runtime even if size is done; implied by runtime, see above; 0: end when size is done"},
		{name: "ramp_time", syntax: duration(time.Second, maxRuntime), about: "run this long before measuring"},
		{name: "startdelay", aliases: []string{"start_delay"}, syntax: delay(duration(time.Second, maxRuntime)), about: "begin this much later, or at a random time in a range"},
		{name: "stonewall", aliases: []string{"wait_for_previous"}, syntax: flag(), about: "wait for the jobs above; without it, jobs run together"},
		{name: "exitall", syntax: flag(), about: "end all jobs when one ends"},
		{name: "exit_what", syntax: oneOf("group", "stonewall", "all"), about: "which jobs exitall ends"},
		{name: "numjobs", syntax: integer(1, maxClones), about: "clones of the job; their results are merged"},
		{name: "thread", aliases: []string{"threads"}, syntax: flag(), about: "jobs are always threads: /dev/shm is too small in a Pod for processes"},
		{name: "cpus_allowed", syntax: cpus(), about: "CPUs to run on"},
		{name: "cpus_allowed_policy", syntax: oneOf("shared", "split"), about: "whether clones share those CPUs"},
	}
}

func rates() []allowed {
	return []allowed{
		{name: "rate", syntax: list(size(0, maxSize)), about: "bytes per second at most"},
		{name: "rate_iops", syntax: list(integer(0, anyNumber)), about: "I/Os per second at most"},
		{name: "rate_cycle", aliases: []string{"ratecycle"}, syntax: integer(1, 3_600_000), about: "milliseconds over which rates are averaged"},
		{name: "rate_ignore_thinktime", syntax: boolean(), about: "the pauses of thinktime do not count"},
		{name: "rate_process", syntax: oneOf("linear", "poisson"), about: "evenly, or as random arrivals"},
		{name: "thinktime", syntax: duration(time.Microsecond, maxThink), about: "pause between I/Os"},
		{name: "thinktime_spin", syntax: duration(time.Microsecond, maxThink), about: "part of the pause that burns CPU"},
		{name: "thinktime_blocks", syntax: integer(1, anyNumber), about: "I/Os between pauses"},
		{name: "thinktime_blocks_type", syntax: oneOf("complete", "issue"), about: "which I/Os thinktime_blocks counts"},
		{name: "thinktime_iotime", syntax: duration(time.Second, maxThink), about: "time of I/O between pauses"},
		{name: "latency_target", syntax: duration(time.Microsecond, maxThink), about: "find the depth that stays below this latency"},
		{name: "latency_window", syntax: duration(time.Microsecond, maxThink), about: "how long that is tried"},
		{name: "latency_percentile", syntax: float(100), about: "percentage of I/Os that must stay below it"},
		{name: "latency_run", syntax: boolean(), about: "go on looking for the depth"},
		{name: "steadystate", aliases: []string{"ss"}, syntax: steady(), about: "end when the rate, or its slope, stays within this"},
		{name: "steadystate_duration", aliases: []string{"ss_dur"}, syntax: duration(time.Second, maxRuntime), about: "how long it must"},
		{name: "steadystate_ramp_time", aliases: []string{"ss_ramp"}, syntax: duration(time.Second, maxRuntime), about: "how long to wait before"},
	}
}

func contents() []allowed {
	return []allowed{
		{name: "refill_buffers", syntax: flag(), about: "new random data for each write"},
		{name: "scramble_buffers", syntax: boolean(), about: "change each block a little; default 1"},
		{name: "zero_buffers", syntax: flag(), about: "write zeros, which many systems do not store"},
		{name: "buffer_compress_percentage", syntax: integer(0, 100), about: "how compressible the data is"},
		{name: "buffer_compress_chunk", syntax: size(1, maxBlock), about: "unit of that"},
		{name: "dedupe_percentage", syntax: integer(0, 100), about: "share of identical blocks"},
		{name: "dedupe_mode", syntax: oneOf("repeat", "working_set"), about: "what identical blocks repeat"},
		{name: "dedupe_working_set_percentage", syntax: integer(0, 100), about: "share of the blocks that are repeated"},
		{name: "buffer_pattern", syntax: dataPattern(false), about: "what is written, again and again"},
		{name: "verify", syntax: oneOf("md5", "crc64", "crc32c", "crc32c-intel", "crc32", "crc16", "crc7", "xxhash", "sha512", "sha256", "sha1", "sha3-224", "sha3-256", "sha3-384", "sha3-512", "meta", "pattern", "null"), about: "write checksums, and check them when reading; 0 or none: do not"},
		{name: "verify_interval", syntax: size(1, maxBlock), about: "a checksum for each so many bytes"},
		{name: "verify_offset", syntax: size(0, maxBlock), about: "where in the block the checksum is"},
		{name: "verify_pattern", syntax: dataPattern(true), about: "what is written and checked with verify=pattern"},
		{name: "verify_async", syntax: integer(0, 64), about: "threads that check"},
		{name: "experimental_verify", syntax: boolean(), about: "remember less of what was written"},
		{name: "do_verify", syntax: boolean(), about: "read back and check after writing"},
		{name: "verify_fatal", syntax: boolean(), about: "end at the first mismatch"},
		{name: "verify_backlog", syntax: integer(1, anyNumber), about: "check after so many blocks"},
		{name: "verify_backlog_batch", syntax: integer(1, anyNumber), about: "check so many blocks then"},
		{name: "trim_percentage", syntax: integer(0, 100), mode: trial.Block, about: "share of written blocks that are trimmed"},
		{name: "trim_verify_zero", syntax: boolean(), mode: trial.Block, about: "trimmed blocks must read as zeros"},
		{name: "trim_backlog", syntax: integer(0, anyNumber), mode: trial.Block, about: "trim after so many blocks"},
		{name: "trim_backlog_batch", syntax: integer(0, anyNumber), mode: trial.Block, about: "trim so many blocks then"},
	}
}

func records() []allowed {
	return []allowed{
		{name: "gtod_reduce", syntax: boolean(), about: "fewer clock readings; no latencies at all"},
		{name: "disable_lat", syntax: boolean(), about: "no total latencies: only those of completion"},
		{name: "disable_clat", syntax: boolean(), about: "no completion latencies; total latencies remain"},
		{name: "disable_slat", syntax: boolean(), about: "no submission latencies"},
		{name: "disable_bw_measurement", aliases: []string{"disable_bw"}, syntax: boolean(), about: "no samples of bandwidth"},
		{name: "group_reporting", syntax: flag(), about: "accepted and dropped: every job is reported by its name"},
		{name: "new_group", syntax: flag(), about: "accepted and dropped, as group_reporting"},
		{name: "clocksource", syntax: oneOf("gettimeofday", "clock_gettime", "cpu"), about: "clock for latencies"},
		{name: "percentile_list", syntax: percentiles(), about: "percentiles in fio's own output, which is stored; those of the document are always the same"},
		{name: "write_bw_log", syntax: logName(), about: "log of bandwidth, at the end of the trial's raw output, whatever its name"},
		{name: "write_iops_log", syntax: logName(), about: "log of I/Os per second, likewise"},
		{name: "write_lat_log", syntax: logName(), about: "logs of latencies, likewise"},
	}
}

// group is a section of the reference.
type group struct {
	title   string
	options []allowed
}

// dropped are options that are accepted and have no effect.
var dropped = []string{"group_reporting", "new_group", "thread"}

// catalogue is the allow-list by name and alias.
type catalogue map[string]allowed

func newCatalogue() catalogue {
	c := catalogue{}
	for _, g := range options() {
		for _, o := range g.options {
			c[o.name] = o
			for _, alias := range o.aliases {
				c[alias] = o
			}
		}
	}
	return c
}

// names of all options and aliases, sorted.
func (c catalogue) names() []string {
	names := make([]string, 0, len(c))
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
