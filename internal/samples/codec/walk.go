package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Types of the compact protocol of Thrift.
const (
	typeStop   = 0
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeInt16  = 4
	typeInt32  = 5
	typeInt64  = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
)

// Limits of a Thrift structure.
const (
	maxDepth  = 12
	maxValues = 1 << 16
)

var errThrift = errors.New("its metadata is damaged")

// walker walks over a structure that nobody vouches for, without keeping anything of it, so
// that the library can decode it afterwards in bounds.
type walker struct {
	b      []byte
	at     int
	values int
}

// walk returns how many bytes of b the structure has at its beginning.
func walk(b []byte) (int, error) {
	w := &walker{b: b}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	return w.at, nil
}

func (w *walker) left() int { return len(w.b) - w.at }

func (w *walker) byte() (byte, error) {
	if w.left() < 1 {
		return 0, errThrift
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *walker) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 {
		return 0, errThrift
	}
	w.at += n
	return v, nil
}

// skip goes on by n bytes.
func (w *walker) skip(n uint64) error {
	if n > uint64(w.left()) {
		return errThrift
	}
	w.at += int(n)
	return nil
}

func (w *walker) structure(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: it is nested too deeply", errThrift)
	}
	for {
		head, err := w.byte()
		if err != nil {
			return err
		}
		if head&15 == typeStop {
			return nil
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind != typeTrue && kind != typeFalse { // which are their own value
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

func (w *walker) value(kind byte, depth int) error {
	if w.values++; w.values > maxValues {
		return fmt.Errorf("%w: it has more than %d values", errThrift, maxValues)
	}
	switch kind {
	case typeTrue, typeFalse, typeByte:
		return w.skip(1)
	case typeInt16, typeInt32, typeInt64:
		_, err := w.varint()
		return err
	case typeDouble:
		return w.skip(8)
	case typeBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case typeList, typeSet:
		return w.list(depth)
	case typeStruct:
		return w.structure(depth + 1)
	default: // no structure of Parquet has a map
		return errThrift
	}
}

func (w *walker) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(w.left()) { // each element has a byte at least
		return fmt.Errorf("%w: a list of %d does not fit", errThrift, n)
	}
	if depth >= maxDepth {
		return fmt.Errorf("%w: it is nested too deeply", errThrift)
	}
	for range n {
		if err := w.value(head&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}
