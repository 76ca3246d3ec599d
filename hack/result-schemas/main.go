// Command result-schemas writes the JSON Schemas of the result documents into the
// directory that it is given, from the Go types and their comments. It is run by go
// generate in internal/result.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

const module = "storagebench.io/storagebench"

// documents by the name of their schema.
var documents = map[string]any{
	trial.PlanSchema:     trial.Plan{},
	result.TrialSchema:   result.Trial{},
	result.WorkerSchema:  result.WorkerSummary{},
	result.SummarySchema: result.Summary{},
}

func main() {
	top := flag.String("C", ".", "top of the repository")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: result-schemas [-C TOP] DIRECTORY")
		os.Exit(2)
	}
	err := os.Chdir(*top) // packages are found by their path from there
	if err == nil {
		err = write(flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "result-schemas:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	r := &jsonschema.Reflector{
		// Readers of version 1 must bear what a later version adds.
		AllowAdditionalProperties: true,
		Mapper:                    mapped,
		Namer:                     definitionName,
	}
	for _, pkg := range []string{"./internal/trial", "./internal/result"} {
		if err := r.AddGoComments(module, pkg); err != nil {
			return err
		}
	}
	for name, document := range documents {
		s := r.Reflect(document)
		s.ID = jsonschema.ID("https://" + name + ".json")
		// A document says which schema it has.
		definition := s.Definitions[definitionName(reflect.TypeOf(document))]
		if property, ok := definition.Properties.Get("schema"); ok {
			property.Const = name
		}
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(s); err != nil {
			return err
		}
		file := strings.TrimPrefix(name, "storagebench.io/") + ".json"
		if err := os.WriteFile(filepath.Join(dir, file), b.Bytes(), 0o644); err != nil { //nolint:gosec // a file of the repository
			return err
		}
	}
	return nil
}

// definitionName is a type's name; two packages have a Trial.
func definitionName(t reflect.Type) string {
	if t == reflect.TypeFor[trial.Trial]() {
		return "PlannedTrial"
	}
	return t.Name()
}

// mapped are types that write their JSON themselves.
func mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[histogram.Histogram]():
		s := &jsonschema.Schema{}
		text := `{"type": "object", "required": ["layout", "unit", "bins"], "properties": {
			"layout": {"const": "log2-64", "description": "64 buckets an octave, as fio's"},
			"unit": {"const": "ns"},
			"bins": {"type": "array", "description": "the middle of a bucket and its count, ascending",
				"items": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer", "minimum": 0}}}}}`
		if err := json.Unmarshal([]byte(text), s); err != nil {
			panic(err) // it is written above
		}
		return s
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{Type: "object", Description: "the engine's field of the API"}
	}
	return nil
}
