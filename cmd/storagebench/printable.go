package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// printable is a writer of text for people. Names and messages can come from documents that
// others wrote, and a terminal obeys what it is sent: what cannot be seen is shown escaped, like
// \u001b, as JSON has it. This program's own colours and bars go to the writer below.
type printable struct {
	mu sync.Mutex
	w  io.Writer
	// cut is the begin of a rune of which the rest is still to be written: buffers end anywhere.
	cut []byte
}

// raw returns the writer below, for documents that programs read, which stay as they are.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*printable); ok {
		return p.w
	}
	return w
}

// Write writes all of text.
func (p *printable) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Concat(p.cut, text)
	end := wholeRunes(all)
	p.cut = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(p.w, escaped(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// wholeRunes is how much of a text does not end within a rune.
func wholeRunes(text []byte) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}

// escaped returns a text in which nothing but line ends and tabulators steers a terminal.
func escaped(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, steers) {
		return text
	}
	var out strings.Builder
	for _, r := range text { // what is not UTF-8 becomes U+FFFD
		switch {
		case !steers(r):
			out.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	return out.String()
}

// steers reports whether a rune is not graphic: a control, or one that changes the order of those
// around it.
func steers(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }
