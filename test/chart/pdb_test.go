//go:build chart

package chart

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
)

// One replica must not keep its node from being drained; of two, one stays.
func TestABudgetForDisruptionsWithMoreThanOneReplica(t *testing.T) {
	const name = "storagebench-manager"
	if found := (policyv1.PodDisruptionBudget{}); render(t).get(t, "PodDisruptionBudget", name, &found) {
		t.Error("a budget for one replica keeps its node from being drained")
	}
	budget := policyv1.PodDisruptionBudget{}
	render(t, "--set", "replicas=2").must(t, "PodDisruptionBudget", name, &budget)
	if budget.Spec.MinAvailable.IntValue() != 1 || budget.Spec.Selector.MatchLabels["app.kubernetes.io/component"] != "manager" {
		t.Errorf("%+v", budget.Spec)
	}
}
