package native

import "golang.org/x/sys/unix"

// Failed is the error of a system call in a thread.
type Failed struct {
	// Call that failed, such as "write".
	Call  string
	Errno unix.Errno
}

// Error names the call and the cause.
func (f *Failed) Error() string { return f.Call + ": " + f.Errno.Error() }

// Unwrap returns the errno.
func (f *Failed) Unwrap() error { return f.Errno }
