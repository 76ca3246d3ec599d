//go:build system

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemas = "../../docs/reference/schemas"

// What programs of others are told of the documents must be true of those of a run,
// also of one that failed.
func TestEveryDocumentOfARunHasItsSchema(t *testing.T) {
	good, full, out := t.TempDir(), t.TempDir(), t.TempDir()
	file := benchmark(t, header+`spec:
  targets: [{name: fast, hostPath: {path: `+good+`}}]
  workloads: [{name: mix, fio: {parameters: {rw: randrw, size: 4m, runtime: "1", time_based: "1"}}}]
  trials: {min: 2}
`)
	if _, stderr, code := output(t, "run", "-f", file, "--out", out, "--run-id", "good"); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	file = benchmark(t, header+`spec:
  targets: [{name: full, hostPath: {path: `+full+`}}]
  workloads: [{name: mix, fio: {parameters: {rw: write, size: 900t}}}]
  trials: {min: 1}
`)
	if _, _, code := output(t, "run", "-f", file, "--out", out, "--run-id", "failed"); code != exitFailed {
		t.Fatalf("exit code %d of a target that is too small", code)
	}
	checked := map[string]int{}
	for pattern, name := range map[string]string{
		"plan.json": "plan.v1", "summary.json": "summary.v1", "workers/*/summary.json": "worker.v1", "workers/*/trials/*.json": "trial.v1",
	} {
		schema, err := jsonschema.NewCompiler().Compile(filepath.Join(schemas, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(out, "default/b/*", pattern))
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(document); err != nil {
				t.Errorf("%s: %v", strings.TrimPrefix(file, out), err)
			}
			checked[name]++
		}
		other := strings.NewReader(`{"schema": "storagebench.io/other.v1"}`)
		if document, err := jsonschema.UnmarshalJSON(other); err != nil || schema.Validate(document) == nil {
			t.Errorf("%s takes any document", name)
		}
	}
	if checked["plan.v1"] != 2 || checked["summary.v1"] != 2 || checked["worker.v1"] != 2 || checked["trial.v1"] < 3 {
		t.Errorf("checked %v", checked)
	}
}
