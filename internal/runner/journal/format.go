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
	// maxSize of a file that is read: some thousand times what a node has knobs for.
	maxSize = 16 << 20
	// sumLength is that of a SHA-256 in hexadecimal digits.
	sumLength = 2 * sha256.Size
)

// header is the first record.
type header struct {
	Schema  string `json:"schema"`
	Entries int    `json:"entries"`
	// Sum is over the lines of all entries: a line that is missing, doubled or in
	// another place is intact by itself.
	Sum string `json:"sum"`
}

// CorruptError says that a journal is damaged. Nothing of it may be restored: an
// entry that is missing can be the one that has to go first.
type CorruptError struct {
	Path   string
	Reason string
	// Intact are the entries that are certainly as they were written, for people.
	Intact []Entry
}

// Error says what is wrong and what to do.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("the journal %s is damaged (%s): nothing was touched", e.Path, e.Reason)
}

// encode returns the file of these entries.
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

// decode reads a file. Its error is a *CorruptError without a path.
func decode(file []byte) ([]Entry, error) {
	lines := bytes.SplitAfter(file, []byte("\n"))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1] // what is behind the last line
	}
	if len(lines) == 0 {
		return nil, &CorruptError{Reason: "it is empty"}
	}
	var head header
	if !readRecord(lines[0], &head) {
		return nil, &CorruptError{Reason: "its first line is not as it was written", Intact: intact(lines[1:])}
	}
	if head.Schema != schema {
		return nil, &CorruptError{Reason: fmt.Sprintf("its schema is %q, and this program reads %q", head.Schema, schema)}
	}
	entries := intact(lines[1:])
	switch {
	case len(entries) != len(lines)-1 || head.Entries != len(entries):
		return nil, &CorruptError{Reason: fmt.Sprintf("%d of its %d entries are as they were written", len(entries), head.Entries), Intact: entries}
	case sum(bytes.Join(lines[1:], nil)) != head.Sum:
		return nil, &CorruptError{Reason: "its entries are not those that were written together", Intact: entries}
	}
	return entries, nil
}

// intact returns the entries whose lines are as they were written.
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
	// What is not understood would be lost when the journal is written anew.
	decoder.DisallowUnknownFields()
	return decoder.Decode(v) == nil
}
