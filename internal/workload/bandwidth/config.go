package bandwidth

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

// Operations, as the API names them.
const (
	write = "Write"
	read  = "Read"
)

// config is the workload as the API has it.
type config struct {
	Operations []string        `json:"operations"`
	Size       *workload.Bytes `json:"size"`
	BlockSize  workload.Bytes  `json:"blockSize"`
	Depth      int             `json:"depth"`
	Direct     bool            `json:"direct"`
}

// Bounds, which are those of the API where it has them.
const (
	minBlock = 512
	maxBlock = 64 << 20
	maxDepth = 256
	// maxMemory of the threads' blocks, all together.
	maxMemory = 256 << 20
	// sector that direct I/O is at least aligned to.
	sector = 512
)

func decode(raw json.RawMessage) (config, error) {
	c := config{BlockSize: 1 << 20, Depth: 1, Direct: true}
	if err := workload.Decode("bandwidth", raw, &c); err != nil {
		return c, err
	}
	if c.Operations == nil {
		c.Operations = []string{write, read}
	}
	return c, c.check()
}

func (c config) check() error {
	for i, op := range c.Operations {
		if op != write && op != read {
			return refuse("operations", fmt.Sprintf("%q is not an operation", op), suggest.Remedy(op, []string{write, read}))
		}
		if slices.Contains(c.Operations[:i], op) {
			return refuse("operations", op+" is listed twice", "name it once; to repeat it, raise spec.trials")
		}
	}
	block := uint64(c.BlockSize)
	switch {
	case len(c.Operations) == 0:
		return refuse("operations", "the list is empty", "use Write, Read, or both")
	case block < minBlock || block > maxBlock:
		return refuse("blockSize", fmt.Sprintf("%d bytes is not between 512 and 64Mi", block), "omit it for the default, 1Mi")
	case c.Direct && block%sector != 0:
		return refuse("blockSize", fmt.Sprintf("%d bytes is not a multiple of 512, which direct I/O needs", block), "use a multiple of 512, preferably of 4Ki, or set direct: false")
	case c.Depth < 1 || c.Depth > maxDepth:
		return refuse("depth", fmt.Sprintf("%d is not between 1 and %d", c.Depth, maxDepth), "omit it for the default, 1")
	case block*uint64(c.Depth) > maxMemory:
		return &trial.Failure{Class: reason.LimitExceeded, Field: "bandwidth.depth", Message: fmt.Sprintf("%d blocks of %s would hold more than %s of memory", c.Depth, workload.Human(block), workload.Human(maxMemory)), Remedy: "lower depth or blockSize"}
	}
	return c.checkSize(block)
}

func (c config) checkSize(block uint64) error {
	if c.Size == nil {
		return nil
	}
	size := uint64(*c.Size)
	switch {
	case size == 0 || size > math.MaxInt64:
		return refuse("size", fmt.Sprintf("%d is not a size that can be written", size), "leave size out for 1Gi, or for 80 % of a smaller target")
	case size%block != 0:
		return refuse("size", fmt.Sprintf("%d bytes is not a multiple of blockSize, which is %d", size, block), fmt.Sprintf("use %d, or another blockSize", max(size/block, 1)*block))
	case uint64(c.Depth) > size/block:
		return refuse("depth", fmt.Sprintf("%d is more than the %d blocks of size", c.Depth, size/block), "lower depth or raise size")
	}
	return nil
}

func refuse(field, message, remedy string) error {
	return &trial.Failure{Class: reason.InvalidSpec, Field: "bandwidth." + field, Message: message, Remedy: remedy}
}

// readsFirst reports that a trial reads what was written before it.
func (c config) readsFirst() bool { return c.Operations[0] == read }
