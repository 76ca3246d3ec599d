//go:build zfs

package zfs

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestTheNodeIsReadyAndApart(t *testing.T) {
	n := &corev1.Node{}
	if err := api.Get(t.Context(), types.NamespacedName{Name: node}, n); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}) {
		t.Errorf("not ready: %+v", n.Status.Conditions)
	}
	if n.Labels[label] != "true" {
		t.Errorf("labels: %v", n.Labels)
	}
	want := corev1.Taint{Key: label, Value: "true", Effect: corev1.TaintEffectNoSchedule}
	if !slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.MatchTaint(&want) }) {
		t.Errorf("taints: %v", n.Spec.Taints)
	}
}

// What a worker needs of the network: DNS, and the object store on another node.
func TestAPodReachesTheObjectStore(t *testing.T) {
	l := newLab(t)
	if got := l.pod("store", `exec 3<>/dev/tcp/minio.minio.svc/9000
printf 'GET /minio/health/live HTTP/1.0\r\nHost: minio\r\n\r\n' >&3
read -r _ status _ <&3
echo "$status"`); got != "200" {
		t.Errorf("MinIO answers %q", got)
	}
}

// Each fsync flushes the disks' caches, unless ZFS is told that they need none: a
// module parameter, whose effect is seen where the disk counts its flushes.
func TestFlushesFollowZfsNocacheflush(t *testing.T) {
	const writes = 200
	l := newLab(t)
	t.Cleanup(func() { inGuest(t, "bash", "-c", "echo 0 >"+parameters+"zfs_nocacheflush") })
	out := l.pod("flushes", fmt.Sprintf(`
leaf=$(dirname "$(grep -lx tank0 /sys/block/*/serial)")
flushes() { read -ra fields <"$leaf/stat"; echo "${fields[15]}"; }
for value in 0 1 0; do
  echo $value >%szfs_nocacheflush
  before=$(flushes)
  fio --name=fsyncs --filename=/%s/fsyncs --rw=write --bs=4k --size=$((4096 * %d)) --ioengine=sync --fsync=1 >/dev/null
  echo $(($(flushes) - before))
done
rm /%[2]s/fsyncs`, parameters, dataset, writes))
	var on, off, again int
	if _, err := fmt.Sscan(out, &on, &off, &again); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	t.Logf("%d fsyncs: %d flushes, with zfs_nocacheflush=1 %d, then %d", writes, on, off, again)
	// A transaction group, one in five seconds, flushes a few times more, and may end just
	// when an fsync would have flushed.
	for _, flushes := range []int{on, again} {
		if flushes < writes*9/10 || flushes > writes*2 {
			t.Errorf("%d fsyncs made %d flushes", writes, flushes)
		}
	}
	if off != 0 {
		t.Errorf("%d flushes with zfs_nocacheflush=1", off)
	}
}

// What a journal of changed settings must know: a dataset's property is on the disk,
// a module's parameter is not.
func TestAPowerCutKeepsPropertiesAndLosesParameters(t *testing.T) {
	l := newLab(t)
	if got := property(t, "sync") + " " + parameter(t, "zfs_nocacheflush"); got != "standard 0" {
		t.Fatalf("sync and zfs_nocacheflush are %q before", got)
	}
	t.Cleanup(func() {
		inGuest(t, "zfs", "inherit", "sync", dataset)
		inGuest(t, "bash", "-c", "echo 0 >"+parameters+"zfs_nocacheflush")
	})
	l.pod("settings", `nsenter -t 1 -m -- zfs set sync=disabled `+dataset+`
echo 1 >`+parameters+`zfs_nocacheflush
nsenter -t 1 -m -- bash -c 'echo kept >/var/lib/storagebench/power-cut; sync /var/lib/storagebench/power-cut'`)
	if got := property(t, "sync") + " " + parameter(t, "zfs_nocacheflush"); got != "disabled 1" {
		t.Fatalf("sync and zfs_nocacheflush are %q, set to disabled and 1", got)
	}
	powerCut(t)
	powerOn(t)
	if got := property(t, "sync"); got != "disabled" {
		t.Errorf("sync is %q after a power cut, it was disabled", got)
	}
	if got := parameter(t, "zfs_nocacheflush"); got != "0" {
		t.Errorf("zfs_nocacheflush is %q after a power cut, the module's default is 0", got)
	}
	if got := inGuest(t, "cat", "/var/lib/storagebench/power-cut"); got != "kept" {
		t.Errorf("/var/lib/storagebench did not survive: %q", got)
	}
	inGuest(t, "rm", "/var/lib/storagebench/power-cut")
	if got := inGuest(t, "zpool", "list", "-H", "-o", "health", "tank"); got != "ONLINE" {
		t.Errorf("the pool is %s", got)
	}
}
