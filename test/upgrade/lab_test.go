//go:build upgrade

package upgrade

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/test/cluster"
	"storagebench.io/storagebench/test/faults"
	"storagebench.io/storagebench/test/wait"
)

const (
	operatorNamespace = cluster.OperatorNamespace
	restoreNamespace  = "storagebench-system-restore"
	nodesNeeded       = 5
)

var api client.Client

// patience bounds every wait.
var patience = wait.Patience{Every: 100 * time.Millisecond, AtMost: 5 * time.Minute}

func TestMain(m *testing.M) {
	connection, err := cluster.Connect()
	if err != nil {
		fmt.Fprintln(os.Stderr, "upgrade: no cluster to upgrade (make test-upgrade makes one):", err)
		os.Exit(1)
	}
	api = connection.API
	os.Exit(m.Run())
}

// lab is what the stories share: a namespace, nodes, and the object store.
type lab struct {
	t         *testing.T
	ctx       context.Context
	namespace string
	nodes     []string
	bucket    *s3.Store
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, ctx: context.Background()} // what is cleaned up is more than the test's own context allows
	list := &corev1.NodeList{}
	l.must(api.List(l.ctx, list))
	for i := range list.Items {
		if n := &list.Items[i]; cluster.Ready(n) && !n.Spec.Unschedulable && len(n.Spec.Taints) == 0 {
			l.nodes = append(l.nodes, n.Name)
		}
	}
	if len(l.nodes) < nodesNeeded {
		t.Fatalf("%d ready nodes without taints are needed, and there are %d (NODES=%d make cluster-up)", nodesNeeded, len(l.nodes), nodesNeeded)
	}
	// MinIO and DNS are on the first, so the last are for stories that close theirs.
	slices.Sort(l.nodes)
	var err error
	l.bucket, err = cluster.Bucket(l.ctx, api)
	l.must(err)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "upgrade-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}}}
	l.must(api.Create(l.ctx, ns))
	l.namespace = ns.Name
	t.Cleanup(func() {
		l.must(client.IgnoreNotFound(api.Delete(l.ctx, ns)))
		if t.Failed() {
			return // perhaps there is no operator; that of hack/test-upgrade's end sees to it
		}
		l.eventually("the namespace is gone", func() error {
			if err := api.Get(l.ctx, client.ObjectKeyFromObject(ns), ns); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%v %+v", err, ns.Status)
			}
			return nil
		})
	})
	return l
}

// of is the lab, as a part of the test sees it that is run by itself.
func (l *lab) of(t *testing.T) *lab {
	t.Helper()
	part := *l
	part.t = t
	return &part
}

func (l *lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) eventually(what string, check func() error) {
	l.t.Helper()
	patience.For(l.t, what, check)
}

// benchmark creates a benchmark on a node: a second of random reads and writes, three times,
// on one loop-ext4 volume.
func (l *lab) benchmark(name, node string, change func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
	l.t.Helper()
	b := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets: []v1alpha1.Target{volume("ext4")},
			Workloads: []v1alpha1.Workload{{Name: "mixed", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{
				"rw": "randrw", "bs": "4k", "iodepth": "4", "size": "32MiB", "runtime": "1s", "time_based": "1",
			})}}},
			Placement: v1alpha1.Placement{NodeSelector: map[string]string{corev1.LabelHostname: node}},
			Trials:    v1alpha1.Trials{Min: 3},
			Results:   &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
			Timeout:   &metav1.Duration{Duration: 20 * time.Minute},
		},
	}
	change(&b.Spec)
	l.must(api.Create(l.ctx, b))
	return b
}

func volume(name string) v1alpha1.Target {
	return v1alpha1.Target{Name: name, StorageClass: &v1alpha1.StorageClassTarget{Name: "loop-ext4", Size: new(resource.MustParse("384Mi"))}}
}

