package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

const (
	schema = "storagebench.io/journal.v1"
	// maxSize bounds the file that is read: a thousand times what the knobs of a
	// node need.
	maxSize = 16 << 20
	// sumLength is the length of a SHA-256 in hexadecimal digits.
	sumLength = 2 * sha256.Size
)

// header is the first record.
type header struct {
	Schema  string `json:"schema"`
	Entries int    `json:"entries"`
	// Sum covers the lines of all entries. It detects lines that are missing,
	// repeated or moved, although each is intact by itself.
	Sum string `json:"sum"`
}

// CorruptError reports that a journal is damaged. None of its entries may be
// restored, because a missing entry may be the one that has to be restored
// first.
type CorruptError struct {
	Path   string
	Reason string
	// Intact are the entries that are certainly undamaged, for display.
	Intact []Entry
}

// Error says what is wrong.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("the journal %s is damaged (%s); no setting was changed", e.Path, e.Reason)
}

// encode returns the content of the file with these entries.
func encode(entries []Entry) ([]byte, error) {
	var body bytes.Buffer
	for _, e := range entries {
		if err := appendRecord(&body, e); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	if err := appendRecord(&out, header{Schema: schema, Entries: len(entries), Sum: sum(body.Bytes())}); err != nil {
		return nil, err
	}
	out.Write(body.Bytes())
	return out.Bytes(), nil
}

func appendRecord(b *bytes.Buffer, v any) error {
	record, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	fmt.Fprintf(b, "%s %s\n", sum(record), record)
	return nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// decode parses the content of a file. Its error is a *CorruptError without a
// path.
func decode(file []byte) ([]Entry, error) {
	lines := bytes.SplitAfter(file, []byte("\n"))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1] // the text after the last newline
	}
	if len(lines) == 0 {
		return nil, &CorruptError{Reason: "it is empty"}
	}
	var head header
	if !readRecord(lines[0], &head) {
		return nil, &CorruptError{Reason: "its first line is damaged", Intact: intact(lines[1:])}
	}
	if head.Schema != schema {
		return nil, &CorruptError{Reason: fmt.Sprintf("its schema is %q, expected %q", head.Schema, schema)}
	}
	entries := intact(lines[1:])
	switch {
	case len(entries) != len(lines)-1 || head.Entries != len(entries):
		return nil, &CorruptError{Reason: fmt.Sprintf("only %d of its %d entries are intact", len(entries), head.Entries), Intact: entries}
	case sum(bytes.Join(lines[1:], nil)) != head.Sum:
		return nil, &CorruptError{Reason: "entries are missing, repeated or moved", Intact: entries}
	}
	return entries, nil
}

// intact returns the entries whose lines are undamaged.
func intact(lines [][]byte) []Entry {
	var out []Entry
	for _, line := range lines {
		var e Entry
		if readRecord(line, &e) {
			out = append(out, e)
		}
	}
	return out
}

func readRecord(line []byte, v any) bool {
	record, whole := bytes.CutSuffix(line, []byte("\n"))
	if !whole || len(record) <= sumLength || record[sumLength] != ' ' {
		return false
	}
	if sum(record[sumLength+1:]) != string(record[:sumLength]) {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(record[sumLength+1:]))
	// Unknown fields would be lost when the journal is written again.
	decoder.DisallowUnknownFields()
	return decoder.Decode(v) == nil
}
