//go:build attacks

package attacks

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/trial"
)

// next is where the objects of a suspended benchmark's next run will be.
func (m *tenant) next(b *v1alpha1.StorageBenchmark) string {
	m.t.Helper()
	later := b.DeepCopy()
	later.Generation++
	w := trial.Worker{Name: m.worker("ext4"), Target: "ext4", Node: m.node}
	return jobspec.Name(&trial.Plan{Benchmark: trial.Benchmark{Namespace: b.Namespace, Name: b.Name, UID: string(b.UID)}, Run: runID(later)}, w)
}

// Objects with the names of a worker's, made before it: they are neither used nor replaced
// nor deleted, and hold up nobody else.
func TestTamperingByPlantedObjects(t *testing.T) {
	t.Parallel()
	for what, object := range map[string]client.Object{
		"a Secret of the worker's name":    &corev1.Secret{StringData: map[string]string{"grant.json": `{"put":{},"get":{}}`}},
		"a ConfigMap of the worker's name": &corev1.ConfigMap{Data: map[string]string{"plan.json": "{}"}},
		"a claim of the worker's name": &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new("loop-ext4"),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}},
		}},
		"a Job of the worker's name": &batchv1.Job{Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "none"}}},
		}}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			a := begin(t, what)
			m := a.tenant("restricted")
			m.takeNode()
			b := m.benchmark("planted", func(s *v1alpha1.StorageBenchmarkSpec) { s.Suspend = true })
			object.SetNamespace(m.namespace)
			object.SetName(m.next(b))
			m.must(m.api.Create(a.ctx, object))
			planted := object.GetUID()
			m.must(change(m, b, func(b *v1alpha1.StorageBenchmark) { b.Spec.Suspend = false }))
			c := a.stands(b, reason.PodRejected, reason.Running, reason.Finished)
			if c.Reason != reason.PodRejected {
				a.succeeded("the benchmark is %s: %s", c.Reason, c.Message)
			}
			a.says(c.Message, object.GetName())
			a.measures(m.node)
			err := m.api.Get(a.ctx, client.ObjectKeyFromObject(object), object)
			if err != nil || object.GetUID() != planted || object.GetDeletionTimestamp() != nil || len(object.GetOwnerReferences()) > 0 {
				a.succeeded("the object is not what it was: %v %+v", err, object)
			}
			m.must(client.IgnoreNotFound(m.api.Delete(a.ctx, object)))
			a.remove(b)
		})
	}
}

// listener counts connections, on this machine, which Pods reach.
type listener struct {
	net.Listener
	connections atomic.Int32
}

func (m *tenant) listen() *listener {
	m.t.Helper()
	nodes := &corev1.NodeList{}
	m.must(admin.List(m.ctx, nodes))
	// The address by which this machine reaches the cluster's nodes is one that they reach.
	node := nodes.Items[0].Status.Addresses[0].Address
	route, err := net.Dial("udp", net.JoinHostPort(node, "9"))
	m.must(err)
	host, _, err := net.SplitHostPort(route.LocalAddr().String())
	m.must(err)
	m.must(route.Close())
	l := &listener{}
	l.Listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	m.must(err)
	m.t.Cleanup(func() { _ = l.Close() }) // the server below ends with it
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			l.connections.Add(1)
			_ = c.Close() // it was only to be counted
		}
	}()
	return l
}

// replace replaces an immutable object by one with another content.
func replace[T client.Object](m *tenant, object T, how func(T)) {
	m.t.Helper()
	m.must(m.api.Get(m.ctx, client.ObjectKeyFromObject(object), object))
	m.must(m.api.Delete(m.ctx, object, client.GracePeriodSeconds(0)))
	object.SetResourceVersion("")
	object.SetUID("")
	how(object)
	m.must(m.api.Create(m.ctx, object))
}

// The grant's Secret is replaced by one with a URL in the worker's network.
func TestQuickGrantIsReplaced(t *testing.T) {
	t.Parallel()
	a := begin(t, "the grant is replaced, for the worker to open URLs")
	m := a.tenant("restricted")
	m.takeNode()
	trap := m.listen()
	b := m.benchmark("ssrf", slow)
	l := m.plunder(b)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: l.job.Name}}
	var forged []byte
	replace(m, secret, func(s *corev1.Secret) {
		forged = []byte(strings.ReplaceAll(string(s.Data["grant.json"]), "minio.minio.svc:9000", trap.Addr().String()))
		s.Data["grant.json"] = forged
	})
	m.must(m.api.Delete(a.ctx, l.pod, client.GracePeriodSeconds(0)))
	c := a.ended(b)
	if n := trap.connections.Load(); n > 0 {
		a.succeeded("%d connections", n)
	}
	if c.Reason != reason.GrantTampered {
		t.Errorf("the benchmark ended with %s: %s", c.Reason, c.Message)
	}
	a.control("the same worker with the digest of the forged grant opens the URL", m.workerWith(l, secret, forged, trap))
	a.remove(b)
}

