package crd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// defaultsInLists are the paths of defaults below an items, where Argo CD and kubectl diff show them
// for ever as a difference from what is in Git.
func defaultsInLists(path string, schema *apiextensionsv1.JSONSchemaProps, inList bool) []string {
	var found []string
	if inList && schema.Default != nil {
		found = append(found, path)
	}
	for name, property := range schema.Properties {
		found = append(found, defaultsInLists(path+"."+name, &property, inList)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		found = append(found, defaultsInLists(path+"[]", schema.Items.Schema, true)...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		found = append(found, defaultsInLists(path+"{}", schema.AdditionalProperties.Schema, inList)...)
	}
	slices.Sort(found)
	return found
}

func TestNoSchemaHasADefaultInAList(t *testing.T) {
	files, err := filepath.Glob("bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no CRDs in bases: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, version := range crd.Spec.Versions {
			for _, path := range defaultsInLists("", version.Schema.OpenAPIV3Schema, false) {
				t.Errorf("%s has a default in a list, at %s: take it out of the type, and let plan.WithDefaults choose it", file, path)
			}
		}
	}
}

func TestTheWalkSeesADefaultInAList(t *testing.T) {
	value := &apiextensionsv1.JSON{Raw: []byte("1")}
	with := apiextensionsv1.JSONSchemaProps{Default: value}
	list := apiextensionsv1.JSONSchemaProps{Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size": with, "name": {},
			"map": {AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &with}},
		},
	}}}
	schema := &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"alone": with, "list": list}}
	if got, want := defaultsInLists("", schema, false), []string{".list[].map{}", ".list[].size"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
