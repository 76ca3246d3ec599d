package native

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

func TestThreadsRunTogetherAndTheirTimeIsCounted(t *testing.T) {
	var together atomic.Int32
	usage, err := Run(t.Context(), 3, func(thread *Thread) error {
		together.Add(1)
		for together.Load() < 3 && !thread.Stopped() { // ends only if all three run at once
		}
		for begin := thread.Clock.Now(); thread.Clock.Now() < begin+5*time.Millisecond; {
		}
		return nil
	})
	if err != nil || together.Load() != 3 {
		t.Fatalf("%d threads, %v", together.Load(), err)
	}
	if usage.Elapsed < 5*time.Millisecond || usage.User+usage.System <= 0 {
		t.Errorf("the usage is %+v", usage)
	}
}

func TestAThreadThatFailsStopsTheOthers(t *testing.T) {
	_, err := Run(t.Context(), 2, func(thread *Thread) error {
		if thread.Index == 1 {
			return syscall.ENOSPC
		}
		for !thread.Stopped() {
		}
		return nil
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
}

func TestTheContextStopsThreads(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, 1, func(thread *Thread) error {
		cancel()
		for !thread.Stopped() {
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSystemCallsDoWhatTheySayAndReportWhatWentWrong(t *testing.T) {
	dir := t.TempDir()
	path := Path(dir, "file")
	fd, errno := Open(path, unix.O_CREAT|unix.O_RDWR)
	if errno != 0 {
		t.Fatal(errno)
	}
	content := NewData(1, 5000).Next(5000)
	if errno := Write(fd, content); errno != 0 {
		t.Error(errno)
	}
	if errno := errors.Join(asError(Fsync(fd)), asError(Fdatasync(fd)), asError(Close(fd))); errno != nil {
		t.Error(errno)
	}
	if stored, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(stored, content) {
		t.Errorf("%d bytes, %v", len(stored), err)
	}
	fd, errno = Open(path, unix.O_RDONLY)
	buffer := make([]byte, 8192)
	n, readErrno := Read(fd, buffer)
	if errno != 0 || readErrno != 0 || !bytes.Equal(buffer[:n], content) {
		t.Errorf("read %d bytes, %v, %v", n, errno, readErrno)
	}
	if errno := Write(fd, content); errno != unix.EBADF {
		t.Errorf("a write to a file that is open for reading: %v", errno)
	}
	if errno := Close(fd); errno != 0 {
		t.Error(errno)
	}
	if took, err := Drain(dir); err != nil || took <= 0 {
		t.Errorf("drain: %v, %v", took, err)
	}
	if errno := UnlinkAt(unix.AT_FDCWD, path); errno != 0 {
		t.Error(errno)
	}
	if errno := UnlinkAt(unix.AT_FDCWD, path); errno != unix.ENOENT {
		t.Errorf("a file that is gone: %v", errno)
	}
	if _, errno := Open(path, unix.O_RDONLY); errno != unix.ENOENT {
		t.Errorf("a file that is gone: %v", errno)
	}
}

func TestANameCanBeginAtADirectory(t *testing.T) {
	dir := t.TempDir()
	at, err := OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := Path("file")
	fd, errno := OpenAt(at, name, unix.O_CREAT|unix.O_RDWR)
	if errno != 0 {
		t.Fatal(errno)
	}
	if _, err := os.Stat(filepath.Join(dir, "file")); err != nil {
		t.Error(err)
	}
	if errno := errors.Join(asError(Close(fd)), asError(UnlinkAt(at, name))); errno != nil {
		t.Error(errno)
	}
	if errno := UnlinkAt(at, name); errno != unix.ENOENT {
		t.Errorf("a file that is gone: %v", errno)
	}
	if errno := errors.Join(asError(Syncfs(at)), asError(Close(at))); errno != nil {
		t.Error(errno)
	}
	if errno := Syncfs(at); errno != unix.EBADF {
		t.Errorf("a directory that is closed: %v", errno)
	}
	if _, err := OpenDirectory(filepath.Join(dir, "file")); !errors.Is(err, unix.ENOENT) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestBlocksAreWrittenAndReadWhereTheyBelong(t *testing.T) {
	fd, errno := Open(Path(t.TempDir(), "file"), unix.O_CREAT|unix.O_RDWR)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer func() { _ = Close(fd) }()
	block := NewData(1, 3000).Next(3000)
	if errno := Pwrite(fd, block, 6000); errno != 0 {
		t.Fatal(errno)
	}
	got := make([]byte, 6000)
	if n, errno := Pread(fd, got, 3000); n != 6000 || errno != 0 || !bytes.Equal(got, append(make([]byte, 3000), block...)) {
		t.Errorf("read %d bytes, %v", n, errno)
	}
	if n, errno := Pread(fd, got, 8000); n != 1000 || errno != 0 || !bytes.Equal(got[:n], block[2000:]) {
		t.Errorf("read %d bytes at the end, %v", n, errno)
	}
	if _, errno := Pread(-1, got, 0); errno != unix.EBADF {
		t.Errorf("no file: %v", errno)
	}
	if errno := Pwrite(-1, got, 0); errno != unix.EBADF {
		t.Errorf("no file: %v", errno)
	}
}

func TestMemoryIsAlignedForDirectIO(t *testing.T) {
	for _, n := range []int{1, 512, 4096, 100_000} {
		for _, b := range [][]byte{Aligned(n), NewData(1, n).Next(n)} {
			if len(b) != n || uintptr(unsafe.Pointer(&b[0]))%4096 != 0 {
				t.Errorf("%d bytes at %p, want %d", len(b), b, n)
			}
		}
	}
}

func TestPagesThatAreDroppedAreGone(t *testing.T) {
	fd, errno := Open(Path(t.TempDir(), "file"), unix.O_CREAT|unix.O_RDWR)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer func() { _ = Close(fd) }()
	const size = 10*4096 + 1
	if errno := Write(fd, make([]byte, size)); errno != 0 {
		t.Fatal(errno)
	}
	if in, all, err := Resident(fd, size); in != 11 || all != 11 || err != nil {
		t.Errorf("%d of %d pages are there after the write, %v", in, all, err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skipf("the directory for tests is on tmpfs, which drops nothing: set TMPDIR (%v)", err)
	}
	if err := DropPages(fd); err != nil {
		t.Fatal(err)
	}
	if in, all, err := Resident(fd, size); in != 0 || all != 11 || err != nil {
		t.Errorf("%d of %d pages are there, %v", in, all, err)
	}
	if err := DropPages(-1); !errors.Is(err, unix.EBADF) {
		t.Errorf("no file: %v", err)
	}
	if _, _, err := Resident(-1, size); !errors.Is(err, unix.EBADF) {
		t.Errorf("no file: %v", err)
	}
}

func TestWhatIsDoneAsideIsCounted(t *testing.T) {
	failed := errors.New("failed")
	cpu, err := Aside(func() error {
		for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
		}
		return failed
	})
	if !errors.Is(err, failed) || cpu <= 0 || cpu > time.Second {
		t.Errorf("%s, %v", cpu, err)
	}
}

func asError(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func TestDataCanBeNeitherCompressedNorDeduplicated(t *testing.T) {
	for _, size := range []int{255, 4096, 600_000, 1 << 20} {
		d := NewData(7, size)
		var all []byte
		seen := map[string]bool{}
		for len(all) < 4<<20 {
			b := d.Next(size)
			all = append(all, b...)
			for i := 0; i+8 <= len(b); i += stampEvery {
				if block := string(b[i:min(i+stampEvery, len(b))]); seen[block] {
					t.Fatalf("buffers of %d: a block is there twice", size)
				} else {
					seen[block] = true
				}
			}
		}
		encoder, err := zstd.NewWriter(nil, zstd.WithWindowSize(repeatAfter/2), zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(encoder.EncodeAll(all, nil)); n < len(all)*99/100 {
			t.Errorf("buffers of %d: %d bytes were compressed to %d", size, len(all), n)
		}
	}
	if bytes.Equal(NewData(8, 64).Next(64)[8:], NewData(7, 64).Next(64)[8:]) {
		t.Error("another seed gives the same data")
	}
}

func TestBuffersOfWholeBlocksAreAligned(t *testing.T) {
	for _, size := range []int{512, 4096, 3 << 18, 5 << 20} {
		d := NewData(1, size)
		for range 1000 {
			if b := d.Next(size); len(b) != size || uintptr(unsafe.Pointer(&b[0]))%uintptr(min(size, 4096)) != 0 {
				t.Fatalf("%d bytes at %p, want %d", len(b), b, size)
			}
		}
	}
}

func BenchmarkData(b *testing.B) {
	for _, size := range []int{255, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			d := NewData(1, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				d.Next(size)
			}
		})
	}
}
