//go:build attacks

package attacks

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/wait"
)

const operatorNamespace = cluster.OperatorNamespace

// operatorPods are the operator's.
var operatorPods = client.MatchingLabels{"app.kubernetes.io/name": "storagebench"}

var (
	// admin may do everything; the tests look with it, prepare with it, and clean up.
	admin  client.Client
	config *rest.Config
	scheme *runtime.Scheme
	// operator is what the cluster runs.
	operator struct {
		account, image, restoreNamespace string
	}
	// nodes hands out the nodes.
	nodes chan string
)

// nodePatience is how long a test waits for a node: longer than all others take together.
const nodePatience = 55 * time.Minute

// patience bounds every other wait.
var patience = wait.Patience{Every: 250 * time.Millisecond, AtMost: 5 * time.Minute}

func TestMain(m *testing.M) {
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "attacks: no cluster to attack (make test-attacks makes one):", err)
		os.Exit(1)
	}
	code := m.Run()
	// Nobody waits for it: it is empty.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: bystanders}}
	if err := client.IgnoreNotFound(admin.Delete(context.Background(), ns)); err != nil {
		fmt.Fprintln(os.Stderr, "attacks:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(ctx context.Context) error {
	connection, err := cluster.Connect()
	if err != nil {
		return err
	}
	admin, config, scheme = connection.API, connection.Config, connection.Scheme
	deployment := &appsv1.Deployment{}
	if err := admin.Get(ctx, types.NamespacedName{Namespace: operatorNamespace, Name: "storagebench-manager"}, deployment); err != nil {
		return err
	}
	pod := deployment.Spec.Template.Spec
	if operator.image, err = cluster.WorkerImage(pod); err != nil {
		return err
	}
	operator.account, operator.restoreNamespace = pod.ServiceAccountName, operatorNamespace+"-restore"
	for _, arg := range pod.Containers[0].Args {
		if namespace, ok := strings.CutPrefix(arg, "--restore-namespace="); ok {
			operator.restoreNamespace = namespace
		}
	}
	list := &corev1.NodeList{}
	if err := admin.List(ctx, list); err != nil {
		return err
	}
	nodes = make(chan string, len(list.Items))
	for i := range list.Items {
		if n := &list.Items[i]; usable(n) {
			nodes <- n.Name
		}
	}
	if len(nodes) < 2 {
		return fmt.Errorf("two ready nodes without taints are needed, and there are %d", len(nodes))
	}
	return nil
}

func usable(n *corev1.Node) bool {
	reserved := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return !strings.HasPrefix(t.Key, "node.kubernetes.io/") })
	return cluster.Ready(n) && !reserved && !n.Spec.Unschedulable
}

// attack is one attack, and what is needed to see how it ends.
type attack struct {
	t    *testing.T
	ctx  context.Context
	what string
	won  bool
	// before are the operator's Pods, and how often each was restarted.
	before map[types.UID]int32
}

// begin begins an attack. At the test's end the operator must be the same, and not have
// been restarted.
func begin(t *testing.T, what string) *attack {
	t.Helper()
	// Not the test's own, which ends before what is cleaned up.
	a := &attack{t: t, ctx: context.Background(), what: what}
	a.before = a.restarts()
	t.Cleanup(func() {
		if now := a.restarts(); fmt.Sprint(now) != fmt.Sprint(a.before) {
			a.succeeded("the operator was restarted: %v, and before %v", now, a.before)
		}
		if a.won || !t.Failed() {
			Attacked(t, a.what)
		}
	})
	return a
}

func (a *attack) restarts() map[types.UID]int32 {
	a.t.Helper()
	pods := &corev1.PodList{}
	if err := admin.List(a.ctx, pods, client.InNamespace(operatorNamespace), operatorPods); err != nil {
		a.t.Fatal(err)
	}
	found := map[types.UID]int32{}
	for i := range pods.Items {
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			found[pods.Items[i].UID] += c.RestartCount
		}
	}
	return found
}

// succeeded says that the attack worked, and how.
func (a *attack) succeeded(format string, args ...any) {
	a.t.Helper()
	a.won = true
	Succeeded(a.t, a.what, fmt.Sprintf(format, args...))
}

// control says that the attack works where the defence is not.
func (a *attack) control(what string, err error) {
	a.t.Helper()
	if err != nil {
		a.t.Errorf("control: %s: %v", what, err)
		return
	}
	Controlled(a.t, what)
}

// refused checks that the API server refused a request, and says all of these.
func (a *attack) refused(err error, says ...string) {
	a.t.Helper()
	switch {
	case err == nil:
		a.succeeded("the API server took the request")
	case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
		a.t.Errorf("neither forbidden nor invalid: %v", err)
	default:
		a.says(err.Error(), says...)
	}
}

