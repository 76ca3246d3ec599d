// Package environment records where a worker measures: kernel, CPU, memory, the
// limits of its cgroup, and the target's file system and disks.
//
// A measurement does not depend on any of this, so nothing here fails: what
// cannot be read stays empty.
package environment
