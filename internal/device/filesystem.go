package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// System is the machine whose sysfs and procfs are read.
type System struct {
	// Root is the directory that holds proc, sys and dev; empty: /.
	Root string
	// Pool returns what zpool status -P -L prints of a ZFS pool, whose disks the kernel does
	// not show; nil: they stay unknown.
	Pool func(pool string) (string, error)
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
	mounts, err := s.mounts()
	if err != nil {
		return Filesystem{}, err
	}
	m := holding(mounts, path)
	if m == nil {
		return Filesystem{}, fmt.Errorf("device: no mount point contains %s", path)
	}
	return describeMount(m), nil
}

func describeMount(m *mountinfo.Info) Filesystem {
	return Filesystem{
		Type: m.FSType, Source: m.Source, MountPoint: m.Mountpoint,
		Options: joinOptions(m.Options, m.VFSOptions),
		Major:   m.Major, Minor: m.Minor,
	}
}

// longestLine is the length at which a line of mountinfo is cut, because the parser takes no
// more than 64 KiB. The options of a superblock are at its end: an overlay can have hundreds
// of lower directories.
const longestLine = 60_000

// mounts returns the mount table of this process, without lines that cannot be parsed.
func (s System) mounts() ([]*mountinfo.Info, error) {
	table, err := os.ReadFile(s.path("proc/self/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("device: %w", err)
	}
	var out []*mountinfo.Info
	for line := range strings.Lines(string(table)) {
		if len(line) > longestLine {
			line = line[:longestLine]
		}
		mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(line), nil)
		if err == nil {
			out = append(out, mounts...)
		}
	}
	return out, nil
}

// holding returns the mount that a path leads to, or nil. As the kernel does, it goes from
// mount to mount: what is mounted over a directory also hides what was mounted below that
// directory before.
func holding(mounts []*mountinfo.Info, path string) *mountinfo.Info {
	ids := map[int]bool{}
	for _, m := range mounts {
		ids[m.ID] = true
	}
	next := func(isNext func(*mountinfo.Info) bool) (found *mountinfo.Info) {
		for _, m := range mounts {
			if isNext(m) && under(path, m.Mountpoint) && (found == nil || len(m.Mountpoint) <= len(found.Mountpoint)) {
				found = m
			}
		}
		return found
	}
	at := next(func(m *mountinfo.Info) bool { return m.Parent == m.ID || !ids[m.Parent] })
	for range mounts { // each at most once, whatever the table's parents are
		parent := at
		if parent == nil {
			break
		}
		below := next(func(m *mountinfo.Info) bool {
			return m.Parent == parent.ID && m != parent && under(m.Mountpoint, parent.Mountpoint)
		})
		if below == nil {
			break
		}
		at = below
	}
	return at
}

func under(path, mountPoint string) bool {
	return mountPoint == "/" || path == mountPoint || strings.HasPrefix(path, mountPoint+"/")
}

func joinOptions(lists ...string) string {
	var out []string
	seen := map[string]bool{}
	for option := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		if option != "" && !seen[option] {
			seen[option] = true
			out = append(out, option)
		}
	}
	return strings.Join(out, ",")
}

// option returns the value of an option, or "".
func (f Filesystem) option(name string) string {
	if values := f.values(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// values returns the values of an option that can be given more than once.
func (f Filesystem) values(name string) []string {
	var out []string
	for option := range strings.SplitSeq(f.Options, ",") {
		if value, ok := strings.CutPrefix(option, name+"="); ok {
			out = append(out, unescape(value))
		}
	}
	return out
}

// unescape replaces \ooo by the byte with that octal number, as the kernel writes blanks,
// commas and backslashes in options.
func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
