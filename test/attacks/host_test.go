//go:build attacks

package attacks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/device/devicetest"
)

// In a privileged namespace a tenant is root on nodes by Pods of its own. What is shown here is
// that it needs those: the operator gives it nothing, to whoever may only make benchmarks there,
// and holds no node for it.

func ofPath(path string) func(*v1alpha1.StorageBenchmarkSpec) {
	return func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "host", HostPath: &v1alpha1.HostPathTarget{Path: path}}}
	}
}

func ofDevice(path string) func(*v1alpha1.StorageBenchmarkSpec) {
	return func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "disk", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: path, AllowDataDestruction: true}}}
		s.Workloads = []v1alpha1.Workload{fio(map[string]string{
			"rw": "randwrite", "bs": "4k", "ioengine": "psync", "size": "16MiB", "runtime": "1s", "time_based": "1",
		})}
	}
}

// A link below an allowed directory leads out of it.
func TestQuickLinkBelowAnAllowedDirectory(t *testing.T) {
	t.Parallel()
	a := begin(t, "a link below the allowed directory leads the worker out of it")
	m := a.tenant("privileged")
	m.takeNode()
	host := with("/host", hostDirectory("/var/lib/storagebench"))
	name := m.namespace
	// A directory that is measured is changed: the run's directory is made in it.
	look := fmt.Sprintf("stat -c %%z /host/targets/%s-plain /host/%s-victim > /dev/termination-log", name, name)
	before, code := m.run(m.shell("plant", fmt.Sprintf("mkdir -p /host/targets/%s-plain /host/%s-victim && chmod 777 /host/targets/%s-plain /host/%s-victim && ln -s ../%s-victim /host/targets/%s-link && ", name, name, name, name, name, name)+look, asRoot, host))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, before)
	}
	t.Cleanup(func() {
		m.run(m.shell("clean", fmt.Sprintf("rm -rf /host/targets/%s-plain /host/targets/%s-link /host/%s-victim", name, name, name), asRoot, host))
	})
	for _, target := range []string{"-link", "-plain"} {
		b := m.benchmark("host"+target, ofPath(hostTargets+"/"+name+target))
		c := a.ended(b)
		t.Logf("%s ended with %s: %s", target, c.Reason, c.Message)
		a.remove(b)
	}
	after, _ := m.run(m.shell("after", look, asRoot, host))
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(was) != 2 || len(is) != 2 {
		t.Fatalf("%q %q", before, after)
	}
	if was[1] != is[1] {
		a.succeeded("the directory outside was written to: %s, before %s", is[1], was[1])
	}
	var err error
	if was[0] == is[0] {
		err = fmt.Errorf("it is as it was")
	}
	a.control("a directory that is no link is written to", err)
}

// privilegedWorkers are benchmarks whose runner has every privilege.
var privilegedWorkers = map[string]func(t *testing.T) []func(*v1alpha1.StorageBenchmarkSpec){
	"fio on a raw device": func(t *testing.T) []func(*v1alpha1.StorageBenchmarkSpec) {
		t.Helper()
		return []func(*v1alpha1.StorageBenchmarkSpec){ofDevice(devicetest.Loop(t, 64<<20)), slow}
	},
	"an engine of our own while settings are changed": func(*testing.T) []func(*v1alpha1.StorageBenchmarkSpec) {
		return []func(*v1alpha1.StorageBenchmarkSpec){tuned, func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Workloads = []v1alpha1.Workload{{Name: "files", Filesync: &v1alpha1.FilesyncWorkload{Files: 10_000_000}}}
		}}
	},
}

// engineProcesses prints for each process of an engine, and each of fio, who it is and what it
// may do. One that still confines itself has one more argument, one that has just ended has no
// capabilities to print, and one of another Pod, which a Pod that sees the node's processes
// sees too, is in another cgroup.
const engineProcesses = `own=$(cat /proc/self/cgroup)
for p in /proc/[0-9]*; do
	[ "$(cat $p/cgroup 2>/dev/null)" = "$own" ] || continue
	a=$(tr '\0' ' ' 2>/dev/null < $p/cmdline)
	case $a in
	"storagebench engine "*"{"*) ;;
	"storagebench engine "* | "fio "*)
		may=$(grep -E '^(Uid|Groups|CapPrm|CapEff|CapBnd|NoNewPrivs):' $p/status 2>/dev/null) && echo "$a" $may ;;
	esac
done`

