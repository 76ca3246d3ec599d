package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// put makes a file of size bytes, of which those from each of the offsets on are written, in
// steps of 1 MiB.
func put(t *testing.T, path string, size int64, offsets ...int64) {
	t.Helper()
	f, err := os.Create(path)
	if err == nil {
		err = f.Truncate(size)
	}
	for _, at := range offsets {
		if err == nil {
			_, err = f.WriteAt(make([]byte, mib), at)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// allocate gives the whole file its place on the disk, without writing anything.
func allocate(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, size), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasNeverWrittenIsThin(t *testing.T) {
	outside := t.TempDir()
	put(t, filepath.Join(outside, "elsewhere"), 64*mib)
	for name, c := range map[string]struct {
		fill       func(dir string)
		size, thin float64
	}{
		"written":             {func(dir string) { put(t, dir+"/a", 2*mib, 0, mib) }, 2 * mib, 0},
		"one hole":            {func(dir string) { put(t, dir+"/a", 4*mib) }, 4 * mib, 1},
		"a hole at the end":   {func(dir string) { put(t, dir+"/a", 4*mib, 0) }, 4 * mib, 0.75},
		"a hole at the begin": {func(dir string) { put(t, dir+"/a", 4*mib, 3*mib) }, 4 * mib, 0.75},
		"holes between":       {func(dir string) { put(t, dir+"/a", 8*mib, mib, 4*mib, 7*mib) }, 8 * mib, 0.625},
		"unwritten extents":   {func(dir string) { allocate(t, dir+"/a", 4*mib) }, 4 * mib, 1},
		"unwritten in part":   {func(dir string) { put(t, dir+"/a", 4*mib, 0); allocate(t, dir+"/a", 4*mib) }, 4 * mib, 0.75},
		"notes beside it":     {func(dir string) { put(t, dir+"/.note.json", mib); put(t, dir+"/a", 2*mib, 0, mib) }, 2 * mib, 0},
		"no byte":             {func(dir string) { put(t, dir+"/empty", 0); put(t, dir+"/a", 2*mib, 0) }, 2 * mib, 0.5},
		"several, in directories": {func(dir string) {
			if err := os.Mkdir(dir+"/deep", 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, dir+"/a", mib, 0)
			put(t, dir+"/deep/b", 3*mib)
		}, 4 * mib, 0.75},
		"a link is not followed": {func(dir string) {
			put(t, dir+"/a", 2*mib, 0, mib)
			for link, to := range map[string]string{"file": outside + "/elsewhere", "directory": outside, "again": "a"} {
				if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
		}, 2 * mib, 0},
		"a pipe is not opened": {func(dir string) {
			put(t, dir+"/a", 2*mib, 0, mib)
			if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
				t.Fatal(err)
			}
		}, 2 * mib, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.fill(dir)
			m := Files(dir)
			if m["files.bytes"].Value != c.size || m["files.thin"].Value != c.thin || len(m) != 2 {
				t.Errorf("got %v, want %v bytes of which %v are thin", m, c.size, c.thin)
			}
		})
	}
}

func TestNothingIsSaidOfFilesThatCannotBeSeen(t *testing.T) {
	many := t.TempDir()
	for i := range maxFiles {
		put(t, filepath.Join(many, fmt.Sprint(i)), 1)
	}
	if m := Files(many); m["files.bytes"].Value != maxFiles {
		t.Errorf("of %d files: %v", maxFiles, m)
	}
	put(t, filepath.Join(many, "more"), 1)
	for name, dir := range map[string]string{"too many": many, "none": t.TempDir(), "no directory": filepath.Join(t.TempDir(), "gone"), "a device": ""} {
		if m := Files(dir); m != nil {
			t.Errorf("%s: %v", name, m)
		}
	}
}

// The file that is opened may be another one than the one that was listed.
func TestALinkThatReplacesAFileDoesNotLeadOutOfTheDirectory(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	put(t, outside, mib, 0)
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"link", "pipe", "gone"} {
		if size, data, err := written(root, name, new(int)); data != 0 || name != "pipe" && err == nil {
			t.Errorf("%s was read: %d of %d bytes, %v", name, data, size, err)
		}
	}
}

// Whoever writes to the directory cannot keep the runner busy.
func TestADirectoryOfTooManyEntriesOrPiecesIsNotJudged(t *testing.T) {
	many := t.TempDir()
	for i := range maxFiles + 1 {
		if err := os.Mkdir(filepath.Join(many, strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, many+"/a", mib, 0)
	pieces := t.TempDir()
	f, err := os.Create(filepath.Join(pieces, "a"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(maxExtents + 1) {
		if _, err := f.WriteAt([]byte("x"), i*2*4096); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"entries": many, "pieces": pieces} {
		if m := Files(dir); m != nil {
			t.Errorf("of too many %s: %v", name, m)
		}
	}
}
