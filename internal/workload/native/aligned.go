package native

import "unsafe"

// alignment suits direct I/O to any device: that of a page.
const alignment = 4096

// Aligned returns n bytes of memory that direct I/O accepts.
func Aligned(n int) []byte {
	b := make([]byte, n+alignment)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (alignment - 1)
	return b[skip : skip+n : skip+n] // memory does not move, and so it stays aligned
}
