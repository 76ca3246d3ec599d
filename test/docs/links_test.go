package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codePattern = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`") // a regular expression can look like a link
	linkPattern = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
)

// A link to a file that is not there is found here and not by a reader.
func TestLinksBetweenDocuments(t *testing.T) {
	for _, file := range documents(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prose := codePattern.ReplaceAllString(string(content), "")
		for _, match := range linkPattern.FindAllStringSubmatch(prose, -1) {
			link := match[1]
			if strings.Contains(link, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), link)); err != nil {
				t.Errorf("%s links to %s, which is not there", file, link)
			}
		}
	}
}

// documents are those at the top, and everything in docs.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../../CHANGELOG.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
