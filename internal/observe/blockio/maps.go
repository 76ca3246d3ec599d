package blockio

import (
	"runtime"

	"github.com/cilium/ebpf"
)

// Operations of requests, in the order of result.RequestOperations. A write with FUA, which goes past the disk's cache, is one of its own.
const (
	Read = iota
	Write
	FUA
	Flush
	Discard
	// Other is what is none of them, such as zeroing blocks and commands of other programs.
	Other
	// Operations is how many there are.
	Operations
)

// Numbers of the kernel's operations (enum req_op), which are the same since Linux 4.10.
const (
	opMask    = 0xff
	opRead    = 0
	opWrite   = 1
	opFlush   = 2
	opDiscard = 3
)

// Whose process submitted a request.
const (
	originOwn = iota
	originForeign
	// originUnknown: a thread of the kernel's, which writes for anybody.
	originUnknown
	origins
)

// Histograms of an operation.
const (
	kindWait = iota // nanoseconds from the queue to the driver
	kindTime        // nanoseconds from the driver to the end
	kindSize        // sectors
	kinds
)

// Numbers of a disk's counters.
const (
	opIssued  = iota // of all requests
	opBytes          // of those issued
	opSampled        // those issued that are in the sample
	opWeighed        // what those in the sample stand for
	opSeen           // those in the sample that were seen to complete
	opDone           // what those seen stand for; so are the following
	opTime
	opWait
	opReturned // of those issued that are not in the sample: how often they were returned by a busy disk, to be issued again
	opReturnedBytes
	perOperation

	// Eight operations have room, so that the verifier sees that none is beyond the end.
	numOrigins    = 8 * perOperation // a count and bytes of each; what the sample stands for, as all below
	numSequential = numOrigins + 2*4
	numRandom     = numSequential + 1
	numDropped    = numSequential + 2
	numDistances  = numSequential + 3
	distances     = 64
	numbers       = numDistances + distances
)

const (
	// bucketBits and buckets are the layout of package histogram, up to maxValue.
	bucketBits = 6
	buckets    = 2048
	maxValue   = 1<<37 - 1 // 137 s

	sectorBits   = 9
	minorBits    = 20       // of a device number in the kernel
	kernelThread = 0x200000 // PF_KTHREAD
)

// What is known of a request.
const (
	entryInserted = 0
	entryIssued   = 8
	entryBytes    = 16
	entryOrigin   = 24
	entryWeight   = 32 // how many requests it stands for
	entryN        = 40
)

// Where a disk's last requests ended.
const (
	headLast    = 0
	headNext    = 8
	headWindow  = 16 // the window of the last one
	headSkip    = 24 // how many more of this window only tell where streams are
	headEnds    = 32
	headStreams = 8
	headN       = headEnds + 8*headStreams
)

// Sampling. The word of each disk in the only element of mapSampling says, as powers of two, of how many windows one is
// in the sample: from a window on, and before that.
const (
	windowBits     = 20 // of nanoseconds: about a millisecond
	samplingBefore = 0
	samplingNow    = 8
	samplingFrom   = 16
	samplingMask   = 63
	samplingN      = 8 * maxDisks // the programs bound an index by it, so it is a power of two
	// Odd numbers without a pattern: those of splitmix64.
	hashFirst  = -0x40a7b892e31b1a47
	hashSecond = -0x6b2fb644ecceee15
)

// Maps.
const (
	mapRequests   = "requests"
	mapHistograms = "histograms"
	mapCounters   = "counters"
	mapHeads      = "heads"
	mapOwner      = "owner"
	mapSampling   = "sampling"
)

const (
	// maxHistograms is how much memory histograms of each CPU may take; if they took more, all
	// CPUs share them.
	maxHistograms = 32 << 20
	// maxRequests bounds the requests that are known at a time.
	maxRequests = 1 << 16
	// histogramBytes is the size of one.
	histogramBytes = 8 * buckets
)

// mapSpecs returns the maps for so many disks and requests.
func mapSpecs(disks, requests, cpus int) map[string]*ebpf.MapSpec {
	n := uint32(disks)          //nolint:gosec // at most maxDisks
	waiting := uint32(requests) //nolint:gosec // at most maxRequests
	perCPU := ebpf.PerCPUArray
	if disks*Operations*kinds*histogramBytes*cpus > maxHistograms {
		perCPU = ebpf.Array
	}
	return map[string]*ebpf.MapSpec{
		mapRequests:   {Name: mapRequests, Type: ebpf.Hash, KeySize: 8, ValueSize: entryN, MaxEntries: waiting},
		mapHistograms: {Name: mapHistograms, Type: perCPU, KeySize: 4, ValueSize: histogramBytes, MaxEntries: n * Operations * kinds},
		mapCounters:   {Name: mapCounters, Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8 * numbers, MaxEntries: n},
		mapHeads:      {Name: mapHeads, Type: ebpf.Array, KeySize: 4, ValueSize: headN, MaxEntries: n},
		mapOwner:      {Name: mapOwner, Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1},
		mapSampling:   {Name: mapSampling, Type: ebpf.Array, KeySize: 4, ValueSize: samplingN, MaxEntries: 1},
	}
}

// cpus is how many CPUs there can be.
func cpus() int {
	if n, err := ebpf.PossibleCPU(); err == nil {
		return n
	}
	return runtime.NumCPU()
}
