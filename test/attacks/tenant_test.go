//go:build attacks

package attacks

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/test/cluster"
)

// foreignFinalizer is the tenant's, and nobody removes it.
const foreignFinalizer = "attacker.example/hold"

// tenant is somebody with edit in a namespace.
type tenant struct {
	*attack
	namespace string
	// api is the tenant's own client.
	api        client.Client
	kubeconfig string
	// node is set by takeNode.
	node string
}

// tenant makes a namespace with a Pod Security level, and somebody who has edit in it.
func (a *attack) tenant(level string) *tenant {
	a.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "attacks-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": level},
	}}
	if err := admin.Create(a.ctx, ns); err != nil {
		a.t.Fatal(err)
	}
	m := &tenant{attack: a, namespace: ns.Name}
	a.t.Cleanup(func() { m.goHome(ns) })
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "mallory"}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "mallory-edits"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns.Name, Name: account.Name}},
	}
	for _, o := range []client.Object{account, binding} {
		if err := admin.Create(a.ctx, o); err != nil {
			a.t.Fatal(err)
		}
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(7200))}}
	if err := admin.SubResource("token").Create(a.ctx, account, token); err != nil {
		a.t.Fatal(err)
	}
	own := rest.AnonymousClientConfig(config)
	own.BearerToken, own.QPS = token.Status.Token, -1
	var err error
	if m.api, err = client.New(own, client.Options{Scheme: scheme, Mapper: admin.RESTMapper()}); err != nil {
		a.t.Fatal(err)
	}
	m.kubeconfig = m.writeKubeconfig(own)
	// A new role binding is seen by the authorizer a moment later.
	a.eventually("the tenant may work in its namespace", func() error {
		return m.api.List(a.ctx, &v1alpha1.StorageBenchmarkList{}, client.InNamespace(m.namespace))
	})
	return m
}

func (m *tenant) writeKubeconfig(c *rest.Config) string {
	m.t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthority: c.CAFile, CertificateAuthorityData: c.CAData}
	file.AuthInfos["mallory"] = &clientcmdapi.AuthInfo{Token: c.BearerToken}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "mallory", Namespace: m.namespace}
	file.CurrentContext = "c"
	path := filepath.Join(m.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		m.t.Fatal(err)
	}
	return path
}

// goHome removes the tenant's namespace, and the finalizers that keep it.
func (m *tenant) goHome(ns *corev1.Namespace) {
	m.t.Helper()
	if err := admin.Delete(m.ctx, ns); client.IgnoreNotFound(err) != nil {
		m.t.Error(err)
	}
	m.eventually("the namespace is gone", func() error {
		if err := m.letGo(); err != nil {
			return err
		}
		// Some of the tenant's take ten years to end by themselves.
		if err := admin.DeleteAllOf(m.ctx, &corev1.Pod{}, client.InNamespace(ns.Name), client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := admin.Get(m.ctx, client.ObjectKeyFromObject(ns), ns); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%v %+v", err, ns.Status)
		}
		return nil
	})
}

// without drops the tenant's own keys.
func without(all map[string]string) map[string]string {
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.Contains(key, "attacker.example/") })
	return all
}

// letGo removes the tenant's finalizers.
func (m *tenant) letGo() error {
	for _, list := range []client.ObjectList{
		&batchv1.JobList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &v1alpha1.StorageBenchmarkList{},
	} {
		if err := admin.List(m.ctx, list, client.InNamespace(m.namespace)); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			object, ok := o.(client.Object)
			if !ok || !hasFinalizer(object) {
				return nil
			}
			return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
				if err := admin.Get(m.ctx, client.ObjectKeyFromObject(object), object); err != nil {
					return client.IgnoreNotFound(err)
				}
				object.SetFinalizers(slices.DeleteFunc(object.GetFinalizers(), func(f string) bool { return f == foreignFinalizer }))
				// The object may be too large for any other change.
				object.SetLabels(without(object.GetLabels()))
				object.SetAnnotations(without(object.GetAnnotations()))
				return client.IgnoreNotFound(admin.Update(m.ctx, object))
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func hasFinalizer(o client.Object) bool {
	return slices.Contains(o.GetFinalizers(), foreignFinalizer)
}

// takeNode waits for a node that no other attack uses.
func (m *tenant) takeNode() {
	m.t.Helper()
	select {
	case m.node = <-nodes:
	case <-time.After(nodePatience):
		m.t.Fatalf("other tests had the nodes for %s", nodePatience)
	}
	node := m.node
	m.t.Cleanup(func() { nodes <- node })
}

// newBenchmark is a second of 4 KiB random reads and writes, on a loop-ext4 volume.
func newBenchmark(namespace, name string) *v1alpha1.StorageBenchmark {
	return &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets: []v1alpha1.Target{{Name: "ext4", StorageClass: &v1alpha1.StorageClassTarget{
				Name: "loop-ext4", Size: new(resource.MustParse("128Mi")), VolumeMode: corev1.PersistentVolumeFilesystem,
			}}},
			Workloads: []v1alpha1.Workload{fio(map[string]string{
				"rw": "randrw", "bs": "4k", "iodepth": "4", "size": "16MiB", "runtime": "1s", "time_based": "1",
			})},
			Trials:  v1alpha1.Trials{Min: 1},
			Results: &v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
			Timeout: &metav1.Duration{Duration: 10 * time.Minute},
		},
	}
}

