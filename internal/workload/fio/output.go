package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/histogram"
)

// document is what is read of fio's json+ output.
type document struct {
	Version string      `json:"fio version"`
	Jobs    []jobOutput `json:"jobs"`
}

// jobOutput is one clone of one job.
type jobOutput struct {
	Name  string    `json:"jobname"`
	Group int       `json:"groupid"`
	Error int       `json:"error"` // an errno
	Read  direction `json:"read"`
	Write direction `json:"write"`
	Trim  direction `json:"trim"`
	Sync  struct {
		// Latency.N counts the syncs; fio 3.33 leaves total_ios at 0 in some cases.
		Latency latency `json:"lat_ns"`
		IOs     uint64  `json:"total_ios"`
	} `json:"sync"`
	UserCPU   float64 `json:"usr_cpu"` // percent of one core
	SystemCPU float64 `json:"sys_cpu"`
	Runtime   float64 `json:"job_runtime"` // milliseconds
}

// direction is the reads, writes or trims of a clone.
type direction struct {
	Bytes   uint64  `json:"io_bytes"`
	IOs     uint64  `json:"total_ios"`
	Runtime float64 `json:"runtime"` // milliseconds, without ramp_time
	IOPS    float64 `json:"iops"`    // IOs over Runtime
	// BytesPerSecond and KiBPerSecond are Bytes over Runtime.
	BytesPerSecond float64 `json:"bw_bytes"`
	KiBPerSecond   float64 `json:"bw"`
	Short          uint64  `json:"short_ios"`
	Dropped        uint64  `json:"drop_ios"`
	// Total is the time that a caller waits: Submission, in which a full queue of the
	// device makes io_submit block, and Completion, from there to the end. Total and
	// Submission have bins only with lat_percentiles=1 and slat_percentiles=1.
	Total      latency `json:"lat_ns"`
	Submission latency `json:"slat_ns"`
	Completion latency `json:"clat_ns"`
	// derived reports that fio printed no Runtime, and that it is IOs over IOPS.
	derived bool
}

// latency is in nanoseconds.
type latency struct {
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	// N is how many were measured. fio 3.0 to 3.17 does not print it as Counted.
	N           uint64             `json:"-"`
	Counted     *uint64            `json:"N"`
	Bins        bins               `json:"bins"`
	Percentiles map[string]float64 `json:"percentile"`
}

// UnmarshalJSON reads a clone and derives what its fio did not print.
func (j *jobOutput) UnmarshalJSON(text []byte) error {
	type printed jobOutput
	if err := json.Unmarshal(text, (*printed)(j)); err != nil {
		return err
	}
	for _, op := range operations {
		d := j.direction(op)
		if d.Runtime <= 0 && d.IOPS > 0 {
			d.Runtime, d.derived = float64(d.IOs)/d.IOPS*1e3, true
		}
		if d.Bytes == 0 && d.IOs > 0 {
			const kibi = 1024
			d.Bytes = uint64(max(d.BytesPerSecond, d.KiBPerSecond*kibi, 0) * d.Runtime / 1e3)
		}
		for _, l := range []*latency{&d.Total, &d.Submission, &d.Completion} {
			l.count(d.IOs)
		}
	}
	j.Sync.Latency.count(j.Sync.IOs)
	return nil
}

// count sets N: fio's own, or that of the histogram, or else all I/Os, if any was measured.
func (l *latency) count(ios uint64) {
	switch n := l.Bins.Count(); {
	case l.Counted != nil:
		l.N = *l.Counted
	case n > 0:
		l.N = n
	case l.Max > 0 || l.Mean > 0 || l.hasPercentiles():
		l.N = ios
	}
}

// hasPercentiles reports whether fio measured any: it prints zeros where it did not.
func (l *latency) hasPercentiles() bool {
	for _, v := range l.Percentiles {
		if v > 0 {
			return true
		}
	}
	return false
}

// bins are fio's histogram: the middle of a bucket in nanoseconds, and its count.
type bins struct{ histogram.Histogram }

// UnmarshalJSON reads fio's object of counts.
func (b *bins) UnmarshalJSON(text []byte) error {
	var counts map[string]uint64
	if err := json.Unmarshal(text, &counts); err != nil {
		return err
	}
	for name, n := range counts {
		v, err := strconv.ParseUint(name, 10, 64)
		if err != nil {
			return fmt.Errorf("a bin named %q", clip(name))
		}
		b.Add(v, n)
	}
	return nil
}

// errNoDocument reports that fio printed no JSON.
var errNoDocument = errors.New("fio printed no result")

// parseOutput splits fio's output into the messages before the document (fio
// prints errors there, even into the --output file) and the document.
func parseOutput(output []byte) (*document, string, error) {
	messages := output
	for start := 0; ; {
		i := bytes.IndexByte(output[start:], '{')
		if i < 0 {
			return nil, clean(messages), errNoDocument
		}
		start += i
		messages = output[:start]
		d := &document{}
		err := json.NewDecoder(bytes.NewReader(output[start:])).Decode(d)
		if err == nil && d.Version != "" {
			return d, clean(messages), nil
		}
		// A brace in a message, or a document that was cut short.
		if start++; bytes.IndexByte(output[start:], '{') < 0 || bytes.HasPrefix(bytes.TrimSpace(output[start:]), []byte(`"fio version"`)) {
			if err == nil {
				err = errNoDocument // JSON of something else
			}
			return nil, clean(messages), fmt.Errorf("cannot read fio's result: %w", err)
		}
	}
}

func clean(b []byte) string { return string(bytes.TrimSpace(bytes.ToValidUTF8(b, []byte("?")))) }

// mostSaid is how many bytes are kept of the end of what fio said.
const mostSaid = 16 << 10

// said joins what fio printed before its document and to stderr: each line once, as most are in both, and
// fio repeats a warning for each pass over the files.
func said(messages, stderr string) string {
	later, seen := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(stderr) {
		later[strings.TrimSpace(line)] = true
	}
	var out strings.Builder
	add := func(text string, leaveOut map[string]bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !leaveOut[line] && !seen[line] {
				seen[line] = true
				out.WriteString(line + "\n")
			}
		}
	}
	add(messages, later)
	add(stderr, nil)
	text := strings.TrimSpace(out.String())
	return strings.ToValidUTF8(text[max(0, len(text)-mostSaid):], "")
}
