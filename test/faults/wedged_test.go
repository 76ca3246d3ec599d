package faults

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// A check that finds nothing wedged would count none.
func TestSilent(t *testing.T) {
	ready := func(why, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: why, Message: message, ObservedGeneration: 2}}
	}
	and := func(all []metav1.Condition, kind string) []metav1.Condition {
		return append(all, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
	}
	for name, c := range map[string]struct {
		conditions []metav1.Condition
		deleted    bool
		want       string
	}{
		"nothing is said":                        {nil, false, "no condition Ready"},
		"it has finished":                        {and(ready(reason.Finished, "6 trials"), v1alpha1.ConditionComplete), false, ""},
		"it has failed":                          {and(ready(reason.NoSpace, "full"), v1alpha1.ConditionFailed), false, ""},
		"it had finished, and is to be deleted":  {and(ready(reason.Deleting, "removing"), v1alpha1.ConditionComplete), true, "names none"},
		"it says which node it waits for":        {ready(reason.NodeAway, "waiting for node node-d, which is not ready"), false, ""},
		"it names the field that is in the way":  {ready(reason.TunableNotPermitted, "spec.variants[a]: no policy"), false, ""},
		"it waits, and does not say what for":    {ready(reason.Deleting, "removing the benchmark's Jobs and volumes"), false, "names none"},
		"its word is none of the vocabulary":     {ready("Waiting", "for node node-d"), false, "not a reason"},
		"an error is met again and again":        {ready(reason.InternalError, "node-d: i/o timeout"), false, "end of an error"},
		"what it says is of a spec of yesterday": {[]metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: reason.NodeAway, Message: "node-d", ObservedGeneration: 1}}, false, "generation"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			if c.deleted {
				b.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
			}
			b.Status.Conditions = c.conditions
			got := Silent(b, Reasons(t), []string{"node-d"})
			if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
