// Package environment records where a worker measures: kernel, CPU, memory, the
// limits of its cgroup, and the target's file system and disks.
//
// Nothing in it is needed for a measurement, so nothing in it fails: what cannot
// be read stays empty.
package environment
