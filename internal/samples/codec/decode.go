package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"storagebench.io/storagebench/internal/samples"
)

const (
	magic = "PAR1"
	// maxFile, maxFooter, maxPage and maxColumn bound what is read, in bytes.
	maxFile   = 4 << 20
	maxFooter = 1 << 18
	maxPage   = 4 << 20
	maxColumn = samples.MaxRows * 16
	// maxName bounds a name in a row.
	maxName = 256
)

// Decode reads a file that Encode may have written. It refuses every other one, and takes no
// more memory than a table of the largest size.
func Decode(body []byte) (*samples.Table, error) { return DecodeAtMost(body, samples.MaxRows) }

// DecodeAtMost is Decode of a table of at most so many rows, for a reader with little memory: a row
// takes about 400 bytes.
func DecodeAtMost(body []byte, rows int) (*samples.Table, error) {
	t, err := decode(body, rows)
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	return t, nil
}

func decode(body []byte, rows int) (*samples.Table, error) {
	meta, data, err := footer(body)
	if err != nil {
		return nil, err
	}
	if meta.NumRows > int64(rows) {
		return nil, fmt.Errorf("it has %d rows, the limit is %d", meta.NumRows, rows)
	}
	inflate, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, err
	}
	defer inflate.Close()
	t, index := &samples.Table{}, columns()
	for i := range samples.Columns {
		t.Values[i] = absent(int(meta.NumRows))
	}
	groups := meta.RowGroups
	if len(groups) > 1 || len(groups) == 0 && meta.NumRows != 0 || len(groups) == 1 && groups[0].NumRows != meta.NumRows {
		return nil, fmt.Errorf("it has %d groups of rows, and not one", len(groups))
	}
	if len(groups) == 0 {
		return t, nil
	}
	chunks := groups[0].Columns
	leaves := meta.Schema[1:]
	if len(chunks) != len(leaves) {
		return nil, fmt.Errorf("it has %d columns, and %d in its schema", len(chunks), len(leaves))
	}
	for i := range chunks {
		c := &column{name: leaves[i].Name, rows: int(meta.NumRows), inflate: inflate, optional: leaves[i].RepetitionType.V == format.Optional}
		if err := c.read(&chunks[i], data); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		if err := c.into(t, index); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return t, nil
}

func absent(rows int) []float64 {
	out := make([]float64, rows)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

// footer returns the file's metadata, and all that is before it.
func footer(body []byte) (*format.FileMetaData, []byte, error) {
	switch {
	case len(body) > maxFile:
		return nil, nil, fmt.Errorf("it has %d bytes, the limit is %d", len(body), maxFile)
	case len(body) < 12 || !bytes.HasPrefix(body, []byte(magic)) || !bytes.HasSuffix(body, []byte(magic)):
		return nil, nil, errors.New("it is no Parquet file")
	}
	end := len(body) - 8
	length := binary.LittleEndian.Uint32(body[end:])
	if length > maxFooter || int(length) > end-4 {
		return nil, nil, fmt.Errorf("its metadata has %d bytes", length)
	}
	start := end - int(length)
	if _, err := walk(body[start:end]); err != nil {
		return nil, nil, err
	}
	meta := &format.FileMetaData{}
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), body[start:end], meta); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errThrift, err)
	}
	if meta.NumRows < 0 || meta.NumRows > samples.MaxRows {
		return nil, nil, fmt.Errorf("it has %d rows, the limit is %d", meta.NumRows, samples.MaxRows)
	}
	return meta, body[:start], checkSchema(meta.Schema)
}

// checkSchema checks that the columns are some of ours, each once, and of their type.
func checkSchema(elements []format.SchemaElement) error {
	if len(elements) == 0 || int(elements[0].NumChildren.V) != len(elements)-1 {
		return errors.New("its schema is no list of columns")
	}
	index, seen := columns(), map[string]bool{}
	for _, e := range elements[1:] {
		want, repetition := format.ByteArray, format.Required
		c, number := index[e.Name]
		switch {
		case e.Name == atColumn:
			want = format.Int64
		case number:
			want, repetition = format.Double, format.Optional
			if samples.Columns[c].Integer {
				want = format.Int64
			}
		case e.Name != scopeColumn && e.Name != nameColumn:
			return fmt.Errorf("there is no column %.64q", e.Name)
		}
		if seen[e.Name] || !e.Type.Valid || e.Type.V != want || !e.RepetitionType.Valid || e.RepetitionType.V != repetition || e.NumChildren.Valid && e.NumChildren.V != 0 {
			return fmt.Errorf("column %.64q is not as it should be", e.Name)
		}
		seen[e.Name] = true
	}
	if !seen[atColumn] || !seen[scopeColumn] || !seen[nameColumn] {
		return errors.New("it lacks at, scope or name")
	}
	return nil
}

// into puts the column's cells into the table.
func (c *column) into(t *samples.Table, index map[string]samples.Column) error {
	switch c.name {
	case atColumn:
		for _, cell := range c.cells {
			t.At = append(t.At, time.UnixMicro(int64(cell)).UTC())
		}
	case scopeColumn:
		for _, text := range c.texts {
			t.Scope = append(t.Scope, samples.Scope(text))
		}
	case nameColumn:
		t.Name = c.texts
	default:
		i := index[c.name]
		for row, cell := range c.cells {
			if c.null(row) {
				continue
			}
			v := math.Float64frombits(cell)
			if samples.Columns[i].Integer {
				v = float64(int64(cell))
			}
			if math.IsInf(v, 0) || v < 0 {
				return fmt.Errorf("row %d is %v", row, v)
			}
			t.Values[i][row] = v
		}
	}
	return nil
}
