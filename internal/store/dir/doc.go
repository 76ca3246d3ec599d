// Package dir keeps results in a directory, for storagebench run. Each object is
// a file, which is complete or missing, also after a crash.
package dir
