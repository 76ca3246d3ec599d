package device

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// journal follows the journal of an ext3 or ext4 if it is on a device of its own. No option of the mount
// says so. The kernel lists journals by the name of their device: those within a file system with
// the number of a file behind it, those outside without. Which one is this file system's says the name of
// its journal's thread, if the host's processes are seen; else it is the only one, or it cannot be told.
func (st *stack) journal(at int, number string) {
	dir, err := st.system.sysfs(number)
	if err != nil {
		return
	}
	own := filepath.Base(dir)
	thread := attribute(st.system.path("sys/fs/ext4", own), "journal_task")
	if thread == "" || thread == "<none>" {
		return // it has no journal, or is not to be seen
	}
	entries, err := os.ReadDir(st.system.path("proc/fs/jbd2"))
	if err != nil {
		return
	}
	var outside []string
	for _, e := range entries {
		name := e.Name()
		if inside, ok := strings.CutPrefix(name, own+"-"); ok && strings.Trim(inside, "0123456789") == "" {
			return // its journal is one of its own files
		}
		if _, err := os.Stat(st.system.path("sys/class/block", name)); err == nil {
			outside = append(outside, name)
		}
	}
	if comm := attribute(st.system.path("proc", thread), "comm"); strings.HasPrefix(comm, "jbd2/") {
		// The kernel cuts the names of threads.
		outside = slices.DeleteFunc(outside, func(name string) bool { return !strings.HasPrefix("jbd2/"+name, comm) })
	}
	switch len(outside) {
	case 0:
	case 1:
		st.named(at, "/dev/"+strings.ReplaceAll(outside[0], "!", "/"))
	default:
		st.note(at, "its journal is on another device, one of %s: which one cannot be seen from here", strings.Join(outside, ", "))
	}
}
