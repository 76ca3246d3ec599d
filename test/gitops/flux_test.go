package gitops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
)

// healthCheck is one entry of a Flux Kustomization's healthCheckExprs.
type healthCheck struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Current    string `json:"current"`
	InProgress string `json:"inProgress"`
	Failed     string `json:"failed"`
}

// fluxStatus evaluates the expressions for a kind in the order that Flux documents: a generation that
// is not observed is in progress; then inProgress, failed and current; otherwise it is in progress.
func fluxStatus(t *testing.T, kind string, object map[string]any) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(directory, "flux", "health-checks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Checks []healthCheck `json:"healthCheckExprs"`
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, check := range file.Checks {
		if check.Kind != kind || check.APIVersion != v1alpha1.GroupVersion.String() {
			continue
		}
		if !observed(object) {
			return "InProgress"
		}
		for _, expression := range []struct{ text, means string }{{check.InProgress, "InProgress"}, {check.Failed, "Failed"}, {check.Current, "Current"}} {
			if expression.text != "" && holds(t, expression.text, object) {
				return expression.means
			}
		}
		return "InProgress"
	}
	t.Fatalf("there is no expression for %s", kind)
	return ""
}

func observed(object map[string]any) bool {
	status, _ := object["status"].(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	seen, isSeen := status["observedGeneration"].(int64)
	return !isSeen || seen == metadata["generation"]
}

func holds(t *testing.T, expression string, object map[string]any) bool {
	t.Helper()
	options := []cel.EnvOption{cel.OptionalTypes(), cel.HomogeneousAggregateLiterals(), ext.Strings(), ext.Sets(), ext.Encoders()}
	for name := range object {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		t.Fatal(err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatalf("%s: %v", expression, issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(object)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	answer, ok := value.Value().(bool)
	if !ok {
		t.Fatalf("%s is not a bool", expression)
	}
	return answer
}
