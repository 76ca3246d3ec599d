package admission

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers/stores"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/status"
	"storagebench.io/storagebench/internal/suggest"
	"storagebench.io/storagebench/internal/trial"
)

// Check finds one thing that keeps a benchmark from being run; nil if there is nothing.
type Check func(Facts) *trial.Failure

// Chain is a list of checks, the most useful to a user first.
type Chain []Check

// First returns the first failure that a check finds, or nil.
func (c Chain) First(f Facts) *trial.Failure {
	for _, check := range c {
		if failure := check(f); failure != nil {
			return failure
		}
	}
	return nil
}

// Checks of a benchmark before its run starts.
var Checks = Chain{
	timeoutIsAllowed,
	storeExists,
	storeTakesNamespace,
	hostAccessIsAllowed,
	namespaceAllowsPrivilege,
	classesExist,
	claimsExist,
	storeIsAvailable,
}

// podSecurityLabel is a namespace's Pod Security level.
const podSecurityLabel = "pod-security.kubernetes.io/enforce"

func privileged(namespace *corev1.Namespace) bool {
	return namespace.Labels[podSecurityLabel] == "privileged"
}

func timeoutIsAllowed(f Facts) *trial.Failure {
	limit, asked := f.Limits.Timeout, f.Benchmark.Spec.Timeout
	if limit <= 0 || asked == nil || asked.Duration <= limit {
		return nil
	}
	return &trial.Failure{
		Class: reason.LimitExceeded, Field: "spec.timeout",
		Message: fmt.Sprintf("%s is longer than the %s that the operator allows", asked.Duration, limit),
		Remedy:  "lower it, or ask your cluster administrator to raise the chart's value limits.timeout",
	}
}

func storeExists(f Facts) *trial.Failure {
	if stores.IsInternal(f.Store) && f.Limits.NoInbox {
		return &trial.Failure{
			Class: reason.ResultStoreNotFound, Field: "spec.results",
			Message: fmt.Sprintf("there is no ResultStore named %s, and this operator runs without a store of its own (--receiver-url)", stores.Default),
			Remedy:  "create one, or name another in spec.results.storeRef.name",
		}
	}
	if f.Store != nil {
		return nil
	}
	return &trial.Failure{
		Class: reason.ResultStoreNotFound, Field: "spec.results.storeRef.name",
		Message: fmt.Sprintf("there is no ResultStore %q", f.Benchmark.Spec.Results.StoreRef.Name),
		Remedy:  nameAnother(f.Benchmark.Spec.Results.StoreRef.Name, f.OtherStores, "resultstores"),
	}
}

func storeTakesNamespace(f Facts) *trial.Failure {
	if takesNamespace(f.Store, f.Namespace) {
		return nil
	}
	return &trial.Failure{
		Class: reason.NamespaceNotAllowed, Field: "spec.results.storeRef.name",
		Message: fmt.Sprintf("ResultStore %s does not take results of namespace %s: its spec.namespaceSelector does not select it", f.Store.Name, f.Namespace.Name),
		Remedy:  "name another ResultStore, or ask your cluster administrator to label the namespace",
	}
}

func takesNamespace(rs *v1alpha1.ResultStore, namespace *corev1.Namespace) bool {
	if rs.Spec.NamespaceSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.NamespaceSelector)
	return err == nil && selector.Matches(labels.Set(namespace.Labels))
}

// nameAnother is the remedy for the name of an object that does not exist.
func nameAnother(name string, others []string, resource string) string {
	if near := suggest.Nearest(name, others); near != "" {
		return "did you mean " + near + "? kubectl get " + resource + " lists them all"
	}
	return "create it, or name one that kubectl get " + resource + " lists"
}

// storeIsAvailable finds nothing if the last check of the store went well. If waiting
// may be enough, the failure wraps status.ErrMayPass.
func storeIsAvailable(f Facts) *trial.Failure { return StoreTrouble(f.Store) }

// StoreTrouble returns why nothing can be stored now, or nil.
func StoreTrouble(rs *v1alpha1.ResultStore) *trial.Failure {
	failure := &trial.Failure{Class: reason.StoreUnavailable, Field: "spec.results.storeRef.name"}
	c := meta.FindStatusCondition(rs.Status.Conditions, v1alpha1.ConditionAvailable)
	switch {
	case c == nil:
		failure.Message, failure.Err = fmt.Sprintf("ResultStore %s has not been checked yet", rs.Name), status.ErrMayPass
		return failure
	case c.Status == metav1.ConditionTrue:
		return nil
	case c.Reason == reason.EndpointUnreachable:
		failure.Err = status.ErrMayPass
	}
	failure.Message = fmt.Sprintf("ResultStore %s: %s: %s", rs.Name, c.Reason, c.Message)
	return failure
}

func hostAccessIsAllowed(f Facts) *trial.Failure {
	for _, target := range f.Benchmark.Spec.Targets {
		source, ref, flag := hostTarget(target)
		if jobspec.NeedsHost(source) && !f.Limits.Host.allows(source, ref) {
			return &trial.Failure{
				Class: reason.HostAccessNotAllowed, Field: "spec.targets[" + target.Name + "]." + string(source) + ".path",
				Message: "the operator does not allow " + ref,
				Remedy:  "ask your cluster administrator to add it to the chart's value " + flag + ", or measure a StorageClass instead",
			}
		}
	}
	return nil
}

