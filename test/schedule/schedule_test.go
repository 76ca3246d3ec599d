//go:build schedule

package schedule

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/history"
	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/wait"
)

const (
	tunable = "block.queue.max_sectors_kb"
	usual   = "512"
	slow    = "4"
	kept    = 3
	ttl     = 3 * time.Minute
	// after is how many runs have the slow setting.
	after = 4
)

// everyMinute measures the device with that setting every minute.
func everyMinute(namespace, device string) *v1alpha1.StorageBenchmarkSchedule {
	s := &v1alpha1.StorageBenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "every-minute"}}
	s.Spec.Schedule = "* * * * *"
	s.Spec.SuccessfulHistoryLimit = new(int32(kept))
	s.Spec.MinChange = "10%"
	s.Spec.Template.Spec = v1alpha1.StorageBenchmarkSpec{
		Targets: []v1alpha1.Target{{Name: "disk", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: device, AllowDataDestruction: true}}},
		Workloads: []v1alpha1.Workload{{Name: "write", Fio: &v1alpha1.FioWorkload{
			Prefill: v1alpha1.FioPrefillNever,
			Parameters: v1alpha1.Texts(map[string]string{
				"rw": "write", "bs": "2m", "ioengine": "psync", "direct": "1", "size": "32MiB", "runtime": "1s", "time_based": "1",
				// What a disk that others use varies by is a tenth of its rate, but little of a rate with pauses; what
				// the setting adds to each write, which it makes 512 requests of, stays most of it.
				"thinktime": "1000",
			}),
		}}},
		Variants:         []v1alpha1.Variant{{Name: "queue", Tunables: []v1alpha1.Tunable{{Name: tunable, Value: v1alpha1.Text(usual)}}}},
		Trials:           v1alpha1.Trials{Min: 6},
		Baseline:         &v1alpha1.Baseline{MaxRegression: "20%"},
		Results:          &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
		Timeout:          &metav1.Duration{Duration: 5 * time.Minute},
		TTLAfterFinished: &metav1.Duration{Duration: ttl},
	}
	return s
}

func runs(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("STORAGEBENCH_RUNS"))
	if err != nil || n < 5+after || n > history.MaxRuns {
		t.Fatalf("STORAGEBENCH_RUNS is %q: set RUNS to a number from %d to %d", os.Getenv("STORAGEBENCH_RUNS"), 5+after, history.MaxRuns)
	}
	return n
}

func TestAScheduleFindsTheRunSinceWhichStorageIsSlower(t *testing.T) {
	total := runs(t)
	connection, err := cluster.Connect()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, ctx: t.Context(), api: connection.API}
	device := devicetest.Loop(t, 64<<20)
	devicetest.DirectIO(t, device) // figures of the page cache below it are no part of a history
	l.s = everyMinute(l.namespace(), device)
	if err := l.api.Create(l.ctx, l.s); err != nil {
		t.Fatal(err)
	}
	l.wait("the runs before", func() error {
		if n := len(l.look().Status.Runs); n < total-after || len(l.s.Status.Active) > 0 {
			return fmt.Errorf("%d of %d runs, active %v", n, total-after, l.s.Status.Active)
		}
		return nil
	})
	if len(l.s.Status.Changes) > 0 {
		t.Logf("a false alarm, before anything has changed: %+v", l.s.Status.Changes)
	}
	l.wait("the setting", func() error {
		l.look().Spec.Template.Spec.Variants[0].Tunables[0].Value = v1alpha1.Text(slow)
		return l.api.Update(l.ctx, l.s)
	})
	first := ""
	l.wait("the first run with the slow setting", func() error {
		for _, r := range l.look().Status.Runs {
			if strings.Contains(strings.Join(r.Differences, " "), tunable+"="+slow) {
				first = r.Benchmark
				return nil
			}
		}
		return fmt.Errorf("runs %+v", l.s.Status.Runs)
	})
	change := l.change(first)
	if change == nil || change.Direction != v1alpha1.ChangeWorse || !strings.Contains(strings.Join(change.Differences, " "), tunable+"="+slow) {
		t.Fatalf("at %s the changes are %+v, of %+v", first, l.s.Status.Changes, l.s.Status.Series)
	}
	figures := fmt.Sprintf("%s by %s found at its run, the %dth (%s), baseline %s", change.Metric, change.Percent, len(l.s.Status.Runs), change.State, l.s.Status.LastRun.Baseline)
	if err := os.WriteFile(os.Getenv("STORAGEBENCH_FIGURES"), []byte(figures), 0o600); err != nil {
		t.Error(err)
	}
	l.wait("the runs after", func() error {
		if n := len(l.look().Status.Runs); n < total {
			return fmt.Errorf("%d of %d runs", n, total)
		}
		return nil
	})
	regressed := meta.FindStatusCondition(l.s.Status.Conditions, v1alpha1.ConditionRegressed)
	if regressed == nil || regressed.Status != metav1.ConditionTrue || !strings.Contains(regressed.Message, first) {
		t.Errorf("Regressed is %+v", regressed)
	}
	l.wait("it is suspended", func() error { l.look().Spec.Suspend = true; return l.api.Update(l.ctx, l.s) })
	l.wait("all benchmarks are gone after their time to live", func() error {
		if n := len(l.benchmarks()); n > 0 {
			return fmt.Errorf("%d are there", n)
		}
		return nil
	})
	if n := len(l.look().Status.Runs); n < total || l.s.Status.Succeeded < int64(total) {
		t.Errorf("the history has %d runs of %d", n, l.s.Status.Succeeded)
	}
}

