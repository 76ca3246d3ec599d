//go:build chart

package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

const restoreNamespace = namespace + "-restore"

// Everything that the operator may do, by where. A right that is not here fails the
// test, so that somebody says why it is needed; one that nobody uses any more is taken
// out here and in controllers/rbac.go.
var granted = map[string]map[string]string{
	"cluster": {
		"namespaces":                              "get list watch",
		"nodes":                                   "get list watch",
		"persistentvolumes":                       "get list watch",
		"storageclasses.storage.k8s.io":           "get list watch",
		"resultstores.storagebench.io":            "get list watch",
		"resultstores/status.storagebench.io":     "get patch update",
		"tunablepolicies.storagebench.io":         "get list watch",
		"noderestores.storagebench.io":            "create delete get list watch",
		"noderestores/status.storagebench.io":     "patch update",
		"noderestores/finalizers.storagebench.io": "update",
		// The server of metrics asks whose token it is, and what it may do.
		"tokenreviews.authentication.k8s.io":        "create",
		"subjectaccessreviews.authorization.k8s.io": "create",
	},
	"benchmarks": {
		"configmaps":                        "create",
		"secrets":                           "create",
		"persistentvolumeclaims":            "create get list watch",
		"pods":                              "get list watch",
		"events":                            "list",
		"events.events.k8s.io":              "create patch",
		"jobs.batch":                        "create delete get list patch watch",
		"jobs/finalizers.batch":             "update",
		"storagebenchmarks.storagebench.io": "create delete get list patch watch",
		"storagebenchmarks/status.storagebench.io":     "get patch update",
		"storagebenchmarks/finalizers.storagebench.io": "update",

		"storagebenchmarkschedules.storagebench.io":            "get list watch",
		"storagebenchmarkschedules/status.storagebench.io":     "get patch update",
		"storagebenchmarkschedules/finalizers.storagebench.io": "update",
	},
	"operator": {
		"secrets(storagebench-store)":    "get",
		"secrets(storagebench-receiver)": "get update",
		"configmaps":                     "create delete list update",
		"events":                         "create patch",
		"jobs.batch":                     "delete",
		"leases.coordination.k8s.io":     "create delete get list patch update watch",
	},
	"restore": {
		"pods":       "create get list watch",
		"jobs.batch": "create delete get list watch",
	},
}

// table puts rules in the form of granted.
func table(rules []rbacv1.PolicyRule) map[string]string {
	verbs := map[string][]string{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name := strings.TrimSuffix(resource+"."+group, ".")
				if len(rule.ResourceNames) > 0 {
					name = fmt.Sprintf("%s(%s)", name, strings.Join(rule.ResourceNames, " "))
				}
				verbs[name] = append(verbs[name], rule.Verbs...)
			}
		}
		for _, url := range rule.NonResourceURLs {
			verbs[url] = append(verbs[url], rule.Verbs...)
		}
	}
	rows := map[string]string{}
	for name, list := range verbs {
		slices.Sort(list)
		rows[name] = strings.Join(slices.Compact(list), " ")
	}
	return rows
}

// roles are the operator's roles of the chart, by where they are for.
func roles(t *testing.T, rendered objects, restore string) map[string]map[string]string {
	t.Helper()
	var cluster, benchmarks rbacv1.ClusterRole
	var operator, restores rbacv1.Role
	rendered.must(t, "ClusterRole", "storagebench-manager", &cluster)
	rendered.must(t, "ClusterRole", "storagebench-manager-benchmarks", &benchmarks)
	rendered.in(namespace).must(t, "Role", "storagebench-manager", &operator)
	rendered.in(restore).must(t, "Role", "storagebench-manager", &restores)
	return map[string]map[string]string{
		"cluster": table(cluster.Rules), "benchmarks": table(benchmarks.Rules),
		"operator": table(operator.Rules), "restore": table(restores.Rules),
	}
}

func TestTheOperatorMayDoThisAndNothingElse(t *testing.T) {
	if diff := cmp.Diff(granted, roles(t, render(t), restoreNamespace)); diff != "" {
		t.Errorf("roles by default (-want +chart):\n%s", diff)
	}
	for flags, want := range map[string]map[string]string{
		"resultStore.secretNames={a,b}":        {"secrets(a b)": "get"},
		"resultStore.secretNames={a}," + store: {"secrets(a storagebench-store)": "get"},
		"resultStore.secretNames={*}":          {"secrets": "get"},
		"resultStore.secretNames=null":         {},
	} {
		got := roles(t, render(t, "--set", flags), restoreNamespace)
		for place, rows := range granted {
			wanted := rows
			if place == "operator" {
				wanted = map[string]string{}
				for _, rows := range []map[string]string{rows, want} {
					maps.Copy(wanted, rows)
				}
				delete(wanted, "secrets(storagebench-store)")
			}
			if diff := cmp.Diff(wanted, got[place]); diff != "" {
				t.Errorf("--set %s: role for %s (-want +chart):\n%s", flags, place, diff)
			}
		}
	}
}

