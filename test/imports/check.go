package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Package is what "go list -json" says of a package, as far as it matters here.
type Package struct {
	Dir        string
	ImportPath string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// Check returns what the rules do not allow, a line each.
func Check(rules []Rule, packages []Package) []string {
	var found []string
	used := make([]bool, len(rules))
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, Module+"/")
		i := slices.IndexFunc(rules, func(r Rule) bool { return matches(r.Path, name) })
		if i < 0 {
			found = append(found, fmt.Sprintf("%s has no rule: add it to Rules in test/imports/rules.go", name))
			continue
		}
		used[i] = true
		found = append(found, checkPackage(rules[i], name, p)...)
	}
	for i, rule := range rules {
		if !used[i] {
			found = append(found, fmt.Sprintf("%s has a rule and there is no such package: remove the rule", rule.Path))
		}
	}
	return found
}

func checkPackage(rule Rule, name string, p Package) []string {
	var found []string
	for _, imported := range p.Imports {
		if why := refused(rule, imported); why != "" {
			found = append(found, fmt.Sprintf("%s imports %s: %s", name, imported, why))
		}
	}
	if rule.Bare {
		for _, dependency := range p.Deps {
			if hasPrefix(kubernetes, dependency) {
				found = append(found, fmt.Sprintf("%s depends on %s: it must work on a machine without Kubernetes", name, dependency))
			}
		}
	}
	return found
}

// refused says why a rule does not allow a direct import, or nothing.
func refused(rule Rule, imported string) string {
	own, isOwn := strings.CutPrefix(imported, Module+"/")
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case isOwn:
		if own == Vocabulary {
			return ""
		}
		if !slices.ContainsFunc(rule.Own, func(allowed string) bool { return matches(allowed, own) }) {
			return "its rule does not name that package"
		}
	case strings.Contains(first, "."):
		if !hasPrefix(rule.Foreign, imported) {
			return "its rule does not name that module"
		}
	case rule.Pure && !slices.Contains(pureStandard, imported):
		return "it is pure, and that package reaches outside the process"
	}
	return ""
}

// CheckSyntax returns the uses of impure functions in a pure package's file.
func CheckSyntax(filename string, source any) ([]string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, filename, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	names := map[string]string{} // local name -> path
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		switch {
		case spec.Name == nil:
			names[defaultName(imported)] = imported
		case spec.Name.Name == ".":
			found = append(found, fmt.Sprintf("%s: a dot import hides what is used", set.Position(spec.Pos())))
		default:
			names[spec.Name.Name] = imported
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && slices.Contains(impure[names[x.Name]], selector.Sel.Name) {
			found = append(found, fmt.Sprintf("%s: %s.%s in a pure package: pass the value in", set.Position(n.Pos()), x.Name, selector.Sel.Name))
		}
		return true
	})
	return found, nil
}

// defaultName is the name of a package whose import gives none, by the custom that
// a version at the end of the path is not part of it.
func defaultName(imported string) string {
	base := path.Base(imported)
	if len(base) > 1 && base[0] == 'v' && base[1] >= '0' && base[1] <= '9' {
		return path.Base(path.Dir(imported))
	}
	return base
}

func matches(pattern, name string) bool {
	if above, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == above || strings.HasPrefix(name, above+"/")
	}
	return name == pattern
}

// hasPrefix: a prefix that has no slash at its end takes in what is below it, and
// no other module whose name begins alike.
func hasPrefix(prefixes []string, name string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		trimmed := strings.TrimSuffix(prefix, "/")
		return name == trimmed || strings.HasPrefix(name, trimmed+"/")
	})
}
