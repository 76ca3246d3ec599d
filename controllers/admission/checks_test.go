package admission

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/trial"
)

// admissible facts are of a benchmark that can be run: a generated volume on node n1.
func admissible() Facts {
	return Facts{
		Benchmark: &v1alpha1.StorageBenchmark{
			ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "b"},
			Spec: v1alpha1.StorageBenchmarkSpec{
				Targets: []v1alpha1.Target{{Name: "t", StorageClass: &v1alpha1.StorageClassTarget{Name: "fast"}}},
				Results: &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "s3"}},
			},
		},
		Limits:    Limits{Timeout: time.Hour, Host: HostAccess{Paths: []string{"/tank"}, Devices: []string{"/dev/loop*"}}},
		Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab", Labels: map[string]string{"team": "a"}}},
		Store:     storeWith(metav1.ConditionTrue, reason.StoreWritable),
		Classes:   map[string]*storagev1.StorageClass{"fast": {ObjectMeta: metav1.ObjectMeta{Name: "fast"}}},
		Claims:    map[string]*Volume{},
		Nodes:     []corev1.Node{node("n1", func(*corev1.Node) {})},
	}
}

func storeWith(status metav1.ConditionStatus, why string) *v1alpha1.ResultStore {
	rs := &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: "s3"}}
	if status != "" {
		rs.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAvailable, Status: status, Reason: why, Message: "says the store"}}
	}
	return rs
}

func node(name string, change func(*corev1.Node)) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	change(&n)
	return n
}

func hostPath(path string) []v1alpha1.Target {
	return []v1alpha1.Target{{Name: "t", HostPath: &v1alpha1.HostPathTarget{Path: path}}}
}

func device(path string) []v1alpha1.Target {
	return []v1alpha1.Target{{Name: "t", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: path}}}
}

func allowPrivilege(f *Facts) {
	f.Namespace.Labels[podSecurityLabel] = "privileged"
}