// workerWith runs the worker's own Pod as the tenant's, with the digest of another grant.
func (m *tenant) workerWith(l loot, secret *corev1.Secret, forged []byte, trap *listener) error {
	m.t.Helper()
	document, digest, err := l.plan.Encode()
	m.must(err)
	name := "control"
	m.must(m.api.Create(m.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}, Data: secret.Data}))
	m.must(m.api.Create(m.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name}, Data: map[string]string{"plan.json": string(document)}}))
	pod := m.shell(name, "", with("/plan", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}),
		with("/grant", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}), with("/work", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	pod.Spec.Containers[0].Command = []string{
		"/usr/local/bin/storagebench", "worker", "--plan", "/plan/plan.json", "--plan-digest", digest, "--worker", l.worker.Name, "--target-path", "/work",
		"--grant", "/grant/grant.json", "--grant-digest", trial.Digest(forged), "--spool", "/work/spool", "--scratch", "/work/scratch",
		"--receipt", "/dev/termination-log", "--timeout", "5s",
	}
	m.must(m.api.Create(m.ctx, pod))
	deadline := time.Now().Add(time.Minute)
	for trap.connections.Load() == 0 {
		if time.Now().After(deadline) {
			return fmt.Errorf("it opened no connection within a minute")
		}
		time.Sleep(patience.Every)
	}
	m.must(m.api.Delete(m.ctx, pod, client.GracePeriodSeconds(0)))
	return nil
}

// The plan's ConfigMap is replaced before another Pod reads it.
func TestQuickPlanIsReplaced(t *testing.T) {
	t.Parallel()
	a := begin(t, "the plan is replaced, for the worker to run another")
	m, b, l := a.plunderWorker("plan", slow)
	replace(m, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: l.job.Name}}, func(c *corev1.ConfigMap) {
		c.Data["plan.json"] = strings.Replace(c.Data["plan.json"], "16MiB", "64MiB", 1)
	})
	m.must(m.api.Delete(a.ctx, l.pod, client.GracePeriodSeconds(0)))
	switch c := a.ended(b); c.Reason {
	case reason.PlanTampered:
	case reason.Finished:
		a.succeeded("the benchmark is measured: %s", c.Message)
	default:
		t.Errorf("the benchmark ended with %s: %s", c.Reason, c.Message)
	}
	a.remove(b)
}

// The Job's template is what keeps a worker's rights small.
func TestQuickJobIsRewritten(t *testing.T) {
	t.Parallel()
	group := begin(t, "another image in the worker's Job")
	m, b, l := group.plunderWorker("rewritten", slow)
	rewritten := func(how func(*corev1.PodSpec)) error {
		job := l.job.DeepCopy()
		return change(m, job, func(j *batchv1.Job) { how(&j.Spec.Template.Spec) })
	}
	group.refused(rewritten(func(s *corev1.PodSpec) { s.Containers[0].Image = "attacker.example/image" }))
	for what, how := range map[string]func(*corev1.PodSpec){
		"another plan's digest in the worker's Job": func(s *corev1.PodSpec) { s.Containers[0].Args[4] = trial.Digest(nil) },
		"privileges in the worker's Job":            func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Privileged = new(true) },
		"a ServiceAccount in the worker's Job":      func(s *corev1.PodSpec) { s.ServiceAccountName = "mallory" },
		"a volume in the worker's Job": func(s *corev1.PodSpec) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "x", VolumeSource: hostDirectory("/")})
		},
		"another node in the worker's Job": func(s *corev1.PodSpec) { s.Affinity = nil },
	} {
		t.Run(what, func(t *testing.T) {
			a := begin(t, what)
			a.refused(rewritten(how))
		})
	}
	group.remove(b)
}

// Objects that only look like the operator's stay, when the benchmark of that name goes.
func TestQuickForgedLabels(t *testing.T) {
	t.Parallel()
	a := begin(t, "the operator deletes objects with forged labels")
	m, b, l := a.plunderWorker("labels", slow)
	meta := metav1.ObjectMeta{Namespace: m.namespace, Name: "innocent", Labels: l.job.Labels}
	innocent := []client.Object{
		&corev1.Secret{ObjectMeta: meta},
		&corev1.ConfigMap{ObjectMeta: meta},
		&batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: operator.image}}},
		}}},
	}
	for _, o := range innocent {
		o.SetLabels(map[string]string{})
		for name, value := range l.job.Labels {
			if name == jobspec.LabelManagedBy || strings.HasPrefix(name, "storagebench.io/") {
				o.GetLabels()[name] = value
			}
		}
		m.must(m.api.Create(a.ctx, o))
	}
	a.remove(b)
	a.measures(m.node)
	for _, o := range innocent {
		if err := m.api.Get(a.ctx, client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() != nil {
			a.succeeded("%T is gone: %v", o, err)
		}
	}
	job := &batchv1.Job{}
	err := m.api.Get(a.ctx, client.ObjectKeyFromObject(l.job), job)
	if err == nil && job.DeletionTimestamp == nil {
		err = fmt.Errorf("it is still there")
	}
	a.control("the worker's own Job is deleted", client.IgnoreNotFound(err))
}
