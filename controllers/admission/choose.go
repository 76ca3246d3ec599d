package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	volumehelpers "k8s.io/component-helpers/storage/volume"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/internal/trial"
)

// chooseNodes returns the names of the nodes that measure: the first that match,
// in the order of their names.
func chooseNodes(f Facts) ([]string, *trial.Failure) {
	placement := f.Benchmark.Spec.Placement
	var volumes []*corev1.PersistentVolume
	for _, v := range f.Claims {
		if v.Volume != nil {
			volumes = append(volumes, v.Volume)
		}
	}
	var names []string
	unfit := map[string]int{}
	for i := range f.Nodes {
		if why := whyUnfit(&f.Nodes[i], f.Limits, placement.Tolerations, volumes); why != "" {
			unfit[why]++
			continue
		}
		names = append(names, f.Nodes[i].Name)
	}
	slices.Sort(names)
	want := 1 // the API's default
	if nodes := placement.Nodes; nodes != nil {
		want = nodes.IntValue()
		if nodes.Type == intstr.String { // All
			want = len(names)
		}
	}
	if len(names) == 0 || len(names) < want {
		return nil, noMatch(placement, len(f.Nodes), len(names), unfit)
	}
	return names[:want], nil
}

func whyUnfit(node *corev1.Node, limits Limits, tolerations []corev1.Toleration, volumes []*corev1.PersistentVolume) string {
	if limits.Nodes != nil && !limits.Nodes.Matches(labels.Set(node.Labels)) {
		return "not for benchmarks: the operator's node selector is " + limits.Nodes.String()
	}
	if node.Spec.Unschedulable {
		return "cordoned"
	}
	if !nodes.Ready(node) {
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

func noMatch(p v1alpha1.Placement, labelled, fit int, unfit map[string]int) *trial.Failure {
	var reasons []string
	for why, n := range unfit {
		reasons = append(reasons, fmt.Sprintf("%d %s", n, why))
	}
	slices.Sort(reasons)
	if labelled == 0 {
		return &trial.Failure{
			Class: reason.NoMatchingNodes, Field: "spec.placement.nodeSelector",
			Message: "no node has all of these labels", Remedy: "correct them, or label a node",
		}
	}
	want := "1"
	if p.Nodes != nil {
		want = p.Nodes.String()
	}
	message := fmt.Sprintf("%s wanted, but of the %d that match nodeSelector only %d can be used", want, labelled, fit)
	if len(reasons) > 0 {
		message += " (" + strings.Join(reasons, ", ") + ")"
	}
	return &trial.Failure{
		Class: reason.NoMatchingNodes, Field: "spec.placement.nodes", Message: message,
		Remedy: "ask for fewer, change placement.nodeSelector, or add placement.tolerations",
	}
}
