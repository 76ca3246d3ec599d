package workload

import (
	"strings"
	"syscall"
	"testing"
)

func TestTheErrorOfASystemCallIsFoundInWords(t *testing.T) {
	for said, want := range map[string]syscall.Errno{
		"Can't write block.: No space left on device\n": syscall.ENOSPC,
		"open: Read-only file system":                   syscall.EROFS,
		"read: Input/output error":                      syscall.EIO,
		"it went well":                                  0,
	} {
		if got := ErrnoIn(said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}

func TestTheLastWordsAreOneLine(t *testing.T) {
	if got := LastWords("one\ntwo\n\n three \nfour\n"); got != "two; three; four" {
		t.Errorf("%q", got)
	}
	if got := LastWords(strings.Repeat("é", 500)); len(got) > 210 {
		t.Errorf("%d bytes", len(got))
	}
	if got := LastWords(" \n"); got != "the program printed no error" {
		t.Errorf("%q", got)
	}
}

func TestTheNodeHasMemory(t *testing.T) {
	if got := Memory(); got < 64<<20 || got > 1<<50 {
		t.Errorf("%d", got)
	}
}
