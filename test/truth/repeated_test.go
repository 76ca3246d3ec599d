//go:build truth

package truth

import "strings"

// fewBlocks are direct reads of blocks by chance; what follows says of which file, or of how many.
const fewBlocks = `rw=randread\nbs=4k\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\n`

// repeated are lies of direct I/O that moves the same few MiB again and again.
var repeated = []kind{
	{
		name: "a file that the disk's own cache holds", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  on(fio(`rw=randread\nbs=4k\nsize=1m\nioengine=psync\ndirect=1\nruntime=3\n`)),
		twin: on(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=psync\ndirect=1\nruntime=3\n`)),
	},
	{
		name: "writes that the disk's own cache holds", verdict: "WorkingSetTooSmall", operation: "write",
		lie:  on(fio(`rw=randwrite\nbs=4k\nsize=1m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\n`)),
		twin: on(fio(`rw=randwrite\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\n`)),
	},
	{
		name: "a few blocks of a large file", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  on(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nrandom_distribution=zipf:2.5\nruntime=3\n`)),
		twin: on(fio(`rw=randread\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nrandom_distribution=zipf:0.5\nruntime=3\n`)),
	},
	{
		name: "the last part of a large file", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  on(fio(fewBlocks + `filesize=64m\noffset=63m\n`)),
		twin: on(fio(fewBlocks + `filesize=64m\noffset=1m\n`)),
	},
	{
		name: "strides over a large file", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  on(fio(`rw=read:1020k\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\n`)),
		twin: on(fio(`rw=read:4k\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\n`)),
	},
	{
		name: "one file of many", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  on(fio(fewBlocks + `size=64m\nnrfiles=64\nfile_service_type=sequential\n`)),
		twin: on(fio(fewBlocks + `size=64m\nnrfiles=64\nfile_service_type=random\n`)),
	},
	{
		name: "zones of a large file", verdict: "WorkingSetTooSmall", operation: "write",
		lie:  on(fio(`rw=randwrite\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\nzonemode=strided\nzonesize=1m\nzoneskip=63m\n`)),
		twin: on(fio(`rw=randwrite\nbs=4k\nsize=64m\nioengine=libaio\niodepth=8\ndirect=1\nruntime=3\nzonemode=strided\nzonesize=1m\n`)),
	},
	{
		name: "clones that read the same file together", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  on(fio(`rw=read\nbs=128k\nsize=64m\nioengine=libaio\niodepth=4\ndirect=1\nruntime=3\nnumjobs=4\nfilename=x\n`)),
		twin: on(fio(`rw=read\nbs=128k\nsize=16m\nioengine=libaio\niodepth=4\ndirect=1\nruntime=3\nnumjobs=4\nfilename=x\noffset_increment=16m\n`)),
	},
	{
		name: "each block a hundred times", verdict: "WorkingSetTooSmall", operation: "read",
		lie:  on(fio(strings.Replace(fewBlocks, "randread", "randread:100", 1) + `size=64m\nrw_sequencer=identical\n`)),
		twin: on(fio(strings.Replace(fewBlocks, "randread", "randread:100", 1) + `size=64m\nrw_sequencer=sequential\n`)),
	},
}
