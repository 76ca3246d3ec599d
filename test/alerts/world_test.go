//go:build alerts

package alerts

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const operatorNamespace = "storagebench-system"

const header = "apiVersion: storagebench.io/v1alpha1\n"

// benchmark is the head of one, which a status follows.
func benchmark(name string) string {
	return header + "kind: StorageBenchmark\nmetadata: {namespace: lab, name: " + name + `}
spec:
  targets: [{name: fast, storageClass: {name: fast}}]
  workloads: [{name: oltp, fio: {parameters: {rw: randrw}}}]
  results: {storeRef: {name: default}}
status:
  observedGeneration: 1
`
}

const run = `  run: {id: g1-00000000, specHash: x, queuedAt: "2026-01-01T12:00:00.000000Z", trialsPlanned: 6, trialsStored: 6%s}
`

func condition(kind, status, reason string) string {
	return fmt.Sprintf(`  - {type: %s, status: "%s", reason: %s, message: as the test says, lastTransitionTime: "2026-01-01T12:00:00Z"}
`, kind, status, reason)
}

func row(workload, verdicts string) string {
	const estimate = `{median: "%s", low: "%s", high: "%s"}`
	return fmt.Sprintf(`  - {target: fast, node: node-a, workload: %s, trials: 6, verdicts: %s, operations: [{operation: write, iops: %s, rate: %s, bandwidth: %s, latency: {p50: 1ms, p99: 5ms, p999: 10ms}}]}
`, workload, verdicts, fmt.Sprintf(estimate, "100", "90", "110"), fmt.Sprintf(estimate, "100", "90", "110"), fmt.Sprintf(estimate, "1M", "900k", "1100k"))
}

// broken is a world in which every alert of the state of objects fires.
func broken() []string {
	return []string{
		benchmark("bad") + fmt.Sprintf(run, `, finishedAt: "2026-01-01T13:00:00Z"`) + "  conditions:\n" + condition("Ready", "False", "TimedOut") + condition("Failed", "True", "TimedOut") +
			`  answer: {answer: NotQualified}
  baseline: {outcome: Regression}
  gates: [{target: fast, node: node-a, workload: oltp, metric: write.latency.p99, limit: at most 1ms, outcome: Missed}]
  summary:
` + row("oltp", "[{name: CPUBound, effect: Invalidates, trials: 6}]") + row("scan", "[]"),
		benchmark("stalled") + "  conditions:\n" + condition("Ready", "False", "NoMatchingNodes") + condition("Stalled", "True", "NoMatchingNodes"),
		benchmark("waits") + fmt.Sprintf(run, ", current: {worker: fast.node-a, node: node-a}") + "  conditions:\n" + condition("Ready", "False", "Queued") + condition("Reconciling", "True", "Queued"),
		record("node-a", "Failed"), record("node-b", "NodeAway"),
		header + `kind: ResultStore
metadata: {name: default}
spec: {endpoint: "http://127.0.0.1:1", bucket: results, secretRef: {name: storagebench-store}}
status:
  conditions:
` + condition("Available", "False", "EndpointUnreachable"),
		schedule(1, "Failed", "Confirmed"),
	}
}

// repaired is the same world when everything was repaired.
func repaired() []string {
	ended := func(name string) string {
		return benchmark(name) + fmt.Sprintf(run, `, finishedAt: "2026-01-01T14:00:00Z"`) + "  conditions:\n" + condition("Ready", "True", "Finished") + condition("Complete", "True", "Finished") +
			"  answer: {answer: Qualified}\n  baseline: {outcome: NoWorse}\n  summary:\n" + row("oltp", "[]")
	}
	out := []string{ended("bad"), ended("stalled"), ended("waits"), record("node-a", "Gone"), record("node-b", "Abandoned")}
	store := broken()[5]
	out = append(out, strings.NewReplacer(`"False"`, `"True"`, "EndpointUnreachable", "StoreWritable").Replace(store))
	return append(out, schedule(3, "Complete", "Suspected"))
}

func record(node, phase string) string {
	return header + "kind: NodeRestore\nmetadata: {name: " + node + `}
spec: {nodeUID: u-1, benchmark: {namespace: lab, name: bad, uid: u-2}, run: g1-00000000, worker: fast.` + node + `, job: {name: j, uid: u-3}, since: "2026-01-01T12:00:00Z"}
status: {phase: ` + phase + "}\n"
}

func schedule(missed int, outcome, state string) string {
	return header + fmt.Sprintf(`kind: StorageBenchmarkSchedule
metadata: {namespace: lab, name: nightly}
spec:
  schedule: "0 2 1 1 *"
  template:
    spec:
      targets: [{name: fast, storageClass: {name: fast}}]
      workloads: [{name: oltp, fio: {parameters: {rw: randrw}}}]
      results: {storeRef: {name: default}}
status:
  lastScheduleTime: "2026-01-01T12:00:00Z"
  nextScheduleTime: "2036-01-01T12:00:00Z"
  missed: %d
  succeeded: 4
  lastRun: {benchmark: nightly-1, outcome: %s}
  changes: [{target: fast, node: node-a, workload: oltp, metric: write.iops, state: %s, direction: Worse, since: nightly-1, sinceTime: "2026-01-01T12:00:00Z", from: "100", to: "50", percent: "-50%%", present: true}]
`, missed, outcome, state)
}

// crowd are benchmarks with more rows than the operator reports series.
func crowd(n int) []string {
	operations := make([]string, 16)
	for i := range operations {
		e := `{median: "1", low: "1", high: "1"}`
		operations[i] = fmt.Sprintf("{operation: op%d, iops: %s, rate: %s, bandwidth: %s}", i, e, e, e)
	}
	var rows strings.Builder
	for i := range 64 {
		fmt.Fprintf(&rows, "  - {target: fast, node: node-%d, workload: oltp, trials: 6, operations: [%s]}\n", i, strings.Join(operations, ", "))
	}
	var out []string
	for i := range n {
		out = append(out, benchmark(fmt.Sprint("crowd-", i))+"  conditions:\n"+condition("Ready", "True", "Finished")+condition("Complete", "True", "Finished")+"  summary:\n"+rows.String())
	}
	return out
}

// write makes the API server have these objects with their status, as they stand there.
func write(t *testing.T, api client.Client, texts []string) {
	t.Helper()
	for _, text := range texts {
		var want, have unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &want.Object); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		status := want.Object["status"]
		delete(want.Object, "status")
		have.SetGroupVersionKind(want.GroupVersionKind())
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(&want), &have); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		} else if err != nil {
			if err := api.Create(t.Context(), &want); err != nil {
				t.Fatal(err)
			}
			have = want
		}
		have.Object["status"] = status
		if err := api.Status().Update(t.Context(), &have); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

// lead makes somebody else hold the Lease of the operators, so that the operator waits.
func lead(ctx context.Context, api client.Client) error {
	now := metav1.NowMicro()
	return api.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "storagebench-manager"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("the-test"), LeaseDurationSeconds: new(int32(3600)), AcquireTime: &now, RenewTime: &now,
		},
	})
}

func namespaceNamed(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