func fio(parameters map[string]string) v1alpha1.Workload {
	return v1alpha1.Workload{Name: "mixed", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(parameters)}}
}

// slow makes the first trial last for minutes.
func slow(s *v1alpha1.StorageBenchmarkSpec) {
	s.Workloads[0].Fio.Parameters["runtime"] = v1alpha1.Text("240s")
}

// nowhere lets no node match: what is not refused for another reason is refused for that.
func nowhere(s *v1alpha1.StorageBenchmarkSpec) {
	s.Placement.NodeSelector = map[string]string{"attacks.storagebench.io/nowhere": "true"}
}

// benchmark creates a benchmark as the tenant, on the node if there is one.
func (m *tenant) benchmark(name string, changes ...func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
	m.t.Helper()
	b := m.unmade(name, changes...)
	if err := m.api.Create(m.ctx, b); err != nil {
		m.t.Fatal(err)
	}
	return b
}

// unmade is a benchmark that was not created.
func (m *tenant) unmade(name string, changes ...func(*v1alpha1.StorageBenchmarkSpec)) *v1alpha1.StorageBenchmark {
	b := newBenchmark(m.namespace, name)
	if m.node != "" {
		b.Spec.Placement.NodeSelector = map[string]string{corev1.LabelHostname: m.node}
	}
	for _, change := range changes {
		change(&b.Spec)
	}
	return b
}

// worker is the name of the benchmark's worker on the node.
func (m *tenant) worker(target string) string { return target + "." + m.node }

// running waits until the worker's Pod runs, and returns its Job and the Pod.
func (m *tenant) running(b *v1alpha1.StorageBenchmark) (*batchv1.Job, *corev1.Pod) {
	m.t.Helper()
	var job *batchv1.Job
	var pod *corev1.Pod
	m.eventually("the worker of "+b.Name+" runs", func() error {
		pods := &corev1.PodList{}
		if err := m.api.List(m.ctx, pods, client.InNamespace(m.namespace), client.MatchingLabels{jobspec.LabelBenchmark: b.Name}); err != nil {
			return err
		}
		for i := range pods.Items {
			if pod = &pods.Items[i]; pod.Status.Phase != corev1.PodRunning || len(pod.OwnerReferences) == 0 {
				continue
			}
			job = &batchv1.Job{}
			return m.api.Get(m.ctx, types.NamespacedName{Namespace: m.namespace, Name: pod.OwnerReferences[0].Name}, job)
		}
		if err := admin.Get(m.ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		return fmt.Errorf("no Pod runs: %s", cluster.Words(b))
	})
	return job, pod
}

// change changes an object as the tenant, again if somebody else was quicker.
func change[T client.Object](m *tenant, object T, how func(T)) error {
	for deadline := time.Now().Add(patience.AtMost); ; {
		if err := m.api.Get(m.ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how(object)
		if err := m.api.Update(m.ctx, object); !apierrors.IsConflict(err) || time.Now().After(deadline) {
			return err
		}
	}
}

// must fails the test if the tenant's own preparation is refused.
func (m *tenant) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// exec runs a shell command in a Pod with the tenant's kubeconfig.
func (m *tenant) exec(pod *corev1.Pod, script string) (string, error) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "kubectl", "--kubeconfig", m.kubeconfig, "exec", pod.Name, "--", "/bin/sh", "-c", script).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// shell is a Pod of the tenant's own, with the worker's image and the rights that a worker
// has, that runs a script.
func (m *tenant) shell(name, script string, changes ...func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(1)),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "worker", Image: operator.image, Command: []string{"/bin/sh", "-c", script},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	if m.node != "" {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: m.node}
	}
	for _, change := range changes {
		change(&pod.Spec)
	}
	return pod
}

// asRoot runs a Pod's container as root, which a privileged namespace allows.
func asRoot(s *corev1.PodSpec) {
	s.SecurityContext = nil
	s.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))}
}

// with mounts a volume into a Pod.
func with(path string, source corev1.VolumeSource) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		name := fmt.Sprintf("v%d", len(s.Volumes))
		s.Volumes = append(s.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		s.Containers[0].VolumeMounts = append(s.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
	}
}

func hostDirectory(path string) corev1.VolumeSource {
	return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: new(corev1.HostPathDirectoryOrCreate)}}
}

func claimed(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// run runs a Pod to its end, removes it, and returns what it wrote to its termination log.
func (m *tenant) run(pod *corev1.Pod) (said string, code int32) {
	m.t.Helper()
	pod.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	m.must(m.api.Create(m.ctx, pod))
	m.eventually("the Pod "+pod.Name+" has run", func() error {
		if err := m.api.Get(m.ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		for _, c := range pod.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				said, code = strings.TrimSpace(t.Message), t.ExitCode
				return nil
			}
		}
		return fmt.Errorf("%+v", pod.Status)
	})
	m.must(client.IgnoreNotFound(m.api.Delete(m.ctx, pod, client.GracePeriodSeconds(0))))
	return said, code
}
