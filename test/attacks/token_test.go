//go:build attacks

package attacks

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/trial"
)

// thief is somebody who has the operator's token. The requests are the operator's by
// impersonation, and dry runs.
func thief(t *testing.T) client.Client {
	t.Helper()
	stolen := rest.CopyConfig(config)
	stolen.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + operatorNamespace + ":" + operator.account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace, "system:authenticated"},
	}
	c, err := client.New(stolen, client.Options{Scheme: scheme, Mapper: admin.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// workersJob is a Job as the operator makes it.
func workersJob(t *testing.T, namespace string) *batchv1.Job {
	t.Helper()
	target := trial.Target{Name: "fast", Source: trial.StorageClass, Ref: "loop-ext4", Mode: trial.Filesystem}
	w := trial.Worker{Name: "fast.a", Target: "fast", Node: "a"}
	job, err := jobspec.Job(jobspec.Input{
		Settings: jobspec.Settings{Image: operator.image, ImagePullPolicy: corev1.PullIfNotPresent},
		Plan: &trial.Plan{
			Benchmark: trial.Benchmark{Namespace: namespace, Name: "stolen", UID: "u-1"},
			Run:       "g1-x", Targets: []trial.Target{target}, Workers: []trial.Worker{w},
		},
		Worker: w, Target: target, Timeout: time.Hour, GrantDigest: trial.Digest(nil),
		Owner: metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "StorageBenchmark", Name: "stolen", UID: "u-1", Controller: new(true), BlockOwnerDeletion: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// The operator's token is worth what the operator does, and not the cluster.
func TestTokenOfTheOperatorMakesNoOtherJobs(t *testing.T) {
	t.Parallel()
	group := begin(t, "a Job in kube-system by the operator's token")
	m, stolen := group.tenant("restricted"), thief(t)
	create := func(a *attack, c client.Client, job *batchv1.Job) error {
		return c.Create(a.ctx, job, client.DryRunAll)
	}
	group.control("the operator's own Job is taken", create(group, stolen, workersJob(t, m.namespace)))
	// It is root there: that namespace has no Pod Security level.
	other := workersJob(t, metav1.NamespaceSystem)
	other.Spec.Template.Spec.SecurityContext, other.Spec.Template.Spec.Containers[0].SecurityContext = nil, &corev1.SecurityContext{Privileged: new(true)}
	group.refused(create(group, stolen, other))
	for what, change := range map[string]func(*batchv1.Job, *corev1.PodSpec, *corev1.Container){
		"another image":   func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) { c.Image = "attacker.example/image" },
		"another program": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) { c.Command = []string{"/bin/sh"} },
		"another command of the program": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Args = []string{"restore"}
		},
		"a program that a probe starts": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh"}}}}
		},
		"a program that a hook starts": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh"}}}}
		},
		"a variable that loads a library": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "LD_PRELOAD", Value: "/target/x.so"}}
		},
		"another container": func(_ *batchv1.Job, s *corev1.PodSpec, c *corev1.Container) {
			more := c.DeepCopy()
			more.Name = "more"
			s.Containers = append(s.Containers, *more)
		},
		"an init container": func(_ *batchv1.Job, s *corev1.PodSpec, c *corev1.Container) {
			more := c.DeepCopy()
			more.Name = "more"
			s.InitContainers = []corev1.Container{*more}
		},
		"somebody's ServiceAccount": func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) { s.ServiceAccountName = "mallory" },
		"a token": func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) {
			s.AutomountServiceAccountToken = new(true)
		},
		"a token by a volume": func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "t", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}}},
			}}})
		},
		"somebody's Secret by a volume": func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "password"}}})
		},
		"somebody's Secret by a variable": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "password"}}}}
		},
		"the node's root": func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
		},
		"the node's network":   func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) { s.HostNetwork = true },
		"the node's processes": func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) { s.HostPID = true },
		"privileges": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		},
		"a capability": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
		},
		"a node by its name": func(_ *batchv1.Job, s *corev1.PodSpec, _ *corev1.Container) { s.NodeName = "node-a" },
		"a mount over the program": func(_ *batchv1.Job, _ *corev1.PodSpec, c *corev1.Container) {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "work", MountPath: "/usr/local/bin"})
		},
		"no owner":               func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) { j.OwnerReferences = nil },
		"labels of a Service":    func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) { j.Spec.Template.Labels["app"] = "bank" },
		"the name of a Secret":   func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) { j.Name = "password" },
		"a hundred Pods at once": func(j *batchv1.Job, _ *corev1.PodSpec, _ *corev1.Container) { j.Spec.Parallelism = new(int32(100)) },
	} {
		t.Run(what, func(t *testing.T) {
			a := begin(t, "a Job by the operator's token with "+what)
			job := workersJob(t, m.namespace)
			change(job, &job.Spec.Template.Spec, &job.Spec.Template.Spec.Containers[0])
			a.refused(create(a, stolen, job))
			if err := create(a, admin, job.DeepCopy()); err == nil { // some are no Jobs for anybody
				a.control("an administrator's Job is taken", nil)
			}
		})
	}
}

