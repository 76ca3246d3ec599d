package flushladder

import (
	"encoding/json"
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// config is the workload as the API has it.
type config struct {
	Size       *workload.Bytes `json:"size"`
	Operations int             `json:"operations"`
	Repeats    int             `json:"repeats"`
}

const (
	// block that is made durable.
	block = 4 << 10
	// chunk is what is written at once where only the amount matters.
	chunk = 1 << 20
	// defaultSize is also the most that is useful: a disk's volatile cache is rarely larger.
	defaultSize = 256 << 20
	minSize     = 8 << 20
	maxSize     = 64 << 30

	maxOperations = 100_000
	// minRepeats at which no overlap between two amounts is more than chance (1 in 70).
	minRepeats, maxRepeats = 4, 50
)

func decode(raw json.RawMessage) (config, error) {
	c := config{Operations: 300, Repeats: 5}
	if err := workload.Decode("flushLadder", raw, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

func (c config) check() error {
	refuse := func(field, message, remedy string) error {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "flushLadder." + field, Message: message, Remedy: remedy}
	}
	switch {
	case c.Operations < 10 || c.Operations > maxOperations:
		return refuse("operations", fmt.Sprintf("%d is not between 10 and %d", c.Operations, maxOperations), "omit it for the default, 300")
	case c.Repeats < minRepeats || c.Repeats > maxRepeats:
		return refuse("repeats", fmt.Sprintf("%d is not between %d and %d", c.Repeats, minRepeats, maxRepeats), "omit it for the default, 5")
	case c.Size == nil:
		return nil
	case uint64(*c.Size) < minSize || uint64(*c.Size) > maxSize:
		return refuse("size", fmt.Sprintf("%d bytes is not between 8Mi and 64Gi", uint64(*c.Size)), "omit it for 256Mi, or for 80 % of a smaller target")
	case uint64(*c.Size)%chunk != 0:
		return refuse("size", fmt.Sprintf("%d bytes is not a multiple of 1Mi", uint64(*c.Size)), fmt.Sprintf("use %dMi", uint64(*c.Size)/chunk))
	}
	return nil
}

// room is what the workload needs of a target whose size does not matter.
func (c config) room() uint64 {
	if c.Size == nil {
		return defaultSize
	}
	return uint64(*c.Size)
}

// writes is how many bytes a trial writes.
func (c config) writes(size uint64) uint64 {
	sum := workload.Product(uint64(len(rungs())), uint64(c.Operations), block)
	for _, amount := range amounts(int64(size)) {
		sum = workload.Sum(sum, workload.Product(uint64(c.Repeats), uint64(amount)))
	}
	return min(sum, math.MaxInt64)
}

// rung is one way of writing a block.
type rung struct {
	name string
	// flags that the file is opened with.
	flags int
	// call after the write, if any.
	call func(fd int) unix.Errno
}

func rungs() []rung {
	return []rung{
		{name: "nosync"},
		{name: "direct", flags: unix.O_DIRECT},
		{name: "fdatasync", flags: unix.O_DIRECT, call: native.Fdatasync},
		{name: "fsync", flags: unix.O_DIRECT, call: native.Fsync},
		{name: "dsync", flags: unix.O_DSYNC},
		{name: "fua", flags: unix.O_DIRECT | unix.O_DSYNC},
	}
}

// amounts that are written before a flush: a block, and up to all of the file.
func amounts(size int64) []int64 {
	out := []int64{block}
	for amount := int64(chunk); amount < size; amount *= 4 {
		if amount == chunk || amount >= size/16 {
			out = append(out, amount)
		}
	}
	return append(out, size)
}
