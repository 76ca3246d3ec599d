package iozone

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// config is the workload as the API has it.
type config struct {
	FileSizes    []workload.Bytes `json:"fileSizes"`
	RecordSizes  []workload.Bytes `json:"recordSizes"`
	Tests        []string         `json:"tests"`
	IncludeFlush bool             `json:"includeFlush"`
	Direct       bool             `json:"direct"`
	Tool         string           `json:"tool"`
}

// Programs that measure.
const (
	toolAuto   = "Auto"
	toolIozone = "Iozone"
	toolFio    = "Fio"
)

// Bounds.
const (
	maxSizes = 16
	// minRecord: iozone counts in KiB.
	minRecord = 1 << 10
	// maxRecord is iozone's own.
	maxRecord = 16 << 20
	// minDirect is what every device accepts.
	minDirect = 4 << 10
	maxFile   = 16 << 40
)

// tests by their names in the API and in metrics, in the order in which they are done.
var tests = []struct{ name, operation string }{
	{"Write", "write"}, {"Rewrite", "rewrite"}, {"Read", "read"}, {"Reread", "reread"},
	{"RandomRead", "random.read"}, {"RandomWrite", "random.write"},
}

func decode(raw json.RawMessage) (config, error) {
	c := config{
		FileSizes: []workload.Bytes{64 << 20, 512 << 20}, RecordSizes: []workload.Bytes{4 << 10, 64 << 10, 1 << 20},
		IncludeFlush: true, Tool: toolAuto,
	}
	for _, t := range tests {
		c.Tests = append(c.Tests, t.name)
	}
	if err := workload.Decode("iozone", raw, &c); err != nil {
		return c, err
	}
	for _, check := range []func() error{c.checkSizes, c.checkCells, c.checkTests, c.checkMemory} {
		if err := check(); err != nil {
			return c, err
		}
	}
	return c, nil
}

func refuse(field, message, remedy string) error {
	return &trial.Failure{Class: reason.InvalidSpec, Field: "iozone." + field, Message: message, Remedy: remedy}
}

func (c config) checkSizes() error {
	for _, list := range []struct {
		field string
		sizes []workload.Bytes
	}{{"fileSizes", c.FileSizes}, {"recordSizes", c.RecordSizes}} {
		field, sizes := list.field, list.sizes
		if len(sizes) == 0 || len(sizes) > maxSizes {
			return refuse(field, fmt.Sprintf("%d sizes are given; 1 to %d are possible", len(sizes), maxSizes), "use several workloads for more")
		}
		for i, size := range sizes {
			if slices.Contains(sizes[:i], size) {
				return refuse(field, fmt.Sprintf("%s is listed twice", sizeName(uint64(size))), "remove one of them")
			}
		}
	}
	for _, size := range c.FileSizes {
		if size < minRecord || size > maxFile {
			return refuse("fileSizes", fmt.Sprintf("%s is not between 1 KiB and 16 TiB", sizeName(uint64(size))), "omit it for the default, 64Mi and 512Mi")
		}
	}
	for _, record := range c.RecordSizes {
		if record < minRecord || record > maxRecord || record&(record-1) != 0 {
			return refuse("recordSizes", fmt.Sprintf("%s is not a power of two from 1 KiB to 16 MiB", sizeName(uint64(record))), "omit it for the default, 4Ki, 64Ki and 1Mi")
		}
		if c.Direct && record < minDirect {
			return refuse("recordSizes", fmt.Sprintf("%s is less than direct I/O supports on every device", sizeName(uint64(record))), "use records of 4Ki and more, or set direct to false")
		}
	}
	return nil
}

// checkCells refuses rows and columns without a cell, and cells that end with a part of
// a record.
func (c config) checkCells() error {
	smallest, largest := slices.Min(c.RecordSizes), slices.Max(c.FileSizes)
	for _, record := range c.RecordSizes {
		if record > largest {
			return refuse("recordSizes", fmt.Sprintf("a record of %s is larger than each of the files", sizeName(uint64(record))), "remove it, or add a larger file")
		}
	}
	for _, file := range c.FileSizes {
		if file < smallest {
			return refuse("fileSizes", fmt.Sprintf("a file of %s is smaller than each of the records", sizeName(uint64(file))), "remove it, or add a smaller record")
		}
		for _, record := range c.RecordSizes {
			if record <= file && file%record != 0 {
				return refuse("fileSizes", fmt.Sprintf("%s is not a multiple of the record size %s", sizeName(uint64(file)), sizeName(uint64(record))), "use sizes such as 64Mi and 1Gi")
			}
		}
	}
	return nil
}

// checkMemory refuses random tests of more records than memory has room for: iozone keeps
// the offset of each, in 8 bytes.
func (c config) checkMemory() error {
	if !c.has("random.read") && !c.has("random.write") {
		return nil
	}
	for _, p := range c.pairs() {
		what := fmt.Sprintf("random access to a file of %s in records of %s", sizeName(p.file), sizeName(p.record))
		if err := workload.CheckMemory("iozone.recordSizes", p.file/p.record*8, workload.MaxMemory, what, "use larger records or smaller files, or leave out RandomRead and RandomWrite"); err != nil {
			return err
		}
	}
	return nil
}

func (c config) checkTests() error {
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	if len(c.Tests) == 0 {
		return refuse("tests", "the list is empty", "use one or more of "+strings.Join(names, ", "))
	}
	for i, test := range c.Tests {
		if !slices.Contains(names, test) {
			return refuse("tests", fmt.Sprintf("there is no test %q", clip(test)), suggest.Remedy(test, names))
		}
		if slices.Contains(c.Tests[:i], test) {
			return refuse("tests", test+" is listed twice", "remove one of them")
		}
	}
	if tools := []string{toolAuto, toolIozone, toolFio}; !slices.Contains(tools, c.Tool) {
		return refuse("tool", fmt.Sprintf("there is no tool %q", clip(c.Tool)), suggest.Remedy(c.Tool, tools))
	}
	return nil
}

// has reports whether a test was asked for.
func (c config) has(operation string) bool {
	for _, t := range tests {
		if t.operation == operation {
			return slices.Contains(c.Tests, t.name)
		}
	}
	return false
}

// pair is a file size and a record size.
type pair struct{ file, record uint64 }

// pairs are the cells of the matrix, row by row.
func (c config) pairs() []pair {
	var out []pair
	for _, file := range c.FileSizes {
		for _, record := range c.RecordSizes {
			if record <= file {
				out = append(out, pair{uint64(file), uint64(record)})
			}
		}
	}
	return out
}

// largest file, which is what the target must hold: cells are measured one by one.
func (c config) largest() uint64 { return uint64(slices.Max(c.FileSizes)) }
