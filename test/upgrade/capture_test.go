//go:build upgrade

package upgrade

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

// captureVariable names a directory into which what the old operator has left is written, for
// test/integration/testdata.
const captureVariable = "STORAGEBENCH_CAPTURE"

// captured are the benchmarks that are captured. Of the one that runs, what is stored is too,
// with the document of one of its trials.
var captured = []string{"finished", "finished-with-settings", "failed", "changed", "suspended", "queued", "running", "deleted", "disturbed"}

// capture writes each benchmark with its Jobs, the Leases, and what is stored, as they are
// before the new operator has seen them.
func (l *lab) capture() {
	l.t.Helper()
	dir := os.Getenv(captureVariable)
	if dir == "" {
		return
	}
	benchmarks := l.raw(v1alpha1.GroupVersion.WithKind("StorageBenchmarkList"), client.InNamespace(l.namespace))
	for _, b := range benchmarks {
		if !slices.Contains(captured, b.GetName()) {
			continue
		}
		at := filepath.Join(dir, b.GetName())
		l.must(os.MkdirAll(at, 0o755))
		jobs := l.raw(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "JobList"}, client.InNamespace(l.namespace), client.MatchingLabels{jobspec.LabelBenchmark: b.GetName()})
		l.write(filepath.Join(at, "objects.yaml"), append([]unstructured.Unstructured{b}, jobs...))
		typed := &v1alpha1.StorageBenchmark{}
		l.must(api.Get(l.ctx, client.ObjectKeyFromObject(&b), typed))
		if b.GetName() != "running" {
			continue
		}
		trialFound, prefix := false, keys(typed).Prefix()
		for key, body := range l.stored(typed) {
			name := strings.TrimPrefix(strings.TrimPrefix(key, prefix), "/")
			isTrial := strings.Contains(name, "/trials/")
			if isTrial && trialFound || strings.Contains(name, "/raw/") || strings.Contains(name, "/samples/") {
				continue
			}
			trialFound = trialFound || isTrial
			file := filepath.Join(at, "store", filepath.FromSlash(name))
			l.must(os.MkdirAll(filepath.Dir(file), 0o755))
			l.must(os.WriteFile(file, withoutMachine(body), 0o644))
		}
	}
	leases := l.raw(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "LeaseList"}, client.InNamespace(operatorNamespace), client.MatchingLabels{jobspec.LabelManagedBy: jobspec.ManagedBy})
	l.write(filepath.Join(dir, "leases.yaml"), leases)
}

// machine are the values of a summary that describe the machine of the capture, and what stands
// for them in testdata. No digest is made of a summary while its worker runs.
var machine = map[*regexp.Regexp]string{
	regexp.MustCompile(`"kernel": "[^"]*"`):       `"kernel": "6.12.0"`,
	regexp.MustCompile(`"model": "[^"]*"`):        `"model": "Example CPU"`,
	regexp.MustCompile(`"totalBytes": \d+`):       `"totalBytes": 8589934592`,
	regexp.MustCompile(`/tmp/Test[^"]*disk\.img`): `/srv/example/disk.img`,
}

func withoutMachine(document []byte) []byte {
	for pattern, neutral := range machine {
		document = pattern.ReplaceAll(document, []byte(neutral))
	}
	return document
}

func (l *lab) raw(kind schema.GroupVersionKind, options ...client.ListOption) []unstructured.Unstructured {
	l.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	l.must(api.List(l.ctx, list, options...))
	return list.Items
}

// write writes objects into one file.
func (l *lab) write(file string, objects []unstructured.Unstructured) {
	l.t.Helper()
	var out strings.Builder
	for i := range objects {
		objects[i].SetManagedFields(nil)
		text, err := yaml.Marshal(objects[i].Object)
		l.must(err)
		out.WriteString("---\n" + string(text))
	}
	l.must(os.WriteFile(file, []byte(out.String()), 0o644))
}
