package controllers

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/trial"
)

// podSecurityLabel is a namespace's Pod Security level.
const podSecurityLabel = "pod-security.kubernetes.io/enforce"

// HostAccess says which paths of nodes may be targets at all. By default none
// may: whoever may write a StorageBenchmark makes the operator create Pods, and
// would otherwise have any directory or device of any node.
type HostAccess struct {
	// Paths are directories; those below them are allowed as well.
	Paths []string
	// Devices are patterns of device paths, as path.Match has them: /dev/loop*.
	Devices []string
}

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
			if ok, err := path.Match(pattern, target); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// checkHost finds what forbids a target that is a path of the node: the operator's
// settings, or a namespace that does not ask for privileged Pods in so many words.
func (h HostAccess) check(namespace *corev1.Namespace, target v1alpha1.Target) error {
	var source trial.Source
	var ref, flag string
	switch {
	case target.HostPath != nil:
		source, ref, flag = trial.HostPath, target.HostPath.Path, "hostAccess.paths"
	case target.BlockDevice != nil:
		source, ref, flag = trial.BlockDevice, target.BlockDevice.Path, "hostAccess.devices"
	}
	if !jobspec.NeedsHost(source) {
		return nil
	}
	field := "spec.targets[" + target.Name + "]." + string(source)
	if !h.allows(source, ref) {
		return &trial.Failure{
			Class:   v1alpha1.ReasonHostAccessNotAllowed,
			Field:   field + ".path",
			Message: "the operator does not allow " + ref,
			Remedy:  "ask whoever installed storagebench to add it to the chart's value " + flag + ", or measure a StorageClass instead",
		}
	}
	if namespace.Labels[podSecurityLabel] != "privileged" {
		return &trial.Failure{
			Class:   v1alpha1.ReasonPodSecurityForbids,
			Field:   field,
			Message: "it needs a Pod that the namespace " + namespace.Name + " does not allow",
			Remedy:  "label the namespace " + podSecurityLabel + "=privileged, or measure a StorageClass instead",
		}
	}
	return nil
}
