package nofollow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestALinkAnywhereOnTheWayIsNotFollowed(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(
		os.MkdirAll(filepath.Join(top, "a/b/c"), 0o700),
		os.Symlink("a", filepath.Join(top, "relative")),
		os.Symlink(filepath.Join(top, "a"), filepath.Join(top, "absolute")),
		os.Symlink("c", filepath.Join(top, "a/b/last")),
		os.WriteFile(filepath.Join(top, "file"), nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		"a/b/c": nil, "a/b/../b/c/": nil, ".": nil,
		"relative/b/c": ErrLink, "absolute/b": ErrLink, "a/b/last": ErrLink, "relative": ErrLink, "file": ErrLink, "file/x": ErrLink,
		"nothing": fs.ErrNotExist, "a/nothing/c": fs.ErrNotExist,
	} {
		f, err := Open(top + "/" + path)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err == nil {
			if _, err := f.ReadDir(-1); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			_ = f.Close()
		}
	}
	if _, err := Open("a/b"); err == nil {
		t.Error("a relative path was opened")
	}
	dir, err := Open(filepath.Join(top, "a/b"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	for name, want := range map[string]error{"c": nil, "last": ErrLink, "nothing": fs.ErrNotExist, "..": fs.ErrInvalid, "c/d": fs.ErrInvalid} {
		f, err := OpenIn(dir, name)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil {
			_ = f.Close()
		}
	}
}
