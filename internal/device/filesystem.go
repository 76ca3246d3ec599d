package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// System is the machine whose sysfs and procfs are read.
type System struct {
	// Root is the directory that holds proc and sys; empty: /.
	Root string
}

func (s System) path(elements ...string) string {
	root := s.Root
	if root == "" {
		root = "/"
	}
	return filepath.Join(append([]string{root}, elements...)...)
}

// Filesystem is a mounted file system.
type Filesystem struct {
	Type, Source, MountPoint string
	// Options of the mount and of the superblock, separated by commas.
	Options      string
	Major, Minor int
}

// Filesystem returns the file system that holds path, as this process sees it.
// path must be absolute and without symbolic links.
func (s System) Filesystem(path string) (Filesystem, error) {
	f, err := os.Open(s.path("proc/self/mountinfo"))
	if err != nil {
		return Filesystem{}, fmt.Errorf("device: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	mounts, err := mountinfo.GetMountsFromReader(f, nil)
	if err != nil {
		return Filesystem{}, fmt.Errorf("device: mountinfo: %w", err)
	}
	var best *mountinfo.Info
	for _, m := range mounts {
		// A later mount on the same point hides the earlier one.
		if under(path, m.Mountpoint) && (best == nil || len(m.Mountpoint) >= len(best.Mountpoint)) {
			best = m
		}
	}
	if best == nil {
		return Filesystem{}, fmt.Errorf("device: no mount point contains %s", path)
	}
	return Filesystem{
		Type: best.FSType, Source: best.Source, MountPoint: best.Mountpoint,
		Options: joinOptions(best.Options, best.VFSOptions),
		Major:   best.Major, Minor: best.Minor,
	}, nil
}

func under(path, mountPoint string) bool {
	return mountPoint == "/" || path == mountPoint || strings.HasPrefix(path, mountPoint+"/")
}

func joinOptions(mount, super string) string {
	var out []string
	seen := map[string]bool{}
	for option := range strings.SplitSeq(mount+","+super, ",") {
		if option != "" && !seen[option] {
			seen[option] = true
			out = append(out, option)
		}
	}
	return strings.Join(out, ",")
}

func (f Filesystem) option(name string) string {
	for option := range strings.SplitSeq(f.Options, ",") {
		if value, ok := strings.CutPrefix(option, name+"="); ok {
			return value
		}
	}
	return ""
}
