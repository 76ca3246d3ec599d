package spec

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/config/crd"
	"storagebench.io/storagebench/internal/trial"
)

const (
	kindBenchmark = "StorageBenchmark"
	kindSchedule  = "StorageBenchmarkSchedule"
	// maxFile bounds the file that is read.
	maxFile = 4 << 20
)

// Read returns the one StorageBenchmark in a file of YAML documents, or else that of the one
// StorageBenchmarkSchedule, whose name it then has as a label. Its errors are *trial.Failure with
// the field that is wrong.
func Read(ctx context.Context, r io.Reader) (*v1alpha1.StorageBenchmark, error) {
	object, err := find(r)
	if err != nil {
		return nil, err
	}
	if object["kind"] == kindSchedule {
		return readSchedule(ctx, object)
	}
	return readBenchmark(ctx, object)
}

func readBenchmark(ctx context.Context, object map[string]any) (*v1alpha1.StorageBenchmark, error) {
	addLocalDefaults(object)
	schema, err := newSchema(crd.StorageBenchmark)
	if err != nil {
		return nil, err
	}
	b := &v1alpha1.StorageBenchmark{}
	if err := schema.read(ctx, object, b); err != nil {
		return nil, err
	}
	return b, nil
}

// find returns the StorageBenchmark, or else the schedule, among the documents of a file, which may
// hold other objects of the same setup.
func find(r io.Reader) (map[string]any, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(text) > maxFile {
		return nil, invalid("", fmt.Sprintf("the file is larger than the limit of %d bytes", maxFile), "split it, or shorten the job files")
	}
	found := map[string]map[string]any{} // by kind
	var kinds []string
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, invalid("", oneLine(err), "correct the YAML syntax")
		}
		object, err := decode(document)
		if err != nil {
			return nil, invalid("", oneLine(err), "correct the YAML syntax")
		}
		if object == nil {
			continue
		}
		kind, _ := object["kind"].(string)
		kinds = append(kinds, cmp.Or(kind, "an object without a kind"))
		if kind != kindBenchmark && kind != kindSchedule {
			continue
		}
		if version, _ := object["apiVersion"].(string); version != v1alpha1.GroupVersion.String() {
			return nil, invalid("apiVersion", fmt.Sprintf("version %q is not supported", version), "set it to "+v1alpha1.GroupVersion.String())
		}
		if found[kind] != nil {
			return nil, invalid("", "the file contains more than one "+kind, "put each into its own file")
		}
		found[kind] = object
	}
	for _, kind := range []string{kindBenchmark, kindSchedule} {
		if found[kind] != nil {
			return found[kind], nil
		}
	}
	const remedy = "add a StorageBenchmark; docs/reference/api.md describes it"
	if len(kinds) == 0 {
		return nil, invalid("", "the file is empty", remedy)
	}
	slices.Sort(kinds)
	return nil, invalid("kind", "the file contains no StorageBenchmark, only "+strings.Join(slices.Compact(kinds), ", "), remedy)
}

// decode reads one document. Numbers are read as by the API server, and a key
// that appears twice is an error.
func decode(document []byte) (map[string]any, error) {
	converted, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := json.Unmarshal(converted, &object); err != nil {
		return nil, fmt.Errorf("a document is not an object: %w", err)
	}
	for key, value := range object {
		object[key] = normalise(value)
	}
	return object, nil
}

// normalise turns whole numbers into integers, as in the API machinery.
func normalise(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = normalise(value)
		}
		return v
	case []any:
		for i, value := range v {
			v[i] = normalise(value)
		}
		return v
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

// addLocalDefaults sets fields that the schema requires but that have no meaning
// without a cluster.
func addLocalDefaults(object map[string]any) {
	metadata := child(object, "metadata")
	if metadata["namespace"] == nil {
		metadata["namespace"] = "default"
	}
	s := child(object, "spec")
	if s["results"] == nil {
		s["results"] = map[string]any{"storeRef": map[string]any{"name": "local"}}
	}
}

func child(object map[string]any, name string) map[string]any {
	if c, ok := object[name].(map[string]any); ok {
		return c
	}
	if object[name] != nil {
		return map[string]any{} // the wrong type, which the schema reports
	}
	c := map[string]any{}
	object[name] = c
	return c
}

// oneLine joins the lines of an error of the YAML parser.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func invalid(field, message, remedy string) error {
	return &trial.Failure{Class: reason.InvalidSpec, Field: field, Message: message, Remedy: remedy}
}
