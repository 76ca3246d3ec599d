//go:build integration

package admission

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/internal/trial"
)

// request is one to the API server; it is a dry run, so that it can be made again.
type request struct {
	user string
	do   func(ctx context.Context, c client.Client) error
	// refused is a part of the message of the rule that must refuse it; empty: it passes.
	refused string
}

func create(user string, object client.Object, refused string) request {
	return request{user: user, refused: refused, do: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}}
}

func remove(user string, object client.Object, refused string) request {
	return request{user: user, refused: refused, do: func(ctx context.Context, c client.Client) error {
		return c.Delete(ctx, object.DeepCopyObject().(client.Object), client.DryRunAll)
	}}
}

// change patches an object that is there, as change makes it.
func change[T client.Object](user string, object T, change func(T), refused string) request {
	return request{user: user, refused: refused, do: func(ctx context.Context, c client.Client) error {
		now := object.DeepCopyObject().(T)
		if err := api.Get(ctx, client.ObjectKeyFromObject(object), now); err != nil {
			return err
		}
		before := now.DeepCopyObject().(client.Object)
		change(now)
		return c.Patch(ctx, now, client.MergeFrom(before), client.DryRunAll)
	}}
}

func TestPolicies(t *testing.T) {
	ctx := t.Context()
	requests := map[string]request{}
	for _, table := range []map[string]request{workerRequests(t), restoreRequests(t), objectRequests(t), sizeRequests(t), scheduleRequests(t), existingRequests(ctx, t)} {
		maps.Copy(requests, table)
	}
	for name, r := range requests {
		if err := r.do(ctx, as[r.user]); err != nil {
			t.Errorf("%s: without the policies it must pass, or this shows nothing: %.500v", name, err)
		}
	}
	if t.Failed() {
		return
	}
	if err := apply(ctx, "admission/policies.yaml", allowLab); err != nil {
		t.Fatal(err)
	}
	attacks := 0
	for name, r := range requests {
		if r.refused == "" {
			continue
		}
		attacks++
		// Policies take effect some time after they are created.
		patience.For(t, name, func() error {
			err := r.do(ctx, as[r.user])
			if err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
				return fmt.Errorf("it is not refused: %.500v", err)
			}
			if !strings.Contains(err.Error(), r.refused) {
				t.Errorf("%s is refused by another rule than %q: %v", name, r.refused, err)
			}
			return nil
		})
	}
	for name, r := range requests {
		if r.refused != "" {
			continue
		}
		if err := r.do(ctx, as[r.user]); err != nil {
			t.Errorf("%s must pass: %v", name, err)
		}
	}
	t.Logf("%d attacks refused, %d requests of daily life passed", attacks, len(requests)-attacks)
}

// allowLab is hostAccess with a path and a pattern; test/chart shows that values become these.
func allowLab(object *unstructured.Unstructured) {
	variables, _, _ := unstructured.NestedSlice(object.Object, "spec", "variables")
	for _, v := range variables {
		switch v := v.(map[string]any); v["name"] {
		case "hostPaths":
			v["expression"] = `["/mnt/bench"]`
		case "devices":
			v["expression"] = `["^/dev/loop[^/]*$"]`
		}
	}
	if len(variables) > 0 {
		_ = unstructured.SetNestedSlice(object.Object, variables, "spec", "variables")
	}
}

