package spec

import (
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/internal/suggest"
)

// celCost is the API server's budget for the rules of one object.
const celCost = 10_000_000

// schema validates objects as the API server does with the
// CustomResourceDefinition.
type schema struct {
	structural *structural.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// newSchema reads a CustomResourceDefinition.
func newSchema(text []byte) (*schema, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, definition); err != nil {
		return nil, fmt.Errorf("spec: the CustomResourceDefinition: %w", err)
	}
	internal := &apiextensions.CustomResourceValidation{}
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(definition.Spec.Versions[0].Schema, internal, nil)
	if err != nil {
		return nil, fmt.Errorf("spec: the CustomResourceDefinition: %w", err)
	}
	s := &schema{}
	if s.structural, err = structural.NewStructural(internal.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("spec: the schema: %w", err)
	}
	if s.validator, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("spec: the schema: %w", err)
	}
	s.rules = cel.NewValidator(s.structural, true, celCost)
	return s, nil
}

// read admits an object and converts it into what into points to.
func (s *schema) read(ctx context.Context, object map[string]any, into any) error {
	if err := s.admit(ctx, object); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, into); err != nil {
		return invalid("", err.Error(), "")
	}
	return nil
}

// admit applies defaults to the object and checks it.
func (s *schema) admit(ctx context.Context, object map[string]any) error {
	unknown := pruning.PruneWithOptions(object, s.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		return s.unknown(path)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	errs := checkName(object)
	errs = append(errs, validation.ValidateCustomResource(nil, object, s.validator)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(errs) == 0 {
		// The rules assume correct types.
		errs, _ = s.rules.Validate(ctx, nil, s.structural, object, nil, math.MaxInt64)
	}
	if len(errs) == 0 {
		return nil
	}
	messages := make([]string, 0, len(errs))
	for _, e := range errs[1:] {
		messages = append(messages, e.Error())
	}
	message := errs[0].ErrorBody()
	if len(messages) > 0 {
		message += "; and " + strings.Join(messages, "; ")
	}
	return invalid(errs[0].Field, message, remedyFor(errs[0]))
}

// remedyFor returns a remedy for an error whose message has none, or "".
func remedyFor(e *field.Error) string {
	if e.Type == field.ErrorTypeNotSupported {
		return nearestChoice(fmt.Sprint(e.BadValue), e.Detail)
	}
	if strings.Contains(e.Detail, "integer,string") {
		return "put fractions, true, false, on, off, yes and no in quotes"
	}
	return ""
}

func checkName(object map[string]any) field.ErrorList {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	path := field.NewPath("metadata", "name")
	if name == "" {
		return field.ErrorList{field.Required(path, "give it a name")}
	}
	var errs field.ErrorList
	for _, message := range metavalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// nearestChoice suggests one of the values that an error lists. The message already has
// the list.
func nearestChoice(given, list string) string {
	var choices []string
	for _, match := range quoted.FindAllStringSubmatch(list, -1) {
		choices = append(choices, match[1])
	}
	if near := suggest.Nearest(given, choices); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// fewFields are so few that a message can list them.
const fewFields = 12

var index = regexp.MustCompile(`\[\d+\]`)

// unknown returns the failure for an unknown field: its path, and a similar
// field.
func (s *schema) unknown(path string) error {
	parts := strings.Split(path, ".")
	name := parts[len(parts)-1]
	at := s.structural
	for _, part := range parts[:len(parts)-1] {
		property, ok := at.Properties[index.ReplaceAllString(part, "")]
		if !ok {
			break
		}
		at = &property
		for range index.FindAllString(part, -1) {
			if at.Items != nil {
				at = at.Items
			}
		}
	}
	remedy, fields := "remove it, or see docs/reference/api.md", slices.Sorted(maps.Keys(at.Properties))
	if best := suggest.Nearest(name, fields); best != "" {
		remedy = "did you mean " + best + "?"
	} else if len(fields) > 0 && len(fields) <= fewFields {
		remedy = "use one of " + strings.Join(fields, ", ")
	}
	return invalid(path, "there is no such field", remedy)
}
