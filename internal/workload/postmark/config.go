package postmark

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// config is the workload as the API has it.
type config struct {
	Mode           string         `json:"mode"`
	Files          int64          `json:"files"`
	Transactions   int64          `json:"transactions"`
	Subdirectories int64          `json:"subdirectories"`
	MinSize        workload.Bytes `json:"minSize"`
	MaxSize        workload.Bytes `json:"maxSize"`
	ReadBlockSize  workload.Bytes `json:"readBlockSize"`
	WriteBlockSize workload.Bytes `json:"writeBlockSize"`
	ReadBias       int            `json:"readBias"`
	CreateBias     int            `json:"createBias"`
	Threads        int            `json:"threads"`
	Durability     string         `json:"durability"`
	Seed           int64          `json:"seed"`
	Buffered       *bool          `json:"buffered"`
}

// The API's names.
const (
	modern     = "Modern"
	compatible = "Compatible"

	none             = "None"
	syncFile         = "File"
	fileAndDirectory = "FileAndDirectory"
	syncAtEnd        = "SyncAtEnd"
)

// Bounds of the API.
const (
	maxFiles          = 100_000_000
	maxTransactions   = 10_000_000_000
	maxSubdirectories = 1_000_000
	maxSize           = 1 << 30
	maxBlock          = 64 << 20
	maxThreads        = 256
)

// maxBuffers bounds what the threads hold to read into and to write from.
const maxBuffers = 512 << 20

func decode(raw json.RawMessage) (config, error) {
	c := config{
		Mode: modern, Files: 20000, Transactions: 100000, MinSize: 500, MaxSize: 10000, ReadBlockSize: 512, WriteBlockSize: 512,
		ReadBias: 5, CreateBias: 5, Threads: 1, Durability: none, Seed: 42,
	}
	if err := workload.Decode("postmark", raw, &c); err != nil {
		return c, err
	}
	if err := c.check(); err != nil {
		return c, err
	}
	return c, nil
}

// memory of the tables (see file), and of what each thread reads, writes and counts:
// random data of at least 1 MiB, and seven histograms of 30 KB.
func (c config) memory() uint64 {
	perFile := uint64(17) // with two bits of mode Compatible
	if c.Subdirectories > 1 {
		perFile += 8
	}
	perThread := workload.Sum(2<<20, uint64(c.chunk()), uint64(c.readUnit()))
	return workload.Sum(workload.Product(uint64(c.Files), perFile), workload.Product(uint64(c.Threads), perThread))
}

// compatible reports that the decisions are those of the original.
func (c config) compatible() bool { return c.Mode == compatible }

// buffered reports that blocks are collected before the kernel is given them.
func (c config) buffered() bool { return c.compatible() && (c.Buffered == nil || *c.Buffered) }

func refuse(field, message, remedy string) *trial.Failure {
	return &trial.Failure{Class: reason.InvalidSpec, Field: "postmark." + field, Message: message, Remedy: remedy}
}

// bound is what a number must lie between.
type bound struct {
	field         string
	is, low, high int64
	text          string // of high, if it is no plain number
}

func (c config) bounds() []bound {
	size := func(b workload.Bytes) int64 { return int64(min(uint64(b), math.MaxInt64)) }
	return []bound{
		{field: "files", is: c.Files, low: 1, high: maxFiles},
		{field: "transactions", is: c.Transactions, low: 1, high: maxTransactions},
		{field: "subdirectories", is: c.Subdirectories, low: 0, high: maxSubdirectories},
		{field: "minSize", is: size(c.MinSize), low: 1, high: maxSize, text: "1Gi"},
		{field: "maxSize", is: size(c.MaxSize), low: 1, high: maxSize, text: "1Gi"},
		{field: "readBlockSize", is: size(c.ReadBlockSize), low: 1, high: maxBlock, text: "64Mi"},
		{field: "writeBlockSize", is: size(c.WriteBlockSize), low: 1, high: maxBlock, text: "64Mi"},
		{field: "readBias", is: int64(c.ReadBias), low: -1, high: 10},
		{field: "createBias", is: int64(c.CreateBias), low: -1, high: 10},
		{field: "threads", is: int64(c.Threads), low: 1, high: maxThreads},
		{field: "seed", is: c.Seed, low: 0, high: math.MaxUint32},
	}
}

func (c config) check() error {
	for _, b := range c.bounds() {
		if b.is < b.low || b.is > b.high {
			high := b.text
			if high == "" {
				high = fmt.Sprint(b.high)
			}
			return refuse(b.field, fmt.Sprintf("%d is not between %d and %s", b.is, b.low, high), "use a value in that range, or omit the field for its default")
		}
	}
	for _, check := range []func() *trial.Failure{c.checkChoices, c.checkTogether, c.checkFilesLast, c.checkMode} {
		if f := check(); f != nil {
			return f
		}
	}
	return workload.CheckMemory("postmark.files", c.memory(), workload.MaxMemory,
		fmt.Sprintf("tables of %d files and blocks of %d threads", c.Files, c.Threads), "lower files or threads, set subdirectories to 0, or make the blocks smaller")
}