// tuned measures writes with a flush each on a device, as it is and with settings of its
// queue that are none of the kernel's defaults.
func tuned(device string, trials int32, runtime string) func(*v1alpha1.StorageBenchmarkSpec) {
	return func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "disk", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: device, AllowDataDestruction: true}}}
		s.Workloads = []v1alpha1.Workload{{Name: "sync", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{
			"rw": "randwrite", "bs": "4k", "ioengine": "psync", "fdatasync": "1", "size": "16MiB", "runtime": runtime, "time_based": "1",
		})}}}
		s.Variants = []v1alpha1.Variant{
			{Name: "flush"},
			{Name: "no-flush", AcceptDataLoss: true, Tunables: []v1alpha1.Tunable{
				{Name: "block.queue.write_cache", Value: v1alpha1.Text("write through")}, {Name: "block.queue.nr_requests", Value: v1alpha1.Text("64")},
			}},
		}
		s.Trials.Min = trials
	}
}

// disk is a device of a story's own, and its settings.
type disk struct {
	path   string
	before map[string]string
}

func (l *lab) disk() disk {
	l.t.Helper()
	d := disk{path: devicetest.Loop(l.t, 64<<20)}
	d.before = d.queue(l.t)
	l.t.Cleanup(func() { faults.Compare(l.t, d.before, d.queue(l.t)) })
	return d
}

// onDisk creates a tuned benchmark of a disk of its own.
func (l *lab) onDisk(name, node string, trials int32, runtime string) (*v1alpha1.StorageBenchmark, disk) {
	l.t.Helper()
	d := l.disk()
	return l.benchmark(name, node, tuned(d.path, trials, runtime)), d
}

func (d disk) file(name string) string {
	return filepath.Join("/sys/block", filepath.Base(d.path), "queue", name)
}

// queue reads the settings that the stories change, and those that the kernel changes with them.
func (d disk) queue(t *testing.T) map[string]string {
	t.Helper()
	q := map[string]string{}
	for _, name := range []string{"scheduler", "nr_requests", "write_cache", "read_ahead_kb"} {
		b, err := os.ReadFile(d.file(name))
		if err != nil {
			t.Fatal(err)
		}
		q[name] = strings.TrimSpace(string(b))
	}
	return q
}

// changed waits until a worker has changed both settings.
func (l *lab) changed(d disk) {
	l.t.Helper()
	l.eventually("the settings are changed", func() error {
		if q := d.queue(l.t); q["write_cache"] == d.before["write_cache"] || q["nr_requests"] == d.before["nr_requests"] {
			return fmt.Errorf("%v", q)
		}
		return nil
	})
}

// asBefore waits until the settings are what they were.
func (l *lab) asBefore(d disk) {
	l.t.Helper()
	l.eventually("the settings are as before", func() error {
		if q := d.queue(l.t); !maps.Equal(q, d.before) {
			return fmt.Errorf("%v, want %v", q, d.before)
		}
		return nil
	})
}

// close keeps new Pods away from a node, or lets them come again.
func (l *lab) close(node string, closed bool) {
	l.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	l.must(api.Patch(l.ctx, n, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, closed))))
}

