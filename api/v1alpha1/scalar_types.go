package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// Scalar is a value that may be written as a whole number or as a string: 16 and "16"
// are the same value. It is kept, hashed and written as the string, so that neither the
// hash of a spec nor a plan depends on the quotes. Booleans and fractions need quotes:
// YAML makes true of on, and the schema could not bound a value of any type.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=256
type Scalar struct {
	// Text of the value, without quotes. It is in a struct because conversions from
	// unstructured objects do not call UnmarshalJSON of a type that is itself a string.
	Text string `json:"-"`
}

// Text returns the scalar of a text.
func Text(text string) Scalar { return Scalar{Text: text} }

// Texts returns the scalars of texts by the same keys.
func Texts(texts map[string]string) map[string]Scalar {
	scalars := make(map[string]Scalar, len(texts))
	for key, text := range texts {
		scalars[key] = Text(text)
	}
	return scalars
}

// UnmarshalJSON reads a string or a number. Numbers keep their digits: a number that
// does not fit into an integer must not make the whole object unreadable.
func (s *Scalar) UnmarshalJSON(text []byte) error {
	var number json.Number
	if err := json.Unmarshal(text, &number); err == nil && text[0] != '"' {
		s.Text = number.String()
		return nil
	}
	if err := json.Unmarshal(text, &s.Text); err != nil {
		return fmt.Errorf("%s is neither a string nor a whole number: write it in quotes", text)
	}
	return nil
}

// MarshalJSON writes the string.
func (s Scalar) MarshalJSON() ([]byte, error) { return json.Marshal(s.Text) }

// String is the value as text.
func (s Scalar) String() string { return s.Text }