// namespaceAllowsPrivilege: paths of the node and tunables need Pods that only a
// namespace with the privileged Pod Security level runs, and it must say so itself.
func namespaceAllowsPrivilege(f Facts) *trial.Failure {
	if privileged(f.Namespace) {
		return nil
	}
	forbidden := func(field, what, instead string) *trial.Failure {
		return &trial.Failure{
			Class: reason.PodSecurityForbids, Field: field,
			Message: what + " needs a privileged Pod, which the namespace " + f.Namespace.Name + " does not allow",
			Remedy:  "label the namespace " + podSecurityLabel + "=privileged, or " + instead,
		}
	}
	for _, target := range f.Benchmark.Spec.Targets {
		if source, _, _ := hostTarget(target); jobspec.NeedsHost(source) {
			return forbidden("spec.targets["+target.Name+"]."+string(source), "a path of the node", "measure a StorageClass instead")
		}
	}
	for _, v := range plan.Variants(f.Benchmark.Spec) {
		if len(v.Tunables) > 0 {
			return forbidden("spec.variants", "a tunable", "leave the tunables out")
		}
	}
	return nil
}

func classesExist(f Facts) *trial.Failure {
	for _, target := range f.Benchmark.Spec.Targets {
		if target.StorageClass == nil || f.Classes[target.StorageClass.Name] != nil {
			continue
		}
		return &trial.Failure{
			Class: reason.StorageClassNotFound, Field: "spec.targets[" + target.Name + "].storageClass.name",
			Message: fmt.Sprintf("there is no StorageClass %q", target.StorageClass.Name),
			Remedy:  nameAnother(target.StorageClass.Name, f.OtherClasses, "storageclasses"),
		}
	}
	return nil
}

func claimsExist(f Facts) *trial.Failure {
	for _, target := range f.Benchmark.Spec.Targets {
		if target.PersistentVolumeClaim == nil || f.Claims[target.PersistentVolumeClaim.ClaimName] != nil {
			continue
		}
		return &trial.Failure{
			Class: reason.PersistentVolumeClaimNotFound, Field: "spec.targets[" + target.Name + "].persistentVolumeClaim.claimName",
			Message: fmt.Sprintf("there is no PersistentVolumeClaim %q in namespace %s", target.PersistentVolumeClaim.ClaimName, f.Benchmark.Namespace),
			Remedy:  "create it, or use storageClass to have a volume generated",
		}
	}
	return nil
}

// HostAccess says which paths of nodes may be targets at all. By default none
// may: whoever may write a StorageBenchmark makes the operator create Pods, and
// would otherwise have any directory or device of any node.
type HostAccess struct {
	// Paths are directories; those below them are allowed as well.
	Paths []string
	// Devices are patterns of device paths, as path.Match has them: /dev/loop*.
	Devices []string
}

// notDisk matches names below /dev that are never those of block devices, though patterns of
// disks may match them: /dev/loop-control, or the controller /dev/nvme0 of the disk nvme0n1.
// It refuses them before a node is taken; the worker looks at the device itself.
var notDisk = regexp.MustCompile(`^/dev/(` + strings.Join([]string{
	`.*-control`, `mapper/control`, `nvme\d+`, `nvme-fabrics`, `ng\d+n\d+`, `sg\d+`, `n?st\d+[alm]?`,
	`zfs`, `fuse`, `cuse`, `autofs`, `kvm`, `k?mem`, `kmsg`, `port`, `null`, `zero`, `full`, `u?random`, `hw_?random`, `hwrng`,
	`tty.*`, `console`, `ptmx`, `vcs.*`, `rtc\d*`, `hpet`, `watchdog\d*`, `snapshot`, `uinput`, `uhid`, `userfaultfd`, `vhost-.*`,
	`mei\d*`, `ipmi\d*`, `tpm(rm)?\d*`, `nvidia.*`, `mcelog`, `ppp`, `rfkill`,
	`(bsg|bus|char|cpu|dri|hugepages|infiniband|input|mqueue|net|pts|shm|snd|usb|vfio)/.*`,
}, "|") + `)$`)

func (h HostAccess) allows(source trial.Source, target string) bool {
	if path.Clean(target) != target {
		return false
	}
	switch source {
	case trial.HostPath:
		for _, allowed := range h.Paths {
			allowed = path.Clean(allowed)
			if target == allowed || strings.HasPrefix(target, strings.TrimSuffix(allowed, "/")+"/") {
				return true
			}
		}
	case trial.BlockDevice:
		for _, pattern := range h.Devices {
			if ok, err := path.Match(pattern, target); err == nil && ok && !notDisk.MatchString(target) {
				return true
			}
		}
	}
	return false
}

func hostTarget(target v1alpha1.Target) (source trial.Source, ref, flag string) {
	switch {
	case target.HostPath != nil:
		return trial.HostPath, target.HostPath.Path, "hostAccess.paths"
	case target.BlockDevice != nil:
		return trial.BlockDevice, target.BlockDevice.Path, "hostAccess.devices"
	}
	return "", "", ""
}

// MayPass reports whether a failure can pass without anybody's help.
func MayPass(f *trial.Failure) bool { return errors.Is(f, status.ErrMayPass) }
