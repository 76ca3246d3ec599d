package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// Catalogue knows tunables.
type Catalogue interface {
	// Check returns a *trial.Failure with Field name or value if there is no such
	// tunable or value.
	Check(name, value string) error
	// DataLoss returns why a power failure can lose data with this value, or
	// "".
	DataLoss(name, value string) string
}

// Node is a node that the benchmark measures on.
type Node struct {
	Name   string
	Labels map[string]string
}

// Input is all that a decision depends on.
type Input struct {
	Policies        []v1alpha1.TunablePolicy
	Namespace       string
	NamespaceLabels map[string]string
	Nodes           []Node
	Variants        []v1alpha1.Variant
	Catalogue       Catalogue
}

// Permit returns the plan's variants, each tunable with the devices and
// datasets on which it may be set.
func Permit(in Input) ([]trial.Variant, error) {
	slices.SortFunc(in.Policies, func(a, b v1alpha1.TunablePolicy) int { return cmp.Compare(a.Name, b.Name) })
	var variants []trial.Variant
	for _, v := range in.Variants {
		variant := trial.Variant{Name: v.Name, AcceptDataLoss: v.AcceptDataLoss}
		for i, t := range v.Tunables {
			field := fmt.Sprintf("spec.variants[%s].tunables[%d]", v.Name, i)
			permitted, err := permit(in, field, v, t)
			if err != nil {
				return nil, err
			}
			variant.Tunables = append(variant.Tunables, permitted)
		}
		variants = append(variants, variant)
	}
	return variants, nil
}

func permit(in Input, field string, v v1alpha1.Variant, t v1alpha1.Tunable) (trial.Tunable, error) {
	value := t.Value.String()
	out := trial.Tunable{Name: t.Name, Value: value}
	if err := in.Catalogue.Check(t.Name, value); err != nil {
		f := trial.AsFailure(err)
		f.Field = field + "." + cmp.Or(f.Field, "name")
		return out, f
	}
	loss := in.Catalogue.DataLoss(t.Name, value)
	if loss != "" && !v.AcceptDataLoss {
		return out, trial.LosesData(v.Name, t.Name, value, loss)
	}
	var near []string // why policies that name the tunable do not permit it, for the message
	found := false
	for _, p := range in.Policies {
		missing := missingPermission(p, in, t, loss != "")
		if missing == "" {
			found = true
			out.Devices = append(out.Devices, p.Spec.Devices...)
			out.Datasets = append(out.Datasets, p.Spec.Datasets...)
		} else if namesTunable(p, t.Name) {
			near = append(near, p.Name+" "+missing)
		}
	}
	if !found {
		return out, refusal(in, field, t, near)
	}
	slices.Sort(out.Devices)
	slices.Sort(out.Datasets)
	out.Devices, out.Datasets = slices.Compact(out.Devices), slices.Compact(out.Datasets)
	return out, nil
}

// missingPermission returns why a policy does not permit a tunable, or "" if it
// does.
func missingPermission(p v1alpha1.TunablePolicy, in Input, t v1alpha1.Tunable, loss bool) string {
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.NamespaceSelector)
	if err != nil {
		return "has an invalid namespaceSelector: " + err.Error()
	}
	if !selector.Matches(labels.Set(in.NamespaceLabels)) {
		return "does not select namespace " + in.Namespace
	}
	for _, node := range in.Nodes {
		if !labels.SelectorFromSet(p.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
			return "does not select node " + node.Name
		}
	}
	i := slices.IndexFunc(p.Spec.Tunables, func(rule v1alpha1.PermittedTunable) bool {
		return matches(rule.Name, t.Name) && (len(rule.Values) == 0 || slices.Contains(rule.Values, t.Value))
	})
	switch {
	case i < 0 && namesTunable(p, t.Name):
		return fmt.Sprintf("does not permit the value %q", t.Value)
	case i < 0:
		return "does not name " + t.Name
	case loss && !p.Spec.AllowDataLoss:
		return "does not allow data loss"
	}
	return ""
}

// namesTunable reports whether a rule of the policy names the tunable.
func namesTunable(p v1alpha1.TunablePolicy, tunable string) bool {
	return slices.ContainsFunc(p.Spec.Tunables, func(rule v1alpha1.PermittedTunable) bool { return matches(rule.Name, tunable) })
}

// matches reports whether a rule's name, which may end with .*, matches a
// tunable's.
func matches(rule, tunable string) bool {
	if prefix, ok := strings.CutSuffix(rule, "*"); ok {
		return strings.HasPrefix(tunable, prefix)
	}
	return rule == tunable
}

func refusal(in Input, field string, t v1alpha1.Tunable, near []string) *trial.Failure {
	nodes := make([]string, 0, len(in.Nodes))
	for _, n := range in.Nodes {
		nodes = append(nodes, n.Name)
	}
	message := fmt.Sprintf("no TunablePolicy permits %s=%s for namespace %s on %s", t.Name, t.Value, in.Namespace, strings.Join(nodes, ", "))
	if len(near) > 0 {
		message += ": " + strings.Join(near, "; ")
	}
	return &trial.Failure{
		Class: reason.TunableNotPermitted, Field: field, Message: message,
		Remedy: "ask your cluster administrator for a TunablePolicy that permits the tunable for this namespace and node",
	}
}
