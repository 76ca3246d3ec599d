//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// checkedOnly are the programs, and the commands of storagebench and kubectl, that the documentation
// names and this test does not run, and why. Their flags are checked where the program can do that.
var checkedOnly = map[string]string{
	"storagebench qualify":    "needs workers; test/e2e runs it",
	"storagebench watch":      "needs the operator; commands_test.go runs it",
	"storagebench rerun":      "needs the operator; commands_test.go runs it",
	"storagebench cancel":     "needs the operator; commands_test.go runs it",
	"storagebench run":        "measures for as long as the example says; the sandbox's own results are made with it",
	"storagebench restore":    "changes settings of this machine; make test-system runs it",
	"storagebench flushcheck": "needs a power cut; make test-powercut makes some",
	"kubectl wait":            "waits for what a run does",
	"kubectl exec":            "needs a kubelet",
	"kubectl logs":            "needs a kubelet",
	"kubectl port-forward":    "needs a kubelet",
	"helm":                    "needs a chart's cluster; make test-chart runs it",
	"fio":                     "measures",
	"docker":                  "needs a daemon",
	"kind":                    "needs docker",
	"buildah":                 "needs root; make test-image runs it",
	"skopeo":                  "needs registries",
	"crane":                   "needs registries",
	"argocd":                  "needs Argo CD; test/gitops has its libraries",
	"flux":                    "needs Flux; test/gitops has its libraries",
	"benchstat":               "is a program of golang.org/x/perf",
	"jq":                      "may not be installed",
	"curl":                    "needs a network",
	".ci/run":                 "is CI itself",
	"test/zfs/guest":          "needs a virtual machine",
	"hack/cluster/cluster":    "needs a cluster",
}

// placeholders of the documentation, and what the sandbox has in their place.
var placeholders = strings.NewReplacer(
	"/mnt/", "mnt/", "/srv/", "srv/", "/tank/", "tank/", "/dev/vg/data", "mnt/disk",
	"storagebenchmark/NAME", "storagebenchmark/flush-cost", "storagebenchmark NAME", "storagebenchmark flush-cost",
	"s3://results/storage-lab/flush-cost/", "results/default/flush-cost/", // as if it were downloaded
)

// sandbox is a directory with all files that the documentation takes for granted, and an API server
// without an operator.
type sandbox struct {
	dir string
	env []string
	ctx context.Context
	api client.Client
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	server := startAPIServer(t)
	box := &sandbox{dir: t.TempDir(), ctx: t.Context(), api: server.api}
	if err := populate(t.Context(), server.api); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"bin", "before", "after", "mnt/fast", "mnt/disk", "srv/bench", "tank/bench", ".config/fish/completions", "completions", ".cluster"} {
		if err := os.MkdirAll(filepath.Join(box.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"config", "charts", "Makefile"} {
		if err := os.Symlink(filepath.Join(root, d), filepath.Join(box.dir, d)); err != nil {
			t.Fatal(err)
		}
	}
	program, kubeconfig := buildProgram(t, box.dir), filepath.Join(box.dir, ".cluster/kubeconfig")
	writeKubeconfig(t, kubeconfig, server.config, "default")
	box.env = []string{
		"PATH=" + filepath.Join(box.dir, "bin"), "KUBECONFIG=" + kubeconfig, "HOME=" + box.dir, "TMPDIR=" + os.Getenv("TMPDIR"),
		"GITHUB_STEP_SUMMARY=" + filepath.Join(box.dir, "summary.md"), "LC_ALL=C.UTF-8",
	}
	box.wrap(t, root, program)
	box.fill(t, root, program)
	return box
}

// wrap puts on the PATH what the documentation may call, and nothing else: any other program is not found.
func (box *sandbox) wrap(t *testing.T, root, program string) {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	scripts := map[string]string{
		"sudo": `exec "$@"`,
		// Exit codes 3 and 4 are answers. With --help, a command checks its flags and ends.
		"storagebench": `case $1 in ` + checkedVerbs("storagebench") + `) exec ` + program + ` "$@" --help ;; esac
` + program + ` "$@" || { code=$?; [ $code = 3 ] || [ $code = 4 ] || exit $code; }`,
		// What is there already may be created again, as each page begins anew. Nothing is changed.
		"kubectl": `verb= n=
for a in "$@"; do case $a in -n|--namespace) n=1 ;; -*) ;; *) if [ -n "$n" ]; then n=; elif [ -z "$verb" ]; then verb=$a; fi ;; esac; done
case $verb in
` + checkedVerbs("kubectl") + `) exec ` + kubectl + ` "$@" --help ;;
apply|create|label|annotate|patch|delete|replace|scale|rollout|set) case "$*" in *--dry-run*) ;; *) set -- "$@" --dry-run=server ;; esac ;;
esac
out=$(` + kubectl + ` "$@" 2>&1) || case $out in *AlreadyExists*) exit 0 ;; *) printf '%s\n' "$out" >&2; exit 1 ;; esac
printf '%s\n' "$out"`,
		// A target that is not in the Makefile, or a variable that it needs, fails.
		"make": `exec /usr/bin/make -s -n -C ` + root + ` "$@" >/dev/null`,
	}
	for name := range checkedOnly {
		if !strings.Contains(name, " ") && !strings.Contains(name, "/") {
			scripts[name] = `[ ! -p /dev/stdin ] || cat >/dev/null # so that what writes into the pipe ends`
		}
	}
	for name, script := range scripts {
		writeFile(t, filepath.Join(box.dir, "bin", name), "#!/bin/bash\n"+script+"\n", 0o755)
	}
	for name := range checkedOnly {
		if strings.Contains(name, "/") {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("checkedOnly names %s, which is not there", name)
			}
			writeFile(t, filepath.Join(box.dir, name), "#!/bin/bash\n", 0o755)
		}
	}
	for _, harmless := range []string{"cat", "date"} {
		if err := os.Symlink("/bin/"+harmless, filepath.Join(box.dir, "bin", harmless)); err != nil {
			t.Fatal(err)
		}
	}
}

