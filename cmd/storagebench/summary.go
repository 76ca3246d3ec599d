package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// readDocument reads a document: a file, the only summary below a directory, or stdin (-).
func readDocument(path string, stdin io.Reader) ([]byte, string, error) {
	if path == "-" {
		document, err := io.ReadAll(io.LimitReader(stdin, result.MaxDocument+1))
		return document, "stdin", err
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, path, badInput(path, "there is no such file or directory", "check the path, or name a run of the cluster as NAMESPACE/NAME")
	}
	if err != nil {
		return nil, path, usage(err)
	}
	if info.IsDir() {
		if path, err = findSummary(path); err != nil {
			return nil, path, err
		}
	}
	document, err := readBounded(path, result.MaxDocument)
	return document, path, err
}

// findSummary looks for the summary of a run below dir. It ignores those of workers,
// which have the same name.
func findSummary(dir string) (string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "workers" || entry.Name() == ".storagebench"):
			return filepath.SkipDir
		case !entry.IsDir() && entry.Name() == "summary.json":
			found = append(found, path)
		}
		return nil
	})
	switch {
	case err != nil:
		return dir, err
	case len(found) == 0:
		return dir, badInput(dir, "the directory contains no summary.json of a run", "use the directory of a run that has finished")
	case len(found) > 1:
		return dir, badInput(dir, fmt.Sprintf("the directory contains %s: %s", suggest.Count(len(found), "run"), strings.Join(found, ", ")), "use one of them")
	}
	return found[0], nil
}

// readBounded reads a file of unknown size up to a limit.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, badInput(path, "expected a file, got a directory", "use a file in it")
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if int64(len(b)) > limit {
		return nil, badInput(path, fmt.Sprintf("the file is larger than the limit of %d MiB", limit>>20), "split it into several files")
	}
	return b, nil
}

// badInput is the failure for an unusable file, with what to use instead.
func badInput(path, message, remedy string) error {
	return &trial.Failure{Class: reason.InvalidSpec, Message: path + ": " + message, Remedy: remedy}
}
