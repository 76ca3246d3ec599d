package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/trial"
)

// catalogue knows two tunables; the value "lossy" can lose data.
type catalogue struct{}

func (catalogue) Check(name, value string) error {
	if !strings.HasPrefix(name, "block.queue.") {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "name", Message: "there is no " + name}
	}
	if value == "bad" {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "value", Message: "no such value"}
	}
	return nil
}

func (catalogue) DataLoss(_, value string) string {
	if value == "lossy" {
		return "flushes stop"
	}
	return ""
}

// permits is a policy for namespaces with the label team=lab on nodes with disk=fast.
func permits(name string, change func(*v1alpha1.TunablePolicySpec)) v1alpha1.TunablePolicy {
	p := v1alpha1.TunablePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TunablePolicySpec{
		NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "lab"}},
		NodeSelector:      map[string]string{"disk": "fast"},
		Devices:           []string{"loop*"},
		Tunables:          []v1alpha1.PermittedTunable{{Name: "block.queue.*"}},
	}}
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func input(value string, accept bool, policies ...v1alpha1.TunablePolicy) Input {
	return Input{
		Policies: policies, Namespace: "lab", NamespaceLabels: map[string]string{"team": "lab"},
		Nodes: []Node{{"a", map[string]string{"disk": "fast"}}, {"b", map[string]string{"disk": "fast", "x": "y"}}},
		Variants: []v1alpha1.Variant{{Name: "control"}, {
			Name: "v", AcceptDataLoss: accept, Tunables: []v1alpha1.Tunable{{Name: "block.queue.scheduler", Value: v1alpha1.Text(value)}},
		}},
		Catalogue: catalogue{},
	}
}

func TestWhatPoliciesPermitAddsUp(t *testing.T) {
	variants, err := Permit(input("none", false,
		permits("second", func(s *v1alpha1.TunablePolicySpec) { s.Devices = []string{"nvme1n1", "loop*"} }),
		permits("first", nil),
		permits("other", func(s *v1alpha1.TunablePolicySpec) {
			s.Devices, s.Tunables = []string{"sda"}, []v1alpha1.PermittedTunable{{Name: "block.queue.nr_requests"}}
		})))
	if err != nil {
		t.Fatal(err)
	}
	if len(variants) != 2 || len(variants[0].Tunables) != 0 || !slices.Equal(variants[1].Tunables[0].Devices, []string{"loop*", "nvme1n1"}) {
		t.Errorf("%+v", variants)
	}
}

func TestNothingIsPermittedButByAPolicy(t *testing.T) {
	lossy := permits("p", func(s *v1alpha1.TunablePolicySpec) { s.AllowDataLoss = true })
	for name, c := range map[string]struct {
		in    Input
		class trial.Class
		field string
		want  []string
	}{
		"no policy at all": {input("none", false), reason.TunableNotPermitted, "spec.variants[v].tunables[0]", []string{"no TunablePolicy permits block.queue.scheduler=none for namespace lab on a, b"}},
		"another namespace": {
			input("none", false, permits("p", func(s *v1alpha1.TunablePolicySpec) {
				s.NamespaceSelector.MatchLabels = map[string]string{"team": "web"}
			})),
			reason.TunableNotPermitted, "spec.variants[v].tunables[0]", []string{"p does not select namespace lab"},
		},
		"one of the nodes": {
			input("none", false, permits("p", func(s *v1alpha1.TunablePolicySpec) { s.NodeSelector = map[string]string{"x": "y"} })),
			reason.TunableNotPermitted, "spec.variants[v].tunables[0]", []string{"p does not select node a"},
		},
		"another tunable": {
			input("none", false, permits("p", func(s *v1alpha1.TunablePolicySpec) {
				s.Tunables = []v1alpha1.PermittedTunable{{Name: "block.queue.nr_requests"}, {Name: "vm.*"}}
			})),
			reason.TunableNotPermitted, "spec.variants[v].tunables[0]", []string{"no TunablePolicy"},
		},
		"another value": {
			input("none", false, permits("p", func(s *v1alpha1.TunablePolicySpec) { s.Tunables[0].Values = []v1alpha1.Scalar{v1alpha1.Text("kyber")} })),
			reason.TunableNotPermitted, "spec.variants[v].tunables[0]", []string{`p does not permit the value "none"`},
		},
		"data loss that the policy does not allow": {
			input("lossy", true, permits("p", nil)), reason.TunableNotPermitted, "spec.variants[v].tunables[0]", []string{"p does not allow data loss"},
		},
		"data loss that the benchmark does not accept": {
			input("lossy", false, lossy), reason.InvalidSpec, "spec.variants[v].acceptDataLoss", []string{"flushes stop", "acceptDataLoss: true"},
		},
		"a value that there is not": {input("bad", false, lossy), reason.InvalidSpec, "spec.variants[v].tunables[0].value", []string{"no such value"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Permit(c.in)
			f, ok := errors.AsType[*trial.Failure](err)
			if !ok || f.Class != c.class || f.Field != c.field {
				t.Fatalf("got %+v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(f.Error(), want) {
					t.Errorf("%q does not say %q", f.Error(), want)
				}
			}
		})
	}
	if _, err := Permit(input("lossy", true, lossy)); err != nil {
		t.Errorf("with both consents: %v", err)
	}
}
