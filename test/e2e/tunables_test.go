//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/faults"
)

// queue are the settings of a device that the tests change, and those that the kernel
// changes with them.
type queue map[string]string

func readQueue(t *testing.T, device string) queue {
	t.Helper()
	q := queue{}
	for _, name := range []string{"scheduler", "nr_requests", "write_cache", "read_ahead_kb"} {
		b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "queue", name))
		if err != nil {
			t.Fatal(err)
		}
		q[name] = strings.TrimSpace(string(b))
	}
	return q
}

// newTunedLab is a lab that may change the settings of a device of its own.
func newTunedLab(t *testing.T, options ...option) (l *lab, device string, before queue) {
	t.Helper()
	device = devicetest.Loop(t, 64<<20)
	return newLab(t, "privileged", options...), device, readQueue(t, device)
}

// tuned measures writes with a flush each on a device, as it is and with settings of
// its queue that are none of the kernel's defaults.
func tuned(device string, trials int32) func(*v1alpha1.StorageBenchmarkSpec) {
	return func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "disk", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: device, AllowDataDestruction: true}}}
		s.Workloads = []v1alpha1.Workload{fio("sync", map[string]string{
			"rw": "randwrite", "bs": "4k", "ioengine": "psync", "fdatasync": "1", "size": "16MiB", "runtime": "1s", "time_based": "1",
		})}
		// A killed worker must not leave data on the device without a mark of its own.
		s.Workloads[0].Fio.Prefill = v1alpha1.FioPrefillNever
		s.Variants = []v1alpha1.Variant{
			{Name: "flush"},
			{Name: "no-flush", AcceptDataLoss: true, Tunables: []v1alpha1.Tunable{
				{Name: "block.queue.write_cache", Value: v1alpha1.Text("write through")}, {Name: "block.queue.nr_requests", Value: v1alpha1.Text("64")},
			}},
		}
		s.Trials.Min = trials
	}
}

// asBefore checks that the device's settings are those of before, and that the condition
// says so.
func (l *lab) asBefore(b *v1alpha1.StorageBenchmark, device string, before queue) {
	l.t.Helper()
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionTunablesRestored); c == nil || c.Reason != reason.Restored {
		l.t.Errorf("TunablesRestored is %+v", c)
	}
	faults.Compare(l.t, before, readQueue(l.t, device))
}

// changed waits until a worker has changed the device's settings.
func (l *lab) changed(device string, before queue) {
	l.t.Helper()
	l.eventually("the settings are changed", func() error {
		if q := readQueue(l.t, device); q["nr_requests"] == before["nr_requests"] {
			return fmt.Errorf("%v", q)
		}
		return nil
	})
}

// gone waits until the benchmark is deleted and its nodes are restored.
func (l *lab) gone(b *v1alpha1.StorageBenchmark) {
	l.t.Helper()
	l.eventually("the benchmark is gone", func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("%v %+v", err, b.Status.Conditions)
		}
		return nil
	})
	// The settings of its nodes are not its affair any more, but the operator's.
	l.eventually("its nodes are restored", func() error {
		records := &v1alpha1.NodeRestoreList{}
		if err := api.List(l.ctx, records); err != nil {
			return err
		}
		for i := range records.Items {
			if r := &records.Items[i]; r.Spec.Benchmark.Namespace == b.Namespace && r.Spec.Benchmark.Name == b.Name {
				return fmt.Errorf("%s: %+v", r.Name, r.Status)
			}
		}
		return nil
	})
}

func TestTunablesAreMeasuredAndPutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	b := l.benchmark("flushes", tuned(device, 2))
	l.ended(b, reason.Finished)
	l.asBefore(b, device, before)
	flushes := map[string]float64{}
	for id, tr := range l.trials(b, l.worker("disk")) {
		flushes[tr.Trial.Variant] += tr.Metrics["device.flush.count"].Value
		for _, s := range tr.Tunables {
			if !s.Restored || s.On != filepath.Base(device) || s.During != s.Asked {
				t.Errorf("%s: %+v", id, s)
			}
		}
		if want := map[string]int{"flush": 0, "no-flush": 2}[tr.Trial.Variant]; len(tr.Tunables) != want {
			t.Errorf("%s records %d settings", id, len(tr.Tunables))
		}
	}
	if flushes["flush"] < 100 || flushes["no-flush"] != 0 {
		t.Errorf("flushes that reached the device: %v", flushes)
	}
	if len(b.Status.Summary) != 2 || b.Status.Summary[0].Variant != "flush" || b.Status.Summary[1].Variant != "no-flush" {
		t.Errorf("%+v", b.Status.Summary)
	}
	l.nothingLeft()
}

func TestTheSettingsOfAWorkerThatIsKilledArePutBack(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	b := l.benchmark("killed", tuned(device, 3))
	for stored := 1; stored <= 2; stored++ {
		l.measuring(b, l.worker("disk"), stored)
		l.kill(l.namespace, map[string]string{jobspec.LabelBenchmark: b.Name})
		l.met(fmt.Sprintf("a worker's Pod is killed with %d trials stored", stored), b)
	}
	l.ended(b, reason.Finished)
	l.asBefore(b, device, before)
	if n := len(l.trials(b, l.worker("disk"))); n != 6 {
		t.Errorf("%d trials", n)
	}
	l.nothingLeft()
}

func TestDeletionInMidRunPutsTheSettingsBackFirst(t *testing.T) {
	t.Parallel()
	l, device, before := newTunedLab(t)
	b := l.benchmark("deleted", tuned(device, 50))
	l.changed(device, before)
	if err := api.Delete(l.ctx, b); err != nil {
		t.Fatal(err)
	}
	l.met("a benchmark is deleted in mid-run", b)
	l.gone(b)
	faults.Compare(t, before, readQueue(t, device))
	l.nothingLeft()
}

func TestNothingIsChangedWithoutConsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level  string
		change func(*v1alpha1.StorageBenchmarkSpec)
		reason string
	}{
		"of the policy": {"privileged", func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Variants[1].Tunables = append(s.Variants[1].Tunables, v1alpha1.Tunable{Name: "vm.dirty_ratio", Value: v1alpha1.Text("50")})
		}, reason.TunableNotPermitted},
		"of the benchmark": {"privileged", func(s *v1alpha1.StorageBenchmarkSpec) { s.Variants[1].AcceptDataLoss = false }, reason.InvalidSpec},
		"of Pod Security":  {"restricted", func(*v1alpha1.StorageBenchmarkSpec) {}, reason.PodSecurityForbids},
		"for a mere directory": {"baseline", func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Targets = []v1alpha1.Target{volume("ext4", "loop-ext4", "Filesystem")}
		}, reason.PodSecurityForbids},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			device := devicetest.Loop(t, 64<<20)
			before := readQueue(t, device)
			l := newLab(t, c.level, refused)
			b := l.benchmark("refused", func(s *v1alpha1.StorageBenchmarkSpec) { tuned(device, 1)(s); c.change(s) })
			says(t, l.await(b, c.reason).Message, "spec.")
			if got := readQueue(t, device); fmt.Sprint(got) != fmt.Sprint(before) {
				t.Errorf("the settings are %v and were %v", got, before)
			}
			l.nothingLeft()
		})
	}
}
