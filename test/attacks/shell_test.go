//go:build attacks

package attacks

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// A shell in a worker's Pod.
func TestQuickShellInAWorker(t *testing.T) {
	t.Parallel()
	group := begin(t, "a shell in a worker finds a token")
	m := group.tenant("restricted")
	m.takeNode()
	b := m.benchmark("shell", slow)
	_, pod := m.running(b)
	answer, err := m.exec(pod, "for c in cat env grep id mknod; do command -v $c >/dev/null || echo no $c; done; echo there")
	if err == nil && answer != "there" {
		err = fmt.Errorf("it says %q", answer)
	}
	group.control("the tenant has a shell in the worker's Pod", err)
	found := func(a *attack, script string) { m.inShell(a, pod, script) }
	found(group, "cat /var/run/secrets/kubernetes.io/serviceaccount/token")
	for what, script := range map[string]string{
		"becomes root":                   `test "$(id -u)" = 0 && id`,
		"has a capability":               `line=$(grep CapEff: /proc/self/status) || exit 125; echo "$line" | grep -v 0000000000000000`,
		"may get privileges by a setuid": `line=$(grep NoNewPrivs: /proc/self/status) || exit 125; echo "$line" | grep 0`,
		"has no seccomp filter":          `line=$(grep Seccomp: /proc/self/status) || exit 125; echo "$line" | grep 0`,
		"makes a device":                 `mknod /target/vda b 254 0`,
		"replaces the program":           `echo x > /usr/local/bin/storagebench`,
		"finds credentials of the store": `all=$(env) || exit 125; echo "$all" | grep -iE 'secret|access_?key'`,
		"sees the node's processes":      `grep -q . /proc/self/comm || exit 125; cat /proc/[0-9]*/comm 2>/dev/null | grep -E 'kubelet|containerd'`,
		"writes to the kernel":           `echo 1 > /proc/sys/vm/vfs_cache_pressure`,
	} {
		t.Run(what, func(t *testing.T) { found(begin(t, "a shell in a worker "+what), script) })
	}
	t.Run("limits", func(t *testing.T) {
		a := begin(t, "a shell in a worker takes the node's memory and disk")
		limits := pod.Spec.Containers[0].Resources.Limits
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			if q := limits[name]; q.IsZero() {
				a.succeeded("the worker has no limit of %s", name)
			}
		}
	})
	group.remove(b)
}

// inShell runs a script of an attack in a Pod, which works if it ends with 0. One that could
// not be run, or that ends with 125 because it could not look, is no attack.
func (m *tenant) inShell(a *attack, pod *corev1.Pod, script string) {
	a.t.Helper()
	out, err := m.exec(pod, "(\n"+script+"\n); echo \"exit=$?\"")
	said, code, ok := strings.Cut(out, "exit=")
	switch {
	case err != nil || !ok:
		a.t.Errorf("the script did not run: %v: %s", err, out)
	case code == "0":
		a.succeeded("%s", said)
	case code == "125" || code == "126" || code == "127":
		a.t.Errorf("the script could not try it: exit code %s: %s", code, said)
	default:
		a.t.Logf("refused with exit code %s: %s", code, said)
	}
}

// claim creates a claim of the tenant's.
func (m *tenant) claim(name string) *corev1.PersistentVolumeClaim {
	m.t.Helper()
	return m.claimOfClass(name, "loop-ext4")
}

// claimNothing creates a claim that is never bound, as there is no volume for it.
func (m *tenant) claimNothing() *corev1.PersistentVolumeClaim {
	m.t.Helper()
	return m.claimOfClass("never", "")
}

func (m *tenant) claimOfClass(name, class string) *corev1.PersistentVolumeClaim {
	m.t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("128Mi")}},
		},
	}
	m.must(m.api.Create(m.ctx, claim))
	return claim
}

func ofClaim(name string) func(*v1alpha1.StorageBenchmarkSpec) {
	return func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets = []v1alpha1.Target{{Name: "claim", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: name}}}
	}
}

