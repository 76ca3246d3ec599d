package markdown

import (
	"slices"
	"testing"
)

const page = "# A page\n" +
	"```sh\nkubectl get pods \\\n  -A\n```\n" +
	"1. In a list\n\n   ```console\n   $ make demo\n   demo: ok\n   $ make\n   ```\n" +
	"```yaml\na: 1\n---\nb: 2\n```\n" +
	"```text\nmake nothing\n```\n"

func TestBlocks(t *testing.T) {
	blocks := Blocks(page)
	want := []Block{
		{2, "sh", "kubectl get pods \\\n  -A\n"},
		{8, "console", "$ make demo\ndemo: ok\n$ make\n"},
		{13, "yaml", "a: 1\n---\nb: 2\n"},
		{18, "text", "make nothing\n"},
	}
	if !slices.Equal(blocks, want) {
		t.Errorf("got %+v", blocks)
	}
}

func TestScriptsAndManifests(t *testing.T) {
	var scripts, manifests []string
	for _, b := range Blocks(page) {
		scripts = append(scripts, b.Script())
		manifests = append(manifests, b.Manifests()...)
	}
	if want := []string{"kubectl get pods \\\n  -A\n", "make demo\nmake\n", "", ""}; !slices.Equal(scripts, want) {
		t.Errorf("scripts %q", scripts)
	}
	if want := []string{"a: 1", "b: 2\n"}; !slices.Equal(manifests, want) {
		t.Errorf("manifests %q", manifests)
	}
}
