package workers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/nodes"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/progress"
	"storagebench.io/storagebench/internal/trial"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// job is one that was let go an hour ago.
func job(change func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "lab", UID: "job", Annotations: map[string]string{jobspec.AnnotationComplete: "true"}},
		Spec:       batchv1.JobSpec{Suspend: new(false)},
		Status:     batchv1.JobStatus{StartTime: new(ago(time.Hour))},
	}
	change(j)
	return j
}

func has(kind batchv1.JobConditionType) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue})
	}
}

func active(*batchv1.Job) {}

func TestTheStateOfAJob(t *testing.T) {
	suspended := func(j *batchv1.Job) { j.Spec.Suspend = new(true) }
	for name, c := range map[string]struct {
		job  *batchv1.Job
		want progress.JobState
	}{
		"there is none":                           {nil, progress.JobMissing},
		"it was let go":                           {job(active), progress.JobActive},
		"nobody has said that it is suspended":    {job(func(j *batchv1.Job) { j.Spec.Suspend = nil }), progress.JobActive},
		"it is suspended, and all it needs made":  {job(suspended), progress.JobParked},
		"it is suspended, and not all was made":   {job(func(j *batchv1.Job) { suspended(j); j.Annotations = nil }), progress.JobPreparing},
		"it is complete":                          {job(has(batchv1.JobComplete)), progress.JobEnded},
		"it has failed":                           {job(has(batchv1.JobFailed)), progress.JobEnded},
		"it will fail when its Pod has ended":     {job(has(batchv1.JobFailureTarget)), progress.JobActive},
		"it is suspended, and had failed before":  {job(func(j *batchv1.Job) { suspended(j); has(batchv1.JobFailed)(j) }), progress.JobEnded},
		"it is deleted, whatever else it may be":  {job(func(j *batchv1.Job) { has(batchv1.JobFailed)(j); j.DeletionTimestamp = new(ago(0)) }), progress.JobDeleting},
		"a condition that is False says nothing":  {job(func(j *batchv1.Job) { has(batchv1.JobFailed)(j); j.Status.Conditions[0].Status = corev1.ConditionFalse }), progress.JobActive},
		"a parked one that is deleted is deleted": {job(func(j *batchv1.Job) { suspended(j); j.DeletionTimestamp = new(ago(0)) }), progress.JobDeleting},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jobState(c.job); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// pod is one that was made ten minutes ago.
func pod(phase corev1.PodPhase, change func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "w-1", UID: "pod", CreationTimestamp: ago(10 * time.Minute)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "storagebench:1"}}},
		Status:     corev1.PodStatus{Phase: phase, StartTime: new(ago(9 * time.Minute))},
	}
	change(&p)
	return p
}

func asMade(*corev1.Pod) {}

// exited ends a Pod's container, a while ago.
func exited(code int32, message string, since time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: ago(since)}}}}
	}
}

