package bonnie

import (
	"encoding/json"
	"fmt"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// config is the workload as the API has it.
type config struct {
	Size         *workload.Bytes `json:"size,omitempty"`
	ChunkSize    workload.Bytes  `json:"chunkSize"`
	Files        int64           `json:"files"`
	PerCharacter bool            `json:"perCharacter"`
}

// Bounds. Those of the chunk are bonnie++'s own.
const (
	minSize  = 16 << 20
	minChunk = 256
	maxChunk = 1 << 20
	maxFiles = 10_000
	// maxSize: bonnie++ counts the file's KiB in 31 bits, and reports nonsense beyond.
	maxSize = 2<<40 - 1<<20
	// maxChunks of a file: bonnie++ counts them in 31 bits, too.
	maxChunks = 1<<31 - 1
	// filesUnit is what bonnie++ counts files in.
	filesUnit = 1024
)

func decode(raw json.RawMessage) (config, error) {
	c := config{ChunkSize: 8 << 10, Files: 16, PerCharacter: true}
	if err := workload.Decode("bonnie", raw, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

func (c config) check() error {
	chunk := uint64(c.ChunkSize)
	switch {
	case chunk < minChunk || chunk > maxChunk || chunk&(chunk-1) != 0:
		return refuse("chunkSize", fmt.Sprintf("%d is not a power of two from 256 to 1Mi", chunk), "omit it for the default, 8Ki")
	case c.Files < 0 || c.Files > maxFiles:
		return refuse("files", fmt.Sprintf("%d is not between 0 and %d", c.Files, maxFiles), "it counts units of 1024 files; omit it for the default, 16")
	case c.Size == nil:
		return nil
	case *c.Size < minSize:
		return refuse("size", fmt.Sprintf("%s is less than 16 MiB", workload.Human(uint64(*c.Size))), "omit it for twice the node's memory; a smaller file measures memory")
	case *c.Size > maxSize:
		return refuse("size", fmt.Sprintf("%s is more than bonnie++ can count", workload.Human(uint64(*c.Size))), "use less than 2Ti, or the workload bandwidth")
	case uint64(*c.Size)/chunk > maxChunks:
		return refuse("chunkSize", fmt.Sprintf("%s in chunks of %d bytes exceed the number of chunks that bonnie++ can count", workload.Human(uint64(*c.Size)), chunk), "make the chunks larger, or the size smaller")
	}
	return nil
}

func refuse(field, message, remedy string) error {
	return &trial.Failure{Class: reason.InvalidSpec, Field: "bonnie." + field, Message: message, Remedy: remedy}
}

// mebibytes of the file, which is what bonnie++ counts in.
func mebibytes(size uint64) uint64 { return size >> 20 }
