package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/policy"
	"storagebench.io/storagebench/internal/trial"
)

// +kubebuilder:rbac:groups=storagebench.io,resources=tunablepolicies,verbs=list

// permit asks the cluster's TunablePolicies for the benchmark's tunables. Nothing is
// changed on a node without both a policy and a namespace that allows privileged Pods.
func (r *StorageBenchmarkReconciler) permit(ctx context.Context, b *v1alpha1.StorageBenchmark, nodes []string) ([]trial.Variant, error) {
	if len(b.Spec.Variants) == 0 {
		return nil, nil
	}
	in := policy.Input{Namespace: b.Namespace, Variants: b.Spec.Variants, Catalogue: r.Tunables}
	policies := &v1alpha1.TunablePolicyList{}
	if err := r.Live.List(ctx, policies); err != nil {
		return nil, err
	}
	in.Policies = policies.Items
	namespace := &corev1.Namespace{}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: b.Namespace}, namespace); err != nil {
		return nil, err
	}
	in.NamespaceLabels = namespace.Labels
	for _, name := range nodes {
		node := &corev1.Node{}
		if err := r.Live.Get(ctx, types.NamespacedName{Name: name}, node); client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		in.Nodes = append(in.Nodes, policy.Node{Name: name, Labels: node.Labels})
	}
	variants, err := policy.Permit(in)
	if err != nil {
		return nil, err
	}
	changes := slices.ContainsFunc(variants, func(v trial.Variant) bool { return len(v.Tunables) > 0 })
	if changes && namespace.Labels[podSecurityLabel] != "privileged" {
		return nil, &trial.Failure{
			Class:   v1alpha1.ReasonPodSecurityForbids,
			Field:   "spec.variants",
			Message: "tunables need a privileged Pod, which the namespace " + namespace.Name + " does not allow",
			Remedy:  "label the namespace " + podSecurityLabel + "=privileged, or leave the tunables out",
		}
	}
	return variants, nil
}
