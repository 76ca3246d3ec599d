package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
)

// Store is a directory.
type Store struct{ root string }

var _ store.Store = (*Store)(nil)

// New returns the store in a directory. It creates the directory.
func New(root string) (*Store, error) {
	if err := os.MkdirAll(root, 0o777); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return &Store{root: root}, nil
}

// Put writes body to a temporary file in the object's directory, syncs and
// renames it. Syncing the directory makes the new name durable.
func (s *Store) Put(ctx context.Context, key string, body []byte) error {
	if err := errors.Join(ctx.Err(), store.CheckKey(key)); err != nil {
		return err
	}
	path := s.path(key)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return wrap(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), temporary+"*")
	if err != nil {
		return wrap(err)
	}
	if err := write(f, body); err != nil {
		return wrap(errors.Join(err, os.Remove(f.Name())))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return wrap(errors.Join(err, os.Remove(f.Name())))
	}
	return wrap(syncDir(filepath.Dir(path)))
}

// temporary is the prefix of the names of files that are being written.
const temporary = ".partial-"

func write(f *os.File, body []byte) error {
	_, err := f.Write(body)
	if err == nil {
		err = f.Chmod(0o644) // CreateTemp makes it 0600
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Get reads an object of at most result.MaxDocument bytes.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	return s.GetLimited(ctx, key, result.MaxDocument)
}

// GetLimited reads an object of at most limit bytes.
func (s *Store) GetLimited(ctx context.Context, key string, limit int) ([]byte, error) {
	if err := errors.Join(ctx.Err(), store.CheckKey(key)); err != nil {
		return nil, err
	}
	f, err := os.Open(s.path(key))
	if err != nil {
		return nil, wrap(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	body, err := store.ReadLimited(f, limit)
	if errors.Is(err, store.ErrTooLarge) {
		return nil, fmt.Errorf("store: get %s: %w", key, err)
	}
	return body, wrap(err)
}

// Delete removes an object, if it exists.
func (s *Store) Delete(key string) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	if err := os.Remove(s.path(key)); !errors.Is(err, fs.ErrNotExist) {
		return wrap(err)
	}
	return nil
}

// List returns the keys below prefix, and no keys for a prefix that does not
// exist. If there are more than most, it returns an error that wraps store.ErrTooLarge.
func (s *Store) List(ctx context.Context, prefix string, most int) ([]string, error) {
	if err := store.CheckKey(strings.TrimSuffix(prefix, "/")); err != nil {
		return nil, err
	}
	var keys []string
	err := filepath.WalkDir(s.path(prefix), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || ctx.Err() != nil:
			return errors.Join(err, ctx.Err())
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), temporary):
			return nil
		}
		if len(keys) == most {
			return store.TooMany(most)
		}
		relative, err := filepath.Rel(s.root, path)
		keys = append(keys, filepath.ToSlash(relative))
		return err
	})
	return keys, wrap(err)
}

func (s *Store) path(key string) string { return filepath.Join(s.root, filepath.FromSlash(key)) }

func wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("store: %w: %w", store.ErrNotFound, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("store: %w: %w", store.ErrDenied, err)
	default:
		return fmt.Errorf("store: %w", err)
	}
}
