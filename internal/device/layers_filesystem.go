package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
)

// inMemory are file systems of memory.
var inMemory = []string{"tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs"}

// remoteFilesystems are on other machines.
var remoteFilesystems = []string{
	"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "afs", "orangefs", "pvfs2", "panfs", "wekafs",
}

// filesystem adds a mounted file system and what is below it.
func (st *stack) filesystem(m *mountinfo.Info) (id string) {
	if id, known := st.ids[m.ID]; known {
		return id
	}
	fs := describeMount(m)
	l := result.Layer{ID: "fs:" + fs.MountPoint, Kind: result.FilesystemLayer, Type: fs.Type, Options: fs.Options, Source: fs.Source}
	if _, taken := st.at[l.ID]; taken { // by what is mounted over it
		l.ID = fmt.Sprintf("%s#%d", l.ID, m.ID)
	}
	st.ids[m.ID] = l.ID
	kind, program, _ := strings.Cut(fs.Type, ".")
	switch {
	case fs.Major != 0:
		number := deviceNumber(fs.Major, fs.Minor)
		if strings.HasPrefix(fs.Type, "ext") {
			l.Options = joinOptions(l.Options, st.system.ext4Options(number))
		}
		return st.add(l, func(at int) {
			st.number(at, number)
			for _, option := range []string{"logdev", "rtdev"} { // of xfs
				if name := fs.option(option); name != "" {
					st.named(at, name)
				}
			}
			if strings.HasPrefix(fs.Type, "ext") {
				st.journal(at, number)
			}
		})
	case slices.Contains(inMemory, kind):
		l.InMemory = true
	case kind == "btrfs":
		return st.add(l, func(at int) { st.btrfs(at, fs.Source) })
	case kind == "bcachefs":
		return st.add(l, func(at int) {
			for name := range strings.SplitSeq(fs.Source, ":") {
				st.named(at, name)
			}
		})
	case kind == "zfs":
		pool, _, _ := strings.Cut(fs.Source, "/")
		return st.add(l, func(at int) { st.put(at, st.pool(pool)) })
	case kind == "overlay":
		return st.add(l, func(at int) { st.overlay(at, fs) })
	case kind == "ecryptfs":
		return st.add(l, func(at int) { st.file(at, fs.Source) })
	case slices.Contains(remoteFilesystems, kind):
		l.Kind = result.RemoteLayer
		l.Note = fmt.Sprintf("%s is on another machine: its disks and caches cannot be seen from here", fs.Source)
	case kind == "9p" || kind == "virtiofs":
		l.Kind = result.RemoteLayer
		l.Note = fmt.Sprintf("%s is a directory of the machine that runs this virtual machine, whose disks and caches cannot be seen from here", fs.Source)
	case kind == "fuse":
		l.Note = fmt.Sprintf("a program%s keeps the files of this file system: where, and whether it caches them, cannot be seen from here", named(program))
	default:
		l.Kind = result.UnknownLayer
		l.Note = fmt.Sprintf("storagebench does not know what a file system of type %s is on", fs.Type)
	}
	return st.add(l, nil)
}

// compressedFlag is FS_COMPR_FL of Linux: the file, or what is made in the directory, is compressed.
const compressedFlag = 0x4

// compressed adds compress=attribute to the options of a file system that compresses what is at the path because of
// an attribute there (chattr +c, btrfs property set), which the mount table does not show.
func (st *stack) compressed(id, path string) {
	l := &st.layers[st.at[id]]
	if l.Type != "btrfs" && l.Type != "f2fs" {
		return
	}
	f, err := os.OpenFile(st.system.path(path), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	if flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS); err == nil && flags&compressedFlag != 0 {
		l.Options = joinOptions(l.Options, "compress=attribute")
	}
}

func named(program string) string {
	if program == "" {
		return ""
	}
	return " (" + program + ")"
}

// ext4Options returns all options of an ext2, ext3 or ext4. The mount table leaves out those
// that tune2fs -o made the superblock's default, also nobarrier.
func (s System) ext4Options(number string) string {
	dir, err := s.sysfs(number)
	if err != nil {
		return ""
	}
	options, err := os.ReadFile(s.path("proc/fs/ext4", filepath.Base(dir), "options"))
	if err != nil {
		return "" // not ext4, or /proc is not all here
	}
	return strings.Join(strings.Fields(string(options)), ",")
}

