// Package defaultstest compares the defaults of an engine with those of the API, for the
// engines' tests: run on a machine of one's own goes through the schema too, but the
// engines are also called with configurations that have not been through it.
package defaultstest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/config/crd"
)

// property is a field of the API.
type property struct {
	Default    any                 `json:"default"`
	Items      *property           `json:"items"`
	Properties map[string]property `json:"properties"`
}

// Check fails the test unless the engine's configuration has the API's fields, and the
// API's defaults. given are fields that a configuration cannot do without.
func Check[C any](t *testing.T, engine string, given map[string]any, decode func(json.RawMessage) (C, error)) {
	t.Helper()
	api := properties(t, engine)
	defaulted := maps.Clone(given)
	if defaulted == nil {
		defaulted = map[string]any{}
	}
	for name, p := range api {
		if _, is := given[name]; !is && p.Default != nil {
			defaulted[name] = p.Default
		}
	}
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
			t.Errorf("the default of %s.%s is %v in the engine and %v in the API", engine, name, value(mine), value(theirs))
		}
		if _, is := defaulted[name]; !is && !mine.IsZero() {
			t.Errorf("%s.%s has the default %v in the engine and none in the API", engine, name, value(mine))
		}
	}
	slices.Sort(fields)
	if names := slices.Sorted(maps.Keys(api)); !slices.Equal(fields, names) {
		t.Errorf("%s has the fields %v in the engine and %v in the API", engine, fields, names)
	}
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
