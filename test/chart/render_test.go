//go:build chart

package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

const (
	chartDir  = "../../charts/storagebench"
	namespace = "storagebench-system"
)

// store is what a ResultStore needs, for --set.
const store = "resultStore.create=true,resultStore.endpoint=http://minio.minio.svc:9000,resultStore.bucket=storagebench,resultStore.secretName=storagebench-store"

func helm(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("HELM"); program != "" {
		return program
	}
	program, err := exec.LookPath("helm")
	if err != nil {
		t.Fatal("there is no helm on the PATH, and HELM names none: run make verify")
	}
	return program
}

// template runs helm template; flags are helm's.
func template(t *testing.T, flags ...string) (string, error) {
	t.Helper()
	return templateChart(t, chartDir, flags...)
}

// templateChart is template for the chart of a directory.
func templateChart(t *testing.T, dir string, flags ...string) (string, error) {
	t.Helper()
	args := append([]string{"template", "storagebench", dir, "--namespace", namespace}, flags...)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), helm(t), args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", errors.New(strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// objects are a release's, in the order in which they are rendered.
type objects []*unstructured.Unstructured

func render(t *testing.T, flags ...string) objects {
	t.Helper()
	return renderChart(t, chartDir, flags...)
}

func renderChart(t *testing.T, dir string, flags ...string) objects {
	t.Helper()
	out, err := templateChart(t, dir, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, strings.NewReader(out))
}

func decode(t *testing.T, r io.Reader) objects {
	t.Helper()
	var found objects
	for decoder := utilyaml.NewYAMLOrJSONDecoder(r, 4096); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(o); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) > 0 {
			found = append(found, o)
		}
	}
}

func decodeFile(t *testing.T, path string) objects {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, bytes.NewReader(content))
}

// in are the objects of one namespace.
func (o objects) in(namespace string) (found objects) {
	for _, object := range o {
		if object.GetNamespace() == namespace {
			found = append(found, object)
		}
	}
	return found
}

// get reads the only object of a kind into out and reports whether there is one.
func (o objects) get(t *testing.T, kind, name string, out any) bool {
	t.Helper()
	found := false
	for _, object := range o {
		if object.GetKind() != kind || object.GetName() != name {
			continue
		}
		if found {
			t.Fatalf("%s %s is there twice", kind, name)
		}
		found = true
		// Strict: a field that Kubernetes does not have is a mistake in a template.
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, out, true); err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
	}
	return found
}

// must is get for an object that must be there.
func (o objects) must(t *testing.T, kind, name string, out any) {
	t.Helper()
	if !o.get(t, kind, name, out) {
		t.Fatalf("there is no %s %s", kind, name)
	}
}
