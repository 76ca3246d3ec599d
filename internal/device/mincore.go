package device

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mincore calls mincore(2), which x/sys does not wrap.
func mincore(m, vec []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&vec[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
