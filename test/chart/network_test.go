//go:build chart

package chart

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"storagebench.io/storagebench/internal/jobspec"
)

func TestNetworkPolicies(t *testing.T) {
	const anyPort = int32(0)
	for name, tt := range map[string]struct {
		flags   []string
		egress  []int32
		ingress []int32
	}{
		"by default":                 {nil, []int32{53, 53, 5353, 5353, 80, 443, 6443, 8080, 8443, 9000}, []int32{8081, 8080, 8443}},
		"any port":                   {[]string{"--set", "networkPolicy.egressPorts=null"}, []int32{anyPort}, []int32{8081, 8080, 8443}},
		"no metrics":                 {[]string{"--set", "metrics.enabled=false,networkPolicy.egressPorts={443}"}, []int32{53, 53, 5353, 5353, 443}, []int32{8081, 8443}},
		"no receiver":                {[]string{"--set", "receiver.enabled=false,networkPolicy.egressPorts={443}"}, []int32{53, 53, 5353, 5353, 443}, []int32{8081, 8080}},
		"a store with a port":        {[]string{"--set", store, "--set", "networkPolicy.egressPorts={443}"}, []int32{53, 53, 5353, 5353, 9000, 443}, []int32{8081, 8080, 8443}},
		"a store with a usual port":  {[]string{"--set", store, "--set", "networkPolicy.egressPorts={6443},resultStore.endpoint=https://s3.example.com"}, []int32{53, 53, 5353, 5353, 443, 6443}, []int32{8081, 8080, 8443}},
		"a store with another one":   {[]string{"--set", store, "--set", "networkPolicy.egressPorts={6443},resultStore.endpoint=http://s3.example.com/"}, []int32{53, 53, 5353, 5353, 80, 6443}, []int32{8081, 8080, 8443}},
		"a store at an IPv6 address": {[]string{"--set", store, "--set", "networkPolicy.egressPorts={6443},resultStore.endpoint=http://[fd00::1]:9123"}, []int32{53, 53, 5353, 5353, 9123, 6443}, []int32{8081, 8080, 8443}},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := render(t, tt.flags...)
			var policy networkingv1.NetworkPolicy
			rendered.in(namespace).must(t, "NetworkPolicy", "storagebench-manager", &policy)
			selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			if pod := manager(t, rendered).Spec.Template; !selector.Matches(labels.Set(pod.Labels)) {
				t.Errorf("it does not select the operator's Pod: %s and %v", selector, pod.Labels)
			}
			var egress, ingress []int32
			for _, rule := range policy.Spec.Egress {
				if len(rule.To) > 0 {
					t.Errorf("plugins differ in what addresses mean: %+v", rule.To)
				}
				if len(rule.Ports) == 0 {
					egress = append(egress, anyPort)
				}
				for _, port := range rule.Ports {
					egress = append(egress, port.Port.IntVal)
				}
			}
			for _, rule := range policy.Spec.Ingress {
				for _, port := range rule.Ports {
					ingress = append(ingress, port.Port.IntVal)
				}
			}
			if diff := cmp.Diff(tt.egress, egress); diff != "" {
				t.Errorf("egress (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ingress, ingress); diff != "" {
				t.Errorf("ingress (-want +got):\n%s", diff)
			}

			var none networkingv1.NetworkPolicy
			rendered.in(restoreNamespace).must(t, "NetworkPolicy", "storagebench-restore", &none)
			want := networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"}}
			if diff := cmp.Diff(want, none.Spec); diff != "" {
				t.Errorf("restore Jobs have a network (-want +got):\n%s", diff)
			}
		})
	}
	var from networkingv1.NetworkPolicy
	render(t, "--set", "networkPolicy.metricsFrom[0].podSelector.matchLabels.app=prometheus").in(namespace).must(t, "NetworkPolicy", "storagebench-manager", &from)
	if len(from.Spec.Ingress) != 3 || len(from.Spec.Ingress[2].From) != 0 || len(from.Spec.Ingress[0].From) != 0 || len(from.Spec.Ingress[1].From) != 1 {
		t.Errorf("metricsFrom is for metrics alone: %+v", from.Spec.Ingress)
	}
	for _, object := range render(t, "--set", "networkPolicy.enabled=false") {
		if object.GetKind() == "NetworkPolicy" {
			t.Errorf("networkPolicy.enabled=false: %s", object.GetName())
		}
	}
}

