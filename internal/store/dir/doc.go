// Package dir keeps results in a directory, for storagebench run. An object is a
// file; it is there as a whole or not at all, also after a crash.
package dir
