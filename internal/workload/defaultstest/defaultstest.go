// Package defaultstest compares the defaults of an engine with those that the planner chooses, for
// the engines' tests: the engines are also called with configurations that no planner has seen.
package defaultstest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/config/crd"
	"storagebench.io/storagebench/internal/plan"
)

// property is a field of the API.
type property struct {
	Items      *property           `json:"items"`
	Properties map[string]property `json:"properties"`
}

// Check fails the test unless the engine's configuration has the API's fields, and the
// planner's defaults. given are fields that a configuration cannot do without.
func Check[C any](t *testing.T, engine string, given map[string]any, decode func(json.RawMessage) (C, error)) {
	t.Helper()
	api := properties(t, engine)
	defaulted := planned(t, engine, given)
	byEngine, byAPI := configure(t, given, decode), configure(t, defaulted, decode)
	own, shared := reflect.ValueOf(byEngine), reflect.ValueOf(byAPI)
	var fields []string
	for i := range own.NumField() {
		if !own.Type().Field(i).IsExported() {
			continue // no field of the API
		}
		name, _, _ := strings.Cut(own.Type().Field(i).Tag.Get("json"), ",")
		fields = append(fields, name)
		mine, theirs := own.Field(i), shared.Field(i)
		if !reflect.DeepEqual(value(mine), value(theirs)) {
			t.Errorf("the default of %s.%s is %v in the engine and %v in the planner", engine, name, value(mine), value(theirs))
		}
		if _, is := defaulted[name]; !is && !mine.IsZero() {
			t.Errorf("%s.%s has the default %v in the engine and none in the planner", engine, name, value(mine))
		}
	}
	slices.Sort(fields)
	if names := slices.Sorted(maps.Keys(api)); !slices.Equal(fields, names) {
		t.Errorf("%s has the fields %v in the engine and %v in the API", engine, fields, names)
	}
}

// planned is a configuration of the engine with the planner's defaults.
func planned(t *testing.T, engine string, given map[string]any) map[string]any {
	t.Helper()
	if given == nil {
		given = map[string]any{}
	}
	text, err := json.Marshal(map[string]any{"workloads": []any{map[string]any{"name": "w", engine: given}}})
	if err != nil {
		t.Fatal(err)
	}
	var spec v1alpha1.StorageBenchmarkSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(plan.WithDefaults(spec).Workloads[0]); err != nil {
		t.Fatal(err)
	}
	var workload map[string]any
	if err := json.Unmarshal(text, &workload); err != nil {
		t.Fatal(err)
	}
	config, ok := workload[engine].(map[string]any)
	if !ok {
		t.Fatalf("%s is no object: %v", engine, workload[engine])
	}
	return config
}

// value is what a field holds, behind a pointer if it is one; nil without a default.
func value(v reflect.Value) any {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return reflect.Indirect(v).Interface()
}

func configure[C any](t *testing.T, fields map[string]any, decode func(json.RawMessage) (C, error)) C {
	t.Helper()
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if fields == nil {
		raw = json.RawMessage(`{}`)
	}
	c, err := decode(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return c
}

// properties are the fields of an engine in the schema.
func properties(t *testing.T, engine string) map[string]property {
	t.Helper()
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Schema property `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(crd.StorageBenchmark, &definition); err != nil {
		t.Fatal(err)
	}
	workloads := definition.Spec.Versions[0].Schema.Schema.Properties["spec"].Properties["workloads"]
	if workloads.Items == nil || workloads.Items.Properties[engine].Properties == nil {
		t.Fatalf("the API has no workload %s", engine)
	}
	return workloads.Items.Properties[engine].Properties
}
