//go:build attacks

package attacks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/test/cluster"
)

// loot is what a tenant finds in its namespace while its worker runs.
type loot struct {
	plan  *trial.Plan
	grant *trial.Grant
	job   *batchv1.Job
	pod   *corev1.Pod
	// worker of the plan.
	worker trial.Worker
	keys   trial.Keys
	http   *http.Client
}

// plunderWorker runs a benchmark of a new tenant, on a node that no other attack uses, and reads
// its worker's plan and grant.
func (a *attack) plunderWorker(name string, changes ...func(*v1alpha1.StorageBenchmarkSpec)) (*tenant, *v1alpha1.StorageBenchmark, loot) {
	a.t.Helper()
	m := a.tenant("restricted")
	m.takeNode()
	b := m.benchmark(name, changes...)
	stolen := m.plunder(b)
	return m, b, stolen
}

// plunder reads the plan and the grant of a running worker.
func (m *tenant) plunder(b *v1alpha1.StorageBenchmark) loot {
	m.t.Helper()
	l := loot{http: m.storeClient()}
	l.job, l.pod = m.running(b)
	plan, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	m.must(m.api.Get(m.ctx, client.ObjectKeyFromObject(l.job), plan))
	m.must(m.api.Get(m.ctx, client.ObjectKeyFromObject(l.job), secret))
	var err error
	l.plan, err = trial.DecodePlan([]byte(plan.Data["plan.json"]), "")
	m.must(err)
	document := secret.Data["grant.json"]
	l.grant, err = trial.DecodeGrant(document, trial.Digest(document))
	m.must(err)
	l.worker, l.keys = l.plan.Workers[0], l.plan.Keys()
	return l
}

// storeClient reaches the store by the name that the workers have for it.
func (m *tenant) storeClient() *http.Client {
	m.t.Helper()
	service := &corev1.Service{}
	m.must(admin.Get(m.ctx, types.NamespacedName{Namespace: "minio", Name: "minio"}, service))
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return dialer.DialContext(ctx, network, net.JoinHostPort(service.Spec.ClusterIP, port))
		},
	}}
}

// bucket is the store, with the administrator's rights.
func (m *tenant) bucket() *s3.Store {
	m.t.Helper()
	bucket, err := cluster.Bucket(m.ctx, admin)
	m.must(err)
	return bucket
}

// upload stores an object by what the grant holds for the key, and returns the HTTP status.
func (l loot) upload(ctx context.Context, key string, body []byte) (int, error) {
	if post := l.grant.Uploads.Post; post != nil {
		request, err := store.NewForm(ctx, post, key, body, nil)
		if err != nil {
			return 0, err
		}
		return l.send(request)
	}
	return l.put(ctx, l.grant.Uploads.Put[key], body)
}

func (l loot) put(ctx context.Context, signed string, body []byte) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, signed, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	return l.send(request)
}

func (l loot) send(request *http.Request) (int, error) {
	response, err := l.http.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	return response.StatusCode, err
}

// forKey is a request for another key with what the grant holds for one of the worker's.
func (l loot) forKey(ctx context.Context, own, other string, body []byte) (int, error) {
	if post := l.grant.Uploads.Post; post != nil {
		stolen := *post
		stolen.Objects = map[string]trial.PostObject{other: post.Objects[own]}
		request, err := store.NewForm(ctx, &stolen, other, body, nil)
		if err != nil {
			return 0, err
		}
		return l.send(request)
	}
	u, err := url.Parse(l.grant.Uploads.Put[own])
	if err != nil {
		return 0, err
	}
	u.Path = strings.Replace(u.Path, own, other, 1)
	return l.put(ctx, u.String(), body)
}

// stopWorker ends the worker's Pod by a signal that it obeys. Before the Job's controller makes
// another one, which takes ten seconds, a forged one takes its place.
func (m *tenant) stopWorker(l loot) {
	m.t.Helper()
	if out, err := m.exec(l.pod, "kill -TERM 1"); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	m.eventually("the worker's Pod has ended", func() error {
		pod := &corev1.Pod{}
		err := m.api.Get(m.ctx, client.ObjectKeyFromObject(l.pod), pod)
		if err == nil && pod.Status.Phase == corev1.PodRunning {
			err = fmt.Errorf("it runs")
		}
		return client.IgnoreNotFound(err)
	})
}

// forgePod makes a Pod that the operator, and the Job's controller, take for one of the
// worker's. It writes a receipt.
func (m *tenant) forgePod(l loot, receipt string, changes ...func(*corev1.Pod)) *corev1.Pod {
	m.t.Helper()
	text := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, GenerateName: "receipt-"}, Data: map[string]string{"receipt": receipt}}
	m.must(m.api.Create(m.ctx, text))
	pod := m.shell("forged", "cat /receipt/receipt > /dev/termination-log", with("/receipt", corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: text.Name}},
	}))
	pod.Name, pod.GenerateName = "", "forged-"
	pod.Labels = maps.Clone(l.job.Spec.Template.Labels)
	maps.Copy(pod.Labels, l.job.Labels)
	pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
	owner := jobspec.JobOwner(l.job)
	owner.BlockOwnerDeletion = nil
	pod.OwnerReferences = []metav1.OwnerReference{owner}
	for _, change := range changes {
		change(pod)
	}
	m.must(m.api.Create(m.ctx, pod))
	return pod
}

// receipt is what the worker would write of a summary with the digest.
func (l loot) receipt(digest string) string {
	return fmt.Sprintf(`{"schema":%q,"run":%q,"worker":%q,"summaryDigest":%q,"planned":%d,"stored":%d,"restored":true}`,
		trial.ReceiptSchema, l.plan.Run, l.worker.Name, digest, len(l.plan.Trials), len(l.plan.Trials))
}

func newGet(ctx context.Context, signed string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, signed, http.NoBody)
}
