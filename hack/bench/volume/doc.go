// Package volume makes an ext4 file system on a loop device for benchmarks that are run
// from the repository, and removes it again. It takes root.
package volume
