//go:build integration

package admission

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

// scheduleRequests are who makes schedules, and what the operator makes for them.
func scheduleRequests(t *testing.T) map[string]request {
	t.Helper()
	schedule := func() *v1alpha1.StorageBenchmarkSchedule {
		return &v1alpha1.StorageBenchmarkSchedule{
			ObjectMeta: metav1.ObjectMeta{Namespace: plain, Name: "nightly", UID: "0f7e4b5c-0000-4000-8000-000000000000"},
			Spec:       v1alpha1.StorageBenchmarkScheduleSpec{Schedule: "30 2 * * *", Template: v1alpha1.BenchmarkTemplate{Spec: benchmark("x").Spec}},
		}
	}
	made := func(change func(*v1alpha1.StorageBenchmark)) *v1alpha1.StorageBenchmark {
		b := benchmark("nightly-29870430")
		b.Labels = map[string]string{v1alpha1.LabelSchedule: "nightly"}
		b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(schedule(), v1alpha1.GroupVersion.WithKind("StorageBenchmarkSchedule"))}
		change(b)
		return b
	}
	const refused = "makes only benchmarks of a StorageBenchmarkSchedule"
	long := schedule()
	long.Labels = map[string]string{}
	for i := range 65 {
		long.Labels[fmt.Sprintf("label-%d", i)] = "x"
	}
	unnamed := schedule()
	unnamed.UID = ""
	long.UID = ""
	return map[string]request{
		"a schedule of somebody who may make benchmarks":     create(tenantUser, unnamed, ""),
		"a schedule of somebody who may not make benchmarks": create(schedulerUser, unnamed, "needs the verb create on storagebenchmarks"),
		"a schedule with too many labels":                    create(tenantUser, long, "at most 64 labels"),
		"a benchmark of a schedule":                          create(operatorUser, made(func(*v1alpha1.StorageBenchmark) {}), ""),
		"a benchmark of nobody":                              create(operatorUser, made(func(b *v1alpha1.StorageBenchmark) { b.OwnerReferences = nil }), refused),
		"a benchmark of something else":                      create(operatorUser, made(func(b *v1alpha1.StorageBenchmark) { b.OwnerReferences[0].Kind = "ResultStore" }), refused),
		"a benchmark with the name of another's":             create(operatorUser, made(func(b *v1alpha1.StorageBenchmark) { b.Name = "weekly-29870430" }), refused),
		"a benchmark with another label":                     create(operatorUser, made(func(b *v1alpha1.StorageBenchmark) { b.Labels[v1alpha1.LabelSchedule] = "weekly" }), refused),
	}
}
