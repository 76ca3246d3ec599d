package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const status = `Package: fio
Status: install ok installed
Architecture: amd64
Version: 3.33-3
Description: flexible I/O tester
 Version: no field, but a line of the description
 .

Package: python3
Status: deinstall ok config-files
Architecture: amd64
Version: 3.11.2-1

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9`

func TestOnlyInstalledPackagesCount(t *testing.T) {
	got, err := debian(strings.NewReader(status))
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, p := range got {
		urls = append(urls, p.url)
	}
	if diff := cmp.Diff([]string{"pkg:deb/debian/fio@3.33-3?arch=amd64", "pkg:deb/debian/libc6@2.36-9?arch=amd64"}, urls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAModuleThatReplacesAnotherIsTheOneThatCounts(t *testing.T) {
	got := modules(&buildinfo.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "storagebench.io/storagebench", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "a.example/a", Version: "v1.0.0"},
			{Path: "a.example/b", Version: "v1.0.0", Replace: &debug.Module{Path: "b.example/b", Version: "v1.0.1"}},
		},
	})
	var urls []string
	for _, p := range got {
		urls = append(urls, p.url)
	}
	want := []string{"pkg:golang/stdlib@1.26.8", "pkg:golang/storagebench.io/storagebench@(devel)", "pkg:golang/a.example/a@v1.0.0", "pkg:golang/b.example/b@v1.0.1"}
	if diff := cmp.Diff(want, urls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The test's own program stands for one of an image.
func image(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{"usr/local/bin/storagebench": content, "var/lib/dpkg/status": []byte(status)} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestADocumentIsWholeAndTheSameEveryTime(t *testing.T) {
	root := image(t)
	var documents [2][]byte
	for i := range documents {
		parts, err := partsOf(root)
		if err != nil {
			t.Fatal(err)
		}
		if documents[i], err = json.Marshal(documentOf("storagebench-worker:1", parts)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(documents[0], documents[1]) {
		t.Error("the second document differs from the first")
	}
	var d document
	if err := json.Unmarshal(documents[0], &d); err != nil {
		t.Fatal(err)
	}
	ids, found := map[string]bool{}, map[string]bool{}
	for _, p := range d.Packages {
		if ids[p.ID] {
			t.Errorf("%s is there twice", p.ID)
		}
		ids[p.ID] = true
		found[p.Name] = true
	}
	for _, want := range []string{"stdlib", "storagebench.io/storagebench", "fio", "libc6", "storagebench-worker:1"} {
		if !found[want] {
			t.Errorf("%s is not in it", want)
		}
	}
	for _, r := range d.Relationships {
		if r.From != d.ID && !ids[r.From] || !ids[r.To] {
			t.Errorf("%s %s %s: one of them is not in the document", r.From, r.Kind, r.To)
		}
	}
}

func TestWhatIsNoImage(t *testing.T) {
	if _, err := partsOf(t.TempDir()); err == nil || !strings.Contains(err.Error(), "usr/local/bin") {
		t.Errorf("an empty directory: %v", err)
	}
	root := image(t)
	if err := os.WriteFile(filepath.Join(root, "usr/local/bin/script"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := partsOf(root); err == nil || !strings.Contains(err.Error(), "script is no Go program") {
		t.Errorf("a script among the programs: %v", err)
	}
}
