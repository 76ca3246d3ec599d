//go:build attacks

package attacks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
)

const cleanup = "storagebench.io/cleanup"

// What a tenant's role does not give it. Each request is a dry run, and an administrator's
// is taken.
func TestRequestThatOnlyOthersMayMake(t *testing.T) {
	t.Parallel()
	group := begin(t, "somebody else's benchmarks are listed")
	m := group.tenant("restricted")
	group.refused(m.api.List(group.ctx, &v1alpha1.StorageBenchmarkList{}))
	group.control("an administrator lists them", admin.List(group.ctx, &v1alpha1.StorageBenchmarkList{}))
	b := m.benchmark("mine", nowhere)
	for what, request := range m.requestsOfOthers(b) {
		t.Run(what, func(t *testing.T) {
			a := begin(t, what)
			a.refused(request(a.ctx, m.api))
			a.control("an administrator's request is taken", request(a.ctx, admin))
		})
	}
	group.remove(b)
}

func (m *tenant) requestsOfOthers(b *v1alpha1.StorageBenchmark) map[string]func(context.Context, client.Client) error {
	merge := func(o client.Object, patch string) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			copied, _ := o.DeepCopyObject().(client.Object)
			return c.Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
		}
	}
	create := func(o client.Object) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			copied, _ := o.DeepCopyObject().(client.Object)
			return c.Create(ctx, copied, client.DryRunAll)
		}
	}
	store := &v1alpha1.ResultStore{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	return map[string]func(context.Context, client.Client) error{
		"the benchmark's status is forged": func(ctx context.Context, c client.Client) error {
			copied := &v1alpha1.StorageBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
			return c.Status().Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(`{"status":{"headline":"forged"}}`)), client.DryRunAll)
		},
		"a record of a node is made": create(&v1alpha1.NodeRestore{
			ObjectMeta: metav1.ObjectMeta{Name: "no-such-node"},
			Spec: v1alpha1.NodeRestoreSpec{
				NodeUID: "u", Benchmark: v1alpha1.BenchmarkReference{Namespace: "n", Name: "n", UID: "u"},
				Run: "r", Worker: "w", Job: v1alpha1.JobReference{Name: "j", UID: "u"}, Since: metav1.Now(),
			},
		}),
		"the records of nodes are read": func(ctx context.Context, c client.Client) error { return c.List(ctx, &v1alpha1.NodeRestoreList{}) },
		"a policy permits everything to everybody": create(&v1alpha1.TunablePolicy{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "mine-"},
			Spec:       v1alpha1.TunablePolicySpec{Tunables: []v1alpha1.PermittedTunable{{Name: "vm.*"}}, AllowDataLoss: true},
		}),
		"a store sends results elsewhere": create(&v1alpha1.ResultStore{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "mine-"},
			Spec:       v1alpha1.ResultStoreSpec{Endpoint: "http://attacker.example", Bucket: "bucket", SecretRef: v1alpha1.SecretReference{Name: "storagebench-store"}},
		}),
		"the store's endpoint is replaced": merge(store, `{"spec":{"endpoint":"http://attacker.example"}}`),
		"the store's credentials are read": func(ctx context.Context, c client.Client) error {
			return c.Get(ctx, types.NamespacedName{Namespace: operatorNamespace, Name: "storagebench-store"}, &corev1.Secret{})
		},
		"a node's Lease is taken": create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "node-mine"}}),
		"a Pod runs where restore Jobs do": create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: operator.restoreNamespace, Name: "mine"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: operator.image}}},
		}),
		"a Job runs where restore Jobs do": create(&batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Namespace: operator.restoreNamespace, Name: "mine"},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: operator.image}},
			}}},
		}),
		"the own namespace becomes privileged": merge(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}},
			`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`),
		"the operator's role is bound to the tenant": create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "more"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "storagebench-manager"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: m.namespace, Name: "mallory"}},
		}),
		"a shell in the operator's Pod":       may("create", "", "pods", "exec", operatorNamespace),
		"a token of the operator's account":   may("create", "", "serviceaccounts", "token", operatorNamespace),
		"the operator is impersonated":        may("impersonate", "", "serviceaccounts", "", operatorNamespace),
		"the finalizer's verb":                may("finalize", "storagebench.io", "storagebenchmarks", "", m.namespace),
		"the operator's policies are edited":  may("update", "admissionregistration.k8s.io", "validatingadmissionpolicies", "", ""),
		"the operator's Deployment is edited": may("update", "apps", "deployments", "", operatorNamespace),
	}
}

