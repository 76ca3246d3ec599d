// Package wait is how tests against a cluster wait: for a condition, never for a time,
// and never for ever.
package wait

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

// Patience says how often a test looks, and when it gives up.
type Patience struct{ Every, AtMost time.Duration }

// For repeats check until it returns nil.
func (p Patience) For(tb testing.TB, what string, check func() error) {
	tb.Helper()
	deadline := time.Now().Add(p.AtMost)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%s: not within %s: %v", what, p.AtMost, err)
		}
		time.Sleep(p.Every)
	}
}

// Ended waits until the run of a benchmark has ended, for the present generation of its
// spec, with the reason.
func (p Patience) Ended(ctx context.Context, tb testing.TB, api client.Client, b *v1alpha1.StorageBenchmark, reason string) metav1.Condition {
	tb.Helper()
	p.For(tb, "the run of "+b.Name+" ends", func() error {
		if err := api.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		// A run that has ended may still wait until the settings of its nodes are put back.
		restoring := meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReconciling)
		if b.Status.Run == nil || b.Status.Run.FinishedAt == nil || restoring || b.Status.ObservedGeneration != b.Generation {
			return fmt.Errorf("%+v", b.Status.Conditions)
		}
		return nil
	})
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != reason {
		tb.Fatalf("%s ended with %+v, want %s", b.Name, c, reason)
	}
	return *c
}

// Condition waits until a condition of a benchmark has the reason, for the present
// generation of its spec, and returns it.
func (p Patience) Condition(ctx context.Context, tb testing.TB, api client.Client, b *v1alpha1.StorageBenchmark, kind, reason string) metav1.Condition {
	tb.Helper()
	var found metav1.Condition
	p.For(tb, kind+" of "+b.Name+" is "+reason, func() error {
		if err := api.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, kind)
		if c == nil || c.Reason != reason || c.ObservedGeneration != b.Generation {
			return fmt.Errorf("%s is %+v", kind, c)
		}
		found = *c
		return nil
	})
	return found
}