// Workers are in namespaces of others: the chart has policies for those that it is told of.
func TestNetworkPoliciesOfWorkers(t *testing.T) {
	workers := func(flags ...string) map[string]networkingv1.NetworkPolicySpec {
		found := map[string]networkingv1.NetworkPolicySpec{}
		for _, object := range render(t, flags...) {
			if object.GetKind() == "NetworkPolicy" && object.GetName() == "storagebench-workers" {
				var policy networkingv1.NetworkPolicy
				objects{object}.must(t, "NetworkPolicy", object.GetName(), &policy)
				found[policy.Namespace] = policy.Spec
			}
		}
		return found
	}
	for name, tt := range map[string]struct {
		flags []string
		want  []string
		ports []int32 // of stores, and of the receiver
	}{
		"every namespace, so none":  {nil, nil, nil},
		"those of benchmarks":       {[]string{"--set", "namespaces={a,b}"}, []string{"a", "b"}, []int32{80, 443, 8080, 8443, 9000, 8443}},
		"those that are named":      {[]string{"--set", "networkPolicy.workers.namespaces={c},networkPolicy.workers.storePorts={443}"}, []string{"c"}, []int32{443, 8443}},
		"no receiver":               {[]string{"--set", "namespaces={a},receiver.enabled=false,networkPolicy.workers.storePorts={443}"}, []string{"a"}, []int32{443}},
		"a store of the chart":      {[]string{"--set", "namespaces={a},networkPolicy.workers.storePorts={443}", "--set", store}, []string{"a"}, []int32{9000, 443, 8443}},
		"minio":                     {[]string{"--set", "namespaces={a},networkPolicy.workers.storePorts={443},minio.enabled=true"}, []string{"a"}, []int32{9000, 443, 8443}},
		"turned off":                {[]string{"--set", "namespaces={a},networkPolicy.workers.enabled=false"}, nil, nil},
		"turned off with the other": {[]string{"--set", "namespaces={a},networkPolicy.enabled=false"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := workers(tt.flags...)
			if len(found) != len(tt.want) {
				t.Errorf("policies in %d namespaces, want %v", len(found), tt.want)
			}
			for _, where := range tt.want {
				spec, ok := found[where]
				if !ok {
					t.Fatalf("no policy in namespace %s", where)
				}
				if diff := cmp.Diff(map[string]string{"app.kubernetes.io/managed-by": "storagebench"}, spec.PodSelector.MatchLabels); diff != "" {
					t.Errorf("Pods (-want +got):\n%s", diff)
				}
				if len(spec.Ingress) != 0 || len(spec.PolicyTypes) != 2 {
					t.Errorf("somebody may connect to workers: %+v", spec)
				}
				var ports []int32
				for _, rule := range spec.Egress[1:] {
					for _, port := range rule.Ports {
						ports = append(ports, port.Port.IntVal)
					}
				}
				if diff := cmp.Diff(tt.ports, ports); diff != "" {
					t.Errorf("egress (-want +got):\n%s", diff)
				}
				if slices.Contains(ports, 6443) {
					t.Error("a worker does not need the API server")
				}
			}
		})
	}
}

func TestQuotas(t *testing.T) {
	got := map[string]corev1.ResourceList{}
	for _, object := range render(t, "--set", "quotas.namespaces={a,b},quotas.benchmarks=7") {
		if object.GetKind() == "ResourceQuota" {
			var quota corev1.ResourceQuota
			objects{object}.must(t, "ResourceQuota", object.GetName(), &quota)
			got[quota.Namespace] = quota.Spec.Hard
		}
	}
	for _, name := range []string{"a", "b"} {
		count := got[name]["count/storagebenchmarks.storagebench.io"]
		if len(got) != 3 || count.Value() != 7 {
			t.Errorf("quota of namespace %s: %v", name, got)
		}
	}
	for _, object := range render(t) {
		if object.GetKind() != "ResourceQuota" {
			continue
		}
		var quota corev1.ResourceQuota
		objects{object}.must(t, "ResourceQuota", object.GetName(), &quota)
		critical := &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{jobspec.RestorePriority}},
		}}
		if diff := cmp.Diff(critical, quota.Spec.ScopeSelector); quota.Namespace != "storagebench-system-restore" || diff != "" {
			t.Errorf("the one quota by default is that of critical restore Pods; in namespace %s (-want +got):\n%s", quota.Namespace, diff)
		}
	}
}

// The operator bounds its heap by its memory limit, wherever that is set.
func TestTheOperatorKnowsItsMemoryLimit(t *testing.T) {
	for _, e := range manager(t, render(t)).Spec.Template.Spec.Containers[0].Env {
		if e.Name == "GOMEMLIMIT_BYTES" {
			if e.ValueFrom == nil || e.ValueFrom.ResourceFieldRef == nil || e.ValueFrom.ResourceFieldRef.Resource != "limits.memory" {
				t.Errorf("GOMEMLIMIT_BYTES: %+v", e)
			}
			return
		}
	}
	t.Error("GOMEMLIMIT_BYTES is not set")
}