// What the operator does not do at all, or only to objects of its own.
func TestTokenOfTheOperatorTouchesNothingOfOthers(t *testing.T) {
	t.Parallel()
	group := begin(t, "a Secret of others is read by the operator's token")
	m, stolen := group.tenant("restricted"), thief(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "password"}, StringData: map[string]string{"password": "secret"}}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "payroll"},
		Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: operator.image}},
		}}},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "database"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(""),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
		},
	}
	b := m.unmade("mine", nowhere)
	for _, o := range []client.Object{secret, job, claim, b} {
		m.must(m.api.Create(group.ctx, o))
	}
	read := func(c client.Client) error {
		return c.Get(group.ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{})
	}
	group.refused(read(stolen))
	group.control("an administrator reads it", read(admin))
	patch := func(o client.Object, text string) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			copied, _ := o.DeepCopyObject().(client.Object)
			return c.Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
		}
	}
	remove := func(o client.Object) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			copied, _ := o.DeepCopyObject().(client.Object)
			return c.Delete(ctx, copied, client.DryRunAll)
		}
	}
	create := func(o client.Object) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			copied, _ := o.DeepCopyObject().(client.Object)
			return c.Create(ctx, copied, client.DryRunAll)
		}
	}
	for what, request := range map[string]func(context.Context, client.Client) error{
		"a Secret is replaced":           patch(secret, `{"stringData":{"password":"other"}}`),
		"a Secret is deleted":            remove(secret),
		"every Secret is listed":         func(ctx context.Context, c client.Client) error { return c.List(ctx, &corev1.SecretList{}) },
		"somebody's Job is let go":       patch(job, `{"spec":{"suspend":false}}`),
		"somebody's Job is deleted":      remove(job),
		"somebody's claim is deleted":    remove(claim),
		"a benchmark's spec is changed":  patch(b, `{"spec":{"suspend":true}}`),
		"a namespace becomes privileged": patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}}, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`),
		"a node is labelled":             patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.anyNode()}}, `{"metadata":{"labels":{"mine":"yes"}}}`),
		"a policy permits everything": create(&v1alpha1.TunablePolicy{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "mine-"}, Spec: v1alpha1.TunablePolicySpec{Tunables: []v1alpha1.PermittedTunable{{Name: "vm.*"}}},
		}),
		"a Secret that is a token": create(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}},
			Type:       corev1.SecretTypeServiceAccountToken,
		}),
		"a claim for somebody's data": create(&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "copy"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: claim.Spec.AccessModes, Resources: claim.Spec.Resources, VolumeName: "pv-of-others",
			},
		}),
		"a Pod": create(m.shell("pod", "id")),
		"everybody becomes an administrator": create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "mine-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "system:authenticated"}},
		}),
	} {
		t.Run(what, func(t *testing.T) {
			a := begin(t, what+" by the operator's token")
			a.refused(request(a.ctx, stolen))
			err := request(a.ctx, admin)
			if apierrors.IsNotFound(err) {
				err = nil // it is of no use, and allowed
			}
			a.control("an administrator's request is taken", err)
		})
	}
	group.remove(b)
}

func (m *tenant) anyNode() string {
	m.t.Helper()
	list := &corev1.NodeList{}
	m.must(admin.List(m.ctx, list))
	return list.Items[0].Name
}