func TestObserve(t *testing.T) {
	ready, away := &nodes.View{UID: "n", Ready: true}, &nodes.View{UID: "n", AwaySince: noon.Add(-time.Minute)}
	restoring := func(job string) *nodes.View {
		record := &v1alpha1.NodeRestore{}
		record.Spec.Job.UID = "other"
		if job != "" {
			record.Spec.Job.UID = "job"
		}
		return &nodes.View{UID: "n", Ready: true, Record: record}
	}
	over := restoring("")
	over.Record.Status.Phase = v1alpha1.RestoreAbandoned
	parked := func(j *batchv1.Job) { j.Spec.Suspend = new(true) }
	for name, c := range map[string]struct {
		seen  Seen
		ended bool
		node  *nodes.View
		want  progress.Worker
	}{
		"nothing":                    {Seen{}, false, ready, progress.Worker{}},
		"a Job without a Pod":        {Seen{Job: job(active)}, false, ready, progress.Worker{Job: progress.JobActive, Waiting: time.Hour}},
		"a Job that nobody has seen": {Seen{Job: job(func(j *batchv1.Job) { j.Status.StartTime = nil })}, false, ready, progress.Worker{Job: progress.JobActive}},
		"a Pod that is pending":      {Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodPending, asMade)}}, false, ready, progress.Worker{Job: progress.JobActive, PodLeft: true, Remains: true, Waiting: 10 * time.Minute}},
		"a Pod that runs":            {Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodRunning, asMade)}}, false, ready, progress.Worker{Job: progress.JobActive, PodLeft: true, Remains: true, PodRunning: true}},
		"a Pod that ended by itself": {Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodFailed, exited(1, "", time.Second))}}, false, ready, progress.Worker{Job: progress.JobEnded}},
		"a Pod that was killed a moment ago, after an hour": {
			Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodFailed, exited(137, "", 3*time.Second))}}, false, ready,
			progress.Worker{Job: progress.JobActive, Waiting: 3 * time.Second},
		},
		"a Pod that was stopped a moment ago, while it started": {
			Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodFailed, exited(2, "", 3*time.Second))}}, false, ready,
			progress.Worker{Job: progress.JobActive, Waiting: 3 * time.Second},
		},
		"a Pod that was evicted a moment ago": {
			Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodFailed, func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: ago(2 * time.Second)}}
			})}}, false, ready,
			progress.Worker{Job: progress.JobActive, Waiting: 2 * time.Second},
		},
		"the newest Pod counts": {
			Seen{Job: job(active), Pods: []corev1.Pod{
				pod(corev1.PodRunning, func(p *corev1.Pod) { p.CreationTimestamp = ago(time.Second) }), pod(corev1.PodFailed, exited(137, "", time.Minute)),
			}}, false, ready, progress.Worker{Job: progress.JobActive, PodLeft: true, Remains: true, PodRunning: true},
		},
		"a node that is away": {
			Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodRunning, asMade)}}, false, away,
			progress.Worker{Job: progress.JobActive, PodLeft: true, PodRunning: true, NodeState: progress.NodeAway, AwayFor: time.Minute},
		},
		"a node that is not there":             {Seen{}, false, &nodes.View{}, progress.Worker{NodeState: progress.NodeAway, AwayFor: time.Hour}},
		"a node that others have to restore":   {Seen{}, false, restoring(""), progress.Worker{NodeState: progress.NodeRestoring}},
		"a node whose record nobody waits for": {Seen{}, false, over, progress.Worker{}},
		"its own settings, while it runs":      {Seen{Job: job(active), Pods: []corev1.Pod{pod(corev1.PodRunning, asMade)}}, false, restoring("job"), progress.Worker{Job: progress.JobActive, PodLeft: true, Remains: true, PodRunning: true}},
		"its own settings, while it is parked": {Seen{Job: job(parked)}, false, restoring("job"), progress.Worker{Job: progress.JobParked, NodeState: progress.NodeRestoring}},
		"a Pod that its Job has left":          {Seen{Pods: []corev1.Pod{pod(corev1.PodRunning, asMade)}}, true, ready, progress.Worker{Ended: true, PodLeft: true, Remains: true}},
		"a Pod left on a node that is away":    {Seen{Pods: []corev1.Pod{pod(corev1.PodRunning, asMade)}}, true, away, progress.Worker{Ended: true, PodLeft: true, NodeState: progress.NodeAway, AwayFor: time.Minute}},
		"a volume that is being removed":       {Seen{Claims: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(ago(time.Minute))}}}}, true, ready, progress.Worker{Ended: true, Remains: true, RemovedFor: time.Minute}},
		"a volume that its Job still owns":     {Seen{Job: job(active), Claims: []corev1.PersistentVolumeClaim{{}}}, false, ready, progress.Worker{Job: progress.JobActive, Waiting: time.Hour}},
		"the first of all removals counts":     {Seen{Job: job(func(j *batchv1.Job) { j.DeletionTimestamp = new(ago(time.Second)) }), Pods: []corev1.Pod{pod(corev1.PodRunning, func(p *corev1.Pod) { p.DeletionTimestamp = new(ago(time.Minute)) })}}, true, ready, progress.Worker{Ended: true, Job: progress.JobDeleting, PodLeft: true, Remains: true, RemovedFor: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Workers{Clock: testclock.NewFakePassiveClock(noon)}
			c.want.Name, c.want.Node = "t.n1", "n1"
			got := w.Observe(&v1alpha1.StorageBenchmark{}, trial.Worker{Name: "t.n1", Node: "n1"}, c.ended, c.seen, c.node)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAWorkerThatCouldNotStartStaysAsideForATimeThatGrows(t *testing.T) {
	clock := testclock.NewFakePassiveClock(noon)
	w := &Workers{Clock: clock}
	b := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
	self := trial.Worker{Name: "t.n1", Node: "n1"}
	observe := func() progress.Worker { return w.Observe(b, self, false, Seen{}, &nodes.View{Ready: true}) }
	trouble := &progress.Trouble{Reason: reason.PodRejected, Message: "quota"}
	var got []time.Duration
	for range 9 {
		w.retries.failed(b.UID, self.Name, clock.Now(), trouble)
		seen := observe()
		if seen.Trouble != trouble {
			t.Errorf("its trouble is forgotten: %+v", seen)
		}
		got = append(got, seen.RetryIn)
		clock.SetTime(clock.Now().Add(seen.RetryIn))
		if again := observe(); again.RetryIn != 0 || again.Trouble != nil {
			t.Errorf("when its time has come: %+v", again)
		}
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{5 * s, 10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s, 300 * s}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.retries.failed("other", self.Name, clock.Now(), trouble)
	w.Forget(b.UID)
	w.retries.failed(b.UID, self.Name, clock.Now(), trouble)
	if again := observe().RetryIn; again != 5*s {
		t.Errorf("after it was forgotten: %s", again)
	}
	if w.retries.get("other", self.Name).failures != 1 {
		t.Error("another benchmark's was forgotten with it")
	}
}

func TestEventsAreReadOnceInAWhile(t *testing.T) {
	e, reads := &recentEvents{}, 0
	read := func() (*progress.Trouble, error) { reads++; return &progress.Trouble{Reason: "X"}, nil }
	look := func(uid string, at time.Time) {
		t.Helper()
		if trouble, err := e.of(uid, at, read); err != nil || trouble == nil {
			t.Errorf("got %v, %v", trouble, err)
		}
	}
	look("a", noon)
	look("a", noon.Add(eventsFor-1))
	if reads != 1 {
		t.Errorf("%d reads within %s, want 1", reads, eventsFor)
	}
	look("a", noon.Add(eventsFor))
	if reads != 2 {
		t.Errorf("%d reads after %s, want 2", reads, eventsFor)
	}
	for i := range 5 * maxRecent {
		look(strings.Repeat("x", i%97)+string(rune('a'+i%26))+time.Duration(i).String(), noon)
	}
	if len(e.all) > maxRecent {
		t.Errorf("%d are kept, and at most %d may be", len(e.all), maxRecent)
	}
}

func TestAReceiptIsThisWorkersNewestOne(t *testing.T) {
	p := &trial.Plan{Run: "r1", Trials: make([]trial.Trial, 4)}
	refused, err := trial.Receipt{Worker: "t.n1", Failure: &trial.Failure{Class: reason.PlanTampered, Message: "not the plan"}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	written := func(run, worker string, stored int) string {
		b, err := trial.Receipt{Run: run, Worker: worker, Planned: 4, Stored: stored}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, c := range map[string]struct {
		pods []corev1.Pod
		want int // what it stored; -1: no receipt
	}{
		"no Pod":                             {nil, -1},
		"a Pod that runs":                    {[]corev1.Pod{pod(corev1.PodRunning, asMade)}, -1},
		"its receipt":                        {[]corev1.Pod{pod(corev1.PodSucceeded, exited(0, written("r1", "t.n1", 4), 0))}, 4},
		"the newest of two":                  {[]corev1.Pod{pod(corev1.PodSucceeded, exited(0, written("r1", "t.n1", 4), time.Second)), pod(corev1.PodFailed, exited(137, written("r1", "t.n1", 2), time.Minute))}, 4},
		"that of another run":                {[]corev1.Pod{pod(corev1.PodSucceeded, exited(0, written("r0", "t.n1", 4), 0))}, -1},
		"that of another worker":             {[]corev1.Pod{pod(corev1.PodSucceeded, exited(0, written("r1", "t.n2", 4), 0))}, -1},
		"a newer one of another worker":      {[]corev1.Pod{pod(corev1.PodFailed, exited(1, written("r1", "t.n1", 3), time.Minute)), pod(corev1.PodSucceeded, exited(0, written("r1", "t.n2", 4), 0))}, 3},
		"one that could not take its plan":   {[]corev1.Pod{pod(corev1.PodFailed, exited(1, string(refused), 0))}, 0},
		"one that counts more than there is": {[]corev1.Pod{pod(corev1.PodSucceeded, exited(0, strings.Replace(written("r1", "t.n1", 4), `"stored":4`, `"stored":5`, 1), 0))}, -1},
		"words that are no receipt":          {[]corev1.Pod{pod(corev1.PodFailed, exited(1, "panic: out of memory", 0))}, -1},
		"JSON that is no receipt":            {[]corev1.Pod{pod(corev1.PodFailed, exited(1, `{"run":"r1","worker":"t.n1"}`, 0))}, -1},
		"one that is too large":              {[]corev1.Pod{pod(corev1.PodFailed, exited(1, written("r1", "t.n1", 4)+strings.Repeat(" ", trial.MaxReceipt), 0))}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			got := -1
			if receipt := (Seen{Pods: c.pods}).Receipt(p, "t.n1"); receipt != nil {
				got = receipt.Stored
			}
			if got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestWhatAContainerWaitsFor(t *testing.T) {
	for name, c := range map[string]struct {
		state corev1.ContainerState
		want  string
		says  []string
	}{
		"nothing":                       {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, "", nil},
		"its volumes":                   {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}, "", nil},
		"an image that nobody has":      {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}}, reason.ImagePullFailed, []string{"node n1", "storagebench:1", "not found"}},
		"an image, for a while already": {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}, reason.ImagePullFailed, []string{"chart's values workerImage"}},
		"an image that must be there":   {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImageNeverPull"}}, reason.ImagePullFailed, nil},
		"a Secret that is missing":      {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "secret not found"}}, reason.PodRejected, []string{"node n1", "secret not found"}},
		"a runtime that fails":          {corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "RunContainerError"}}, reason.PodRejected, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, message := "", ""
			if trouble := containerTrouble(corev1.ContainerStatus{State: c.state}, "storagebench:1", "n1"); trouble != nil {
				got, message = trouble.Reason, trouble.Message
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, want := range c.says {
				if !strings.Contains(message, want) {
					t.Errorf("%q does not say %q", message, want)
				}
			}
		})
	}
}
