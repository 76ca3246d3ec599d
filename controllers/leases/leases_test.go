package leases

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	coordinationv1 "k8s.io/api/coordination/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/progress"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestEveryNodesNameMakesANameOfALease(t *testing.T) {
	long := strings.Repeat("a", 62) + "."
	nodes := []string{"n1", "ip-10-0-0-1.eu-west-1.compute.internal", strings.Repeat(long, 4)[:248], strings.Repeat(long, 4)[:249]}
	// Wherever a long name is cut, it may be at a dot.
	for cut := range 63 {
		nodes = append(nodes, strings.Trim(strings.Repeat("a", cut)+"."+strings.Repeat(long, 4), ".")[:251]+"b", strings.Trim(strings.Repeat("a", cut)+"."+strings.Repeat(long, 4), ".")[:251]+"c")
	}
	seen := map[string]string{}
	for _, node := range nodes {
		got := name(node)
		if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
			t.Errorf("the Lease of %s is %s: %v", node, got, problems)
		}
		if other, ok := seen[got]; ok && other != node {
			t.Errorf("%s and %s have the same Lease %s", node, other, got)
		}
		seen[got] = node
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: got, Annotations: map[string]string{annotationNode: node}}}
		if Node(lease) != node {
			t.Errorf("the Lease of %s is that of %s", node, Node(lease))
		}
	}
	if got := Node(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "node-n1"}}); got != "n1" {
		t.Errorf("a Lease of release 0.1 is that of %q", got)
	}
}

// queued is a benchmark in the queue of node n1.
func queued(namespace, name string, at time.Time, change func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)},
		Status: v1alpha1.StorageBenchmarkStatus{
			Run:        &v1alpha1.RunStatus{QueuedAt: metav1.NewMicroTime(at), Current: &v1alpha1.CurrentWorker{Worker: "t.n1", Node: "n1"}},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason.Queued}},
		},
	}
	change(b)
	return b
}

func asItIs(*v1alpha1.StorageBenchmark) {}

func TestWhoIsInTheQueueOfANode(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.StorageBenchmark)
		want   string
	}{
		"one that waits for it":            {asItIs, "n1"},
		"not one that has the node":        {func(b *v1alpha1.StorageBenchmark) { b.Status.Conditions[0].Reason = reason.Running }, ""},
		"not one of which nothing is said": {func(b *v1alpha1.StorageBenchmark) { b.Status.Conditions = nil }, ""},
		"not a suspended one":              {func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = true }, ""},
		"not a deleted one":                {func(b *v1alpha1.StorageBenchmark) { b.DeletionTimestamp = new(metav1.NewTime(noon)) }, ""},
		"not one that has ended":           {func(b *v1alpha1.StorageBenchmark) { b.Status.Run.FinishedAt = new(metav1.NewTime(noon)) }, ""},
		"not one without a run":            {func(b *v1alpha1.StorageBenchmark) { b.Status.Run = nil }, ""},
		"not one without a current worker": {func(b *v1alpha1.StorageBenchmark) { b.Status.Run.Current = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := QueuedFor(queued("lab", "b", noon, c.change)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestFirstComeFirstServed(t *testing.T) {
	noRun := queued("lab", "z", noon, func(b *v1alpha1.StorageBenchmark) { b.Status.Run = nil })
	want := []*v1alpha1.StorageBenchmark{
		queued("lab", "b", noon.Add(-time.Microsecond), asItIs), queued("lab", "a", noon, asItIs), queued("lab", "c", noon, asItIs),
		queued("other", "a", noon, asItIs), queued("a", "a", noon.Add(time.Hour), asItIs), noRun,
	}
	turns := &turns{}
	for seed := range uint64(50) {
		got := slices.Clone(want)
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, func(a, b *v1alpha1.StorageBenchmark) int {
			switch {
			case turns.before("n", a, b) && turns.before("n", b, a):
				t.Fatalf("%s and %s are each before the other", a.Name, b.Name)
			case turns.before("n", a, b):
				return -1
			case turns.before("n", b, a):
				return 1
			}
			return 0
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	}
}

func TestABenchmarkOfAnotherNamespaceIsNotNamed(t *testing.T) {
	for name, c := range map[string]struct {
		other *v1alpha1.StorageBenchmark
		want  progress.Claim
	}{
		"of the same namespace": {queued("lab", "other", noon, asItIs), progress.Claim{Busy: true, Holder: "the StorageBenchmark other"}},
		"of another one":        {queued("secret-project", "other", noon, asItIs), progress.Claim{Busy: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, busy(queued("lab", "b", noon, asItIs), c.other)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
