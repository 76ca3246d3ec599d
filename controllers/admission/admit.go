// Package admission decides whether a benchmark can be run, and makes its plan.
//
// Gather reads the facts, from the cache alone. Checks is a chain of pure functions over
// them; the first that finds something says what is in the way, as a *trial.Failure with
// the field and the remedy. Admit then chooses the nodes, asks the TunablePolicies for the
// tunables, and returns what package plan builds the plan from. It creates nothing.
//
// Permitted asks the policies again, for one node, when a worker starts: a policy that
// was revoked since counts.
package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/plan"
	"storagebench.io/storagebench/internal/policy"
	"storagebench.io/storagebench/internal/trial"
)

// Rules are what a plan is checked with.
type Rules struct {
	Engines  plan.Checker
	Tunables policy.Catalogue
}

// Admit checks the facts, chooses the nodes, and returns what the plan of a run with this
// ID is built from. Its error is a *trial.Failure if the spec, or the cluster, is the reason.
func Admit(f Facts, rules Rules, run string) (plan.Input, error) {
	if failure := Checks.First(f); failure != nil {
		return plan.Input{}, failure
	}
	nodes, failure := chooseNodes(f)
	if failure != nil {
		return plan.Input{}, failure
	}
	variants, err := permit(f, rules, withLabels(f.Nodes, nodes))
	if err != nil {
		return plan.Input{}, err
	}
	modes := map[string]trial.Mode{}
	for _, target := range f.Benchmark.Spec.Targets {
		if target.PersistentVolumeClaim == nil {
			continue
		}
		modes[target.Name] = trial.Filesystem
		if mode := f.Claims[target.PersistentVolumeClaim.ClaimName].Claim.Spec.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
			modes[target.Name] = trial.Block
		}
	}
	return plan.Input{Benchmark: f.Benchmark, Run: run, Nodes: nodes, Modes: modes, Variants: variants, Classes: classes(f), Engines: rules.Engines, WorkloadMemory: f.Limits.WorkloadMemory}, nil
}

// Notes tell what a run will leave behind.
func Notes(f Facts) []string {
	var notes []string
	for _, target := range f.Benchmark.Spec.Targets {
		if target.StorageClass == nil {
			continue
		}
		class := f.Classes[target.StorageClass.Name]
		if class != nil && class.ReclaimPolicy != nil && *class.ReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
			notes = append(notes, fmt.Sprintf("StorageClass %s has reclaimPolicy Retain: the PersistentVolume of each worker of target %s stays when its claim is deleted; delete them when the run is over (kubectl get pv lists them as Released, with claims of namespace %s)",
				class.Name, target.Name, f.Benchmark.Namespace))
		}
	}
	return notes
}

// withLabels returns the nodes of these names, in their order. That of the cache changes from
// pass to pass, and with it a message that names them would.
func withLabels(all []corev1.Node, names []string) (nodes []policy.Node) {
	for _, name := range names {
		if i := slices.IndexFunc(all, func(n corev1.Node) bool { return n.Name == name }); i >= 0 {
			nodes = append(nodes, policy.Node{Name: name, Labels: all[i].Labels})
		}
	}
	return nodes
}

func permit(f Facts, rules Rules, nodes []policy.Node) ([]trial.Variant, error) {
	variants := plan.Variants(f.Benchmark.Spec)
	if len(variants) == 0 {
		return nil, nil
	}
	return policy.Permit(policy.Input{
		Namespace: f.Benchmark.Namespace, NamespaceLabels: f.Namespace.Labels, Nodes: nodes,
		Variants: variants, Catalogue: rules.Tunables, Policies: slices.Clone(f.Policies),
	})
}

// Permitted returns why a worker may no longer change the settings that its plan has, or
// nil. The plan is not built again: what it may be set on can only shrink. The node has the
// labels of now, which need not be those that it was chosen for.
func Permitted(f Facts, rules Rules, p *trial.Plan, node policy.Node) error {
	if !p.SetsTunables() {
		return nil
	}
	if failure := namespaceAllowsPrivilege(f); failure != nil {
		return failure
	}
	now, err := permit(f, rules, []policy.Node{node})
	if err != nil {
		return err
	}
	for _, v := range p.Variants {
		for i, t := range v.Tunables {
			at := slices.IndexFunc(now, func(n trial.Variant) bool { return n.Name == v.Name })
			if at >= 0 && i < len(now[at].Tunables) && covers(now[at].Tunables[i], t) {
				continue
			}
			return &trial.Failure{
				Class: reason.TunableNotPermitted, Field: "spec.variants[" + v.Name + "]",
				Message: fmt.Sprintf("the TunablePolicies no longer permit %s=%s on all that the run was started for", t.Name, t.Value),
				Remedy:  "change spec.runID to run again with what they permit now",
			}
		}
	}
	return nil
}

// covers reports whether a tunable may still be set wherever the plan says.
func covers(now, planned trial.Tunable) bool {
	within := func(all, some []string) bool {
		return !slices.ContainsFunc(some, func(pattern string) bool { return !slices.Contains(all, pattern) })
	}
	return now.Name == planned.Name && now.Value == planned.Value && within(now.Devices, planned.Devices) && within(now.Datasets, planned.Datasets)
}

// Settings are what a plan may change, for the record of a node.
func Settings(p *trial.Plan) []v1alpha1.RestorableSetting {
	var settings []v1alpha1.RestorableSetting
	for _, v := range p.Variants {
		for _, t := range v.Tunables {
			at := slices.IndexFunc(settings, func(s v1alpha1.RestorableSetting) bool { return s.Name == t.Name })
			if at < 0 {
				settings, at = append(settings, v1alpha1.RestorableSetting{Name: t.Name}), len(settings)
			}
			s := &settings[at]
			s.Devices, s.Datasets = union(s.Devices, t.Devices), union(s.Datasets, t.Datasets)
		}
	}
	return settings
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}