// What runs beside the privileged runner has no privileges.
func TestQuickPrivilegesOfEngines(t *testing.T) {
	t.Parallel()
	for what, changes := range privilegedWorkers {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := begin(t, "an engine has the privileges of its runner: "+what)
			m := a.tenant("privileged")
			m.takeNode()
			b := m.benchmark("engine", changes(t)...)
			_, pod := m.running(b)
			var found string
			a.eventually("the engine runs", func() error {
				out, err := m.exec(pod, engineProcesses)
				if err != nil || !strings.Contains(out, "CapEff") || strings.HasPrefix(what, "fio") && !strings.Contains(out, "fio --") {
					return fmt.Errorf("%w: %s", err, out)
				}
				found = out
				return nil
			})
			for line := range strings.Lines(found) {
				none := strings.Contains(line, "CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1")
				if !none || strings.Contains(line, "Uid: 0") || !strings.Contains(line, "Groups: Cap") {
					a.succeeded("it runs with %s", line)
				}
			}
			own, err := m.exec(pod, "grep CapEff: /proc/self/status")
			if err == nil && strings.HasSuffix(own, "0000000000000000") {
				err = fmt.Errorf("it has %s", own)
			}
			a.control("the Pod has privileges", err)
			a.remove(b)
		})
	}
}

// A raw device that somebody uses without a file system, as a database or a volume manager of
// its own does.
func TestQuickRawDeviceWithData(t *testing.T) {
	t.Parallel()
	a := begin(t, "a raw device that holds data is overwritten")
	m := a.tenant("privileged")
	m.takeNode()
	held, empty := devicetest.Loop(t, 64<<20), devicetest.Loop(t, 64<<20)
	data := bytes.Repeat([]byte("precious"), 64<<10)
	f, err := os.OpenFile(held, os.O_RDWR, 0)
	m.must(err)
	_, err = f.WriteAt(data, 1<<20)
	m.must(err)
	m.must(f.Sync())
	b := m.benchmark("held", ofDevice(held))
	if c := a.ended(b); c.Reason != reason.TargetHoldsData {
		t.Errorf("it ended with %s: %s", c.Reason, c.Message)
	}
	a.remove(b)
	now := make([]byte, len(data))
	_, err = f.ReadAt(now, 1<<20)
	m.must(err)
	m.must(f.Close())
	if !bytes.Equal(now, data) {
		a.succeeded("the data is overwritten")
	}
	b = m.benchmark("empty", ofDevice(empty))
	c := a.ended(b)
	if c.Reason != reason.Finished {
		err = fmt.Errorf("%+v", c)
	}
	a.control("an empty device is overwritten", err)
	a.remove(b)
}

func tuned(s *v1alpha1.StorageBenchmarkSpec) {
	s.Variants = []v1alpha1.Variant{
		{Name: "tuned", AcceptDataLoss: true, Tunables: []v1alpha1.Tunable{
			{Name: "block.queue.write_cache", Value: v1alpha1.Text("write through")}, {Name: "block.queue.nr_requests", Value: v1alpha1.Text("64")},
		}},
	}
}

func queue(t *testing.T, device, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "queue", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// tunedTampers are what a tenant does while settings are changed. The worker itself is killed
// then, so that it cannot put them back.
var tunedTampers = map[string]tamper{
	"a forged receipt says that everything is restored": func(m *tenant, l loot) error {
		m.forgePod(l, l.receipt(""))
		return nil
	},
	"a Pod is forged that never starts, and holds the record": waitingPod,
	"a Pod is forged that never ends": func(m *tenant, l loot) error {
		m.forgePod(l, "", endless)
		return nil
	},
	"the Job is suspended and nobody's":      tampers["the Job is suspended and nobody's"],
	"the Job's labels are removed":           patchJob(withoutLabels),
	"the objects have a foreign finalizer":   hold,
	"the Job is as large as etcd takes":      filled,
	"the Pod's labels and owner are removed": all(patchPod(withoutLabels), patchPod(withoutOwner)),
	"the benchmark is deleted with its Job": func(m *tenant, l loot) error {
		return m.api.Delete(m.ctx, l.job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	},
}

// Settings that a worker has changed are put back, and its node is measured for others,
// whatever the tenant does to its objects.
func TestTunedTampering(t *testing.T) {
	t.Parallel()
	for what, how := range tunedTampers {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := begin(t, "while settings are changed: "+what)
			disk := devicetest.Loop(t, 64<<20)
			before := queue(t, disk, "nr_requests") + queue(t, disk, "write_cache")
			m := a.tenant("privileged")
			m.takeNode()
			b := m.benchmark("tuned", ofDevice(disk), tuned, minuteLong)
			l := m.plunder(b)
			changed := func() {
				a.eventually("the settings are changed", func() error {
					if now := queue(t, disk, "nr_requests"); now != "64" {
						return fmt.Errorf("nr_requests is %s", now)
					}
					return nil
				})
			}
			changed()
			m.must(how(m, l))
			changed() // a tamper that takes long may have reached a trial of the control
			m.must(m.api.Delete(a.ctx, l.pod, client.GracePeriodSeconds(0)))
			m.must(m.api.Delete(a.ctx, b))
			a.measures(m.node)
			m.must(m.letGo())
			a.remove(b)
			if now := queue(t, disk, "nr_requests") + queue(t, disk, "write_cache"); now != before {
				a.succeeded("the settings are %s and were %s", now, before)
			}
			a.control("the worker has changed them", nil)
		})
	}
}

