package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fencePattern is a line that begins or ends a block of code, and has nothing else.
var fencePattern = regexp.MustCompile("^ *```[a-z]*$")

// A fence that was wrapped into a paragraph turns commands into prose, and the rest of the
// document into code.
func TestFencesAreLinesOfTheirOwn(t *testing.T) {
	for _, file := range documents(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, damage := range damagedFences(string(content)) {
			t.Errorf("%s: %s", filepath.Clean(file), damage)
		}
	}
}

func damagedFences(markdown string) (damages []string) {
	fences := 0
	for line := range strings.Lines(markdown) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fencePattern.MatchString(line):
			fences++
		case strings.Contains(line, "```"):
			damages = append(damages, "not a line of its own: "+line)
		}
	}
	if fences%2 != 0 {
		damages = append(damages, "a block of code has no end")
	}
	return damages
}

func TestDamagedFences(t *testing.T) {
	for markdown, want := range map[string]int{
		"```yaml\na: b\n```\n":                 0,
		"1. Do it:\n\n   ```\n   do\n   ```\n": 0,
		"   ``` do it\n   again ```\n":         2,
		"```\ndo\n":                            1,
	} {
		if got := damagedFences(markdown); len(got) != want {
			t.Errorf("%q: %q, want %d", markdown, got, want)
		}
	}
}
