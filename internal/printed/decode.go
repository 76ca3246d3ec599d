package printed

import (
	"bytes"
	"encoding/binary"
	"errors"
	"html"
	"io"
	"mime/quotedprintable"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// byteOrderMark may stand at the beginning of a text, and within one that was put together.
const byteOrderMark = '\ufeff'

// Decode returns a text as UTF-8 without byte order marks. It reads UTF-8, UTF-16 with or
// without a mark, as PowerShell writes it, and takes what is neither for Latin-1. It
// refuses archives, UTF-32 and what is no text.
func Decode(content []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(content, []byte{0x1f, 0x8b}), bytes.HasPrefix(content, []byte("PK\x03\x04")),
		bytes.HasPrefix(content, []byte("\xfd7zXZ\x00")), bytes.HasPrefix(content, []byte{0x28, 0xb5, 0x2f, 0xfd}), bytes.HasPrefix(content, []byte("BZh")):
		return nil, errors.New("the file is compressed: unpack it first")
	case bytes.HasPrefix(content, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(content, []byte{0, 0, 0xfe, 0xff}):
		return nil, errors.New("the file is encoded as UTF-32: convert it to UTF-8 first")
	}
	if order := order16(content); order != nil {
		content = decode16(content, order)
	} else if binary := bytes.HasPrefix(content, []byte{0xd0, 0xcf, 0x11, 0xe0}) || mostlyZeros(content); binary {
		return nil, errors.New("the file is no text but a spreadsheet, or something else for a program")
	}
	if !utf8.Valid(content) {
		content = latin1(content)
	}
	return bytes.ReplaceAll(content, []byte(string(byteOrderMark)), nil), nil
}

// order16 is the byte order of UTF-16; nil: it is another encoding. Without a mark, every
// other byte of a text in a European language is 0.
func order16(content []byte) binary.ByteOrder {
	const sample, half = 4096, 2
	switch {
	case bytes.HasPrefix(content, []byte{0xff, 0xfe}):
		return binary.LittleEndian
	case bytes.HasPrefix(content, []byte{0xfe, 0xff}):
		return binary.BigEndian
	}
	var zeros [half]int
	head := content[:min(len(content), sample)]
	for i, b := range head {
		if b == 0 {
			zeros[i%half]++
		}
	}
	few, many := len(head)/20, len(head)*2/5
	switch {
	case zeros[1] > many && zeros[0] <= few:
		return binary.LittleEndian
	case zeros[0] > many && zeros[1] <= few:
		return binary.BigEndian
	}
	return nil
}

// mostlyZeros reports whether so many bytes are 0 that the content is no text.
func mostlyZeros(content []byte) bool {
	const sample, few = 4096, 10
	head := content[:min(len(content), sample)]
	return bytes.Count(head, []byte{0}) > len(head)/few
}

func decode16(content []byte, order binary.ByteOrder) []byte {
	const unit = 2
	units := make([]uint16, 0, len(content)/unit)
	for ; len(content) >= unit; content = content[unit:] {
		units = append(units, order.Uint16(content))
	}
	return []byte(string(utf16.Decode(units)))
}

// latin1 takes each byte that is no UTF-8 for a character of Latin-1.
func latin1(content []byte) []byte {
	out := make([]byte, 0, len(content)+len(content)/8)
	for len(content) > 0 {
		r, n := utf8.DecodeRune(content)
		if r == utf8.RuneError && n == 1 {
			r = rune(content[0])
		}
		out, content = utf8.AppendRune(out, r), content[n:]
	}
	return out
}

var (
	// escapes steer a terminal: colours, titles of windows, character sets, what a CI notes.
	escapes = regexp.MustCompile("\x1b[P_^][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b\\[[0-?]*[\\x20-\\x2f]*[\\x40-\\x7e]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[()][0-9A-B]|\x1b[=>\\x40-\\x5a\\\\^_]")
	tagged  = regexp.MustCompile(`(?i)<(?:pre|br|p|td|code|span|div|blockquote|h[1-6]|details|summary)\b[^<>\n]{0,500}>`)
	heading = regexp.MustCompile(`(?i)<(?:h[1-6]|summary)\b[^<>\n]{0,500}>`)
	// broken is a line that a page breaks twice: its source does, too.
	broken = regexp.MustCompile(`(?i)(<br\b[^<>\n]{0,500}>)[ \t]*\r?\n`)
	breaks = regexp.MustCompile(`(?i)<(?:br|/p|/tr|/div|/h[1-6]|/?pre|/?blockquote|/?details|/summary)\b[^<>\n]{0,500}>`)
	tags   = regexp.MustCompile(`(?i)</?[a-z][a-z0-9]{0,15}(?:\s[^<>\n]{0,500})?/?>`)
	// again are entities of what was escaped twice.
	again = regexp.MustCompile(`&(?:quot|gt|lt|nbsp|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});`)
	// pager is what the program more writes between lines.
	pager  = regexp.MustCompile(`(?m)^--More--(?:\(\d{1,3}%\))?[ \t]*\r?\n?`)
	entity = regexp.MustCompile(`&(?:quot|gt|lt|amp|nbsp|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});`)
)

// Clean removes colours and other escapes, and the marks of HTML. Its lines end with \n
// alone, and its blanks are those of ASCII.
func Clean(text []byte) []byte {
	s := escapes.ReplaceAllString(unquoted(string(text)), "")
	if boards.MatchString(s) {
		s = boards.ReplaceAllString(boardHeading.ReplaceAllString(s, "# $1"), "")
	}
	if tagged.MatchString(s) {
		s = broken.ReplaceAllString(s, "$1")
		s = tags.ReplaceAllString(breaks.ReplaceAllString(heading.ReplaceAllStringFunc(s, ranked), "\n"), "")
	}
	if entity.MatchString(s) {
		s = again.ReplaceAllStringFunc(html.UnescapeString(s), html.UnescapeString)
	}
	s = ungrouped(pager.ReplaceAllString(s, ""))
	s = strings.NewReplacer("\u3000", "  ", "\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n").Replace(s)
	return []byte(strings.Map(plain, s))
}

var (
	// narrow are the blanks that some languages have between thousands, and grouped is one there.
	narrow  = regexp.MustCompile("[\u00a0\u2009\u202f]")
	grouped = regexp.MustCompile("(\\d)[\u00a0\u2009\u202f](\\d{3})\\b")
)

// ungrouped removes the blanks between thousands, if such blanks are nowhere else.
func ungrouped(s string) string {
	const most = 4 // in a number
	out := s
	for range most {
		out = grouped.ReplaceAllString(out, "$1$2")
	}
	if narrow.MatchString(out) {
		return s
	}
	return out
}

// ranked writes a tag of HTML as a heading of Markdown. What can be unfolded stands below all others.
func ranked(tag string) string {
	const lowest = 6
	rank := lowest
	if tag[1] == 'h' || tag[1] == 'H' {
		rank = int(tag[len("<h")] - '0')
	}
	return "\n" + strings.Repeat("#", rank) + " "
}

var (
	// softBreaks end the lines of a mail that is encoded as quoted-printable.
	softBreaks = regexp.MustCompile(`[^=\n]=\r?\n`)
	// fullLines are as long as that encoding has them at most, or nearly so.
	fullLines = regexp.MustCompile(`(?m)^[^\n]{73,75}=\r?$`)
	encoded   = regexp.MustCompile(`=(?:20|3D|09)|(?i:content-transfer-encoding: quoted-printable)`)
	// escaped is a sign of equality in that encoding, which has it for nothing else.
	escaped = regexp.MustCompile(`=(?:[0-9A-F]{2}|\r?\n)`)
	// boards are the marks that forums write with, and boardHeading a line that is all bold.
	boards       = regexp.MustCompile(`(?i)\[/?(?:b|i|u|code|quote|size|color|font|pre|spoiler)(?:=[^\]\n]{0,60})?\]`)
	boardHeading = regexp.MustCompile(`(?im)^[ \t]*\[(?:b|size=[^\]\n]{0,60})\]([a-z][^\[\n]{0,120})\[/(?:b|size)\]:?[ \t]*$`)
)

// unquoted decodes quoted-printable, in which mails are archived. A text that is not encoded
// so stays as it is.
func unquoted(s string) string {
	const few = 2
	soft := len(softBreaks.FindAllStringIndex(s, few)) == few && (encoded.MatchString(s) || len(fullLines.FindAllStringIndex(s, few)) == few)
	if !soft && (strings.Count(s, "=3D") < few || len(escaped.FindAllStringIndex(s, -1)) < strings.Count(s, "=")) {
		return s
	}
	out, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(s)))
	if err != nil {
		return s
	}
	return strings.ToValidUTF8(string(out), "?")
}

// plain is what stands for a character: blanks of all kinds become one, and what cannot be
// seen is removed.
func plain(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return r
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}
