package scripts

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// constraint is a build tag of the project's, as it stands at the top of a file.
var constraint = regexp.MustCompile(`(?m)^//go:build ([a-z0-9]+)$`)

// buildTags are all that stand in files of the project.
func buildTags(t *testing.T) []string {
	t.Helper()
	var tags []string
	for _, room := range []string{"api", "cmd", "controllers", "hack", "internal", "test"} {
		err := filepath.WalkDir(filepath.Join("../..", room), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			// Later ones are those of texts.
			if found := constraint.FindSubmatch(text[:min(len(text), 500)]); len(found) > 1 && !slices.Contains(tags, string(found[1])) {
				tags = append(tags, string(found[1]))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(tags)
	return tags
}

// What neither vet nor the linter compiles breaks unseen, until somebody runs it.
func TestEachBuildTagIsVettedAndLinted(t *testing.T) {
	tags := buildTags(t)
	if len(tags) < 10 {
		t.Fatalf("only these tags were found: %v", tags)
	}
	for file, list := range map[string]*regexp.Regexp{
		"Makefile":      regexp.MustCompile(`go vet -tags ([a-z0-9,]+) `),
		".golangci.yml": regexp.MustCompile(`build-tags: \[([a-z0-9, ]+)\]`),
	} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := list.FindSubmatch(text)
		if len(found) < 2 {
			t.Errorf("%s has no list of build tags", file)
			continue
		}
		listed := strings.Split(strings.ReplaceAll(string(found[1]), " ", ""), ",")
		for _, tag := range tags {
			if !slices.Contains(listed, tag) && tag != "linux" {
				t.Errorf("%s does not list the build tag %s", file, tag)
			}
		}
	}
}