// workerRequests are Jobs where benchmarks are.
func workerRequests(t *testing.T) map[string]request {
	t.Helper()
	// with is a worker's Job, in a namespace without privileges, that is changed.
	with := func(change func(*batchv1.Job), refused string) request {
		job := plainWorker(t)
		change(job)
		return create(operatorUser, job, refused)
	}
	pod := func(change func(*corev1.PodSpec), refused string) request {
		return with(func(j *batchv1.Job) { change(&j.Spec.Template.Spec) }, refused)
	}
	container := func(change func(*corev1.Container), refused string) request {
		return pod(func(p *corev1.PodSpec) { change(&p.Containers[0]) }, refused)
	}
	mount := func(source corev1.VolumeSource) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) {
			p.Volumes = append(p.Volumes, corev1.Volume{Name: "more", VolumeSource: source})
		}
	}
	// inPrivileged is one on a device, in a namespace that is labelled for it.
	inPrivileged := func(change func(*corev1.PodSpec), refused string) request {
		job := worker(t, privileged, device, true)
		change(&job.Spec.Template.Spec)
		return create(operatorUser, job, refused)
	}
	path := func(path string, kind corev1.HostPathType) func(*corev1.PodSpec) {
		return mount(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &kind}})
	}
	withProbe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}}
	r := map[string]request{
		// As the operator makes them.
		"a worker on a volume":            create(operatorUser, plainWorker(t), ""),
		"a worker on a Block volume":      create(operatorUser, worker(t, plain, trial.Target{Source: trial.StorageClass, Ref: "fast", Mode: trial.Block}, false), ""),
		"a worker on a claim":             create(operatorUser, worker(t, plain, trial.Target{Source: trial.PersistentVolumeClaim, Ref: "db-0", Mode: trial.Filesystem}, false), ""),
		"a worker on a directory":         create(operatorUser, worker(t, privileged, trial.Target{Source: trial.HostPath, Ref: "/mnt/bench/a", Mode: trial.Filesystem}, false), ""),
		"a worker on a device":            create(operatorUser, worker(t, privileged, device, false), ""),
		"a worker that changes settings":  create(operatorUser, worker(t, privileged, volume, true), ""),
		"a device, with changed settings": inPrivileged(func(*corev1.PodSpec) {}, ""),
		"a tenant's own Job of any image": create(tenantUser, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: plain, Name: "own"}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "busybox"}}}}}}, ""),

		// Whose it is.
		"no label":                 with(func(j *batchv1.Job) { delete(j.Labels, "app.kubernetes.io/managed-by") }, "managed-by=storagebench"),
		"a Service's label":        with(func(j *batchv1.Job) { j.Spec.Template.Labels["app"] = "db" }, "no labels by which"),
		"no owner":                 with(func(j *batchv1.Job) { j.OwnerReferences = nil }, "belongs to a StorageBenchmark"),
		"another owner":            with(func(j *batchv1.Job) { j.OwnerReferences[0].Kind = "NodeRestore" }, "belongs to a StorageBenchmark"),
		"an owner of another API":  with(func(j *batchv1.Job) { j.OwnerReferences[0].APIVersion = "example.com/v1" }, "belongs to a StorageBenchmark"),
		"a name with a short hash": with(func(j *batchv1.Job) { j.Name = "db-12345678" }, "end in a hash"),
		"the name of a Secret":     with(func(j *batchv1.Job) { j.Name = "db-credentials" }, "end in a hash"),
		"many Pods":                with(func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(50)) }, "one Pod at a time"),
		"endless Pods":             with(func(j *batchv1.Job) { j.Spec.BackoffLimit = new(int32(1000)) }, "at most 10 times"),

		"Pods of others": with(func(j *batchv1.Job) {
			j.Spec.ManualSelector, j.Spec.Selector = new(true), &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/managed-by": "storagebench"}}
		}, "adopts no Pods"),
		"another controller": with(func(j *batchv1.Job) { j.Spec.ManagedBy = new("example.com/elsewhere") }, "no other controller"),

		// What runs.
		"another image": container(func(c *corev1.Container) { c.Image = "busybox" }, "the image "+image),
		"another tag":   container(func(c *corev1.Container) { c.Image = image + "0" }, "the image "+image),
		"a second one": pod(func(p *corev1.PodSpec) {
			p.Containers = append(p.Containers, corev1.Container{Name: "b", Image: image})
		}, "one container"),
		"an init container": pod(func(p *corev1.PodSpec) { p.InitContainers = []corev1.Container{{Name: "b", Image: image}} }, "one container"),
		"a shell":           container(func(c *corev1.Container) { c.Command = []string{"sh", "-c", "id"} }, "storagebench worker"),
		"no command":        container(func(c *corev1.Container) { c.Command = nil }, "storagebench worker"),
		"another command":   container(func(c *corev1.Container) { c.Args[0] = "restore" }, "storagebench worker"),
		"no arguments":      container(func(c *corev1.Container) { c.Args = nil }, "storagebench worker"),
		"envFrom": container(func(c *corev1.Container) {
			c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}}
		}, "no environment"),
		"PATH": container(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "PATH", Value: "/target"}} }, "no environment"),
		"a Secret in env": container(func(c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "GOMEMLIMIT", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k", LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}}}
		}, "no environment"),
		"a hook": container(func(c *corev1.Container) {
			c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh"}}}}
		}, "probes, hooks"),
		"a probe":            container(func(c *corev1.Container) { c.LivenessProbe = withProbe }, "probes, hooks"),
		"a startup probe":    container(func(c *corev1.Container) { c.StartupProbe = withProbe }, "probes, hooks"),
		"a host's port":      container(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}} }, "ports"),
		"another message":    container(func(c *corev1.Container) { c.TerminationMessagePath = "/etc/storagebench/grant/grant.json" }, "no environment"),
		"over the program":   container(func(c *corev1.Container) { c.VolumeMounts[0].MountPath = "/usr/local/bin" }, "not over its programs"),
		"a part of a volume": container(func(c *corev1.Container) { c.VolumeMounts[0].SubPath = "x" }, "not over its programs"),

		// As whom.
		"a ServiceAccount":   pod(func(p *corev1.PodSpec) { p.ServiceAccountName = "admin" }, "no ServiceAccount"),
		"a token":            pod(func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil }, "no ServiceAccount"),
		"the host's network": pod(func(p *corev1.PodSpec) { p.HostNetwork = true }, "network or IPC"),
		"the host's IPC":     pod(func(p *corev1.PodSpec) { p.HostIPC = true }, "network or IPC"),
		"past the scheduler": pod(func(p *corev1.PodSpec) { p.NodeName = "control-plane" }, "no scheduler"),
		"a high priority":    pod(func(p *corev1.PodSpec) { p.PriorityClassName = "system-node-critical" }, "priority"),
		"another runtime":    pod(func(p *corev1.PodSpec) { p.RuntimeClassName = new("unsafe") }, "runtime"),

		// What it sees.
		"another Secret":       pod(mount(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "db"}}), "no others"),
		"another ConfigMap":    pod(mount(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}), "no others"),
		"a projected token":    pod(mount(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}}}}}), "no tokens"),
		"a CSI volume":         pod(mount(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "secrets-store.csi.k8s.io"}}), "no other kind"),
		"an NFS volume":        pod(mount(corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "10.0.0.1", Path: "/"}}), "no other kind"),
		"a path, unlabelled":   create(operatorUser, worker(t, plain, trial.Target{Source: trial.HostPath, Ref: "/mnt/bench", Mode: trial.Filesystem}, false), "a path of the node needs"),
		"settings, unlabelled": create(operatorUser, worker(t, plain, volume, true), "enforce=privileged"),
		"another path":         inPrivileged(path("/etc", corev1.HostPathDirectory), "hostAccess"),
		"the root":             inPrivileged(path("/", corev1.HostPathDirectory), "hostAccess"),
		"a path beside":        inPrivileged(path("/mnt/bench2", corev1.HostPathDirectory), "hostAccess"),
		"a path that is made":  inPrivileged(path("/mnt/bench/x", corev1.HostPathDirectoryOrCreate), "hostAccess"),
		"a file":               inPrivileged(path("/mnt/bench/x", corev1.HostPathFile), "hostAccess"),
		"a socket":             inPrivileged(path("/run/containerd/containerd.sock", corev1.HostPathSocket), "hostAccess"),
		"another device":       inPrivileged(path("/dev/sda", corev1.HostPathBlockDev), "hostAccess"),
		"a character device":   inPrivileged(path("/dev/loop-control", corev1.HostPathCharDev), "hostAccess"),
		"below the journal":    inPrivileged(path("/var/lib/storagebench", corev1.HostPathDirectory), "hostAccess"),

		// With which privileges.
		"privileged":           container(func(c *corev1.Container) { c.SecurityContext = &corev1.SecurityContext{Privileged: new(true)} }, "restricted"),
		"the host's PIDs":      pod(func(p *corev1.PodSpec) { p.HostPID = true }, "restricted"),
		"a capability":         container(func(c *corev1.Container) { c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"} }, "restricted"),
		"default capabilities": container(func(c *corev1.Container) { c.SecurityContext.Capabilities = nil }, "restricted"),
		"escalation":           container(func(c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil }, "restricted"),
		"root": pod(func(p *corev1.PodSpec) {
			p.SecurityContext.RunAsUser, p.SecurityContext.RunAsNonRoot = new(int64(0)), nil
		}, "restricted"),
		"root in the container": container(func(c *corev1.Container) { c.SecurityContext.RunAsUser = new(int64(0)) }, "restricted"),
		"any user":              pod(func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = nil }, "restricted"),
		"no seccomp":            pod(func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined }, "restricted"),
		"no seccomp there": container(func(c *corev1.Container) {
			c.SecurityContext.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}, "restricted"),
		"no AppArmor": container(func(c *corev1.Container) {
			c.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
		}, "restricted"),
	}
	return r
}

