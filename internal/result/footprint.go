package result

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// maxMemory bounds what a decoded document takes besides its text. Metrics, the most of a
// worker's summary, take about 18 bytes for each value, so maxValues of them are below it.
const maxMemory = 64 << 20

var (
	errCut  = errors.New("unexpected end of the JSON")
	errTail = errors.New("there is more text after its end")
)

// Sizes in bytes of what has no type here.
const (
	// growth is by how much a list takes more than its elements: it has room for more, and the
	// old one stays until its elements have been copied.
	growth   = 3
	mapSize  = 48 // of a map without its entries
	mapSlots = 8  // that the first entry of a map allocates
	// opaqueElement is an element of a list in a value that decodes itself: a histogram, of
	// which each bin is in a list and in a map.
	opaqueElement = 64
)

// checkJSON reads a document token by token, to bound what it takes once decoded into a
// value of type t. A few bytes of text can stand for a large struct.
func checkJSON(document []byte, t reflect.Type) error {
	if !utf8.Valid(document) {
		return errors.New("it is not valid UTF-8")
	}
	s := scan{decoder: json.NewDecoder(bytes.NewReader(document)), fields: map[reflect.Type]map[string]reflect.Type{}}
	s.decoder.UseNumber()
	if err := s.value(t); err != nil {
		return err
	}
	if _, err := s.decoder.Token(); !errors.Is(err, io.EOF) {
		return errTail
	}
	return nil
}

// scan walks through a document and through the type that it is decoded into. A nil type
// is that of a value that nothing is known about.
type scan struct {
	decoder *json.Decoder
	depth   int
	values  int
	memory  uint64
	// fields of the structs that the scan has met.
	fields map[reflect.Type]map[string]reflect.Type
}

// next returns the next token if it is within the limits.
func (s *scan) next() (json.Token, error) {
	token, err := s.decoder.Token()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errCut
	}
	if err != nil {
		return nil, err
	}
	if s.values++; s.values > maxValues {
		return nil, fmt.Errorf("it has more than %d values", maxValues)
	}
	switch v := token.(type) {
	case string:
		if len(v) > maxText {
			return nil, fmt.Errorf("one of its strings has %d bytes, the limit is %d", len(v), maxText)
		}
	case json.Number:
		if len(v) > maxNumber {
			return nil, fmt.Errorf("one of its numbers has %d digits, the limit is %d", len(v), maxNumber)
		}
	}
	return token, nil
}

// charge counts memory that decoding will allocate.
func (s *scan) charge(size uintptr) error {
	if s.memory += uint64(size); s.memory > maxMemory {
		return fmt.Errorf("decoded, it would take more than %d MiB", maxMemory>>20)
	}
	return nil
}

func (s *scan) value(t reflect.Type) error {
	token, err := s.next()
	if err != nil || token == nil { // null allocates nothing
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		if err := s.charge(t.Size()); err != nil {
			return err
		}
	}
	if t != nil && opaque(t) {
		t = nil
	}
	delim, _ := token.(json.Delim)
	if t != nil && !fits(delim, t.Kind()) {
		// The decoder would go on, and allocate, before it says so.
		return fmt.Errorf("it has %.64q where %s belongs", fmt.Sprint(token), kindOf(t.Kind()))
	}
	if delim == 0 {
		return nil
	}
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	defer func() { s.depth-- }()
	if delim == '{' {
		return s.object(t)
	}
	return s.list(t)
}

func (s *scan) list(t reflect.Type) error {
	size, element := uintptr(opaqueElement), reflect.Type(nil)
	if t != nil {
		element = t.Elem()
		size = growth * element.Size()
	}
	for s.decoder.More() {
		if err := errors.Join(s.charge(size), s.value(element)); err != nil {
			return err
		}
	}
	_, err := s.next() // its end
	return err
}

func (s *scan) object(t reflect.Type) error {
	for n := 0; s.decoder.More(); n++ {
		name, err := s.next()
		if err != nil {
			return err
		}
		var member reflect.Type
		switch {
		case t == nil:
		case t.Kind() == reflect.Map:
			member = t.Elem()
			err = s.charge(entry(t, n))
		default:
			member = s.fieldsOf(t)[folded(fmt.Sprint(name))]
		}
		if err := errors.Join(err, s.value(member)); err != nil {
			return err
		}
	}
	_, err := s.next() // its end
	return err
}

// entry is what the entry of a map takes that has n already.
func entry(t reflect.Type, n int) uintptr {
	slot := t.Key().Size() + t.Elem().Size()
	switch {
	case n == 0:
		return mapSize + mapSlots*slot
	case n < mapSlots:
		return 0
	default:
		return 2 * slot // maps keep room, as lists do
	}
}

// fits reports whether a value that begins so can be of a kind; 0 is neither a list nor an object.
func fits(delim json.Delim, kind reflect.Kind) bool {
	switch kindOf(kind) {
	case object:
		return delim == '{'
	case list:
		return delim == '['
	default:
		return delim == 0
	}
}

// What a value of JSON is.
const object, list, single = "an object", "a list", "a single value"

func kindOf(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct, reflect.Map:
		return object
	case reflect.Slice, reflect.Array:
		return list
	default:
		return single
	}
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// opaque reports whether a type decodes itself, or can be anything.
func opaque(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() == reflect.Interface || p.Implements(unmarshaler) || p.Implements(textUnmarshaler)
}

// fieldsOf returns the types of the members that a struct is decoded from, by folded name.
func (s *scan) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.fields[t]; ok {
		return known
	}
	members, depths := map[string]reflect.Type{}, map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() || f.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		name := folded(tag)
		if d, taken := depths[name]; !taken || len(f.Index) < d {
			members[name], depths[name] = f.Type, len(f.Index)
		}
	}
	s.fields[t] = members
	return members
}

// folded is equal for names that encoding/json takes for the same.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }
