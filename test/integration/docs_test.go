//go:build integration

package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/test/markdown"
)

// languages are those of blocks that nobody types into a shell, and why they are not run.
var languages = map[string]string{
	"text":   "output, or a picture",
	"python": "needs pandas",
	"sql":    "needs DuckDB",
	"promql": "needs a Prometheus: make test-alerts asks one",
	"lua":    "needs Argo CD's interpreter: test/gitops has it",
	"xml":    "an excerpt of a document",
	"json":   "an excerpt of a document",
}

// TestTheDocs runs what the README and the documentation tell people to type: commands in a sandbox
// with an API server of its own, which also takes the manifests, and the planner plans those that are
// benchmarks. What needs a machine or a cluster is in checkedOnly, and its syntax and flags are
// checked. A command that is in neither place fails.
func TestTheDocs(t *testing.T) {
	t.Parallel()
	box := newSandbox(t)
	ran := map[string]int{}
	for _, page := range pages(t) {
		name := strings.TrimPrefix(page, "../../")
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range markdown.Blocks(string(content)) {
			ran[block.Language]++
			where := func(err string) { t.Errorf("%s:%d: %s", name, block.Line, err) }
			switch block.Language {
			case "sh", "console":
				if out, err := box.run(block.Script()); err != nil {
					where(err.Error() + "\n" + block.Script() + out)
				}
			case "yaml":
				for _, manifest := range block.Manifests() {
					if err := box.take(manifest); err != nil {
						where(err.Error() + "\n" + manifest)
					}
				}
			case "ini":
				if out, err := box.lint(block.Text); err != nil {
					where(err.Error() + "\n" + out)
				}
			case "": // output, unless it begins with a command
				if !box.isScript(block.Text) {
					continue
				}
				if out, err := box.run(block.Text); err != nil {
					where(err.Error() + "\n" + block.Text + out)
				}
			default:
				if languages[block.Language] == "" {
					where("blocks of " + block.Language + " are neither run nor in the list languages of this test")
				}
			}
		}
	}
	if ran["sh"] < 40 || ran["yaml"] < 15 || ran["ini"] < 5 {
		t.Errorf("only %v blocks were found", ran)
	}
	t.Logf("blocks by language: %v", ran)
}

// pages are those that users read.
func pages(t *testing.T) []string {
	t.Helper()
	files := []string{"../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md"}
	err := filepath.WalkDir("../../docs", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// populate makes what the documentation takes for granted in a cluster.
func populate(ctx context.Context, c client.Client) error {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for _, name := range []string{"storage-lab", "argocd", "flux-system", "monitoring"} {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}
	objects := []client.Object{
		node, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "zfs"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "argocd", Name: "argocd-cm"}},
	}
	for _, at := range []struct{ namespace, name string }{
		{"storage-lab", "flush-cost"}, {"storage-lab", "mixed"}, {"default", "flush-cost"}, {"default", "fast-class"},
	} {
		b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: at.namespace, Name: at.name}}
		b.Spec.Targets = []v1alpha1.Target{{Name: "fast", StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}}}
		b.Spec.Workloads = []v1alpha1.Workload{{Name: "oltp", Fio: &v1alpha1.FioWorkload{Preset: "etcd"}}}
		objects = append(objects, b)
	}
	nightly := &v1alpha1.StorageBenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "storage-lab", Name: "every-night"}}
	nightly.Spec.Schedule = "30 2 * * *"
	nightly.Spec.Template.Spec.Targets = []v1alpha1.Target{{Name: "fast", StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}}}
	nightly.Spec.Template.Spec.Workloads = []v1alpha1.Workload{{Name: "oltp", Fio: &v1alpha1.FioWorkload{Preset: "etcd"}}}
	objects = append(objects, nightly)
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil {
			return err
		}
		if b, ok := o.(*v1alpha1.StorageBenchmark); ok {
			b.Status.ObservedGeneration = b.Generation
			b.Status.Run = &v1alpha1.RunStatus{ID: "20261121-101500", SpecHash: "h", QueuedAt: metav1.NowMicro(), FinishedAt: &now, StartedAt: &now, TrialsPlanned: 6, TrialsStored: 6, Progress: "6/6"}
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "all is measured", LastTransitionTime: now}}
			if err := c.Status().Update(ctx, b); err != nil {
				return err
			}
		}
	}
	return c.Create(ctx, &v1alpha1.NodeRestore{
		ObjectMeta: metav1.ObjectMeta{Name: "node-a"},
		Spec: v1alpha1.NodeRestoreSpec{
			NodeUID: node.UID, Run: "r", Worker: "fast.node-a", Since: now,
			Benchmark: v1alpha1.BenchmarkReference{Namespace: "storage-lab", Name: "flush-cost", UID: "u"},
			Job:       v1alpha1.JobReference{Name: "j", UID: "u"},
		},
	})
}
