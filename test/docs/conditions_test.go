package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	conditionsFile   = "../../docs/reference/conditions.md"
	conditionsSource = "../../api/v1alpha1/condition_types.go"
	reasonsSource    = "../../api/reason/reason.go"
)

func TestConditionsAndReasonsAreDocumented(t *testing.T) {
	conditions, reasons := constants(t, conditionsSource), constants(t, reasonsSource)
	if len(conditions) == 0 || len(reasons) == 0 {
		t.Fatalf("there are %d conditions and %d reasons: this test looks for other names", len(conditions), len(reasons))
	}
	content, err := os.ReadFile(conditionsFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := tableRows(string(content))
	for _, word := range append(conditions, reasons...) {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == word }) {
			t.Errorf("conditions.md does not say what %s means", word)
		}
	}
	for _, r := range rows {
		switch {
		case slices.Contains(conditions, r.name) && slices.Contains(reasons, r.name): // Suspended is both
			if !slices.ContainsFunc(rows, func(o row) bool { return o.name == r.name && strings.Contains(o.text, "normal-true") }) {
				t.Errorf("conditions.md does not give the polarity of %s", r.name)
			}
		case slices.Contains(conditions, r.name):
			if !strings.Contains(r.text, "normal-true") {
				t.Errorf("conditions.md does not give the polarity of %s", r.name)
			}
		case !slices.Contains(reasons, r.name):
			t.Errorf("conditions.md speaks of %s, which the API has not", r.name)
		}
	}
}

// constants returns the values of the string constants of a file.
func constants(t *testing.T, filename string) (values []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filename, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s is not a string", name)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	return values
}

type row struct{ name, text string }

var rowPattern = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\| (.+) \\|$")

// tableRows returns the rows of tables that begin with a word in backquotes.
func tableRows(markdown string) (rows []row) {
	for _, match := range rowPattern.FindAllStringSubmatch(markdown, -1) {
		rows = append(rows, row{name: match[1], text: match[2]})
	}
	return rows
}

func TestTableRows(t *testing.T) {
	rows := tableRows("| Reason | Meaning |\n| --- | --- |\n| `Lost` | It is gone. | Look. |\ntext `Other` | x |\n")
	if want := []row{{"Lost", "It is gone. | Look."}}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}
