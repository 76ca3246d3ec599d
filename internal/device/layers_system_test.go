//go:build system

package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
)

// attach attaches a loop device to a file, which it creates.
func attach(t *testing.T, file string, options ...string) string {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 32<<20); err != nil {
		t.Fatal(err)
	}
	return attached(t, file, options...)
}

func attached(t *testing.T, file string, options ...string) string {
	t.Helper()
	device := devicetest.Run(t, append([]string{"losetup", "--find", "--show", file}, options...)...)
	t.Cleanup(func() { devicetest.Detach(t, device) })
	return device
}

func tmpfs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	devicetest.Mount(t, dir, "tmpfs", "tmpfs", "-o", "size=64m")
	return dir
}

// way returns the IDs of layers from the first down, as long as each has one below it.
func way(layers []result.Layer) string {
	var ids []string
	for id := layers[0].ID; ; {
		ids = append(ids, id)
		i := slices.IndexFunc(layers, func(l result.Layer) bool { return l.ID == id })
		if len(layers[i].Below) == 0 {
			return strings.Join(ids, " ")
		}
		id = layers[i].Below[0]
	}
}

func layersOf(t *testing.T, path string) []result.Layer {
	t.Helper()
	layers := System{}.pathLayers(path)
	if len(layers) == 0 {
		t.Fatalf("no layers below %s", path)
	}
	return layers
}

func TestALoopDeviceOnAFileOnALoopDevice(t *testing.T) {
	lower, device := devicetest.Filesystem(t, "ext4", 64<<20)
	devicetest.DirectIO(t, device)
	upper := attach(t, filepath.Join(lower, "a file (deleted)"), "--direct-io=on")
	devicetest.Run(t, "mkfs.ext4", "-q", upper)
	dir := t.TempDir()
	devicetest.Mount(t, dir, "ext4", upper)

	layers := layersOf(t, dir)
	want := "fs:" + dir + " " + filepath.Base(upper) + " fs:" + lower + " " + filepath.Base(device)
	if got := way(layers); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s and more", got, want)
	}
	if _, ok := result.InMemory(layers); ok {
		t.Errorf("in memory: %+v", layers)
	}
	if mode, evidence := ProbeDirect(dir); mode != result.Direct {
		t.Errorf("%s, %s", mode, evidence)
	}
	devicetest.Run(t, "losetup", "--direct-io=off", device)
	if mode, evidence := ProbeDirect(dir); mode != result.CachedAnyway || !strings.Contains(evidence, filepath.Base(device)+" reads and writes its file") {
		t.Errorf("%s, %s", mode, evidence)
	}
	if mode, evidence := ProbeDirectDevice(upper); mode != result.CachedAnyway {
		t.Errorf("%s, %s", mode, evidence)
	}
}

