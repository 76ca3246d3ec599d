package workload

import (
	"strings"
	"syscall"
)

// Memory returns the node's memory in bytes, or 0 if it is unknown.
func Memory() uint64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some architectures
}

// errnos that programs name when a file system refuses them.
var errnos = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EFBIG, syscall.EACCES, syscall.EPERM, syscall.EMFILE, syscall.ENFILE, syscall.ESTALE,
}

// ErrnoIn finds the error of a system call in what a program printed, in the words of the C
// library's locale C. It returns 0 if there is none.
func ErrnoIn(said string) syscall.Errno {
	lower := strings.ToLower(said)
	for _, errno := range errnos {
		if strings.Contains(lower, errno.Error()) {
			return errno
		}
	}
	return 0
}

// LastWords returns the end of what a program printed, in one line.
func LastWords(said string) string {
	const keep, most = 3, 200
	var lines []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(strings.ToValidUTF8(line, "?"))
		if len(line) > most {
			line = strings.ToValidUTF8(line[:most], "") + "…"
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "the program printed no error"
	}
	return strings.Join(lines[max(0, len(lines)-keep):], "; ")
}
