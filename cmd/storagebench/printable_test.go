package main

import (
	"bytes"
	"io"
	"testing"
)

func TestWhatSteersATerminalIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"plain µs ≥ 1\t2\n": "plain µs ≥ 1\t2\n",
		"\x1b[2J\r\x07":     `\u001b[2J\u000d\u0007`,
		"a\u202eb\u009b2J":  `a\u202eb\u009b2J`,
		"\x7f\U000e0001":    `\u007f\U000e0001`,
		"a\xffb":            "a\ufffdb",
	} {
		for _, size := range []int{1, 2, 3, len(text)} {
			var b bytes.Buffer
			p := &printable{w: &b}
			for rest := []byte(text); len(rest) > 0; {
				n, err := p.Write(rest[:min(size, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if b.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, b.String(), want)
			}
		}
	}
}

func TestColoursStayButNotThoseOfANameAndDocumentsAreNotChanged(t *testing.T) {
	var b bytes.Buffer
	p := &printable{w: painter{&b}}
	_, _ = io.WriteString(p, "\x1b[32m QUALIFIED\n")
	if want := `\u001b[32m ` + green + "QUALIFIED" + noColour + "\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	if err := printJSON(&printable{w: &b}, "\u202e"); err != nil || b.String() != "\"\u202e\"\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

func TestABarIsDrawnAroundWhatIsShown(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&printable{w: &b})
	p.terminal, p.drawn = true, true
	p.line("\x1b[2J")
	if want := eraseLine + `\u001b[2J` + "\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
