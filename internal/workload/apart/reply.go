package apart

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// maxRaw bounds the raw output in bytes. It is stored compressed, and fio prints 100 KB
// for a job.
const maxRaw = 64 << 20

// reply is what the runner gets from an engine's process: two lengths of four bytes, the
// document, the raw output.
type reply struct {
	*result.EngineResult
	raw []byte
	// runnerCPU is the CPU time that this process used while it waited, and waited is how long
	// that was.
	runnerCPU, waited time.Duration
}

// writeReply writes what the engine measured. It cuts raw output that is too long, and writes a
// failure in place of a document that is too large.
func writeReply(w io.Writer, document result.EngineResult, raw []byte) error {
	text, err := json.Marshal(document)
	if err == nil && len(text) > result.MaxEngineResult {
		err = &trial.Failure{
			Class:   reason.LimitExceeded,
			Message: fmt.Sprintf("the engine's result has %d bytes, the limit is %d", len(text), result.MaxEngineResult),
			Remedy:  "split the workload: use fewer jobs, clones or sizes in each",
		}
	}
	if err != nil {
		document.Measurement, document.Rates, document.Failure = nil, nil, trial.AsFailure(err)
		if text, err = json.Marshal(document); err != nil {
			return err
		}
	}
	raw = raw[:min(len(raw), maxRaw)]
	head := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	head = binary.BigEndian.AppendUint32(head, uint32(len(raw)))
	for _, part := range [][]byte{head, text, raw} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("the result: %w", err)
		}
	}
	return nil
}

// errNoResult reports that the process ended before it had written its result.
var errNoResult = errors.New("it ended without a result")

// readReply reads what the engine's process wrote. began is called at its first byte.
func readReply(r io.Reader, began func()) (reply, error) {
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head[:1]); err != nil {
		return reply{}, errNoResult
	}
	began()
	if _, err := io.ReadFull(r, head[1:]); err != nil {
		return reply{}, errNoResult
	}
	length, rawLength := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:])
	if length > result.MaxEngineResult || rawLength > maxRaw {
		return reply{}, fmt.Errorf("its result has %d bytes and %d of raw output, more than is read", length, rawLength)
	}
	text, err := readN(r, length)
	if err != nil {
		return reply{}, err
	}
	raw, err := readN(r, rawLength)
	if err != nil {
		return reply{}, err
	}
	document, err := result.DecodeEngineResult(text)
	return reply{EngineResult: document, raw: raw}, err
}

// readN reads n bytes. No more memory is taken than there is to read.
func readN(r io.Reader, n uint32) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil || len(b) < int(n) {
		return nil, errNoResult
	}
	return b, nil
}