// The two ways to install must grant the same, to the same account.
func TestKustomizeGrantsTheSame(t *testing.T) {
	generated := decodeFile(t, "../../config/rbac/role.yaml")
	var all rbacv1.ClusterRole
	var operator, restores rbacv1.Role
	generated.must(t, "ClusterRole", "storagebench-manager", &all)
	generated.in(namespace).must(t, "Role", "storagebench-manager", &operator)
	generated.in(restoreNamespace).must(t, "Role", "storagebench-manager", &restores)

	both := map[string]string{}
	for _, place := range []string{"cluster", "benchmarks"} {
		maps.Copy(both, granted[place])
	}
	want := map[string]map[string]string{"cluster and benchmarks": both, "operator": granted["operator"], "restore": granted["restore"]}
	got := map[string]map[string]string{"cluster and benchmarks": table(all.Rules), "operator": table(operator.Rules), "restore": table(restores.Rules)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config/rbac/role.yaml, run make manifests (-want +got):\n%s", diff)
	}
	want2 := []string{
		"ClusterRole storagebench-manager to storagebench-system/storagebench-manager in every namespace",
		"Role storagebench-manager to storagebench-system/storagebench-manager in storagebench-system",
		"Role storagebench-manager to storagebench-system/storagebench-manager in storagebench-system-restore",
	}
	if diff := cmp.Diff(want2, bindings(t, decodeFile(t, "../../config/rbac/role_binding.yaml"))); diff != "" {
		t.Errorf("config/rbac/role_binding.yaml (-want +got):\n%s", diff)
	}
}

func TestBindings(t *testing.T) {
	want := []string{
		"ClusterRole storagebench-manager to storagebench-system/storagebench-manager in every namespace",
		"ClusterRole storagebench-manager-benchmarks to storagebench-system/storagebench-manager in every namespace",
		"Role storagebench-manager to storagebench-system/storagebench-manager in storagebench-system",
		"Role storagebench-manager to storagebench-system/storagebench-manager in storagebench-system-restore",
	}
	if diff := cmp.Diff(want, bindings(t, render(t))); diff != "" {
		t.Errorf("by default (-want +got):\n%s", diff)
	}

	// Who names the namespaces of benchmarks gives the operator no right in any other.
	rendered := render(t, "--set", "namespaces={lab,qualify},restore.namespace=mending")
	want = []string{
		"ClusterRole storagebench-manager to storagebench-system/storagebench-manager in every namespace",
		"ClusterRole storagebench-manager-benchmarks to storagebench-system/storagebench-manager in lab",
		"ClusterRole storagebench-manager-benchmarks to storagebench-system/storagebench-manager in qualify",
		"Role storagebench-manager to storagebench-system/storagebench-manager in mending",
		"Role storagebench-manager to storagebench-system/storagebench-manager in storagebench-system",
	}
	if diff := cmp.Diff(want, bindings(t, rendered)); diff != "" {
		t.Errorf("with namespaces (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(granted, roles(t, rendered, "mending")); diff != "" {
		t.Errorf("roles with namespaces (-want +chart):\n%s", diff)
	}
	args := manager(t, rendered).Spec.Template.Spec.Containers[0].Args
	for _, want := range []string{"--benchmark-namespace=lab", "--benchmark-namespace=qualify", "--restore-namespace=mending"} {
		if !slices.Contains(args, want) {
			t.Errorf("the operator lacks the argument %s: %v", want, args)
		}
	}
}

// bindings says which role whom is given where.
func bindings(t *testing.T, o objects) (found []string) {
	t.Helper()
	for _, object := range o {
		var binding rbacv1.RoleBinding // the same fields as a ClusterRoleBinding's
		if object.GetKind() != "RoleBinding" && object.GetKind() != "ClusterRoleBinding" {
			continue
		}
		objects{object}.must(t, object.GetKind(), object.GetName(), &binding)
		where := binding.Namespace
		if object.GetKind() == "ClusterRoleBinding" {
			where = "every namespace"
		}
		for _, s := range binding.Subjects {
			found = append(found, fmt.Sprintf("%s %s to %s/%s in %s", binding.RoleRef.Kind, binding.RoleRef.Name, s.Namespace, s.Name, where))
		}
	}
	slices.Sort(found)
	return found
}

// What would make whoever has the operator's token more than the operator.
func TestClusterRolesDoNotReachTooFar(t *testing.T) {
	for name, flags := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, object := range render(t, flags...) {
				if object.GetKind() != "ClusterRole" {
					continue
				}
				var role rbacv1.ClusterRole
				objects{object}.must(t, "ClusterRole", object.GetName(), &role)
				for _, rule := range role.Rules {
					for _, line := range tooFar(rule) {
						t.Errorf("%s: %s", role.Name, line)
					}
				}
			}
		})
	}
}

func tooFar(rule rbacv1.PolicyRule) []string {
	var found []string
	for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
		if slices.Contains(list, "*") {
			found = append(found, "a * grants what nobody has thought of")
		}
	}
	if slices.Contains(rule.Resources, "secrets") && !slices.Equal(rule.Verbs, []string{"create"}) {
		found = append(found, "it does more with Secrets of the whole cluster than create them")
	}
	for _, verb := range []string{"escalate", "bind", "impersonate"} {
		if slices.Contains(rule.Verbs, verb) {
			found = append(found, verb+" gives any other right")
		}
	}
	for _, resource := range []string{"pods/exec", "pods/attach", "nodes/proxy", "serviceaccounts/token"} {
		if slices.Contains(rule.Resources, resource) {
			found = append(found, resource+" gives any other right")
		}
	}
	return found
}

func TestTooFar(t *testing.T) {
	for name, rule := range map[string]rbacv1.PolicyRule{
		"deleting Secrets": {Resources: []string{"secrets"}, Verbs: []string{"create", "delete"}},
		"reading Secrets":  {Resources: []string{"configmaps", "secrets"}, Verbs: []string{"list"}},
		"a wildcard":       {Resources: []string{"*"}, Verbs: []string{"create"}},
		"exec":             {Resources: []string{"pods/exec"}, Verbs: []string{"create"}},
	} {
		if len(tooFar(rule)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	if found := tooFar(rbacv1.PolicyRule{Resources: []string{"secrets"}, Verbs: []string{"create"}}); len(found) > 0 {
		t.Errorf("creating Secrets: %v", found)
	}
}
