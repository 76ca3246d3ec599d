package imports

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestImportsOfThisModule(t *testing.T) {
	packages := list(t)
	for _, line := range Check(Rules, packages) {
		t.Error(line)
	}
	checked := 0
	for _, p := range packages {
		if !isPure(p) {
			continue
		}
		for _, file := range p.GoFiles {
			found, err := CheckSyntax(filepath.Join(p.Dir, file), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range found {
				t.Error(line)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Error("no file of a pure package was read: the rules do not fit the module")
	}
	t.Logf("%d packages, %d files of pure ones", len(packages), checked)
}

func isPure(p Package) bool {
	return slices.ContainsFunc(Rules, func(r Rule) bool {
		return r.Pure && matches(r.Path, strings.TrimPrefix(p.ImportPath, Module+"/"))
	})
}

// list returns the packages of this module, without those that have only tests.
func list(t *testing.T) []Package {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-tags", "integration,e2e,system", "-json=Dir,ImportPath,GoFiles,Imports,Deps", Module+"/...")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []Package
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			packages = append(packages, p)
		}
	}
}

// What the operator must not be linked with: k8s.io/apiserver alone brings gRPC, OpenTelemetry and CEL, a sixth of the program.
func TestTheOperatorIsLinkedWithoutAnAPIServer(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath != Module+"/cmd/manager" {
			continue
		}
		for _, dep := range p.Deps {
			if hasPrefix([]string{"k8s.io/apiserver/", "google.golang.org/grpc", "go.opentelemetry.io/otel/sdk", "github.com/google/cel-go"}, dep) {
				t.Errorf("cmd/manager depends on %s; go mod why -m says through what", dep)
			}
		}
		return
	}
	t.Error("there is no cmd/manager")
}

// The check itself must be able to fail.
func TestCheck(t *testing.T) {
	rules := []Rule{
		{Path: "internal/pure", Own: []string{"internal/trial"}, Foreign: kubernetesTypes, Pure: true},
		{Path: "internal/bare/...", Own: []string{"internal/helper"}, Bare: true},
	}
	const pure, bare = Module + "/internal/pure", Module + "/internal/bare/deep"
	tests := map[string]struct {
		pkg  Package
		want string // part of the only line; empty: allowed
	}{
		"an edge in the table is allowed":                 {Package{ImportPath: pure, Imports: []string{Module + "/internal/trial", "time", "k8s.io/api/core/v1"}}, ""},
		"an edge that is not in the table is refused":     {Package{ImportPath: pure, Imports: []string{Module + "/controllers"}}, "imports " + Module + "/controllers"},
		"a package below an allowed one is not allowed":   {Package{ImportPath: pure, Imports: []string{Module + "/internal/trial/deep"}}, "does not name that package"},
		"another module is refused":                       {Package{ImportPath: pure, Imports: []string{"k8s.io/client-go/rest"}}, "does not name that module"},
		"a module whose name begins alike is refused":     {Package{ImportPath: pure, Imports: []string{"k8s.io/apiextensions/v1"}}, "does not name that module"},
		"a pure package may not read files":               {Package{ImportPath: pure, Imports: []string{"os"}}, "reaches outside"},
		"a pure package may not log":                      {Package{ImportPath: pure, Imports: []string{"log/slog"}}, "reaches outside"},
		"a pure package may not take old randomness":      {Package{ImportPath: pure, Imports: []string{"math/rand"}}, "reaches outside"},
		"a bare package may read files":                   {Package{ImportPath: bare, Imports: []string{"os", Module + "/internal/helper"}}, ""},
		"a bare package must not reach Kubernetes":        {Package{ImportPath: bare, Imports: []string{Module + "/internal/helper"}, Deps: []string{"sigs.k8s.io/controller-runtime/pkg/client"}}, "without Kubernetes"},
		"a bare package must not reach the API":           {Package{ImportPath: bare, Deps: []string{Module + "/api/v1alpha1"}}, "without Kubernetes"},
		"a package that is not in the table is refused":   {Package{ImportPath: Module + "/internal/new"}, "internal/new has no rule"},
		"a package is not taken for one that it is below": {Package{ImportPath: pure + "/below"}, "has no rule"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := slices.DeleteFunc(Check(rules, []Package{tt.pkg}), func(line string) bool {
				return strings.Contains(line, "there is no such package")
			})
			if got := strings.Join(found, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) || len(found) > 1 {
				t.Errorf("found %q, want one line with %q", got, tt.want)
			}
		})
	}
	if found := Check(rules, nil); len(found) != len(rules) {
		t.Errorf("rules without packages: found %q, want a line for each", found)
	}
}

func TestCheckSyntax(t *testing.T) {
	tests := map[string]struct {
		source string
		want   string
	}{
		"a duration is no clock":            {`import "time"; var d = time.Second`, ""},
		"the clock":                         {`import "time"; var d = time.Now()`, "time.Now"},
		"the clock by another name":         {`import c "time"; var now = c.Now`, "c.Now"},
		"the clock of apimachinery":         {`import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; var t = metav1.Now()`, "metav1.Now"},
		"a method Now of something else":    {`type c struct{}; func (c) Now() int { return 0 }; var n = c{}.Now()`, ""},
		"a seeded generator":                {`import "math/rand/v2"; var r = rand.New(rand.NewPCG(1, 2)).IntN(3)`, ""},
		"the generator that nobody seeded":  {`import "math/rand/v2"; var r = rand.IntN(3)`, "rand.IntN"},
		"the process's output":              {`import "fmt"; func f() { fmt.Println() }`, "fmt.Println"},
		"a writer that was passed in":       {`import ("fmt"; "io"); func f(w io.Writer) { fmt.Fprintln(w) }`, ""},
		"a dot import could hide all these": {`import . "time"; var d = Now()`, "dot import"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found, err := CheckSyntax("x.go", "package x; "+tt.source)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(found, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
