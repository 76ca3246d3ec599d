package runner

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"storagebench.io/storagebench/internal/nofollow"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload/apart"
)

// directoryPrefix is the prefix of the names of all directories that runs make on targets.
const directoryPrefix = ".storagebench-"

// benchmarkPrefix is the prefix of the names of a benchmark's directories. The run and a suffix
// follow. Only the benchmark's name can contain dots, so the names of two benchmarks never
// have the same prefix.
func benchmarkPrefix(b trial.Benchmark) string {
	return directoryPrefix + b.Namespace + "." + b.Name + "."
}

const suffixBytes = 8

// newSuffix returns a random end for the name of a directory, so that nobody can make that
// directory in advance.
func newSuffix() string {
	b := make([]byte, suffixBytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// directory is the directory that an attempt makes on its target. The attempt keeps it open
// and locked, and always uses the open directory: somebody may have put another one in its
// place under its name.
type directory struct {
	*os.File
	root *os.File
	name string
}

// makeDirectory makes a directory in root, which it takes over unless it fails. Then nothing
// of the directory is left.
func makeDirectory(root *os.File, name string) (*directory, error) {
	at, err := openRoot(root)
	if err != nil {
		return nil, err
	}
	err = at.Mkdir(name, 0o700)
	if err := errors.Join(err, at.Close()); err != nil {
		return nil, err
	}
	f, err := openMade(root, name)
	if err != nil {
		_ = removeEmpty(root, name) // another one may be in its place, with something in it
		return nil, err
	}
	return &directory{File: f, root: root, name: name}, nil
}

// openMade opens and locks the directory that was just made, if it is that one.
func openMade(root *os.File, name string) (*os.File, error) {
	f, err := nofollow.OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	_, err = f.ReadDir(1)
	switch {
	case err == nil:
		err = fmt.Errorf("%s was replaced by another directory", f.Name())
	case errors.Is(err, io.EOF):
		if err = checkMade(f); err == nil {
			err = lock(f)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// errMapped reports that a file system does not keep the owner and mode that a directory is
// made with. Then nobody can tell whose a directory is.
var errMapped = errors.New("the file system sets owners and modes itself, as SMB, vfat, NFS with all_squash and FUSE with uid= do, or somebody put another directory in its place")

// checkMade refuses the directory that was just made if its owner or mode is another one.
func checkMade(f *os.File) error {
	if checkOwn(f, os.Geteuid()) == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner := "somebody else"
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = fmt.Sprintf("user %d", stat.Uid)
	}
	return fmt.Errorf("a directory that user %d made with mode 0700 belongs to %s and has mode %04o: %w", os.Geteuid(), owner, info.Mode().Perm(), errMapped)
}

// remove removes the directory with all that is in it.
func (d *directory) remove() error {
	if err := empty(d.File); err != nil {
		return err
	}
	return removeEmpty(d.root, d.name)
}

// Close closes the directory and releases its lock.
func (d *directory) Close() error { return errors.Join(d.File.Close(), d.root.Close()) }

// checkOwn refuses a directory that does not belong to one of the owners alone.
func checkOwn(f *os.File, owners ...int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && info.Mode().Perm() == 0o700 && slices.Contains(owners, int(stat.Uid)) {
		return nil
	}
	return fmt.Errorf("%s was not made by storagebench", f.Name())
}

var errInUse = errors.New("in use by another worker of the same run")

// lock keeps two workers from using one directory. On a file system without locks it does
// nothing.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%s is %w", f.Name(), errInUse)
	}
	return nil
}

const (
	// readAtOnce is how many names of a target's directory are in memory at a time, and
	// maxNames how many are looked at. Whoever may write there can make millions.
	readAtOnce = 1024
	maxNames   = 1 << 20
)

// removeStale removes what earlier attempts and runs of this benchmark have left in root
// when they were killed. It fails if another worker still uses a directory of this run. It
// leaves the directories of other runs that are in use, everything that is not ours, and
// what comes after maxNames names.
func removeStale(root *os.File, p *trial.Plan) error {
	prefix := benchmarkPrefix(p.Benchmark)
	var stale []string // removing changes what is read next
	for seen := 0; seen < maxNames; {
		names, err := root.Readdirnames(readAtOnce)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		seen += len(names)
		for _, name := range names {
			if rest, ours := strings.CutPrefix(name, prefix); ours && !strings.Contains(rest, ".") {
				stale = append(stale, name)
			}
		}
		if len(stale) >= readAtOnce {
			break // the next attempt removes the rest
		}
	}
	for _, name := range stale {
		rest := strings.TrimPrefix(name, prefix)
		thisRun := strings.HasPrefix(rest, p.Run+"-") && len(rest) == len(p.Run)+1+2*suffixBytes
		if err := removeIfStale(root, name); err != nil && (thisRun || !errors.Is(err, errInUse)) {
			return err
		}
	}
	return nil
}

func removeIfStale(root *os.File, name string) error {
	var err error
	// Skip what cannot be opened: it is no directory, or we may not enter it.
	if f, closed := nofollow.OpenIn(root, name); closed == nil {
		if checkOwn(f, os.Geteuid(), apart.Owner()) == nil {
			err = removeOpen(f, root, name)
		}
		err = errors.Join(err, f.Close())
	}
	return err
}

// removeOpen removes an open directory that nobody uses.
func removeOpen(f, root *os.File, name string) error {
	if err := lock(f); err != nil {
		return err
	}
	if err := empty(f); err != nil {
		return err
	}
	return removeEmpty(root, name)
}

// openRoot returns an os.Root for an open directory.
func openRoot(f *os.File) (*os.Root, error) {
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
}

// empty removes everything that is in an open directory.
func empty(f *os.File) error {
	at, err := openRoot(f)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }() // a directory
	again, err := at.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = again.Close() }() // it was only read
	names, err := again.Readdirnames(-1)
	for _, name := range names {
		err = errors.Join(err, at.RemoveAll(name))
	}
	return err
}

// removeEmpty removes an empty directory. If another directory has its name by now, it removes
// that one if it is empty, and fails otherwise.
func removeEmpty(root *os.File, name string) error {
	at, err := openRoot(root)
	if err != nil {
		return err
	}
	err = at.Remove(name)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, at.Close())
}
