package codec

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// column is a column that is read.
type column struct {
	name     string
	rows     int
	optional bool
	inflate  *zstd.Decoder
	// cells are eight bytes each, of numbers; texts those of scope and name.
	cells []uint64
	texts []string
	nulls []bool
	// size is how many bytes its pages have when they are inflated.
	size int
}

func (c *column) text() bool { return c.name == scopeColumn || c.name == nameColumn }

func (c *column) null(row int) bool { return c.optional && c.nulls[row] }

// done is how many rows were read.
func (c *column) done() int { return max(len(c.cells), len(c.texts)) }

// read reads the pages of a column.
func (c *column) read(chunk *format.ColumnChunk, data []byte) error {
	m := &chunk.MetaData
	start, size := m.DataPageOffset, m.TotalCompressedSize
	switch {
	case chunk.FilePath != "" || m.DictionaryPageOffset != 0 || m.Codec != format.Zstd:
		return errors.New("it is not written as ours are")
	case start < 4 || start > int64(len(data)) || size < 0 || size > int64(len(data))-start:
		return errors.New("its pages are outside the file")
	}
	pages := data[start : start+size]
	for len(pages) > 0 {
		n, err := walk(pages)
		if err != nil {
			return err
		}
		var head format.PageHeader
		if err := thrift.Unmarshal(new(thrift.CompactProtocol), pages[:n], &head); err != nil {
			return fmt.Errorf("%w: %w", errThrift, err)
		}
		pages = pages[n:]
		length := int(head.CompressedPageSize)
		if length < 0 || length > len(pages) {
			return errors.New("a page is larger than the column")
		}
		if err := c.page(&head, pages[:length]); err != nil {
			return err
		}
		pages = pages[length:]
	}
	if c.done() != c.rows {
		return fmt.Errorf("it has %d rows, and the file %d", c.done(), c.rows)
	}
	return nil
}

// page reads one page of data: the levels, which tell what is null, and then the values.
func (c *column) page(head *format.PageHeader, body []byte) error {
	h := &head.DataPageHeaderV2.V
	rows, nulls, levels := int(h.NumValues), int(h.NumNulls), int(h.DefinitionLevelsByteLength)
	whole := int(head.UncompressedPageSize)
	switch {
	case head.Type != format.DataPageV2 || !head.DataPageHeaderV2.Valid || h.Encoding != format.Plain || h.RepetitionLevelsByteLength != 0:
		return errors.New("a page is not written as ours are")
	case rows <= 0 || rows > c.rows-c.done() || nulls < 0 || nulls > rows || !c.optional && (nulls != 0 || levels != 0):
		return fmt.Errorf("a page has %d rows, %d of them null", rows, nulls)
	case levels < 0 || levels > len(body) || whole < levels || whole > maxPage || c.size+whole > maxColumn:
		return errors.New("a page is too large")
	}
	c.size += whole
	present, err := c.presence(body[:levels], rows, nulls)
	if err != nil {
		return err
	}
	values := body[levels:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		if values, err = c.inflated(values, whole-levels); err != nil {
			return err
		}
	}
	if len(values) != whole-levels {
		return errors.New("a page has not the size that it claims")
	}
	if c.text() {
		return c.strings(values, rows)
	}
	return c.numbers(values, present, rows, nulls)
}

// inflated returns what was compressed, of which the size is known.
func (c *column) inflated(b []byte, size int) ([]byte, error) {
	if len(b) == 0 && size == 0 {
		return nil, nil
	}
	out, err := c.inflate.DecodeAll(b, make([]byte, 0, size))
	if err != nil {
		return nil, fmt.Errorf("a page cannot be decompressed: %w", err)
	}
	return out, nil
}

// presence tells which rows have a value. It is written in runs: of equal bits, or of groups of
// eight.
func (c *column) presence(b []byte, rows, nulls int) ([]bool, error) {
	out := make([]bool, 0, rows)
	if !c.optional {
		return nil, nil
	}
	for len(out) < rows {
		run, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errors.New("its levels are damaged")
		}
		b = b[n:]
		count := run >> 1
		if run&1 == 0 {
			if len(b) < 1 || b[0] > 1 || count == 0 || count > uint64(rows-len(out)) {
				return nil, errors.New("its levels are damaged")
			}
			for range count {
				out = append(out, b[0] == 1)
			}
			b = b[1:]
			continue
		}
		if count == 0 || count > uint64(len(b)) {
			return nil, errors.New("its levels are damaged")
		}
		for i := range min(int(count)*8, rows-len(out)) {
			out = append(out, b[i/8]>>(i%8)&1 == 1)
		}
		b = b[count:]
	}
	missing := 0
	for _, there := range out {
		if !there {
			missing++
		}
	}
	if missing != nulls {
		return nil, fmt.Errorf("%d of its rows are null, and not %d", missing, nulls)
	}
	return out, nil
}

func (c *column) numbers(values []byte, present []bool, rows, nulls int) error {
	if len(values) != 8*(rows-nulls) {
		return fmt.Errorf("a page has %d bytes for %d numbers", len(values), rows-nulls)
	}
	for i := range rows {
		if c.optional && !present[i] {
			c.cells, c.nulls = append(c.cells, 0), append(c.nulls, true)
			continue
		}
		c.cells, c.nulls = append(c.cells, binary.LittleEndian.Uint64(values)), append(c.nulls, false)
		values = values[8:]
	}
	return nil
}

func (c *column) strings(values []byte, rows int) error {
	last := ""
	for range rows {
		if len(values) < 4 {
			return errors.New("a text is cut")
		}
		n := binary.LittleEndian.Uint32(values)
		values = values[4:]
		if n > maxName || int(n) > len(values) {
			return fmt.Errorf("a text has %d bytes", n)
		}
		if string(values[:n]) != last { // most are as the one before
			last = string(values[:n])
		}
		c.texts = append(c.texts, last)
		values = values[n:]
	}
	if len(values) != 0 {
		return errors.New("a page has more than its rows")
	}
	return nil
}