func (c config) checkChoices() *trial.Failure {
	if modes := []string{modern, compatible}; !slices.Contains(modes, c.Mode) {
		return refuse("mode", fmt.Sprintf("there is no mode %q", c.Mode), suggest.Remedy(c.Mode, modes))
	}
	durabilities := []string{none, syncFile, fileAndDirectory, syncAtEnd}
	if !slices.Contains(durabilities, c.Durability) {
		return refuse("durability", fmt.Sprintf("there is no durability %q", c.Durability), suggest.Remedy(c.Durability, durabilities))
	}
	return nil
}

// checkTogether finds values that do not go together.
func (c config) checkTogether() *trial.Failure {
	buffers := uint64(c.Threads) * uint64(c.chunk()+int(c.ReadBlockSize))
	switch {
	case c.MinSize > c.MaxSize:
		return refuse("maxSize", fmt.Sprintf("%d is less than minSize, which is %d", c.MaxSize, c.MinSize), "raise maxSize or lower minSize")
	case int64(c.Threads) > c.Files:
		return refuse("threads", fmt.Sprintf("%d threads need at least as many files, but files is %d", c.Threads, c.Files), "lower threads or raise files")
	case c.ReadBias == -1 && c.CreateBias == -1:
		return refuse("createBias", "readBias and createBias are both -1, so transactions would do nothing", "set one of them from 0 to 10")
	case buffers > maxBuffers:
		return refuse("threads", fmt.Sprintf("%d threads would need %s of memory for their blocks, more than the limit of %s", c.Threads, workload.Human(buffers), workload.Human(maxBuffers)), "lower threads, readBlockSize or writeBlockSize")
	}
	return nil
}

// checkFilesLast refuses what is certain to run out of files.
func (c config) checkFilesLast() *trial.Failure {
	for _, s := range c.shares() {
		if c.CreateBias == 0 && s.transactions > s.files {
			return refuse("createBias", fmt.Sprintf("every transaction deletes a file and none creates one, so %d files do not last for %d transactions", c.Files, c.Transactions), "raise createBias or files, or lower transactions")
		}
	}
	return nil
}

// checkMode finds what a mode has not.
func (c config) checkMode() *trial.Failure {
	const original = "as the original's counters have 32 bits, "
	switch {
	case !c.compatible() && c.Buffered != nil:
		return refuse("buffered", "mode Modern gives the kernel each block as it is", "leave buffered out, and raise readBlockSize and writeBlockSize for larger ones")
	case !c.compatible() && c.shares()[0].files+c.shares()[0].transactions > math.MaxUint32:
		return refuse("transactions", fmt.Sprintf("a thread can create at most %d files, and these settings might need more", uint32(math.MaxUint32)), "lower transactions, or raise threads")
	case !c.compatible():
		return nil
	case c.Threads != 1:
		return refuse("threads", "the original has one thread", "use mode Modern for more")
	case c.Durability != none:
		return refuse("durability", "the original makes nothing durable", "use mode Modern for durability")
	case c.Transactions < 10:
		return refuse("transactions", "the original divides by zero below 10 transactions", "use at least 10, or mode Modern")
	case c.Files+c.Transactions > math.MaxInt32:
		return refuse("transactions", original+fmt.Sprintf("files and transactions together are at most %d", math.MaxInt32), "lower transactions, or use mode Modern")
	case c.MaxSize > maxSize-1:
		return refuse("maxSize", original+fmt.Sprintf("maxSize is at most %d", maxSize-1), "lower maxSize, or use mode Modern")
	case c.Seed < 1 || c.Seed > math.MaxInt32:
		return refuse("seed", fmt.Sprintf("the original takes a seed from 1 to %d", math.MaxInt32), "omit it for the default, 42")
	}
	return nil
}

// share is what one thread does.
type share struct{ files, transactions int64 }

// shares divides the trial among its threads, as evenly as it goes. The first has the
// most of everything.
func (c config) shares() []share {
	n := int64(c.Threads)
	shares := make([]share, n)
	part := func(all, i int64) int64 {
		if i < all%n {
			return all/n + 1
		}
		return all / n
	}
	for i := range shares {
		shares[i] = share{part(c.Files, int64(i)), part(c.Transactions, int64(i))}
	}
	return shares
}

// rules of a thread that begins with so many files.
func (c config) rules(files int64) rules {
	return rules{
		compatible: c.compatible(), files: int(files), subdirectories: int(c.Subdirectories),
		minSize: int(c.MinSize), maxSize: int(c.MaxSize), readBias: c.ReadBias, createBias: c.CreateBias,
	}
}

const (
	// piece that blocks are collected into. The C library takes what the file system
	// asks for: 4 KiB on most local ones, 128 KiB on ZFS, 1 MiB on NFS.
	piece = 64 << 10
	// stretch of a file's content that is made at once, and stays in the processor's cache.
	stretch = 256 << 10
)

// readUnit and writeUnit are what the kernel is given in one call. What is larger than
// the C library's buffer goes past it in multiples of that.
func (c config) readUnit() int  { return c.unit(int(c.ReadBlockSize)) }
func (c config) writeUnit() int { return c.unit(int(c.WriteBlockSize)) }

func (c config) unit(block int) int {
	if c.buffered() {
		return max(piece, block/piece*piece)
	}
	return block
}

// chunk is how much content is made at once: whole blocks.
func (c config) chunk() int {
	unit := c.writeUnit()
	return max(unit, min(stretch, int(c.MaxSize))/unit*unit)
}
