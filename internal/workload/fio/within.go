package fio

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// deepest is how far within other JSON documents are looked for.
const deepest = 16

// within finds the documents that stand within JSON of somebody else, and names each after the keys
// that lead to it and the words beside these: only what is around a document is about it, and not the
// line above, which may end the object before.
type within struct {
	found []*foundDocument
	// words reports that a name has any that is no key.
	words bool
	depth int
}

// field of an object, in the order of the text.
type field struct {
	name  string
	value json.RawMessage
}

// unwrap returns the documents within the JSON with which a text begins, and its length. err is why
// it is no document itself, if it is JSON at all.
func (f *foundDocument) unwrap(text []byte, err error) (inner []*foundDocument, length int) {
	if _, other := errors.AsType[*json.UnmarshalTypeError](err); f.Version != "" || err != nil && !other {
		return nil, 0
	}
	var value json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	if decoder.Decode(&value) != nil {
		return nil, 0
	}
	if inner = documentsWithin(value); len(inner) > 0 {
		inner[0].before = f.before
	}
	return inner, int(decoder.InputOffset())
}

// documentsWithin returns the documents within a value of JSON that is none; nil: there are none, or
// some that cannot be read.
func documentsWithin(value []byte) []*foundDocument {
	w := within{}
	if !w.walk(value, nil) {
		return nil
	}
	if len(w.found) == 1 && !w.words {
		w.found[0].alone = true
	}
	return w.found
}

// walk goes through a value. False: a document in it cannot be read.
func (w *within) walk(value json.RawMessage, path []string) bool {
	w.depth++
	defer func() { w.depth-- }()
	value = bytes.TrimSpace(value)
	if w.depth > deepest || !bytes.Contains(value, []byte(firstKey)) {
		return w.depth <= deepest
	}
	if value[0] == '[' {
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			return false
		}
		return !slices.ContainsFunc(items, func(item json.RawMessage) bool { return !w.walk(item, path) })
	}
	if value[0] != '{' {
		return true
	}
	fields, ok := fieldsOf(value)
	if !ok {
		return false
	}
	var words []string
	for _, f := range fields {
		if `"`+f.name+`"` == firstKey {
			return w.add(value, path)
		}
		if word := f.word(); word != "" {
			words = append(words, word)
		}
	}
	w.words = w.words || len(words) > 0
	for _, f := range fields {
		if !w.walk(f.value, slices.Concat(path, words, []string{f.name})) {
			return false
		}
	}
	return true
}

func (w *within) add(value json.RawMessage, path []string) bool {
	f := &foundDocument{within: strings.Join(path, " / "), inherits: len(w.found) > 0}
	if json.Unmarshal(value, &f.foreignDocument) != nil || len(w.found) >= maxDocuments {
		return false
	}
	w.found = append(w.found, f)
	return true
}

func fieldsOf(object json.RawMessage) (fields []field, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, false
	}
	for decoder.More() {
		key, err := decoder.Token()
		name, isName := key.(string)
		f := field{name: name}
		if err != nil || !isName || decoder.Decode(&f.value) != nil {
			return nil, false
		}
		fields = append(fields, f)
	}
	return fields, true
}

// word is a field that says something short in words; empty: it does not.
func (f field) word() string {
	const most = 60
	var text string
	if json.Unmarshal(f.value, &text) != nil {
		return ""
	}
	text = strings.TrimSpace(text)
	letters := strings.IndexFunc(text, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > '~' })
	if letters < 0 || len(text) > most || strings.ContainsAny(text, "\n{}") {
		return ""
	}
	return f.name + "=" + text
}

// unbroken writes a fraction that is a whole number as one.
func unbroken(text string) string {
	m := fraction.FindStringSubmatch(text)
	v, err := strconv.ParseFloat(m[2], 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
		return text
	}
	return m[1] + strconv.FormatFloat(v, 'f', -1, 64) + m[3]
}