func TestTheFirstThingInTheWayIsSaid(t *testing.T) {
	type found struct {
		Class   trial.Class
		Field   string
		MayPass bool
	}
	tuned := []v1alpha1.Variant{{Name: "control"}, {Name: "none", Tunables: []v1alpha1.Tunable{{Name: "vm.swappiness", Value: v1alpha1.Text("0")}}}}
	for name, c := range map[string]struct {
		change func(*Facts)
		want   found
		says   string
	}{
		"nothing":                  {func(*Facts) {}, found{}, ""},
		"a timeout at the limit":   {func(f *Facts) { f.Benchmark.Spec.Timeout = &metav1.Duration{Duration: time.Hour} }, found{}, ""},
		"a timeout over the limit": {func(f *Facts) { f.Benchmark.Spec.Timeout = &metav1.Duration{Duration: time.Hour + 1} }, found{reason.LimitExceeded, "spec.timeout", false}, "limits.timeout"},
		"any timeout, without a limit": {func(f *Facts) {
			f.Limits.Timeout, f.Benchmark.Spec.Timeout = 0, &metav1.Duration{Duration: 1000 * time.Hour}
		}, found{}, ""},
		"no store asked for": {func(f *Facts) { f.Store, f.Benchmark.Spec.Results = stores.Internal(), nil }, found{}, ""},
		"no store asked for, and no receiver": {func(f *Facts) {
			f.Store, f.Benchmark.Spec.Results, f.Limits.NoInbox = stores.Internal(), nil, true
		}, found{reason.ResultStoreNotFound, "spec.results", false}, "no ResultStore named default"},
		"no store":         {func(f *Facts) { f.Store = nil }, found{reason.ResultStoreNotFound, "spec.results.storeRef.name", false}, `"s3"`},
		"a misspelt store": {func(f *Facts) { f.Store, f.OtherStores = nil, []string{"archive", "s4"} }, found{reason.ResultStoreNotFound, "spec.results.storeRef.name", false}, "did you mean s4? kubectl get resultstores"},
		"a store for other namespaces": {func(f *Facts) {
			f.Store.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}
		}, found{reason.NamespaceNotAllowed, "spec.results.storeRef.name", false}, "does not take results of namespace lab"},
		"a store for this namespace": {func(f *Facts) {
			f.Store.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		}, found{}, ""},
		"a store with a selector that is none": {func(f *Facts) {
			f.Store.Spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}}}
		}, found{reason.NamespaceNotAllowed, "spec.results.storeRef.name", false}, ""},
		"a store that nobody has checked":                        {func(f *Facts) { f.Store = storeWith("", "") }, found{reason.StoreUnavailable, "spec.results.storeRef.name", true}, "not been checked yet"},
		"a store that does not answer":                           {func(f *Facts) { f.Store = storeWith(metav1.ConditionFalse, reason.EndpointUnreachable) }, found{reason.StoreUnavailable, "spec.results.storeRef.name", true}, "says the store"},
		"a store that denies":                                    {func(f *Facts) { f.Store = storeWith(metav1.ConditionFalse, reason.AccessDenied) }, found{reason.StoreUnavailable, "spec.results.storeRef.name", false}, reason.AccessDenied},
		"a path that is not allowed":                             {func(f *Facts) { f.Benchmark.Spec.Targets = hostPath("/etc") }, found{reason.HostAccessNotAllowed, "spec.targets[t].hostPath.path", false}, "hostAccess.paths"},
		"a device that is not allowed":                           {func(f *Facts) { f.Benchmark.Spec.Targets = device("/dev/sda") }, found{reason.HostAccessNotAllowed, "spec.targets[t].blockDevice.path", false}, "hostAccess.devices"},
		"a path in a namespace that does not allow privilege":    {func(f *Facts) { f.Benchmark.Spec.Targets = hostPath("/tank") }, found{reason.PodSecurityForbids, "spec.targets[t].hostPath", false}, podSecurityLabel + "=privileged"},
		"a path in one that does":                                {func(f *Facts) { f.Benchmark.Spec.Targets = hostPath("/tank"); allowPrivilege(f) }, found{}, ""},
		"a device in a namespace that does not allow privilege":  {func(f *Facts) { f.Benchmark.Spec.Targets = device("/dev/loop7") }, found{reason.PodSecurityForbids, "spec.targets[t].blockDevice", false}, ""},
		"a tunable in a namespace that does not allow privilege": {func(f *Facts) { f.Benchmark.Spec.Variants = tuned }, found{reason.PodSecurityForbids, "spec.variants", false}, "leave the tunables out"},
		"a namespace of the level baseline": {func(f *Facts) {
			f.Benchmark.Spec.Variants = tuned
			f.Namespace.Labels[podSecurityLabel] = "baseline"
		}, found{reason.PodSecurityForbids, "spec.variants", false}, ""},
		"no StorageClass":         {func(f *Facts) { f.Classes = nil }, found{reason.StorageClassNotFound, "spec.targets[t].storageClass.name", false}, `"fast"`},
		"a misspelt StorageClass": {func(f *Facts) { f.Classes, f.OtherClasses = nil, []string{"bulk", "fats"} }, found{reason.StorageClassNotFound, "spec.targets[t].storageClass.name", false}, "did you mean fats? kubectl get storageclasses"},
		"no claim": {func(f *Facts) {
			f.Benchmark.Spec.Targets = []v1alpha1.Target{{Name: "t", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "db-0"}}}
		}, found{reason.PersistentVolumeClaimNotFound, "spec.targets[t].persistentVolumeClaim.claimName", false}, `"db-0" in namespace lab`},
		"a spec's mistake before a store that is away": {func(f *Facts) {
			f.Store, f.Classes = storeWith(metav1.ConditionFalse, reason.EndpointUnreachable), nil
		}, found{reason.StorageClassNotFound, "spec.targets[t].storageClass.name", false}, ""},
		"everything is in the way": {func(f *Facts) {
			f.Store, f.Classes = nil, nil
			f.Benchmark.Spec.Timeout = &metav1.Duration{Duration: 2 * time.Hour}
			f.Benchmark.Spec.Targets = hostPath("/etc")
		}, found{reason.LimitExceeded, "spec.timeout", false}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := admissible()
			c.change(&f)
			got, message := found{}, ""
			if failure := Checks.First(f); failure != nil {
				got, message = found{failure.Class, failure.Field, MayPass(failure)}, failure.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !strings.Contains(message, c.says) {
				t.Errorf("%q does not say %q", message, c.says)
			}
		})
	}
}