const pressure = "/proc/sys/vm/vfs_cache_pressure"

// plantedJournal says that vm.vfs_cache_pressure was changed from another value to the present
// one: who believes it sets that other value.
func plantedJournal(t *testing.T, now, other string) string {
	t.Helper()
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf(`{"knob":{"tunable":"vm.vfs_cache_pressure"},"owner":{"namespace":"n","name":"b","run":"r","worker":"w"},"stage":"Applied","old":{"value":%q},"new":{"value":%q},"seen":{"value":%q},"bootID":%q,"time":"2026-01-01T00:00:00Z"}`,
		other, now, now, strings.TrimSpace(string(boot)))
	line := record(entry)
	header, err := json.Marshal(map[string]any{"schema": "storagebench.io/journal.v1", "entries": 1, "sum": sum(line)})
	if err != nil {
		t.Fatal(err)
	}
	return record(string(header)) + line
}

func record(text string) string { return sum(text) + " " + text + "\n" }

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// A journal that somebody without privileges has planted on the node.
func TestQuickPlantedJournal(t *testing.T) {
	t.Parallel()
	a := begin(t, "a planted journal has the restore Job change a setting that no policy permits")
	disk := devicetest.Loop(t, 64<<20)
	m := a.tenant("privileged")
	m.takeNode()
	b, err := os.ReadFile(pressure)
	m.must(err)
	before := strings.TrimSpace(string(b))
	planted := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "journal"},
		Data:       map[string]string{"journal": plantedJournal(t, before, "77")},
	}
	m.must(m.api.Create(a.ctx, planted))
	host := with("/host", hostDirectory("/var/lib/storagebench"))
	content := with("/planted", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: planted.Name}}})
	const file = "/host/journal/tunables.journal"
	plant := func(name, owner string) {
		out, code := m.run(m.shell(name, "mkdir -p /host/journal && cat /planted/journal > "+file+" && chown "+owner+" /host/journal "+file+" && chmod 600 "+file, asRoot, host, content))
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, out)
		}
	}
	clean := func(name string) {
		m.run(m.shell(name, "rm -f "+file+" && chown 0:0 /host/journal && chmod 700 /host/journal", asRoot, host))
	}
	t.Cleanup(func() { clean("clean") })
	plant("plant", "1000:1000")
	run := m.benchmark("tuned", ofDevice(disk), tuned)
	c := a.stands(run, reason.TunablesNotRestored, reason.Finished, reason.Restoring, reason.TunableNotApplied)
	t.Logf("%s: %s", c.Reason, c.Message)
	if now, err := os.ReadFile(pressure); err != nil || strings.TrimSpace(string(now)) != before {
		a.succeeded("%s is %s and was %s: %v", pressure, now, before, err)
		m.must(os.WriteFile(pressure, []byte(before), 0))
	}
	m.must(m.api.Delete(a.ctx, run))
	clean("repair")
	a.measures(m.node)
	a.remove(run)
	// Root's own journal is used, if a person asks for it on the node.
	plant("root", "0:0")
	out, code := m.run(m.shell("control", "", asRoot, with("/var/lib/storagebench/journal", hostDirectory("/var/lib/storagebench/journal")), func(s *corev1.PodSpec) {
		s.Containers[0].Command = []string{"/usr/local/bin/storagebench", "restore", "--journal", "/var/lib/storagebench/journal"}
	}))
	now, err := os.ReadFile(pressure)
	m.must(err)
	if strings.TrimSpace(string(now)) != "77" {
		err = fmt.Errorf("it is %s; restore ended with %d: %s", now, code, out)
	}
	m.must(os.WriteFile(pressure, []byte(before), 0))
	a.control("the same journal, if it is root's, is used", err)
}
