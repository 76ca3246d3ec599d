package action

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestAnErrorIsTriedAgainWithinHalfAMinute(t *testing.T) {
	retries := Retries()
	var last time.Duration
	for n := range 50 {
		wait := retries.When(reconcile.Request{})
		if wait < last || wait > 30*time.Second {
			t.Fatalf("try %d comes after %s, the one before after %s", n+1, wait, last)
		}
		last = wait
	}
	if last != 30*time.Second {
		t.Errorf("it does not back off: %s", last)
	}
}