// What others keep on an existing claim stays as it was: a database does not start with files
// that its group may write.
func TestQuickFilesOfAClaim(t *testing.T) {
	t.Parallel()
	a := begin(t, "a measurement changes the modes of a database's files")
	m := a.tenant("baseline")
	m.takeNode()
	m.claim("database")
	const look = "cd /data && stat -c '%n %a %u %g' base base/pg_control > /dev/termination-log"
	root := func(s *corev1.PodSpec) {
		s.SecurityContext = &corev1.PodSecurityContext{}
		s.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))}
	}
	volume := with("/data", claimed("database"))
	before, code := m.run(m.shell("database", "cd /data && mkdir base && echo x > base/pg_control && chmod 700 base && chmod 600 base/pg_control && chmod 777 . && "+look, root, volume))
	if code != 0 || before == "" {
		t.Fatalf("exit code %d: %s", code, before)
	}
	b := m.benchmark("claim", ofClaim("database"))
	if c := a.ended(b); c.Reason != reason.Finished {
		t.Errorf("the claim was not measured: %s: %s", c.Reason, c.Message)
	}
	a.remove(b)
	after, code := m.run(m.shell("after", look, root, volume))
	if code != 0 {
		t.Errorf("exit code %d: %s", code, after)
	}
	if after != before {
		a.succeeded("they were %q and are %q", before, after)
	}
	// Without a control: whether a kubelet changes the files of a volume of this cluster for a
	// Pod that has an fsGroup depends on what else it has mounted since.
}

// A link that stands where a run makes its directory.
func TestQuickLinkInAClaim(t *testing.T) {
	t.Parallel()
	a := begin(t, "a link stands where the run's directory is made")
	m := a.tenant("baseline")
	m.takeNode()
	m.claim("shared")
	b := m.benchmark("linked", func(s *v1alpha1.StorageBenchmarkSpec) { ofClaim("shared")(s); s.Suspend = true })
	later := b.DeepCopy()
	later.Generation++
	volume := with("/data", claimed("shared"))
	root := func(s *corev1.PodSpec) {
		s.SecurityContext = &corev1.PodSecurityContext{}
		s.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))}
	}
	// One instead of a directory, and one in a directory as an earlier attempt leaves it.
	link := fmt.Sprintf("/data/.storagebench-%s.%s.%s-0123456789abcde", m.namespace, b.Name, runID(later))
	script := fmt.Sprintf("mkdir /data/victim && echo precious > /data/victim/file && chown -R 65532 /data/victim && chmod 777 /data && ln -s victim %[1]s0 && mkdir -m 700 %[1]s1 && ln -s ../victim %[1]s1/link && chown -h -R 65532 %[1]s1 && stat -c '%%y' /data/victim > /dev/termination-log", link)
	before, code := m.run(m.shell("plant", script, root, volume))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, before)
	}
	m.must(change(m, b, func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = false }))
	if c := a.ended(b); c.Reason != reason.Finished {
		t.Errorf("the claim was not measured: %s: %s", c.Reason, c.Message)
	}
	a.remove(b)
	after, code := m.run(m.shell("after", "cat /data/victim/file && stat -c '%y' /data/victim > /dev/termination-log", root, volume))
	if code != 0 || strings.TrimSpace(after) != strings.TrimSpace(before) {
		a.succeeded("the directory was changed: exit code %d: %q, before %q", code, after, before)
	}
	// The worker has met both: it leaves the link alone and removes what looks like its own.
	left, code := m.run(m.shell("met", fmt.Sprintf("test -L %[1]s0 && ! test -e %[1]s1 || ls -la /data > /dev/termination-log", link), root, volume))
	var err error
	if code != 0 || left != "" {
		err = fmt.Errorf("exit code %d: %s", code, left)
	}
	a.control("the directory that looks like an earlier attempt's is removed", err)
}

// Buffers of any size, for the node's memory.
func TestQuickBuffersLargerThanTheNode(t *testing.T) {
	t.Parallel()
	a := begin(t, "buffers of 64 MiB × 1024 × 256")
	m := a.tenant("restricted")
	m.takeNode()
	b := m.benchmark("buffers", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Workloads[0].Fio.Parameters = v1alpha1.Texts(map[string]string{
			"rw": "randread", "bs": "64MiB", "iodepth": "1024", "numjobs": "256", "size": "64MiB", "runtime": "5s", "time_based": "1",
		})
	})
	switch c := a.ready(b, reason.Queued, reason.Starting, reason.Running); c.Reason {
	case reason.LimitExceeded:
	case reason.Finished:
		a.succeeded("it was measured: %s", c.Message)
	default:
		t.Errorf("it was refused for another reason: %s: %s", c.Reason, c.Message)
	}
	a.remove(b)
}
