package tunable

import (
	"os"
	"strings"
	"testing"
)

func TestTheReferenceIsThatOfTheCatalogue(t *testing.T) {
	var b strings.Builder
	if err := WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../../docs/reference/tunables.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(file) != b.String() {
		t.Error("docs/reference/tunables.md is not what the catalogue says: make docs")
	}
	for _, tunable := range Catalogue() {
		if strings.Count(b.String(), "| `"+tunable.Name+"` |") != 1 {
			t.Errorf("%s is not in the reference", tunable.Name)
		}
	}
}
