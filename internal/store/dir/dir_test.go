package dir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
)

func newStore(t *testing.T) (*Store, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "results")
	s, err := New(root)
	if err != nil {
		t.Fatal(err)
	}
	return s, root
}

func TestObjectsAreFiles(t *testing.T) {
	s, root := newStore(t)
	ctx := t.Context()
	for _, body := range []string{"first", "second"} {
		if err := s.Put(ctx, "ns/b/run/plan.json", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	onDisk, err := os.ReadFile(filepath.Join(root, "ns/b/run/plan.json"))
	if err != nil || string(onDisk) != "second" {
		t.Errorf("the file holds %q, %v", onDisk, err)
	}
	if got, err := s.Get(ctx, "ns/b/run/plan.json"); err != nil || string(got) != "second" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := s.Get(ctx, "ns/b/run/other.json"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a missing object: %v", err)
	}
}

func TestListShowsWholeObjectsBelowThePrefix(t *testing.T) {
	s, root := newStore(t)
	ctx := t.Context()
	for _, key := range []string{"ns/b/run/plan.json", "ns/b/run/workers/w/summary.json", "ns/b/run2/plan.json"} {
		if err := s.Put(ctx, key, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "ns/b/run", temporary+"123"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := s.List(ctx, "ns/b/run/", 10)
	slices.Sort(keys)
	if want := []string{"ns/b/run/plan.json", "ns/b/run/workers/w/summary.json"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("listed %v, %v", keys, err)
	}
	if keys, err := s.List(ctx, "ns/none/", 10); err != nil || len(keys) != 0 {
		t.Errorf("a prefix without objects: %v, %v", keys, err)
	}
}

func TestAFailedPutLeavesTheOldObjectAndNoOther(t *testing.T) {
	s, root := newStore(t)
	ctx := t.Context()
	if err := s.Put(ctx, "ns/a.json/below", []byte("x")); err != nil {
		t.Fatal(err)
	}
	// A directory is in the way of the rename.
	if err := s.Put(ctx, "ns/a.json", []byte("y")); err == nil {
		t.Fatal("a directory was replaced")
	}
	entries, err := os.ReadDir(filepath.Join(root, "ns"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestKeysCannotLeaveTheDirectory(t *testing.T) {
	s, _ := newStore(t)
	for _, key := range []string{"../a", "a/../../b", "/etc/passwd", "", "a//b"} {
		if err := s.Put(t.Context(), key, nil); err == nil {
			t.Errorf("put %q was accepted", key)
		}
		if _, err := s.Get(t.Context(), key); err == nil {
			t.Errorf("get %q was accepted", key)
		}
		if err := s.Delete(key); err == nil {
			t.Errorf("delete %q was accepted", key)
		}
	}
}

func TestDeleteIsIdempotent(t *testing.T) {
	s, _ := newStore(t)
	if err := s.Put(t.Context(), "a/b.json", nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Delete("a/b.json"); err != nil {
			t.Error(err)
		}
	}
}

func TestAnObjectThatIsTooLargeIsNotRead(t *testing.T) {
	s, _ := newStore(t)
	if err := s.Put(t.Context(), "big", bytes.Repeat([]byte{0}, result.MaxDocument+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "big"); !errors.Is(err, store.ErrTooLarge) || store.Temporary(err) {
		t.Errorf("got %v", err)
	}
}
