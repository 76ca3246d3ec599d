package faults

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hack/test-faults runs the tests of a cluster that have this word in their names.
const word = "Settings"

// A test that counts a fault and that make test-faults does not run would count nothing.
func TestFaultsAreOfTestsThatMakeTestFaultsRuns(t *testing.T) {
	for directory, least := range map[string]int{"../e2e": 15, "../zfs": 3} {
		calls := callsOf(t, directory)
		count := map[string]bool{"Injected": true}
		for before := 0; len(count) != before; {
			before = len(count)
			for name, called := range calls {
				if slices.ContainsFunc(called, func(c string) bool { return count[c] }) {
					count[name] = true
				}
			}
		}
		tests := 0
		for _, name := range slices.Sorted(maps.Keys(count)) {
			if !strings.HasPrefix(name, "Test") {
				continue
			}
			tests++
			if !strings.Contains(name, word) {
				t.Errorf("%s in %s counts a fault, but hack/test-faults does not run it: put %q into its name", name, directory, word)
			}
		}
		if tests < least {
			t.Errorf("only %d tests in %s count faults, and there were %d", tests, directory, least)
		}
	}
}

// callsOf returns, for each function of a directory, the names of the functions it calls.
func callsOf(t *testing.T, directory string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					switch called := call.Fun.(type) {
					case *ast.Ident:
						calls[function.Name.Name] = append(calls[function.Name.Name], called.Name)
					case *ast.SelectorExpr:
						calls[function.Name.Name] = append(calls[function.Name.Name], called.Sel.Name)
					}
				}
				return true
			})
		}
	}
	return calls
}
