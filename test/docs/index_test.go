package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page that the index does not name is found by nobody.
func TestTheIndexNamesEveryPage(t *testing.T) {
	index, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range documents(t) {
		page, err := filepath.Rel("../../docs", file)
		if err != nil {
			t.Fatal(err)
		}
		if page != "README.md" && !strings.HasPrefix(page, "..") && !strings.Contains(string(index), "("+page+")") {
			t.Errorf("docs/README.md does not name %s: put it where its kind belongs", page)
		}
	}
}
