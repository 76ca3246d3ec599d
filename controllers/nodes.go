package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	volumehelpers "k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// chooseNodes returns the names of the nodes that measure: the first that match,
// in the order of their names. volumes are existing ones that must be reachable.
func (r *StorageBenchmarkReconciler) chooseNodes(ctx context.Context, b *v1alpha1.StorageBenchmark, volumes []*corev1.PersistentVolume) ([]string, error) {
	list := &corev1.NodeList{}
	if err := r.Live.List(ctx, list, client.MatchingLabels(b.Spec.Placement.NodeSelector)); err != nil {
		return nil, err
	}
	var names []string
	unfit := map[string]int{}
	for i := range list.Items {
		if why := whyUnfit(&list.Items[i], b.Spec.Placement.Tolerations, volumes); why != "" {
			unfit[why]++
			continue
		}
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	want := 1 // the API's default
	if nodes := b.Spec.Placement.Nodes; nodes != nil {
		want = nodes.IntValue()
		if nodes.Type == intstr.String { // All
			want = len(names)
		}
	}
	if len(names) == 0 || len(names) < want {
		return nil, noMatch(b.Spec.Placement, len(list.Items), len(names), unfit)
	}
	return names[:want], nil
}

func whyUnfit(node *corev1.Node, tolerations []corev1.Toleration, volumes []*corev1.PersistentVolume) string {
	if node.Spec.Unschedulable {
		return "cordoned"
	}
	ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	if !ready {
		return "not ready"
	}
	repels := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	if _, tainted := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, tolerations, repels, true); tainted {
		return "tainted"
	}
	for _, volume := range volumes {
		if volumehelpers.CheckNodeAffinity(volume, node.Labels) != nil {
			return "cannot reach the volume " + volume.Name
		}
	}
	return ""
}

func noMatch(p v1alpha1.Placement, labelled, fit int, unfit map[string]int) error {
	var reasons []string
	for why, n := range unfit {
		reasons = append(reasons, fmt.Sprintf("%d %s", n, why))
	}
	slices.Sort(reasons)
	failure := &trial.Failure{
		Class:   v1alpha1.ReasonNoMatchingNodes,
		Field:   "spec.placement.nodes",
		Message: fmt.Sprintf("%s wanted, and %d can be used of the %d that have the labels of placement.nodeSelector", p.Nodes.String(), fit, labelled),
		Remedy:  "ask for fewer, change placement.nodeSelector, or add placement.tolerations",
	}
	if labelled == 0 {
		failure.Field = "spec.placement.nodeSelector"
		failure.Message = "no node has all of these labels"
		failure.Remedy = "correct them, or label a node"
	}
	if len(reasons) > 0 {
		failure.Message += " (" + strings.Join(reasons, ", ") + ")"
	}
	return failure
}
