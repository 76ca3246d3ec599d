//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/turns"
)

// turnsDirectory is shared with test/zfs, which uses the same cluster.
const turnsDirectory = "../../.cluster"

// labelLab is on the nodes of a lab that has several. Its value is the namespace.
const labelLab = "e2e.storagebench.io/lab"

// option says what a lab needs beyond a namespace and a node.
type option func(*needs)

type needs struct {
	nodes             int
	disposable, alone bool
}

// alone: the test disturbs what all others need, as who kills the operator does. Such a
// test does not call t.Parallel.
func alone(n *needs) { n.alone = true }

// disposable: the test stops its node, which has no Pod of the operator, the object store
// or DNS.
func disposable(n *needs) { n.disposable = true }

// refused: the operator refuses what the test makes before a node is taken, so that the lab
// needs none of its own.
func refused(n *needs) { n.nodes = 0 }

// nodes: so many nodes.
func nodes(count int) option { return func(n *needs) { n.nodes = count } }

// placePatience is how long a lab waits for its nodes: longer than all others take together.
const placePatience = 35 * time.Minute

// pool hands out the nodes of the cluster. Who asked first is served first.
type pool struct {
	lock    sync.Mutex
	changed *sync.Cond
	// all that can run Pods of anybody, and those that a lab has.
	all   []string
	taken map[string]bool
	// queue holds a ticket for each lab that waits.
	queue []*needs
}

func newPool(ctx context.Context) (*pool, error) {
	found := &corev1.NodeList{}
	if err := api.List(ctx, found); err != nil {
		return nil, err
	}
	p := &pool{taken: map[string]bool{}}
	p.changed = sync.NewCond(&p.lock)
	for i := range found.Items {
		n := &found.Items[i]
		// Kubernetes' own taints come and go with the node's conditions.
		reserved := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return !strings.HasPrefix(t.Key, "node.kubernetes.io/") })
		if cluster.Ready(n) && !n.Spec.Unschedulable && !reserved {
			p.all = append(p.all, n.Name)
		}
	}
	if len(p.all) < 2 {
		return nil, fmt.Errorf("two ready nodes without taints are needed, and there are %d", len(p.all))
	}
	return p, nil
}

// reserve waits until the nodes are free, and gives them back at the test's end.
func (p *pool) reserve(t *testing.T, n *needs) []string {
	t.Helper()
	p.lock.Lock()
	defer p.lock.Unlock()
	p.queue = append(p.queue, n)
	var got []string
	deadline := time.Now().Add(placePatience)
	defer time.AfterFunc(placePatience, p.changed.Broadcast).Stop()
	for {
		if !time.Now().Before(deadline) {
			p.giveUp(n)
			t.Fatalf("other tests had the nodes for %s", placePatience)
		}
		if p.queue[0] == n {
			busy, err := nodesOfInfrastructure(t.Context())
			if err == nil {
				got, err = p.choose(n, busy)
			}
			if err != nil {
				p.leave()
				t.Fatal(err)
			}
			if len(got) == n.nodes {
				break
			}
		}
		p.changed.Wait()
	}
	for _, node := range got {
		p.taken[node] = true
	}
	p.leave()
	t.Cleanup(func() {
		p.lock.Lock()
		defer p.lock.Unlock()
		for _, node := range got {
			delete(p.taken, node)
		}
		p.changed.Broadcast()
	})
	return got
}

// giveUp takes a lab out of the queue, wherever it stands.
func (p *pool) giveUp(n *needs) {
	p.queue = slices.DeleteFunc(p.queue, func(other *needs) bool { return other == n })
	p.changed.Broadcast()
}

// leave lets the next one of the queue come to its head.
func (p *pool) leave() {
	p.queue = p.queue[1:]
	p.changed.Broadcast()
}

// choose returns free nodes that will do, or too few; it fails if there will never be
// enough. Nodes with Pods of the infrastructure go first to labs that do not stop them.
func (p *pool) choose(n *needs, busy map[string]bool) ([]string, error) {
	var suitable, free []string
	for _, first := range []bool{true, false} {
		for _, node := range p.all {
			if busy[node] != first || (busy[node] && n.disposable) {
				continue
			}
			suitable = append(suitable, node)
			if !p.taken[node] && len(free) < n.nodes {
				free = append(free, node)
			}
		}
	}
	if len(suitable) < n.nodes {
		return nil, fmt.Errorf("the cluster has %d nodes that will do, of %d (%v have Pods of the operator, the object store or DNS), and the test needs %d: make more (NODES=4 make cluster-up)",
			len(suitable), len(p.all), busy, n.nodes)
	}
	if len(free) < n.nodes {
		return nil, nil
	}
	return free, nil
}

func nodesOfInfrastructure(ctx context.Context) (map[string]bool, error) {
	found := map[string]bool{}
	for _, namespace := range []string{operatorNamespace, "minio", metav1.NamespaceSystem} {
		pods := &corev1.PodList{}
		if err := api.List(ctx, pods, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		for i := range pods.Items {
			found[pods.Items[i].Spec.NodeName] = true
		}
	}
	return found, nil
}

var thePool = sync.OnceValues(func() (*pool, error) { return newPool(context.Background()) })

// place gives the lab its nodes and its turn.
func (l *lab) place(options []option) {
	l.t.Helper()
	n := &needs{nodes: 1}
	for _, o := range options {
		o(n)
	}
	p, err := thePool()
	if err != nil {
		l.t.Fatal(err)
	}
	if l.nodes = p.all[:1]; n.nodes > 0 {
		l.nodes = p.reserve(l.t, n)
	}
	l.node = l.nodes[0]
	if n.alone {
		turns.Alone(l.t, turnsDirectory)
	} else {
		turns.WithOthers(l.t, turnsDirectory)
	}
}

// selector matches the lab's nodes and no other.
func (l *lab) selector() map[string]string {
	if len(l.nodes) == 1 {
		return map[string]string{corev1.LabelHostname: l.node}
	}
	return map[string]string{labelLab: l.namespace}
}

// labelNodes marks the nodes of a lab that has several.
func (l *lab) labelNodes() {
	l.t.Helper()
	if len(l.nodes) == 1 {
		return
	}
	l.t.Cleanup(func() { l.label(context.Background(), "null") })
	l.label(l.ctx, `"`+l.namespace+`"`)
}

func (l *lab) label(ctx context.Context, value string) {
	l.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, labelLab, value)
	for _, node := range l.nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
		if err := api.Patch(ctx, n, client.RawPatch(types.MergePatchType, patch)); err != nil {
			l.t.Errorf("label %s: %v", node, err)
		}
	}
}

// worker is the name of the worker that measures a target on the lab's first node.
func (l *lab) worker(target string) string {
	return strings.Join([]string{target, l.node}, ".")
}
