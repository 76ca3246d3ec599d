//go:build attacks

package attacks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/test/cluster"
)

const (
	hour = time.Hour
	// hostTargets is what the local cluster's values allow.
	hostTargets = "/var/lib/storagebench/targets"
)

func forbidden(kind string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: kind}, "", fmt.Errorf("the access review says no"))
}

// stopped checks that the operator refuses a benchmark for the reason, before anything is
// made for it.
func (m *tenant) stopped(a *attack, b *v1alpha1.StorageBenchmark, reasons ...string) {
	a.t.Helper()
	m.must(m.api.Create(a.ctx, b))
	c := a.ready(b)
	switch c.Reason {
	case reason.Starting, reason.Running, reason.Finished, reason.Queued:
		a.succeeded("the benchmark is %s: %s", c.Reason, c.Message)
	default:
		a.says(strings.Join(reasons, " "), c.Reason)
	}
	a.remove(b)
}

// Paths and devices of nodes that the operator does not allow.
func TestRequestForPathsOfTheNode(t *testing.T) {
	t.Parallel()
	group := begin(t, "the node's /etc is a target")
	m := group.tenant("privileged")
	target := func(target v1alpha1.Target) *v1alpha1.StorageBenchmark {
		target.Name = "t"
		return m.unmade("host", nowhere, func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets = []v1alpha1.Target{target} })
	}
	path := func(p string) *v1alpha1.StorageBenchmark {
		return target(v1alpha1.Target{HostPath: &v1alpha1.HostPathTarget{Path: p}})
	}
	device := func(p string) *v1alpha1.StorageBenchmark {
		return target(v1alpha1.Target{BlockDevice: &v1alpha1.BlockDeviceTarget{Path: p, AllowDataDestruction: true}})
	}
	allowed := path(hostTargets + "/x")
	m.must(m.api.Create(group.ctx, allowed))
	if c := group.ready(allowed); c.Reason != reason.NoMatchingNodes {
		group.control("an allowed path is not refused", fmt.Errorf("it is %+v", c))
	} else {
		group.control("an allowed path is not refused", nil)
	}
	group.remove(allowed)
	m.stopped(group, path("/etc"), reason.HostAccessNotAllowed)
	for what, b := range map[string]*v1alpha1.StorageBenchmark{
		"the directory above the allowed one":                  path("/var/lib/storagebench"),
		"a directory whose name begins like the allowed one":   path(hostTargets + "2"),
		"the journal of changed settings":                      path("/var/lib/storagebench/journal"),
		"the kubelet's directory, with other tenants' volumes": path("/var/lib/kubelet/pods"),
		"a disk of the node":                                   device("/dev/vda"),
		"the control device of loop devices, which matches":    device("/dev/loop-control"),
		"the device mapper's control device":                   device("/dev/mapper/control"),
		"a device of the pattern by a link":                    device("/dev/block/7:0"),
		"a device below the pattern":                           device("/dev/loop0/x"),
		"the node's memory":                                    device("/dev/mem"),
	} {
		t.Run(what, func(t *testing.T) {
			m.stopped(begin(t, what), b, reason.HostAccessNotAllowed)
		})
	}
	t.Run("an allowed path from a restricted namespace", func(t *testing.T) {
		a := begin(t, "an allowed path from a restricted namespace")
		other := a.tenant("restricted")
		b := path(hostTargets + "/x")
		b.Namespace = other.namespace
		other.stopped(a, b, reason.PodSecurityForbids)
	})
}

// What takes a node for longer, or takes nodes that are not for benchmarks.
func TestRequestForMoreThanTheOperatorAllows(t *testing.T) {
	t.Parallel()
	group := begin(t, "a timeout of 144 h")
	m := group.tenant("restricted")
	lasting := func(d time.Duration) *v1alpha1.StorageBenchmark {
		return m.unmade("lasting", nowhere, func(s *v1alpha1.StorageBenchmarkSpec) { s.Timeout = &metav1.Duration{Duration: d} })
	}
	short := lasting(23 * hour)
	m.must(m.api.Create(group.ctx, short))
	if c := group.ready(short); c.Reason == reason.NoMatchingNodes {
		group.control("23 h are not refused", nil)
	} else {
		group.control("23 h are not refused", fmt.Errorf("%+v", c))
	}
	group.remove(short)
	m.stopped(group, lasting(144*hour), reason.LimitExceeded)
	t.Run("settings that no policy permits", func(t *testing.T) {
		a := begin(t, "settings that no policy permits")
		other := a.tenant("privileged")
		for _, tunable := range []v1alpha1.Tunable{{Name: "vm.dirty_ratio", Value: v1alpha1.Text("50")}, {Name: "vm.vfs_cache_pressure", Value: v1alpha1.Text("1")}, {Name: "vm.dirty_writeback_centisecs", Value: v1alpha1.Text("1")}} {
			b := other.unmade("tuned", func(s *v1alpha1.StorageBenchmarkSpec) {
				s.Variants = []v1alpha1.Variant{{Name: "as-is"}, {Name: "tuned", AcceptDataLoss: true, Tunables: []v1alpha1.Tunable{tunable}}}
			})
			other.stopped(a, b, reason.TunableNotPermitted, reason.InvalidSpec)
		}
	})
	t.Run("settings from a restricted namespace", func(t *testing.T) {
		a := begin(t, "settings from a restricted namespace")
		m.stopped(a, m.unmade("tuned", func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Variants = []v1alpha1.Variant{{Name: "as-is"}, {Name: "tuned", Tunables: []v1alpha1.Tunable{{Name: "block.queue.nr_requests", Value: v1alpha1.Text("64")}}}}
		}), reason.PodSecurityForbids)
	})
}

