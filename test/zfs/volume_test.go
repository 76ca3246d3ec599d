//go:build zfs

package zfs

import (
	"slices"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
)

// volumeOf makes an ext4 on a volume of the pool whose sync is set, and mounts it on /mnt/volumes/NAME. Without udev
// it has no name but the kernel's.
const volumeOf = `
before=" $(echo /dev/zd*) " volume=
zfs create -s -V 192m -o sync="$2" "tank/$1"
for _ in $(seq 100); do
  for device in /dev/zd*; do
    case $before in *" $device "*) ;; *) volume=$device ;; esac
  done
  [ -z "$volume" ] || break
  sleep 0.1
done
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$volume"
mkdir -p "/mnt/volumes/$1"
mount "$volume" "/mnt/volumes/$1"
mkdir "/mnt/volumes/$1/bench"`

// The file system on a volume does not know that ZFS ignores its syncs, and nor do the disks' counters.
func TestSyncsThatAVolumeIgnoresAreNamed(t *testing.T) {
	l := newLab(t)
	volumes := map[string]string{"heeds": "standard", "ignores": "disabled"}
	for name, sync := range volumes {
		t.Cleanup(func() {
			inGuest(t, "bash", "-c", `umount "/mnt/volumes/$1" || true; for _ in $(seq 100); do zfs destroy "tank/$1" && break; sleep 0.1; done; rmdir "/mnt/volumes/$1"`, "bash", name)
		})
		inGuest(t, "bash", "-euc", volumeOf, "bash", name, sync)
	}
	b := l.benchmark("volumes", func(s *v1alpha1.StorageBenchmarkSpec) {
		s.Targets, s.Variants, s.Trials.Min = nil, nil, 1
		for name := range volumes {
			s.Targets = append(s.Targets, v1alpha1.Target{Name: name, HostPath: &v1alpha1.HostPathTarget{Path: "/mnt/volumes/" + name + "/bench"}})
		}
	})
	l.ended(b, reason.Finished)
	if len(b.Status.Summary) != len(volumes) {
		t.Fatalf("%d rows: %+v", len(b.Status.Summary), b.Status.Summary)
	}
	for _, row := range b.Status.Summary {
		unsafe := slices.ContainsFunc(row.Verdicts, func(v v1alpha1.VerdictSummary) bool {
			return v.Name == "UnsafeConfiguration" && v.Effect == "Invalidates"
		})
		if t.Logf("%s: %+v", row.Target, row.Verdicts); unsafe != (row.Target == "ignores") {
			t.Errorf("%s has the verdicts %+v", row.Target, row.Verdicts)
		}
	}
}