// overlay follows the directories of an overlay, the upper one first.
func (st *stack) overlay(at int, fs Filesystem) {
	for _, upper := range fs.values("upperdir") {
		st.file(at, unquote(upper))
	}
	lower := append(fs.values("lowerdir+"), fs.values("datadir+")...)
	for _, list := range fs.values("lowerdir") {
		for _, dir := range splitColons(list) {
			lower = append(lower, unquote(dir))
		}
	}
	var gone []string
	for _, dir := range lower {
		if _, err := st.system.resolve(dir); err != nil {
			gone = append(gone, dir)
			continue
		}
		st.file(at, dir)
	}
	if len(gone) > 0 { // in a container it is all of them, and they can be a hundred
		st.hidden(at, gone[0], fmt.Sprintf("%d of the %d lower directories are not visible from here, such as %s", len(gone), len(lower), gone[0]))
	}
}

// splitColons splits a list of lower directories. A colon in a name has a backslash.
func splitColons(list string) []string {
	var out []string
	begin := 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '\\':
			i++
		case ':':
			if i > begin { // two colons come before directories with data only
				out = append(out, list[begin:i])
			}
			begin = i + 1
		}
	}
	if begin < len(list) {
		out = append(out, list[begin:])
	}
	return out
}

// unquote returns a directory without the backslashes with which overlay quotes it in upperdir
// and lowerdir, though not in lowerdir+.
func unquote(dir string) string {
	var out strings.Builder
	for i := 0; i < len(dir); i++ {
		if dir[i] == '\\' && i+1 < len(dir) {
			i++
		}
		out.WriteByte(dir[i])
	}
	return out.String()
}

// btrfs follows the devices of a btrfs.
func (st *stack) btrfs(at int, source string) {
	dir := st.system.btrfsDir(source)
	entries, err := os.ReadDir(filepath.Join(dir, "devices"))
	if dir == "" || err != nil {
		st.note(at, "/sys/fs/btrfs does not show the btrfs of %s: one device is followed, of perhaps several", source)
		st.named(at, source)
		return
	}
	for _, entry := range entries {
		if member, err := filepath.EvalSymlinks(filepath.Join(dir, "devices", entry.Name())); err == nil {
			st.device(at, member)
			continue
		}
		st.named(at, entry.Name())
	}
	if profile := btrfsProfile(dir); profile != "" {
		st.layers[at].Copies = btrfsCopies[profile]
		st.note(at, "the profile of its data is %s", profile)
	}
	missing, _ := filepath.Glob(filepath.Join(dir, "devinfo/*/missing"))
	if slices.ContainsFunc(missing, func(file string) bool { return attribute(file, "") == "1" }) {
		st.note(at, "a device of it is missing")
	}
}

// btrfsDir returns the directory in /sys/fs/btrfs of the btrfs on a device, or "".
func (s System) btrfsDir(source string) string {
	members, _ := filepath.Glob(s.path("sys/fs/btrfs/*/devices/*"))
	number, ok := s.numberOf(source)
	var found []string
	for _, member := range members {
		if ok && attribute(member, "dev") == number || !ok && filepath.Base(member) == filepath.Base(source) {
			found = append(found, filepath.Dir(filepath.Dir(member)))
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// btrfsCopies are the copies that a profile of btrfs writes.
var btrfsCopies = map[string]int{"dup": 2, "raid1": 2, "raid1c3": 3, "raid1c4": 4, "raid10": 2}

// btrfsProfile returns the profile of a btrfs's data. During a conversion there are two: it
// is then the one with more space.
func btrfsProfile(dir string) string {
	best, most := "", int64(-1)
	for _, kind := range []string{"data", "mixed"} {
		profiles, _ := filepath.Glob(filepath.Join(dir, "allocation", kind, "*/total_bytes"))
		for _, file := range profiles {
			n, err := strconv.ParseInt(attribute(file, ""), 10, 64)
			if err == nil && n > most {
				best, most = filepath.Base(filepath.Dir(file)), n
			}
		}
	}
	return best
}