// killChanged kills a worker while it has changed the settings of its disk, so that they stay
// so: no Pod can take its place, as its node is closed.
func (l *lab) killChanged(d disk, worker, node string) {
	l.t.Helper()
	l.changed(d) // the Pod runs: a node that is closed before is not chosen
	l.t.Cleanup(func() { l.close(node, false) })
	l.close(node, true)
	l.changed(d)
	pid := l.process(worker)
	l.must(syscall.Kill(pid, syscall.SIGKILL))
	l.eventually("the worker is dead", func() error {
		if err := syscall.Kill(pid, 0); err == nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
	if q := d.queue(l.t); maps.Equal(q, d.before) {
		l.t.Fatalf("the killed worker has left no setting changed: %v", q)
	}
}

// process is the worker's on this machine, whose nodes share its processes.
func (l *lab) process(worker string) int {
	l.t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	l.must(err)
	for _, file := range found {
		line, err := os.ReadFile(file)
		args := strings.Split(string(line), "\x00")
		if err != nil || len(args) < 2 || filepath.Base(args[0]) != "storagebench" || args[1] != "worker" || !slices.Contains(args, worker) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil {
			return pid
		}
	}
	l.t.Fatalf("no process of worker %s", worker)
	return 0
}

func keys(b *v1alpha1.StorageBenchmark) trial.Keys {
	return trial.Keys{Namespace: b.Namespace, Name: b.Name, Run: b.Status.Run.ID}
}

// stored reads all objects of a benchmark's run.
func (l *lab) stored(b *v1alpha1.StorageBenchmark) map[string][]byte {
	l.t.Helper()
	found, err := l.bucket.List(l.ctx, keys(b).Prefix(), 10000)
	l.must(err)
	all := map[string][]byte{}
	for _, key := range found {
		all[key], err = l.bucket.Get(l.ctx, key)
		l.must(err)
	}
	return all
}

// trials are the documents of a worker's trials among objects, by key.
func trials(b *v1alpha1.StorageBenchmark, worker string, objects map[string][]byte) map[string][]byte {
	out := map[string][]byte{}
	for key, body := range objects {
		if strings.HasPrefix(key, keys(b).Trials(worker)) {
			out[key] = body
		}
	}
	return out
}

// attempts is how many Pods a worker has taken.
func (l *lab) attempts(b *v1alpha1.StorageBenchmark, worker string) int {
	l.t.Helper()
	body, err := l.bucket.Get(l.ctx, keys(b).WorkerSummary(worker))
	l.must(err)
	var s result.WorkerSummary
	l.must(json.Unmarshal(body, &s))
	return len(s.Attempts)
}

// unchanged checks that objects are what they were.
func (l *lab) unchanged(before, after map[string][]byte) {
	l.t.Helper()
	for key, body := range before {
		if now, ok := after[key]; !ok {
			l.t.Errorf("lost: %s is not in the result store any more", key)
		} else if !bytes.Equal(body, now) {
			l.t.Errorf("run again: %s is another object than before the upgrade", key)
		}
	}
}

// carriedOn checks that a worker has measured so many trials, and none of those before again.
func (l *lab) carriedOn(b *v1alpha1.StorageBenchmark, worker string, before map[string][]byte, want int) {
	l.t.Helper()
	now := trials(b, worker, l.stored(b))
	l.unchanged(before, now)
	if len(now) != want {
		l.t.Errorf("worker %s has %d trials, want %d", worker, len(now), want)
	}
}

// tookOnePod checks that a worker was not started again.
func (l *lab) tookOnePod(b *v1alpha1.StorageBenchmark, worker string) {
	l.t.Helper()
	if n := l.attempts(b, worker); n != 1 {
		l.t.Errorf("run again: worker %s took %d Pods", worker, n)
	}
}

// measuring waits until n trials of a worker are stored.
func (l *lab) measuring(b *v1alpha1.StorageBenchmark, worker string, n int) {
	l.t.Helper()
	l.eventually(fmt.Sprintf("%d trials of %s are stored", n, worker), func() error {
		if err := api.Get(l.ctx, client.ObjectKeyFromObject(b), b); err != nil || b.Status.Run == nil {
			return fmt.Errorf("%v %+v", err, b.Status.Conditions)
		}
		found, err := l.bucket.List(l.ctx, keys(b).Trials(worker), 10000)
		if err == nil && len(found) < n {
			err = fmt.Errorf("%d are: %s", len(found), cluster.Words(b))
		}
		return err
	})
}

func (l *lab) await(b *v1alpha1.StorageBenchmark, reason string) metav1.Condition {
	l.t.Helper()
	return patience.Condition(l.ctx, l.t, api, b, v1alpha1.ConditionReady, reason)
}

func (l *lab) ended(b *v1alpha1.StorageBenchmark, reason string) metav1.Condition {
	l.t.Helper()
	return patience.Ended(l.ctx, l.t, api, b, reason)
}

// change changes a spec.
func (l *lab) change(b *v1alpha1.StorageBenchmark, change func(*v1alpha1.StorageBenchmarkSpec)) {
	l.t.Helper()
	before := b.DeepCopy()
	change(&b.Spec)
	l.must(api.Patch(l.ctx, b, client.MergeFrom(before)))
}

func workerOn(target, node string) string { return target + "." + node }