func (a *attack) says(message string, wants ...string) {
	a.t.Helper()
	for _, want := range wants {
		if !strings.Contains(message, want) {
			a.t.Errorf("the message does not say %q: %s", want, message)
		}
	}
}

func (a *attack) eventually(what string, check func() error) {
	a.t.Helper()
	patience.For(a.t, what, check)
}

// ready returns the condition Ready of a benchmark once it has another reason than those.
func (a *attack) ready(b *v1alpha1.StorageBenchmark, not ...string) metav1.Condition {
	a.t.Helper()
	var found metav1.Condition
	a.eventually("the operator speaks of "+b.Name, func() error {
		if err := admin.Get(a.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.ObservedGeneration != b.Generation || c.Reason == reason.Pending || slices.Contains(not, c.Reason) {
			return fmt.Errorf("Ready is %+v", c)
		}
		found = *c
		return nil
	})
	return found
}

// stands waits until Ready has one of the reasons.
func (a *attack) stands(b *v1alpha1.StorageBenchmark, reasons ...string) metav1.Condition {
	a.t.Helper()
	var found metav1.Condition
	a.eventually(fmt.Sprintf("Ready of %s is one of %v", b.Name, reasons), func() error {
		if err := admin.Get(a.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.ObservedGeneration != b.Generation || !slices.Contains(reasons, c.Reason) {
			return fmt.Errorf("Ready is %+v", c)
		}
		found = *c
		return nil
	})
	return found
}

// ended waits until a run has ended, with whatever reason.
func (a *attack) ended(b *v1alpha1.StorageBenchmark) metav1.Condition {
	a.t.Helper()
	a.eventually("the run of "+b.Name+" ends", func() error {
		if err := admin.Get(a.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Status.Run == nil || b.Status.Run.FinishedAt == nil || b.Status.ObservedGeneration != b.Generation {
			return fmt.Errorf("%+v", b.Status.Conditions)
		}
		return nil
	})
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		a.t.Fatal("there is no condition Ready")
	}
	return *c
}

// bystanders is the namespace of somebody who has nothing to do with any attack.
const bystanders = "attacks-bystander"

var bystander = sync.OnceValues(func() (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: bystanders, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	return ns.Name, client.IgnoreAlreadyExists(admin.Create(context.Background(), ns))
})

// serves checks that the operator still acts on somebody else's benchmark.
func (a *attack) serves() {
	a.t.Helper()
	b := a.bystanders("spec of nothing", func(s *v1alpha1.StorageBenchmarkSpec) { s.Results.StoreRef.Name = "no-such-store" })
	if c := a.ready(b); c.Reason != reason.ResultStoreNotFound {
		a.t.Errorf("somebody else's benchmark is %+v", c)
	}
	a.remove(b)
}

// measures checks that somebody else's benchmark is measured on the node. If it never is,
// the attack has frozen the node.
func (a *attack) measures(node string) {
	a.t.Helper()
	b := a.bystanders("measured", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Placement.NodeSelector = map[string]string{corev1.LabelHostname: node}
	})
	deadline := time.Now().Add(patience.AtMost)
	for {
		if err := admin.Get(a.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			a.t.Fatal(err)
		}
		if b.Status.Run != nil && b.Status.Run.FinishedAt != nil {
			break
		}
		if time.Now().After(deadline) {
			a.succeeded("node %s is not measured for others within %s: %s", node, patience.AtMost, cluster.Words(b))
			break
		}
		time.Sleep(patience.Every)
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); !a.won && (c == nil || c.Reason != reason.Finished) {
		a.t.Errorf("somebody else's benchmark ended with %+v", c)
	}
	a.remove(b)
}

func (a *attack) bystanders(what string, change func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
	a.t.Helper()
	namespace, err := bystander()
	if err != nil {
		a.t.Fatal(err)
	}
	b := newBenchmark(namespace, "")
	b.GenerateName = strings.ReplaceAll(what, " ", "-") + "-"
	change(&b.Spec)
	if err := admin.Create(a.ctx, b); err != nil {
		a.t.Fatal(err)
	}
	return b
}

// remove deletes a benchmark and waits until it is gone.
func (a *attack) remove(b *v1alpha1.StorageBenchmark) {
	a.t.Helper()
	if err := admin.Delete(a.ctx, b); client.IgnoreNotFound(err) != nil {
		a.t.Fatal(err)
	}
	a.eventually(b.Name+" is gone", func() error {
		if err := admin.Get(a.ctx, client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%v %s", err, cluster.Words(b))
		}
		return nil
	})
}
