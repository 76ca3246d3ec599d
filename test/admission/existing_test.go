//go:build integration

package admission

import (
	"context"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
)

// objectRequests are what the operator makes beside its Jobs.
func objectRequests(t *testing.T) map[string]request {
	t.Helper()
	secret := func(change func(*corev1.Secret), refused string) request {
		s := grant(t)
		change(s)
		return create(operatorUser, s, refused)
	}
	volume := func(change func(*corev1.PersistentVolumeClaim), refused string) request {
		c := claim(t)
		change(c)
		return create(operatorUser, c, refused)
	}
	config := func(change func(*corev1.ConfigMap), refused string) request {
		c := plan(t)
		change(c)
		return create(operatorUser, c, refused)
	}
	return map[string]request{
		"a grant":           create(operatorUser, grant(t), ""),
		"a plan":            create(operatorUser, plan(t), ""),
		"a claim":           create(operatorUser, claim(t), ""),
		"a tenant's Secret": create(tenantUser, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plain, Name: "db"}}, ""),

		"a ServiceAccount's token": secret(func(s *corev1.Secret) {
			// The API server wants to know whose; such a Secret gets its token from a controller.
			s.Type = corev1.SecretTypeServiceAccountToken
			s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "admin"}
		}, "managed-by=storagebench"),
		"a Secret of another type":      secret(func(s *corev1.Secret) { s.Type = "bootstrap.kubernetes.io/token" }, "is Opaque"),
		"a Secret that can be changed":  secret(func(s *corev1.Secret) { s.Immutable = nil }, "immutable"),
		"a Secret for others":           secret(func(s *corev1.Secret) { s.Annotations = map[string]string{"reflector/copy": "true"} }, "no labels or annotations"),
		"a Secret that nobody owns":     secret(func(s *corev1.Secret) { s.OwnerReferences = nil }, "the Job as its owner"),
		"a Secret of another Job":       secret(func(s *corev1.Secret) { s.OwnerReferences[0].Name = "other" }, "the Job as its owner"),
		"a Secret of a Deployment":      secret(func(s *corev1.Secret) { s.OwnerReferences[0].Kind = "Deployment" }, "the Job as its owner"),
		"a Secret of a known name":      secret(func(s *corev1.Secret) { s.Name, s.OwnerReferences[0].Name = "db-credentials", "db-credentials" }, "ends in a hash"),
		"a Secret without its label":    secret(func(s *corev1.Secret) { s.Labels = nil }, "managed-by=storagebench"),
		"a document of a run":           config(inOperators(runDocument), ""),
		"a document among benchmarks":   config(func(c *corev1.ConfigMap) { c.Name, c.OwnerReferences = runDocument, nil }, "the Job as its owner"),
		"another ConfigMap of its own":  config(inOperators("settings"), "the Job as its owner"),
		"a document for a dashboard":    config(func(c *corev1.ConfigMap) { inOperators(runDocument)(c); c.Labels["grafana_dashboard"] = "1" }, "no labels"),
		"a ConfigMap for a dashboard":   config(func(c *corev1.ConfigMap) { c.Labels["grafana_dashboard"] = "1" }, "no labels"),
		"a ConfigMap that nobody owns":  config(func(c *corev1.ConfigMap) { c.OwnerReferences = nil }, "the Job as its owner"),
		"a ConfigMap without its label": config(func(c *corev1.ConfigMap) { c.Labels = nil }, "managed-by=storagebench"),
		"a claim without its label":     volume(func(c *corev1.PersistentVolumeClaim) { c.Labels = nil }, "managed-by=storagebench"),
		"a claim that nobody owns":      volume(func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = nil }, "the Job as its owner"),
		"a claim for a given volume":    volume(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv-of-others" }, "new and empty"),
		"a claim for chosen volumes":    volume(func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }, "new and empty"),
		"a clone of a claim": volume(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: "db-0"}
		}, "new and empty"),
	}
}