// may asks whether a request would be allowed, without making it.
func may(verb, group, kind, sub, namespace string) func(context.Context, client.Client) error {
	return func(ctx context.Context, c client.Client) error {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: kind, Subresource: sub, Namespace: namespace},
		}}
		if err := c.Create(ctx, review); err != nil || review.Status.Allowed {
			return err
		}
		return forbidden(kind)
	}
}

// The finalizer holds the benchmark until its nodes are given back.
func TestRequestToRemoveTheFinalizer(t *testing.T) {
	t.Parallel()
	group := begin(t, "the finalizer is removed by an update")
	m := group.tenant("restricted")
	b := m.unmade("held", nowhere)
	b.Finalizers = []string{cleanup}
	m.must(m.api.Create(group.ctx, b))
	group.refused(change(m, b, func(b *v1alpha1.StorageBenchmark) { b.Finalizers = nil }), cleanup, "finalize")
	for what, patch := range map[string]client.Patch{
		"the finalizer is removed by a merge patch": client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)),
		"the finalizer is removed by a JSON patch":  client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`)),
		"the finalizer is replaced by another":      client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+foreignFinalizer+`"]}}`)),
		"the finalizer is renamed":                  client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["storagebench.io/clean"]}}`)),
	} {
		t.Run(what, func(t *testing.T) {
			a := begin(t, what)
			a.refused(m.api.Patch(a.ctx, b.DeepCopy(), patch, client.DryRunAll), cleanup)
			a.control("who may finalize removes it", admin.Patch(a.ctx, b.DeepCopy(), patch, client.DryRunAll))
		})
	}
	group.control("who may finalize removes it", admin.Patch(group.ctx, b.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)), client.DryRunAll))
	group.remove(b)
}

// A benchmark is kept in the operator's memory.
func TestRequestThatIsTooLarge(t *testing.T) {
	t.Parallel()
	group := begin(t, "16 job files of 32 KiB")
	m := group.tenant("restricted")
	many := func(n int, w func() v1alpha1.Workload) *v1alpha1.StorageBenchmark {
		return m.unmade("large", nowhere, func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Workloads = nil
			for i := range n {
				one := w()
				one.Name = fmt.Sprintf("w%d", i)
				s.Workloads = append(s.Workloads, one)
			}
		})
	}
	jobFile := func() v1alpha1.Workload {
		text := "[a]\nrw=read\nsize=1MiB\n"
		return v1alpha1.Workload{Fio: &v1alpha1.FioWorkload{JobFile: text + strings.Repeat("#"+strings.Repeat("x", 62)+"\n", (32<<10-len(text))/64)}}
	}
	parameters := func() v1alpha1.Workload {
		p := map[string]string{}
		for i := range 64 {
			p[fmt.Sprintf("p%d", i)] = strings.Repeat("é", 128)
		}
		return v1alpha1.Workload{Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(p)}}
	}
	group.control("one of them is taken", m.api.Create(group.ctx, many(1, jobFile), client.DryRunAll))
	group.refused(m.api.Create(group.ctx, many(16, jobFile), client.DryRunAll), "several benchmarks")
	for what, b := range map[string]*v1alpha1.StorageBenchmark{
		"64 parameters of 256 bytes in each of 16 workloads": many(16, parameters),
		"500 labels": func() *v1alpha1.StorageBenchmark {
			b := m.unmade("labels", nowhere)
			b.Labels = map[string]string{}
			for i := range 500 {
				b.Labels[fmt.Sprintf("l%d", i)] = strings.Repeat("x", 63)
			}
			return b
		}(),
		"500 finalizers": func() *v1alpha1.StorageBenchmark {
			b := m.unmade("finalizers", nowhere)
			for i := range 500 {
				b.Finalizers = append(b.Finalizers, fmt.Sprintf("attacker.example/%s-%d", strings.Repeat("x", 50), i))
			}
			return b
		}(),
		"500 owners": func() *v1alpha1.StorageBenchmark {
			b := m.unmade("owners", nowhere)
			for i := range 500 {
				b.OwnerReferences = append(b.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "none", UID: types.UID(fmt.Sprint(i))})
			}
			return b
		}(),
	} {
		t.Run(what, func(t *testing.T) {
			a := begin(t, what)
			a.refused(m.api.Create(a.ctx, b, client.DryRunAll))
		})
	}
}

// Paths and names that would lead out of the target, or out of the run's objects.
func TestRequestWithPathsThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	group := begin(t, "a target above the allowed directory")
	m := group.tenant("privileged")
	path := func(p string) *v1alpha1.StorageBenchmark {
		return m.unmade("path", nowhere, func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Targets = []v1alpha1.Target{{Name: "t", HostPath: &v1alpha1.HostPathTarget{Path: p}}}
		})
	}
	device := func(p string) *v1alpha1.StorageBenchmark {
		return m.unmade("device", nowhere, func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Targets = []v1alpha1.Target{{Name: "t", BlockDevice: &v1alpha1.BlockDeviceTarget{Path: p, AllowDataDestruction: true}}}
		})
	}
	other := func(change func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
		return m.unmade("name", nowhere, change)
	}
	group.control("a path without .. is taken", m.api.Create(group.ctx, path(hostTargets+"/a"), client.DryRunAll))
	group.refused(m.api.Create(group.ctx, path(hostTargets+"/../../../../etc"), client.DryRunAll))
	for what, b := range map[string]*v1alpha1.StorageBenchmark{
		"a path that ends in ..":      path(hostTargets + "/.."),
		"a path with .":               path(hostTargets + "/./x"),
		"a path with two slashes":     path("/" + hostTargets),
		"a path that ends in a slash": path(hostTargets + "/"),
		"a relative path":             path("var/lib"),
		"a path with a line feed":     path(hostTargets + "\n/etc"),
		"the root":                    path("/"),
		"a device by ..":              device("/dev/loop0/../vda"),
		"a device outside /dev":       device("/etc/passwd"),
		"a device with a pattern":     device("/dev/loop*"),
		"a device that may be destroyed by default": func() *v1alpha1.StorageBenchmark {
			b := device("/dev/loop0")
			b.Spec.Targets[0].BlockDevice.AllowDataDestruction = false
			return b
		}(),
		"a run of another's name":      other(func(s *v1alpha1.StorageBenchmarkSpec) { s.RunID = "../../other" }),
		"a target of another's name":   other(func(s *v1alpha1.StorageBenchmarkSpec) { s.Targets[0].Name = "../other" }),
		"a workload of another's name": other(func(s *v1alpha1.StorageBenchmarkSpec) { s.Workloads[0].Name = "../other" }),
		"a claim of another namespace": other(func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Targets[0] = v1alpha1.Target{Name: "t", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "../minio/data"}}
		}),
		"a claim as root": other(func(s *v1alpha1.StorageBenchmarkSpec) {
			s.Targets[0] = v1alpha1.Target{Name: "t", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "data", RunAsUser: new(int64(0))}}
		}),
		"a timeout of a year": other(func(s *v1alpha1.StorageBenchmarkSpec) { s.Timeout = &metav1.Duration{Duration: 365 * 24 * hour} }),
		"a million trials":    other(func(s *v1alpha1.StorageBenchmarkSpec) { s.Trials.Min = 1_000_000 }),
	} {
		t.Run(what, func(t *testing.T) {
			a := begin(t, what)
			a.refused(m.api.Create(a.ctx, b, client.DryRunAll))
		})
	}
}
