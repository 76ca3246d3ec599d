//go:build chart

package chart

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
)

// One replica must not keep its node from being drained; of two, one stays.
func TestABudgetForDisruptionsWithMoreThanOneReplica(t *testing.T) {
	const name = "storagebench-manager"
	if found := (policyv1.PodDisruptionBudget{}); render(t, "--set", "replicas=1").get(t, "PodDisruptionBudget", name, &found) {
		t.Error("a budget for one replica keeps its node from being drained")
	}
	budget := policyv1.PodDisruptionBudget{}
	render(t).must(t, "PodDisruptionBudget", name, &budget)
	if budget.Spec.MinAvailable.IntValue() != 1 || budget.Spec.Selector.MatchLabels["app.kubernetes.io/component"] != "manager" {
		t.Errorf("%+v", budget.Spec)
	}
}

func TestTwoOperatorsOnTwoNodesByDefault(t *testing.T) {
	d := manager(t, render(t))
	if *d.Spec.Replicas != 2 {
		t.Errorf("%d replicas by default", *d.Spec.Replicas)
	}
	spread := d.Spec.Template.Spec.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].TopologyKey != "kubernetes.io/hostname" || spread[0].WhenUnsatisfiable != "ScheduleAnyway" {
		t.Fatalf("by default: %+v; with one node both must start there", spread)
	}
	for key, value := range spread[0].LabelSelector.MatchLabels {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("it counts Pods with %s=%s, and the operator's has %q", key, value, d.Spec.Template.Labels[key])
		}
	}
	own := manager(t, render(t, "--set", "topologySpreadConstraints[0].maxSkew=1,topologySpreadConstraints[0].topologyKey=zone,topologySpreadConstraints[0].whenUnsatisfiable=DoNotSchedule"))
	if got := own.Spec.Template.Spec.TopologySpreadConstraints; len(got) != 1 || got[0].TopologyKey != "zone" {
		t.Errorf("one's own constraints: %+v", got)
	}
}