// existingRequests change and delete what is there.
func existingRequests(ctx context.Context, t *testing.T) map[string]request {
	t.Helper()
	held, free, ours, theirs := benchmark("held"), benchmark("free"), plainWorker(t), plainWorker(t)
	held.Finalizers = []string{cleanup, "example.com/hold", metav1.FinalizerDeleteDependents}
	ours.Name, theirs.Name, theirs.Labels = "ours-0123456789abcdef0123456789abcdef", "theirs", nil
	theirs.Spec.Template.Labels = nil
	for _, object := range []client.Object{held, free, ours, theirs} {
		if err := api.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	without := func(names ...string) func(*v1alpha1.StorageBenchmark) {
		return func(b *v1alpha1.StorageBenchmark) {
			b.Finalizers = slices.DeleteFunc(b.Finalizers, func(f string) bool { return slices.Contains(names, f) })
		}
	}
	resume := func(j *batchv1.Job) { j.Spec.Suspend = new(false) }
	const reserved = "storagebench.io/cleanup is the operator's"
	requests := map[string]request{
		"a tenant takes the finalizer away":    change(tenantUser, held, without(cleanup), reserved),
		"a tenant takes all finalizers away":   change(tenantUser, held, func(b *v1alpha1.StorageBenchmark) { b.Finalizers = nil }, reserved),
		"a tenant renames the finalizer":       change(tenantUser, held, func(b *v1alpha1.StorageBenchmark) { b.Finalizers[0] += "-x" }, reserved),
		"a tenant does so among other changes": change(tenantUser, held, func(b *v1alpha1.StorageBenchmark) { b.Finalizers, b.Spec.Suspend = nil, true }, reserved),
		"the collector of garbage does so":     change(collectorUser, held, without(cleanup), reserved),
		"a tenant replaces the whole object": {user: tenantUser, refused: reserved, do: func(ctx context.Context, c client.Client) error {
			b := held.DeepCopy()
			if err := api.Get(ctx, client.ObjectKeyFromObject(held), b); err != nil {
				return err
			}
			b.Finalizers = nil
			return c.Update(ctx, b, client.DryRunAll)
		}},
		"the operator changes a spec": change(operatorUser, held, func(b *v1alpha1.StorageBenchmark) { b.Spec.RunID = "again" }, "never changes a benchmark's spec"),

		"the operator removes its finalizer":         change(operatorUser, held, without(cleanup), ""),
		"the operator adds its finalizer":            change(operatorUser, free, func(b *v1alpha1.StorageBenchmark) { b.Finalizers = []string{cleanup} }, ""),
		"the operator deletes a benchmark":           remove(operatorUser, held, ""),
		"who may finalize removes the finalizer":     change(finalizerUser, held, without(cleanup), ""),
		"the collector of garbage removes its own":   change(collectorUser, held, without(metav1.FinalizerDeleteDependents), ""),
		"the controller of namespaces deletes":       remove(collectorUser, held, ""),
		"a tenant removes another finalizer":         change(tenantUser, held, without("example.com/hold"), ""),
		"a tenant changes the spec":                  change(tenantUser, held, func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = true }, ""),
		"a tenant changes one that is not held":      change(tenantUser, free, func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = true }, ""),
		"a tenant deletes a benchmark that is held":  remove(tenantUser, held, ""),
		"the operator lets its Job go":               change(operatorUser, ours, resume, ""),
		"the operator deletes its Job":               remove(operatorUser, ours, ""),
		"a tenant changes its own Job":               change(tenantUser, theirs, resume, ""),
		"the operator lets a Job of others go":       change(operatorUser, theirs, resume, "only its own Jobs"),
		"the operator deletes a Job of others":       remove(operatorUser, theirs, "only its own Jobs"),
		"the operator adopts a Job of others":        change(operatorUser, theirs, func(j *batchv1.Job) { j.Labels = ours.Labels }, "only its own Jobs"),
		"the operator gives its Job to another":      change(operatorUser, ours, func(j *batchv1.Job) { j.OwnerReferences[0].UID = "u-9" }, "not change anything else"),
		"the operator multiplies its Job":            change(operatorUser, ours, func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(9)) }, "not change anything else"),
		"the operator moves its Job to another node": change(operatorUser, ours, func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector = map[string]string{"a": "b"} }, "not change anything else"),
		"the operator labels the Pods of its Job":    change(operatorUser, ours, func(j *batchv1.Job) { j.Spec.Template.Labels["app"] = "db" }, "not change anything else"),
		"the operator labels its Job":                change(operatorUser, ours, func(j *batchv1.Job) { j.Labels["app"] = "db" }, "not change anything else"),
		"the operator changes a label of its Job":    change(operatorUser, ours, func(j *batchv1.Job) { j.Labels[jobspec.LabelRun] = "another" }, "not change anything else"),
		"the operator removes labels of its Job":     change(operatorUser, ours, func(j *batchv1.Job) { delete(j.Labels, jobspec.LabelRun) }, ""),
		"the operator writes the status of a benchmark": {user: operatorUser, do: func(ctx context.Context, c client.Client) error {
			b := held.DeepCopy()
			before := b.DeepCopy()
			b.Status.ObservedGeneration = 7
			return c.Status().Patch(ctx, b, client.MergeFrom(before), client.DryRunAll)
		}},
	}
	return requests
}