// checkedVerbs are a program's commands in checkedOnly, as a pattern of the shell.
func checkedVerbs(program string) string {
	var verbs []string
	for _, name := range slices.Sorted(maps.Keys(checkedOnly)) {
		if verb, ok := strings.CutPrefix(name, program+" "); ok {
			verbs = append(verbs, verb)
		}
	}
	return strings.Join(verbs, "|")
}

// fill writes the files that examples read: a benchmark and a schedule, job files, output of other tools, and a run.
func (box *sandbox) fill(t *testing.T, root, program string) {
	t.Helper()
	nightly, err := os.ReadFile(filepath.Join(root, "config/samples/storagebenchmarkschedule_every-night.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const run = `apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmark
metadata: {name: flush-cost, namespace: default}
spec:
  targets: [{name: fast, storageClass: {name: fast, size: 1Gi}}]
  workloads: [{name: oltp, filesync: {files: 20, size: 4Ki}}]
  trials: {min: 2}
`
	const job, sized = "[a]\nsize=1g\nrw=randrw\nbs=4k\n", "[a]\nsize=${SIZE}\nrw=randrw\n"
	for name, content := range map[string]string{
		"benchmark.yaml": run, "schedule.yaml": string(nightly), "every-night.yaml": string(nightly), "common.inc": "bs=4k\n", "job.fio": job, "randrw.fio": job,
		"device.fio": sized, "sized.fio": sized + "include common.inc\n",
	} {
		writeFile(t, filepath.Join(box.dir, name), content, 0o644)
	}
	corpus := filepath.Join(root, "internal/importer/testdata")
	for name, from := range map[string]string{
		"nvme-1.json": "corpus/fio-3.16-lat-percentiles.json", "nvme-2.json": "corpus/fio-3.16-lat-percentiles.json", "iozone.txt": "corpus/iozone-auto.txt", "zfs.txt": "postmark.txt", "ufs.txt": "postmark.txt",
	} {
		content, err := os.ReadFile(filepath.Join(corpus, from))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(box.dir, name), string(content), 0o644)
	}
	if out, err := box.exec(program + " run -f benchmark.yaml --target fast=$PWD/mnt/fast --run-id 20261121-101500 --observers basic"); err != nil {
		t.Fatalf("the sandbox's run: %v: %s", err, out)
	}
	// The page names a node, and this machine may have any name.
	const copies = `run=results/default/flush-cost/20261121-101500
cp -r $run/workers/fast.* $run/workers/fast.node-a
cp -r $run/. before; cp -r $run/. after; cp $run/summary.json .`
	cmd := exec.CommandContext(box.ctx, "/bin/bash", "-ec", copies)
	cmd.Dir = box.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// isScript reports whether a block whose fence names no language begins with a program of the sandbox.
func (box *sandbox) isScript(block string) bool {
	words := strings.Fields(block)
	if len(words) == 0 {
		return false
	}
	_, err := os.Stat(filepath.Join(box.dir, "bin", words[0]))
	return err == nil
}

// run runs a script as a page has it.
func (box *sandbox) run(script string) (string, error) {
	// zsh has an array fpath; a placeholder of the release needs no chart.
	return box.exec("fpath=(. completions); set -eo pipefail\n" + placeholders.Replace(script))
}

func (box *sandbox) exec(script string) (string, error) {
	ctx, cancel := context.WithTimeout(box.ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", script)
	cmd.Dir, cmd.Env = box.dir, box.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// lint checks a job file as storagebench does.
func (box *sandbox) lint(job string) (string, error) {
	file := filepath.Join(box.dir, "page.fio")
	if err := os.WriteFile(file, []byte(job), 0o600); err != nil {
		return "", err
	}
	return box.exec("storagebench lint page.fio")
}

// foreignKinds are kinds of others' APIs that the sandbox has not.
var foreignKinds = map[string]string{
	"Kustomization":  "of Flux, or a file of kustomize; test/gitops checks the expressions",
	"Application":    "of Argo CD",
	"ServiceMonitor": "of the Prometheus Operator", "PrometheusRule": "of the Prometheus Operator",
	"Cluster": "a file of kind",
}

// take gives a manifest to the API server, and to the planner if it is a benchmark or a schedule. A
// part of a benchmark's spec is completed.
func (box *sandbox) take(manifest string) error {
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		return err
	}
	if object["apiVersion"] == nil {
		completed, err := complete(object)
		if err != nil || completed == nil {
			return err
		}
		object = completed
	}
	u := &unstructured.Unstructured{Object: object}
	if foreignKinds[u.GetKind()] != "" {
		return nil
	}
	mapping, err := box.api.RESTMapper().RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	if err != nil {
		return fmt.Errorf("%w: put the kind into the list foreignKinds of this test, with the reason", err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	// What is no benchmark stays, for commands of the page that are about it. One of the same name is
	// validated all the same.
	options := []client.CreateOption{client.FieldOwner("docs"), strict{}}
	if u.GetKind() == "StorageBenchmark" {
		options = append(options, client.DryRunAll)
	}
	err = box.api.Create(box.ctx, u.DeepCopy(), options...)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	switch u.GetKind() {
	case "StorageBenchmark":
		return box.plan(u.Object)
	case "StorageBenchmarkSchedule":
		spec, found, err := unstructured.NestedMap(u.Object, "spec", "template", "spec")
		if err != nil || !found {
			return errors.Join(errors.New("the schedule has no spec.template.spec"), err)
		}
		return box.plan(benchmarkOf(spec))
	}
	return nil
}

// strict makes fields that the schema does not have an error.
type strict struct{}

// ApplyToCreate asks for strict validation.
func (strict) ApplyToCreate(o *client.CreateOptions) {
	raw := o.AsCreateOptions()
	raw.FieldValidation = "Strict"
	o.Raw = raw
}

// plan plans a benchmark as storagebench plan does.
func (box *sandbox) plan(benchmark map[string]any) error {
	text, err := yaml.Marshal(benchmark)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(box.dir, "page.yaml"), text, 0o600); err != nil {
		return err
	}
	if out, err := box.exec("storagebench plan -f page.yaml -o json"); err != nil {
		return fmt.Errorf("storagebench plan: %w: %s", err, out)
	}
	return nil
}

func benchmarkOf(spec map[string]any) map[string]any {
	return map[string]any{"apiVersion": "storagebench.io/v1alpha1", "kind": "StorageBenchmark", "metadata": map[string]any{"name": "page"}, "spec": spec}
}

// complete makes a benchmark of a part of its spec. Values of the chart are none: the result is nil.
func complete(part map[string]any) (map[string]any, error) {
	spec, isSpec := part["spec"].(map[string]any)
	if !isSpec {
		values := map[string]any{}
		content, err := os.ReadFile("../../charts/storagebench/values.yaml")
		if err == nil {
			err = yaml.Unmarshal(content, &values)
		}
		if err != nil {
			return nil, err
		}
		known := 0
		for key := range part {
			if _, ok := values[key]; ok {
				known++
			}
		}
		if known == len(part) && known > 0 {
			return nil, nil
		}
		spec = part
	}
	for field, preset := range map[string]string{
		"targets": "[{name: fast, storageClass: {name: fast}}]", "workloads": "[{name: oltp, fio: {preset: etcd}}]",
	} {
		if spec[field] != nil {
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(preset), &value); err != nil {
			return nil, err
		}
		spec[field] = value
	}
	return benchmarkOf(spec), nil
}

func writeFile(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.TrimLeft([]byte(content), "\n"), mode); err != nil {
		t.Fatal(err)
	}
}