// lab is a namespace with one schedule.
type lab struct {
	t   *testing.T
	ctx context.Context
	api client.Client
	s   *v1alpha1.StorageBenchmarkSchedule
}

// namespace makes one in which workers may be privileged, and removes it after the test.
func (l *lab) namespace() string {
	l.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "schedule-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}}}
	if err := l.api.Create(l.ctx, ns); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		l.ctx = context.Background()
		if err := l.api.Delete(l.ctx, ns); err != nil {
			l.t.Error(err)
		}
		wait.Patience{Every: time.Second, AtMost: 3 * time.Minute}.For(l.t, "the namespace is gone", func() error {
			if err := l.api.Get(l.ctx, client.ObjectKeyFromObject(ns), ns); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%v %+v", err, ns.Status)
			}
			return nil
		})
	})
	return ns.Name
}

// look reads the schedule, and checks what must hold at any time.
func (l *lab) look() *v1alpha1.StorageBenchmarkSchedule {
	l.t.Helper()
	if err := l.api.Get(l.ctx, client.ObjectKeyFromObject(l.s), l.s); err != nil {
		l.t.Fatal(err)
	}
	if last := l.s.Status.LastRun; last != nil && last.Outcome != v1alpha1.RunComplete {
		l.t.Fatalf("%s failed: %s", last.Benchmark, last.Headline)
	}
	// One more has ended than is kept, between its record and the next pass.
	if ended := slices.DeleteFunc(l.benchmarks(), func(b v1alpha1.StorageBenchmark) bool { return !history.Ended(&b) || !b.DeletionTimestamp.IsZero() }); len(ended) > kept+1 {
		l.t.Errorf("%d benchmarks are kept, the limit is %d", len(ended), kept)
	}
	return l.s
}

func (l *lab) benchmarks() []v1alpha1.StorageBenchmark {
	l.t.Helper()
	list := &v1alpha1.StorageBenchmarkList{}
	if err := l.api.List(l.ctx, list, client.InNamespace(l.s.Namespace), client.MatchingLabels{v1alpha1.LabelSchedule: l.s.Name}); err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

// change since a run; nil: there is none.
func (l *lab) change(since string) *v1alpha1.Change {
	for i := range l.s.Status.Changes {
		if l.s.Status.Changes[i].Since == since {
			return &l.s.Status.Changes[i]
		}
	}
	return nil
}

// wait waits as long as many runs may take on a slow machine.
func (l *lab) wait(what string, check func() error) {
	l.t.Helper()
	wait.Patience{Every: time.Second, AtMost: time.Duration(runs(l.t)) * 3 * time.Minute}.For(l.t, what, check)
}