// A store whose namespaceSelector does not select the tenant's namespace.
func TestRequestForTheStoreOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	a := begin(t, "results go to the store of another namespace")
	m := a.tenant("restricted")
	store := &v1alpha1.ResultStore{}
	m.must(admin.Get(a.ctx, types.NamespacedName{Name: "default"}, store))
	store.ObjectMeta = metav1.ObjectMeta{GenerateName: "attacks-"}
	store.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: bystanders}}
	store.Status = v1alpha1.ResultStoreStatus{}
	m.must(admin.Create(a.ctx, store))
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(admin.Delete(a.ctx, store)); err != nil {
			t.Error(err)
		}
	})
	there := func(s *v1alpha1.StorageBenchmarkSpec) { s.Results.StoreRef.Name = store.Name; nowhere(s) }
	allowed := a.bystanders("allowed", there)
	if c := a.ready(allowed, reason.StoreUnavailable); c.Reason == reason.NoMatchingNodes {
		a.control("the namespace that the store selects may use it", nil)
	} else {
		a.control("the namespace that the store selects may use it", fmt.Errorf("%+v", c))
	}
	a.remove(allowed)
	m.stopped(a, m.unmade("elsewhere", there), reason.NamespaceNotAllowed)
}

// A node of the control plane, which the tenant's tolerations would let it use.
func TestQuickNodeOfTheControlPlane(t *testing.T) {
	t.Parallel()
	a := begin(t, "tolerations for everything, on a node of the control plane")
	m := a.tenant("restricted")
	m.takeNode()
	const role = "node-role.kubernetes.io/control-plane"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.node}}
	set := func(label string) {
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, role, label)
		if err := admin.Patch(a.ctx, node.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { set("null") })
	set(`""`)
	tolerant := func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Placement.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	b := m.benchmark("everywhere", tolerant, slow)
	switch c := a.ready(b); c.Reason {
	case reason.NoMatchingNodes:
		a.says(c.Message, "not for benchmarks")
	default:
		a.succeeded("the benchmark is %s: %s", c.Reason, c.Message)
	}
	set("null")
	a.stands(b, reason.Starting, reason.Running)
	a.control("without the label the node is taken", nil)
	a.remove(b)
}

// Names of others' benchmarks and namespaces.
func TestQuickNamesOfOthers(t *testing.T) {
	t.Parallel()
	a := begin(t, "the queue names the benchmark of another namespace")
	victim := a.tenant("restricted")
	victim.takeNode()
	m := a.tenant("restricted")
	m.node = victim.node
	secret := victim.benchmark("acquisition-of-acme", slow)
	victim.running(secret)
	second := victim.benchmark("second", slow)
	if c := a.stands(second, reason.Queued); strings.Contains(c.Message, secret.Name) {
		a.control("its own namespace is told the name", nil)
	} else {
		a.control("its own namespace is told the name", fmt.Errorf("%s", c.Message))
	}
	b := m.benchmark("curious")
	a.stands(b, reason.Queued)
	events := &corev1.EventList{}
	m.must(m.api.List(a.ctx, events, client.InNamespace(m.namespace)))
	for what, object := range map[string]any{"the benchmark": b, "an event": events.Items} {
		document, err := json.Marshal(object)
		m.must(err)
		for _, name := range []string{secret.Name, victim.namespace, second.Name + " "} {
			if strings.Contains(string(document), name) {
				a.succeeded("%s names %q: %s", what, name, cluster.Words(b))
			}
		}
	}
	for _, b := range []*v1alpha1.StorageBenchmark{b, second, secret} {
		a.remove(b)
	}
}
