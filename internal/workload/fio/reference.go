package fio

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"storagebench.io/storagebench/internal/trial"
)

//go:generate go run ../../../hack/fio-options ../../../docs/reference/fio-options.md

// WriteReference writes docs/reference/fio-options.md from the allow-list.
func WriteReference(w io.Writer) error {
	b := &strings.Builder{}
	b.WriteString(referenceIntroduction)
	for _, g := range options() {
		fmt.Fprintf(b, "\n## %s\n\n| Option | Value | Meaning |\n|---|---|---|\n", g.title)
		for _, o := range g.options {
			name := "`" + strings.Join(append([]string{o.name}, o.aliases...), "`, `") + "`"
			about := o.about
			switch o.mode {
			case trial.Filesystem:
				about += " (file systems only)"
			case trial.Block:
				about += " (block devices only)"
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", name, o.syntax.name, about)
		}
	}
	b.WriteString("\n## The target's, and names\n\n`filename`, `directory`, `filename_format`, `name` and `description` are taken and mean what is said above; `wait_for` is `stonewall` where that means the same, and is refused where it does not; `verify=0` and `verify=none` are no verification.\n")
	b.WriteString("\n## Left out, and why\n\n| Option | Why |\n|---|---|\n")
	left := leavesOut()
	for _, name := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(b, "| `%s` | %s |\n", name, left[name])
	}
	b.WriteString("\n## Refused, and why\n\nEvery option that is not above is refused. Of those that one might look for:\n\n| Option | Why |\n|---|---|\n")
	reasons := refusals()
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(b, "| `%s` | %s |\n", name, reasons[name])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// referenceIntroduction is what is written by hand.
const referenceIntroduction = `# fio options

<!-- Generated from internal/workload/fio/options.go by "go generate ./internal/workload/fio". -->

A workload's ` + "`fio.jobFile`, `fio.parameters` and `fio.commandLine`" + ` may hold the options below.
Job files that others have written run as they are: where they name a directory, files or a device,
the target takes their place, and options that have no effect here are left out. Each thing that is
not done as it is written is a line of ` + "[plan](plan.md) and of the trial's document (`changes`)" + `. An
option that could do harm, or that nobody knows, is refused before anything is created, with the
line and the reason: fio can start programs, write to any file, and change the node, and a
benchmark must not be a way to do that. ` + "[storagebench lint](lint.md)" + ` says all at once.

Your text never reaches fio. storagebench reads it, checks it, and writes a job file of its
own in which sizes are bytes and times are microseconds; the trial's document holds it as
` + "`input`" + `. What differs from fio itself:

- **Target.** In a file system, ` + "`filename=/dev/sdb` or `/mnt/a/data`" + ` is a file in the target's
  directory, named after the last element; paths that differ have names that differ, so that jobs
  share files exactly if they did. ` + "`directory`" + ` is left out. On a device all of that is the device, and
  options for files are left out. A job without a size gets one that is chosen ([sizes](sizes.md));
  on a device it has all of it.
- **Names.** The name of a job is that of its section, or its ` + "`name`" + `, with - for what is not a letter,
  a digit or one of ` + "`- _ + .`" + `. Of several with one name the second is called NAME-2, and so on.
  Jobs whose files have equal names in fio, as those of one section name or one ` + "`filename_format`" + `, share them.
- **Sizes.** ` + "`4k`, `4KB`, `4Ki` and `4KiB`" + ` are all 4096 bytes, and so on for M, G, T and P. fio 3.33
  takes ` + "`KiB`" + ` for 1000 bytes. With ` + "`kb_base=1000`" + ` a k is 1000 bytes and a KiB 1024, as in fio. ` + "`0x1000`" + ` is 4096. ` + "`bs=4k-16k`" + ` is 4k for reads and 16k for writes, as in fio; ` + "`bsrange`" + ` is a range.
  0 is the same as no ` + "`size`, `io_size`, `number_ios`, `loops`, `rate`, `rate_iops` or `thinktime`" + `.
- **Percentages** of ` + "`size`, `io_size`, `offset` and `offset_increment`" + ` are of the device. In a file system they are of the file
  whose size this or another job gives, and otherwise of the size that is chosen. For a file in place of a device whose jobs begin at
  percentages of it, that is as large that they do not overlap. A percentage of a file of the job's own, which has no size before it is written, is left out.
- **Variables.** ` + "`${NAME}`" + ` in a value is what ` + "`fio.variables`" + ` says, and nothing of the worker's environment.
  ` + "`$ncpus`, `$mb_memory` and `$pagesize`" + ` are those of the node, unless a variable of that name is given.
  ` + "`$ncpus*2` and `(2*1g)/4`" + ` are calculated. fio gets the results: it would start a shell.
- **Included files.** ` + "`include FILE`" + ` is the text that ` + "`fio.include`" + ` has under that name, or under its last
  element. No file is read.
- **Command lines.** ` + "`fio.commandLine`" + ` is split into words as a shell does it, but no shell reads it. A job file
  among the words is one of ` + "`fio.include`" + `. Variables that ` + "`fio.variables`" + ` or the lines before set, ` + "`$((8*1024))` and `$(nproc)`" + ` are
  replaced. Redirections, pipes, options for fio's output, and other commands before and after fio are left out. A second command of fio is refused.
  Options may be abbreviated, as getopt does it.
- **Times.** An unknown unit, as in ` + "`30sec`" + `, is refused; fio takes it for microseconds.
- **Flags.** ` + "`stonewall=0` and the like mean what they say; fio looks at the name only. A flag or a choice of 0 and 1 without a value is 1." + `
- **The last one counts** of options that say the same: ` + "`direct` and `buffered`, `rwmixread` and `rwmixwrite`" + `.
- **Logs.** ` + "`write_bw_log` and the like go to the end of the trial's raw output, with a line for each interval of the trial's samples" + `.
- **Jobs are threads** (` + "`thread=1`" + `), as a Pod's /dev/shm is too small for processes.
- **Seeds.** Unless the job sets ` + "`randseed`, `randrepeat` or `allrandrepeat`" + `, each run,
  target, node, workload, variant and repeat has a seed of its own, which the trial's document holds
  as ` + "`seed`" + `. fio's default is the same sequence every time, which a cache that remembers the last
  trial answers, and with ` + "`randseed`" + ` alone the first clone still has it: for a seed of your own, set ` + "`randrepeat=0`" + ` besides.
- **Runtime.** ` + "`runtime` implies `time_based=1`" + `: a job runs that long, over the same blocks again if
  it is done with ` + "`size`" + `. fio itself would end it then. To end it when ` + "`size`" + ` is done, or at
  ` + "`runtime`" + ` if that is earlier, set ` + "`time_based=0`. With `loops`, `number_ios`, `io_size` or `verify`" + `
  it is not implied. A job that ran for less than a second has a note.
- **Latencies** are total, from submission to completion: ` + "`lat_percentiles=1`" + ` is always set, and
  so are ` + "`clat_percentiles` and `slat_percentiles`" + ` for the two parts. That needs fio 3.17 or later.
- **Reporting.** Every job is reported by its name, its clones merged; ` + "`group_reporting` is" + `
  accepted and dropped.
- **Files.** All trials find the same of their files, which the document says as ` + "`files`" + `, with the
  reason, for each job. ` + "`Fresh`" + `: there are none; they are removed after each trial. ` + "`Overwrite`" + `: every
  block was written once with random data before the first trial; blocks that were never written
  read as zeros without any I/O, and have to be allocated when they are written. ` + "`files: Auto`" + `
  decides for each job: one that reads or writes at random, or has ` + "`overwrite=1`" + `, overwrites; one that
  writes in sequence and syncs, or goes through the page cache, as logs and backups do, is fresh; one
  that writes in sequence with ` + "`direct=1`" + ` and no sync overwrites. Jobs that name the same file share its
  state. ` + "`prefill: Never`" + ` prepares nothing (` + "`AsFound`" + `); so do jobs of a device that trim, or only write
  and give no size. Another workload never shares the files.
- **Page cache.** storagebench drops what is cached of the files that a trial finds before it, unless a job has
  ` + "`invalidate=0` or `pre_read=1`" + `: fio would drop it while its clock runs. On a block device it drops it, too, if it has
  the privilege. fio itself has none and does not, so a job with ` + "`direct=0`" + ` may find what the job
  before it has read.
- **Memory.** What jobs may allocate together is at most the chart's ` + "`limits.workloadMemory`" + ` (4 GiB by default); the worker's limit is raised by what is above 1 GiB: clones times
  ` + "`iodepth` times the largest block, maps of random I/O (a bit a block, unless `norandommap=1`)," + `
  and notes of blocks to be verified. More is refused with ` + "`LimitExceeded`" + `; on a block device
  whose size decides, by the worker.

Defaults of ` + "`fio.parameters`" + `: ` + "`ioengine=libaio`, `direct=1`, `bs=4k`" + `, a size that is chosen
([sizes](sizes.md)), and ` + "`runtime=30s` with `time_based=1`" + ` unless runtime, time_based,
loops, number_ios or io_size is given. A job file and a command line have fio's defaults.

A value in the second column is what fio itself calls it; see fio's manual for the details.
`
