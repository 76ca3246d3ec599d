package powercut

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
)

// Limits of a run. A run of the most records in the largest blocks is 64 GiB.
const (
	MinBlock   = 512
	MaxBlock   = 64 << 10
	MaxRecords = 1 << 20
)

// Run is what a log says at its beginning: all that is needed to find the records again.
type Run struct {
	// ID of the run: 32 hexadecimal digits, drawn anew for each.
	ID string
	// Block is the size of a record in bytes.
	Block int
	// Records is how many the run has room for.
	Records int
	// Device: they are written to a block device, past the page cache. What is "wrote" has
	// reached the device then. Of a file nobody knows: its size may still be in memory.
	Device bool
}

// NewRun draws an ID.
func NewRun(block, records int) (Run, error) {
	id := make([]byte, runIDBytes)
	_, _ = rand.Read(id) // never fails
	run := Run{ID: hex.EncodeToString(id), Block: block, Records: records}
	return run, run.check()
}

const runIDBytes = 16

func (r Run) check() error {
	id, err := hex.DecodeString(r.ID)
	switch {
	case err != nil || len(id) != runIDBytes:
		return fmt.Errorf("the run's ID must be %d hexadecimal digits", 2*runIDBytes)
	case r.Block < MinBlock || r.Block > MaxBlock || r.Block&(r.Block-1) != 0:
		return fmt.Errorf("the block size is %d; it must be a power of two from %d to %d", r.Block, MinBlock, MaxBlock)
	case r.Records < 1 || r.Records > MaxRecords:
		return fmt.Errorf("the number of records is %d; it must be from 1 to %d", r.Records, MaxRecords)
	}
	return nil
}

// Bytes that the records take, if all are written.
func (r Run) Bytes() int64 { return int64(r.Block) * int64(r.Records) }

// offset of a record, whose numbers begin at 1.
func (r Run) offset(number int) int64 { return int64(number-1) * int64(r.Block) }

// A record is: the magic, the run's ID, its number, its size, filling, and the SHA-256 of all
// that. The filling is random, so that no layer below makes it smaller.
var magic = []byte("SBRECORD")

const headerBytes = 8 + runIDBytes + 8 + 8

// encode writes the record into a block of the run's size.
func (r Run) encode(block []byte, number int) {
	id, _ := hex.DecodeString(r.ID) // checked
	copy(block, magic)
	copy(block[8:], id)
	binary.LittleEndian.PutUint64(block[8+runIDBytes:], uint64(number))
	binary.LittleEndian.PutUint64(block[16+runIDBytes:], uint64(r.Block))
	var seed [32]byte
	copy(seed[:], block[8:headerBytes])
	end := len(block) - sha256.Size
	_, _ = mathrand.NewChaCha8(seed).Read(block[headerBytes:end]) // never fails
	sum := sha256.Sum256(block[:end])
	copy(block[end:], sum[:])
}

// intact returns whether the block holds the whole record of that number.
func (r Run) intact(block []byte, number int) bool {
	id, err := hex.DecodeString(r.ID)
	if err != nil || len(block) != r.Block || !bytes.HasPrefix(block, magic) || !bytes.Equal(block[8:8+runIDBytes], id) {
		return false
	}
	end := len(block) - sha256.Size
	sum := sha256.Sum256(block[:end])
	return binary.LittleEndian.Uint64(block[8+runIDBytes:]) == uint64(number) && bytes.Equal(sum[:], block[end:])
}

// errFull is returned when the power was not cut in time.
var errFull = errors.New("every record is written, and the power was not cut")
