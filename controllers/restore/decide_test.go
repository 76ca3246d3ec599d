package restore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/v1alpha1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// ready are facts of a record whose node is there and whose worker has ended.
func ready() facts {
	return facts{
		now: noon, nodeReady: true, worker: workerEnded,
		record: &v1alpha1.NodeRestore{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u1"}, Spec: v1alpha1.NodeRestoreSpec{Worker: "fast.n1"}},
	}
}

func failedBefore(f *facts, attempts int32, ago time.Duration) {
	f.record.Status.Attempts, f.record.Status.Phase, f.record.Status.Message = attempts, v1alpha1.RestoreFailed, "the scheduler is busy"
	f.record.Status.FailedAt = new(metav1.NewTime(noon.Add(-ago)))
}

func TestDecide(t *testing.T) {
	type decided struct {
		Step  step
		Phase v1alpha1.RestorePhase
		Again time.Duration
	}
	for name, c := range map[string]struct {
		change func(*facts)
		want   decided
		says   string
	}{
		"a worker that runs has its settings":                {func(f *facts) { f.worker = workerActive }, decided{stepNone, v1alpha1.RestoreInUse, pollAway}, "worker fast.n1"},
		"one that ends is waited for":                        {func(f *facts) { f.worker = workerEnding }, decided{stepNone, v1alpha1.RestoreRunning, pollRestoring}, "Pod of worker fast.n1"},
		"but not for ever: a Pod of that look can be forged": {func(f *facts) { f.worker, f.endingFor = workerEnding, endingPatience }, decided{stepCreate, v1alpha1.RestoreRunning, pollRestoring}, "puts the settings back"},
		"then a Job is made":                                 {func(*facts) {}, decided{stepCreate, v1alpha1.RestoreRunning, pollRestoring}, "puts the settings back"},
		"and waited for":                                     {func(f *facts) { f.attempt = attemptRunning }, decided{stepNone, v1alpha1.RestoreRunning, pollRestoring}, "puts the settings back"},
		"what keeps it from starting is said":                {func(f *facts) { f.attempt, f.said = attemptRunning, "no image" }, decided{stepNone, v1alpha1.RestoreRunning, pollRestoring}, "no image"},
		"also for long, once it has started":                 {func(f *facts) { f.attempt, f.unstarted = attemptRunning, 0; f.now = noon.Add(time.Hour) }, decided{stepNone, v1alpha1.RestoreRunning, pollRestoring}, "puts the settings back"},
		"one that does not start is made anew": {func(f *facts) {
			f.attempt, f.said, f.unstarted = attemptRunning, "ErrImagePull", startLimit+time.Second
		}, decided{stepRetry, v1alpha1.RestoreFailed, 5 * time.Second}, "ErrImagePull"},
		"when it has succeeded the record is closed":        {func(f *facts) { f.attempt = attemptSucceeded }, decided{stepClose, v1alpha1.RestoreRunning, 0}, ""},
		"when it has failed that is counted, with its word": {func(f *facts) { f.attempt, f.said = attemptFailed, "read-only" }, decided{stepRetry, v1alpha1.RestoreFailed, 5 * time.Second}, "node n1 could not be restored: read-only"},
		"a failure without a word":                          {func(f *facts) { f.attempt = attemptFailed }, decided{stepRetry, v1alpha1.RestoreFailed, 5 * time.Second}, "left no message"},
		"the next attempt waits, and says what failed":      {func(f *facts) { failedBefore(f, 3, 8*time.Second) }, decided{stepNone, v1alpha1.RestoreFailed, 12 * time.Second}, "the scheduler is busy"},
		"then it is made":                                   {func(f *facts) { failedBefore(f, 3, 21*time.Second) }, decided{stepCreate, v1alpha1.RestoreFailed, pollRestoring}, "the scheduler is busy"},
		"while it runs the last failure is said":            {func(f *facts) { failedBefore(f, 3, time.Hour); f.attempt = attemptRunning }, decided{stepNone, v1alpha1.RestoreFailed, pollRestoring}, "the scheduler is busy"},
		"attempts are five minutes apart at most":           {func(f *facts) { failedBefore(f, 1000, time.Minute) }, decided{stepNone, v1alpha1.RestoreFailed, 4 * time.Minute}, ""},
		"a node that is away is waited for":                 {func(f *facts) { f.nodeReady = false }, decided{stepNone, v1alpha1.RestoreNodeAway, pollAway}, "node n1 is not ready"},
		"also if its worker does not end":                   {func(f *facts) { f.nodeReady, f.worker = false, workerEnding }, decided{stepNone, v1alpha1.RestoreNodeAway, pollAway}, ""},
		"also if its Job has ended":                         {func(f *facts) { f.nodeReady, f.attempt = false, attemptSucceeded }, decided{stepNone, v1alpha1.RestoreNodeAway, pollAway}, ""},
		"a node that is gone is not waited for":             {func(f *facts) { f.nodeGone, f.nodeReady = true, false }, decided{stepNone, v1alpha1.RestoreGone, 0}, "n1 was deleted"},
		"one that stays away neither": {func(f *facts) {
			f.nodeGone, f.nodeReady, f.record.Status.Phase = true, false, v1alpha1.RestoreGone
		}, decided{stepNone, v1alpha1.RestoreGone, 0}, "if it comes back"},
		"one that was gone and is back, not ready":  {func(f *facts) { f.nodeReady, f.record.Status.Phase = false, v1alpha1.RestoreGone }, decided{stepNone, v1alpha1.RestoreNodeAway, pollAway}, "not ready"},
		"one that was gone and is back is restored": {func(f *facts) { f.record.Status.Phase = v1alpha1.RestoreGone }, decided{stepCreate, v1alpha1.RestoreRunning, pollRestoring}, "puts the settings back"},
		"a node that is given up": {func(f *facts) {
			f.nodeReady = false
			f.record.Annotations = map[string]string{v1alpha1.AnnotationAbandon: "u1/Abandon"}
		}, decided{stepNone, v1alpha1.RestoreAbandoned, 0}, v1alpha1.AnnotationAbandon},
		"the word of an earlier record gives nothing up": {func(f *facts) {
			f.nodeReady = false
			f.record.Annotations = map[string]string{v1alpha1.AnnotationAbandon: "u0/Abandon"}
		}, decided{stepNone, v1alpha1.RestoreNodeAway, pollAway}, ""},
		"a record that is over stays so": {func(f *facts) {
			f.record.Status.Phase, f.record.Status.Message = v1alpha1.RestoreAbandoned, "given up"
			f.attempt = attemptSucceeded
		}, decided{stepNone, v1alpha1.RestoreAbandoned, 0}, "given up"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ready()
			c.change(&f)
			d := decide(f)
			if diff := cmp.Diff(c.want, decided{d.step, d.phase, d.again}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.Contains(d.message, c.says) {
				t.Errorf("%q does not say %q", d.message, c.says)
			}
		})
	}
}

// Whatever is seen, in whatever order: a record is closed only when an attempt of its own has
// succeeded and the worker has ended; one that is given up stays so, and one of a node that is
// gone until the node is back; once an attempt has
// failed, nothing says that all is well until one succeeds; and what is not over is looked
// at again, and says why.
func TestARecordOverAnyCourseOfEvents(t *testing.T) {
	closed, over := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		f := ready()
		for i := range 200 {
			f.now = f.now.Add(time.Duration(r.IntN(60)) * time.Second)
			f.worker, f.nodeReady, f.nodeGone = worker(r.IntN(3)), r.IntN(4) > 0, r.IntN(100) == 0
			if f.attempt == attemptRunning && r.IntN(3) == 0 {
				f.attempt = []attempt{attemptSucceeded, attemptFailed, attemptFailed}[r.IntN(3)]
			}
			f.said = []string{"", "a device is gone"}[r.IntN(2)]
			f.unstarted = time.Duration(r.IntN(20)/19) * time.Hour
			if r.IntN(300) == 0 {
				f.record.Annotations = map[string]string{v1alpha1.AnnotationAbandon: "u1/Abandon"}
			}
			d := decide(f)
			where := fmt.Sprintf("seed %d, step %d: %+v of %+v", seed, i, d, f)
			before := f.record.Status
			switch {
			case before.Phase.Over() && (before.Phase == v1alpha1.RestoreAbandoned || f.nodeGone) && !d.phase.Over():
				t.Fatalf("a record that was over is not: %s", where)
			case before.Phase == v1alpha1.RestoreGone && !f.nodeGone && d.phase == v1alpha1.RestoreGone:
				t.Fatalf("a node that is back is not looked after: %s", where)
			case d.phase.Over() && d.step != stepNone:
				t.Fatalf("a step for a record that is over: %s", where)
			case d.step == stepClose && (f.attempt != attemptSucceeded || f.worker != workerEnded || f.nodeGone || !f.nodeReady):
				t.Fatalf("closed too early: %s", where)
			case d.step == stepCreate && (f.attempt != attemptNone || f.worker != workerEnded || !f.nodeReady):
				t.Fatalf("a restore beside a worker, or a second one: %s", where)
			case d.phase == v1alpha1.RestoreRunning && before.Attempts > 0 && d.step != stepClose:
				t.Fatalf("a failure is forgotten: %s", where)
			case !d.phase.Over() && d.step != stepClose && (d.again <= 0 || d.again > 5*time.Minute || d.message == ""):
				t.Fatalf("never looked at again, or silent: %s", where)
			}
			if d.step == stepClose {
				closed++
				break
			}
			carryOut(&f, d)
			if d.phase.Over() && r.IntN(5) == 0 {
				over++
				break
			}
		}
	}
	if closed == 0 || over == 0 {
		t.Errorf("%d records were closed and %d were over: this test does not see what it is for", closed, over)
	}
}

// carryOut is what the reconciler does with a decision.
func carryOut(f *facts, d decision) {
	switch d.step {
	case stepCreate:
		f.attempt = attemptRunning
	case stepRetry:
		f.attempt = attemptNone // the next attempt has another name
		f.record.Status.Attempts++
		f.record.Status.FailedAt = new(metav1.NewTime(f.now))
	}
	f.record.Status.Phase, f.record.Status.Message = d.phase, d.message
}

func TestRetriesAreFartherAndFartherApart(t *testing.T) {
	last := time.Duration(0)
	for n := range int32(100) {
		after := retryAfter(n)
		if after < last || after < 5*time.Second || after > 5*time.Minute {
			t.Errorf("after failure %d: %s, and %s before", n, after, last)
		}
		last = after
	}
	if last != 5*time.Minute {
		t.Errorf("in the end: %s", last)
	}
}
