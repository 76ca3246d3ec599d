//go:build integration

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
)

// minimal is the smallest benchmark there is.
const minimal = `
apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmark
metadata: {name: minimal, namespace: default}
spec:
  targets:
  - name: fast
    storageClass: {name: fast}
  workloads:
  - name: oltp
    fio: {parameters: {rw: randread}}
  results: {storeRef: {name: default}}
`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestDefaults(t *testing.T) {
	u := parse(t, minimal)
	if err := api.Create(t.Context(), u, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	got, err := yaml.Marshal(u.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `placement:
  mode: Sequential
  nodes: 1
results:
  storeRef:
    name: default
targets:
- name: fast
  storageClass:
    name: fast
timeout: 2h
trials: {}
workloads:
- fio:
    parameters:
      rw: randread
  name: oltp
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// variant is a variant with a tunable of this value, in front of results.
func variant(value string) string {
	return "variants:\n  - {name: v, tunables: [{name: vm.dirty_ratio, value: " + value + "}]}\n  results:"
}

// A number is as good as the string of its digits, and both are read as the same spec.
func TestNumbersNeedNoQuotes(t *testing.T) {
	hashes := map[string]string{}
	for name, quote := range map[string]string{"with quotes": `"`, "without": ""} {
		text := strings.Replace(minimal, "rw: randread", "rw: randread, iodepth: "+quote+"16"+quote+", size: "+quote+"10737418240"+quote, 1)
		text = strings.Replace(text, "results:", variant(quote+"-20"+quote), 1)
		u := parse(t, text)
		if err := api.Create(t.Context(), u, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b := &v1alpha1.StorageBenchmark{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := b.Spec.Workloads[0].Fio.Parameters["size"]; got.Text != "10737418240" {
			t.Errorf("%s: size is %q", name, got)
		}
		if got := b.Spec.Variants[0].Tunables[0].Value; got.Text != "-20" {
			t.Errorf("%s: the tunable's value is %q", name, got)
		}
		hash := plan.SpecHash(b.Spec)
		hashes[name] = hash
	}
	if hashes["with quotes"] != hashes["without"] {
		t.Errorf("the hashes of the specs differ: %v", hashes)
	}
}

func TestAPolicyTakesNumbersAndWords(t *testing.T) {
	for values, wanted := range map[string]string{`[0, "1", write back, 0]`: "Duplicate value", `[true]`: "values[0]", `[0, "1", write back]`: ""} {
		p := parse(t, `
apiVersion: storagebench.io/v1alpha1
kind: TunablePolicy
metadata: {name: numbers}
spec: {namespaceSelector: {}, tunables: [{name: block.queue.*, values: `+values+`}]}
`)
		err := api.Create(t.Context(), p, client.DryRunAll, client.FieldValidation("Strict"))
		if wanted == "" && err != nil || wanted != "" && (err == nil || !strings.Contains(err.Error(), wanted)) {
			t.Errorf("values %s: got %v, want %q", values, err, wanted)
		}
	}
}

// Every rule of the schema, by what it forbids: a change of the minimal benchmark,
// and what the API server's answer must say.
func TestTheSchemaRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		want     string
	}{
		"an unknown field":                    {"results:", "reslts: {}\n  results:", "unknown field \"spec.reslts\""},
		"no target":                           {"targets:\n  - name: fast\n    storageClass: {name: fast}\n", "targets: []\n", "spec.targets"},
		"a target without a source":           {"    storageClass: {name: fast}\n", "", "exactly one of storageClass"},
		"a target with two sources":           {"storageClass: {name: fast}", "storageClass: {name: fast}\n    hostPath: {path: /tank}", "exactly one of storageClass"},
		"two targets of one name":             {"  workloads:", "  - name: fast\n    hostPath: {path: /tank}\n  workloads:", "Duplicate value"},
		"a name that is no DNS label":         {"name: oltp", "name: OLTP_1", "spec.workloads[0].name"},
		"a benchmark with a long name":        {"name: minimal", "name: " + strings.Repeat("x", 53), "not be longer than 52"},
		"a size of nothing":                   {"{name: fast}", "{name: fast, size: 1}", "size must be more than 1Mi"},
		"a size that is no quantity":          {"{name: fast}", "{name: fast, size: 10GB}", "spec.targets[0].storageClass.size"},
		"an unknown access mode":              {"{name: fast}", "{name: fast, accessMode: ReadOnlyMany}", "Unsupported value"},
		"a path with ..":                      {"storageClass: {name: fast}", "hostPath: {path: /tank/../etc}", "must not contain . or .."},
		"a relative path":                     {"storageClass: {name: fast}", "hostPath: {path: tank}", "hostPath.path"},
		"a device outside /dev":               {"storageClass: {name: fast}", "blockDevice: {path: /etc/passwd, allowDataDestruction: true}", "blockDevice.path"},
		"a device with ..":                    {"storageClass: {name: fast}", "blockDevice: {path: /dev/../etc/passwd, allowDataDestruction: true}", "must not contain . or .."},
		"a device without consent":            {"storageClass: {name: fast}", "blockDevice: {path: /dev/sdb, allowDataDestruction: false}", "set allowDataDestruction: true"},
		"a workload without an engine":        {"    fio: {parameters: {rw: randread}}\n", "", "a workload needs exactly one engine"},
		"a job file and parameters":           {"fio: {parameters: {rw: randread}}", "fio: {jobFile: '[a]', parameters: {rw: randread}}", "exactly one of jobFile, parameters, preset and commandLine"},
		"neither job file nor parameters":     {"fio: {parameters: {rw: randread}}", "fio: {prefill: Never}", "exactly one of jobFile, parameters, preset and commandLine"},
		"files that nothing can include":      {"fio: {parameters: {rw: randread}}", "fio: {parameters: {rw: randread}, include: {a: bs=4k}}", "remove include"},
		"parameters without rw":               {"rw: randread", "bs: 4k", "parameters needs rw"},
		"a parameter that is a boolean":       {"rw: randread", "rw: randread, direct: true", "parameters.direct"},
		"a parameter that is a fraction":      {"rw: randread", "rw: randread, percentage_random: 1.5", "parameters.percentage_random"},
		"a parameter that is a list":          {"rw: randread", "rw: randread, bs: [4k, 8k]", "parameters.bs"},
		"a parameter that is too long":        {"rw: randread", "rw: randread, bs: " + strings.Repeat("k", 257), "may not be more than 256"},
		"a tunable's value that is a boolean": {"results:", variant("true"), "tunables[0].value"},
		"a tunable's value of nothing":        {"results:", variant(`""`), "value must be a whole number, or 1 to 64 of the characters"},
		"a tunable's value that is too long":  {"results:", variant(strings.Repeat("k", 65)), "value must be a whole number, or 1 to 64 of the characters"},
		"a tunable's value with a quote":      {"results:", variant(`"'; reboot"`), "value must be a whole number, or 1 to 64 of the characters"},
		"no trial":                            {"results:", "trials: {min: 0}\n  results:", "spec.trials.min"},
		"too many trials":                     {"results:", "trials: {min: 101}\n  results:", "spec.trials.min"},
		"no node":                             {"results:", "placement: {nodes: 0}\n  results:", "a number from 1 to 1000, or All"},
		"some nodes":                          {"results:", "placement: {nodes: some}\n  results:", "a number from 1 to 1000, or All"},
		"an unknown mode":                     {"results:", "placement: {mode: Together}\n  results:", "Unsupported value"},
		"a timeout that is no duration":       {"results:", "timeout: tomorrow\n  results:", "spec.timeout"},
		"a timeout too short to do anything":  {"results:", "timeout: 5s\n  results:", "between 10s and 144h"},
		"a timeout beyond signed URLs":        {"results:", "timeout: 200h\n  results:", "between 10s and 144h"},
		"a negative ttl":                      {"results:", "ttlAfterFinished: -1s\n  results:", "must not be negative"},
		"a runID with a slash":                {"results:", "runID: ../other\n  results:", "spec.runID"},
		"results that name no store":          {"results: {storeRef: {name: default}}", "results: {}", "spec.results.storeRef"},
		"a gate with two limits":              {"results:", "gates: [{workload: w, metric: read.iops, min: 1, max: 2}]\n  results:", "exactly one of max and min"},
		"a gate without a limit":              {"results:", "gates: [{workload: w, metric: read.iops}]\n  results:", "exactly one of max and min"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(minimal, c.old, c.new, 1)
			if text == minimal {
				t.Fatalf("%q is not in the minimal benchmark", c.old)
			}
			err := api.Create(t.Context(), parse(t, text), client.DryRunAll, client.FieldValidation("Strict"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

func TestTheStoresSchemaRefuses(t *testing.T) {
	const store = `
apiVersion: storagebench.io/v1alpha1
kind: ResultStore
metadata: {name: minimal}
spec: {endpoint: "https://s3.example.com", bucket: results, secretRef: {name: store}}
`
	if err := api.Create(t.Context(), parse(t, store), client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"an endpoint without a scheme": {"https://s3.example.com", "s3.example.com", "endpoint must be http"},
		"an endpoint with a path":      {"https://s3.example.com", "https://s3.example.com/bucket", "endpoint must be http"},
		"an endpoint with a password":  {"https://s3.example.com", "https://me:secret@s3.example.com", "endpoint must be http"},
		"an endpoint that is a file":   {"https://s3.example.com", "file:///etc/passwd", "endpoint must be http"},
		"a bucket in capitals":         {"bucket: results", "bucket: Results", "spec.bucket"},
		"a prefix that climbs":         {"bucket: results", "bucket: results, prefix: ../other", "spec.prefix"},
		"no secret":                    {", secretRef: {name: store}", "", "spec.secretRef"},
	} {
		t.Run(name, func(t *testing.T) {
			err := api.Create(t.Context(), parse(t, strings.Replace(store, c.old, c.new, 1)), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

// What a tenant of the namespace puts in the operator's way is neither used nor trusted.
func TestForgeriesOfATenantAreNotUsed(t *testing.T) {
	l := newLab(t, 1)
	b := l.benchmark("honest", as)
	job := l.job(b)
	pod := l.pod(job, func(*corev1.Pod) {})

	// A Pod with the right labels and a receipt, which is not the Job's.
	forged := l.pod(job, func(p *corev1.Pod) { p.OwnerReferences = nil })
	forged.Status.Phase = corev1.PodSucceeded
	forged.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: nowPlusHour(), Message: `{"schema":"storagebench.io/receipt.v1","run":"` + b.Status.Run.ID + `","worker":"` + job.Labels["storagebench.io/worker"] + `","planned":2,"stored":2}`},
	}}}
	if err := api.Status().Update(l.ctx, forged); err != nil {
		t.Fatal(err)
	}
	receipt := l.store(job, well)
	receipt.Stored = 1
	l.end(job, pod, receipt)
	l.eventually("the worker's end is recorded", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Status.Run.WorkersDone != 1 {
			return errNotYet(nil)
		}
		return nil
	})
	if err := api.Delete(l.ctx, forged, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}