func TestFilesInMemory(t *testing.T) {
	memory := tmpfs(t)
	fd, err := unix.MemfdCreate("disk", 0)
	if err != nil {
		t.Fatal(err)
	}
	memfd := os.NewFile(uintptr(fd), "memfd")
	defer func() { _ = memfd.Close() }()
	if err := memfd.Truncate(32 << 20); err != nil {
		t.Fatal(err)
	}
	gone := attach(t, filepath.Join(memory, "gone"))
	if err := os.Remove(filepath.Join(memory, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(memory, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	goneToo := attach(t, filepath.Join(memory, "dir", "gone"))
	if err := os.RemoveAll(filepath.Join(memory, "dir")); err != nil {
		t.Fatal(err)
	}
	devices := map[string]string{
		"a file of tmpfs":                 attach(t, filepath.Join(memory, "there")),
		"a removed file of tmpfs":         gone,
		"a file with a removed directory": goneToo,
		"a memfd":                         attached(t, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)),
	}
	zram, _ := filepath.Glob("/dev/zram*") // not every kernel has one
	for _, device := range zram {
		devices[device] = device
	}
	for name, device := range devices {
		layers := layersOf(t, device)
		if cause, ok := result.InMemory(layers); !ok || cause.Kind == result.LoopLayer {
			t.Errorf("%s: %+v", name, layers)
		}
	}
}

// Whoever mounts a loop device over the directory of its file hides that file.
func TestAFileThatItsOwnFileSystemHides(t *testing.T) {
	dir := tmpfs(t)
	device := attach(t, filepath.Join(dir, "disk.img"))
	devicetest.Run(t, "mkfs.ext4", "-q", device)
	devicetest.Mount(t, dir, "ext4", device)
	layers := layersOf(t, dir)
	if cause, ok := result.InMemory(layers); !ok || cause.Type != "tmpfs" || layers[0].Type != "ext4" || layers[0].ID == cause.ID {
		t.Errorf("%+v", layers)
	}
	// A file of the same path is not the device's.
	if err := os.WriteFile(filepath.Join(dir, "disk.img"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if cause, ok := result.InMemory(layersOf(t, dir)); !ok || cause.Type != "tmpfs" {
		t.Errorf("%+v", layersOf(t, dir))
	}
}

func TestOverlaysAndTheirOptions(t *testing.T) {
	disk, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	memory := tmpfs(t)
	for _, dir := range []string{disk + "/up,per", disk + "/work", memory + `/lo:w\er`, memory + "/lower two"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	devicetest.Mount(t, dir, "overlay", "none", "-o", "volatile,workdir="+disk+`/work,upperdir=`+disk+`/up\,per,lowerdir=`+memory+`/lo\:w\\er:`+memory+"/lower two")
	layers := layersOf(t, dir)
	if want := []string{"fs:" + disk, "fs:" + memory}; !slices.Equal(layers[0].Below, want) {
		t.Errorf("below are %q, want %q; options %s", layers[0].Below, want, layers[0].Options)
	}
	if !layers[0].HasOption("volatile", "fsync=volatile") {
		t.Errorf("the options are %s", layers[0].Options)
	}
	if _, ok := result.InMemory(layers); ok {
		t.Error("the upper directory is on a disk")
	}
}

// The mount table leaves out what tune2fs has made the default.
func TestOptionsThatTheSuperblockHas(t *testing.T) {
	device := devicetest.Loop(t, 32<<20)
	devicetest.Run(t, "mkfs.ext4", "-q", device)
	for want, option := range map[bool]string{true: "nobarrier", false: "^nobarrier"} {
		devicetest.Run(t, "tune2fs", "-o", option, device)
		dir := t.TempDir()
		devicetest.Run(t, "mount", device, dir)
		layers := layersOf(t, dir)
		devicetest.Unmount(t, dir)
		if layers[0].HasOption("nobarrier") != want {
			t.Errorf("tune2fs -o %s: the options are %s", option, layers[0].Options)
		}
	}
}

// The node of a block device is in a file system of memory, and the device is not.
func TestALoopDeviceOnABlockDevice(t *testing.T) {
	lower := attach(t, filepath.Join(t.TempDir(), "disk.img"))
	upper := attached(t, lower, "--direct-io=on")
	layers := layersOf(t, upper)
	if got, want := way(layers), filepath.Base(upper)+" "+filepath.Base(lower)+" fs:"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s…", got, want)
	}
	if cause, ok := result.InMemory(layers); ok {
		t.Errorf("%s is in memory: %+v", cause.ID, layers)
	}
	// Who may not open the device sees its path only.
	if number, ok := (System{}).deviceAt(lower); !ok || number != layers[1].Number {
		t.Errorf("%s is device %q, want %s", lower, number, layers[1].Number)
	}
}

func TestAPartitionOfALoopDevice(t *testing.T) {
	device := attach(t, filepath.Join(t.TempDir(), "disk.img"))
	devicetest.Run(t, "addpart", device, "1", "2048", "4096") // whatever tables the kernel can read
	defer devicetest.Run(t, "delpart", device, "1")
	layers := layersOf(t, device+"p1")
	if got, want := way(layers), filepath.Base(device)+"p1 "+filepath.Base(device)+" fs:"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s…", got, want)
	}
	if layers[0].Type != "partition" || layers[0].SizeBytes != 4096*512 || layers[1].DirectIO == nil || *layers[1].DirectIO {
		t.Errorf("%+v", layers)
	}
}