func TestPathsOfTheNodeAreDeniedUnlessTheyAreAllowed(t *testing.T) {
	host := HostAccess{Paths: []string{"/tank/", "/mnt/fast"}}
	for path, want := range map[string]bool{
		"/tank": true, "/tank/a/b": true, "/mnt/fast": true, "/mnt/fast/x": true,
		"/": false, "/tankard": false, "/mnt": false, "/mnt/faster": false, "/tank/../etc": false, "/tank/./a": false, "/tank/": false, "": false, "tank": false,
	} {
		if got := host.allows(trial.HostPath, path); got != want {
			t.Errorf("hostPath %q: allowed %v, want %v", path, got, want)
		}
	}
	if (HostAccess{}).allows(trial.HostPath, "/tank") || host.allows(trial.StorageClass, "/tank") || host.allows(trial.BlockDevice, "/tank") {
		t.Error("something is allowed that nobody allowed")
	}
	everywhere := HostAccess{Paths: []string{"/"}}
	if !everywhere.allows(trial.HostPath, "/tank") {
		t.Error("/ does not allow /tank")
	}
}

func TestDevicesAreDeniedUnlessTheyAreAllowedDisks(t *testing.T) {
	narrow := HostAccess{Devices: []string{"/dev/loop*", "/dev/disk/by-id/nvme-*", "/dev/nvme*", "[", "/dev/mapper/*"}}
	for path, want := range map[string]bool{
		"/dev/loop7": true, "/dev/disk/by-id/nvme-x": true, "/dev/nvme0n1": true, "/dev/nvme0n1p2": true, "/dev/nvme12n3": true, "/dev/mapper/vg-lv": true,
		"/dev/sda": false, "/dev/loop7/x": false, "/dev/loop/../sda": false, "/tank": false,
		// These match a pattern, and are no disks.
		"/dev/loop-control": false, "/dev/nvme0": false, "/dev/nvme12": false, "/dev/nvme-fabrics": false, "/dev/mapper/control": false,
	} {
		if got := narrow.allows(trial.BlockDevice, path); got != want {
			t.Errorf("blockDevice %q: allowed %v, want %v", path, got, want)
		}
	}
	wide := HostAccess{Devices: []string{"/dev/*", "/dev/*/*"}}
	for _, disk := range []string{"/dev/sda", "/dev/sdb1", "/dev/sr0", "/dev/vdb", "/dev/xvda", "/dev/dm-3", "/dev/md0", "/dev/zd16", "/dev/zvol/tank", "/dev/nbd4", "/dev/rbd0", "/dev/pmem0", "/dev/mmcblk0p1", "/dev/zram0", "/dev/ram0", "/dev/bcache0", "/dev/vg0/lv0", "/dev/mapper/mpatha"} {
		if !wide.allows(trial.BlockDevice, disk) {
			t.Errorf("%s is not allowed", disk)
		}
	}
	for _, other := range []string{
		"/dev/null", "/dev/zero", "/dev/full", "/dev/mem", "/dev/kmsg", "/dev/port", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/tty1", "/dev/ttyS0", "/dev/console", "/dev/ptmx",
		"/dev/kvm", "/dev/fuse", "/dev/zfs", "/dev/rtc0", "/dev/watchdog", "/dev/watchdog0", "/dev/snapshot", "/dev/uinput", "/dev/hpet", "/dev/sg0", "/dev/st0", "/dev/nst0", "/dev/ng0n1",
		"/dev/btrfs-control", "/dev/loop-control", "/dev/mapper/control", "/dev/nvme3", "/dev/vfio/vfio", "/dev/bsg/0", "/dev/char/1", "/dev/cpu/0", "/dev/dri/card0", "/dev/input/event0",
		"/dev/net/tun", "/dev/snd/timer", "/dev/pts/0", "/dev/shm/x", "/dev/mqueue/x", "/dev/hugepages/x", "/dev/vhost-net", "/dev/userfaultfd", "/dev/autofs", "/dev/uhid", "/dev/mei0", "/dev/ipmi0", "/dev/tpm0", "/dev/nvidia0",
	} {
		if wide.allows(trial.BlockDevice, other) {
			t.Errorf("%s is allowed, and is no disk", other)
		}
	}
}
