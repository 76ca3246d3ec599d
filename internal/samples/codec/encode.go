package codec

import (
	"bytes"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"

	"storagebench.io/storagebench/internal/samples"
)

// Names of the columns that are no numbers.
const (
	atColumn    = "at"
	scopeColumn = "scope"
	nameColumn  = "name"
)

// schema has the columns of a table. The library sorts them by name.
func schema() *parquet.Schema {
	// The plainest encoding is the easiest to read in bounds, and zstd makes up for it.
	plain := func(n parquet.Node) parquet.Node {
		return parquet.Compressed(parquet.Encoded(n, &parquet.Plain), &parquet.Zstd)
	}
	group := parquet.Group{
		atColumn:    plain(parquet.Timestamp(parquet.Microsecond)),
		scopeColumn: plain(parquet.String()),
		nameColumn:  plain(parquet.String()),
	}
	for i := range samples.Columns {
		c := &samples.Columns[i]
		if c.Integer {
			group[c.Name] = parquet.Optional(plain(parquet.Int(64)))
		} else {
			group[c.Name] = parquet.Optional(plain(parquet.Leaf(parquet.DoubleType)))
		}
	}
	return parquet.NewSchema("samples", group)
}

// Encode returns the table as a Parquet file.
func Encode(t *samples.Table) ([]byte, error) {
	if t.Len() > samples.MaxRows {
		return nil, fmt.Errorf("samples: %d rows, and at most %d are written", t.Len(), samples.MaxRows)
	}
	s := schema()
	var out bytes.Buffer
	w := parquet.NewWriter(&out, s, parquet.CreatedBy("storagebench", "", ""), parquet.PageBufferSize(pageSize), parquet.DataPageStatistics(false))
	names := make([]string, 0, len(s.Fields()))
	for _, f := range s.Fields() {
		names = append(names, f.Name())
	}
	index := columns()
	row := make(parquet.Row, len(names))
	for i := range t.At {
		for j, name := range names {
			row[j] = value(t, index, name, i).Level(0, 0, j)
			if c, ok := index[name]; ok && !math.IsNaN(t.Values[c][i]) {
				row[j] = row[j].Level(0, 1, j)
			}
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			return nil, fmt.Errorf("samples: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	return out.Bytes(), nil
}

// pageSize is how many bytes of a column make a page.
const pageSize = 1 << 18

// columns are the columns of numbers by name.
func columns() map[string]samples.Column {
	index := make(map[string]samples.Column, samples.NumColumns)
	for i := range samples.Columns {
		index[samples.Columns[i].Name] = samples.Column(i)
	}
	return index
}

// value is a cell of the table.
func value(t *samples.Table, index map[string]samples.Column, name string, i int) parquet.Value {
	switch name {
	case atColumn:
		return parquet.Int64Value(t.At[i].UnixMicro())
	case scopeColumn:
		return parquet.ByteArrayValue([]byte(t.Scope[i]))
	case nameColumn:
		return parquet.ByteArrayValue([]byte(t.Name[i]))
	}
	c := index[name]
	v := t.Values[c][i]
	switch {
	case math.IsNaN(v):
		return parquet.NullValue()
	case samples.Columns[c].Integer:
		return parquet.Int64Value(int64(v))
	default:
		return parquet.DoubleValue(v)
	}
}