// restoreRequests are Jobs and Pods in the namespace where everything may be privileged.
func restoreRequests(t *testing.T) map[string]request {
	t.Helper()
	with := func(change func(*batchv1.Job), refused string) request {
		job := restore(t)
		change(job)
		return create(operatorUser, job, refused)
	}
	pod := func(change func(*corev1.Pod), refused string) request {
		p := restorePod(t)
		change(p)
		return create(operatorUser, p, refused)
	}
	return map[string]request{
		"a restore":                     create(operatorUser, restore(t), ""),
		"a restore's Pod as a dry run":  create(operatorUser, restorePod(t), ""),
		"a restore without its record":  with(func(j *batchv1.Job) { j.OwnerReferences = nil }, "NodeRestore"),
		"a restore of another name":     with(func(j *batchv1.Job) { j.Name = "x-0123456789abcdef0123456789abcdef" }, "begin with restore-"),
		"a restore of another priority": with(func(j *batchv1.Job) { j.Spec.Template.Spec.PriorityClassName = "system-cluster-critical" }, "system-node-critical"),
		"a worker among restores":       with(func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Args[0] = "worker" }, "storagebench restore"),
		"a shell among restores":        with(func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Command = []string{"sh"} }, "storagebench restore"),
		"another image among restores":  with(func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Image = "busybox" }, "the image "+image),
		"an allowed path among restores": with(func(j *batchv1.Job) {
			j.Spec.Template.Spec.Volumes[0].HostPath = &corev1.HostPathVolumeSource{Path: "/mnt/bench", Type: new(corev1.HostPathDirectory)}
		}, "hostAccess"),
		"a claim among restores": with(func(j *batchv1.Job) {
			j.Spec.Template.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "x"}}
		}, "no others"),
		"a Pod with a shell":            pod(func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sh"} }, "storagebench restore"),
		"a Pod with the host's network": pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true }, "network or IPC"),
		"a Pod with the root": pod(func(p *corev1.Pod) {
			p.Spec.Volumes[0].HostPath = &corev1.HostPathVolumeSource{Path: "/", Type: new(corev1.HostPathDirectory)}
		}, "hostAccess"),
	}
}
