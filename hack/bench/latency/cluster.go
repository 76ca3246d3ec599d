package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/controllers"
	"storagebench.io/storagebench/internal/jobspec"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/trial"
)

const (
	class    = "loop-ext4"
	poll     = 20 * time.Millisecond
	fioTime  = "1"
	fioBytes = "32MiB"
)

// bench is a namespace, and what the two kinds of runs share.
type bench struct {
	api       client.Client
	logs      kubernetes.Interface
	store     *s3.Store
	namespace string
	node      string
	image     string
}

func newBench(ctx context.Context) (*bench, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 200
	scheme, err := controllers.Scheme()
	if err != nil {
		return nil, err
	}
	b := &bench{}
	if b.api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if b.logs, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	nodes := &corev1.NodeList{}
	if err := b.api.List(ctx, nodes); err != nil || len(nodes.Items) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%d nodes", len(nodes.Items)))
	}
	b.node = nodes.Items[0].Name
	if err := b.openStore(ctx); err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-latency-"}}
	err = b.api.Create(ctx, ns)
	b.namespace = ns.Name
	return b, err
}

// openStore opens MinIO at its Service's address.
func (b *bench) openStore(ctx context.Context) error {
	service, secret := &corev1.Service{}, &corev1.Secret{}
	if err := b.api.Get(ctx, types.NamespacedName{Namespace: "minio", Name: "minio"}, service); err != nil {
		return err
	}
	if err := b.api.Get(ctx, types.NamespacedName{Namespace: "storagebench-system", Name: "storagebench-store"}, secret); err != nil {
		return err
	}
	var err error
	b.store, err = s3.New(s3.Config{
		Endpoint: "http://" + service.Spec.ClusterIP + ":9000", Bucket: "storagebench",
		AccessKey: string(secret.Data["accessKeyID"]), SecretKey: string(secret.Data["secretAccessKey"]),
	})
	return err
}

func (b *bench) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = b.api.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}})
}

// wait repeats check until it says true.
func wait(ctx context.Context, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		done, err := check()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

// runBenchmark measures one StorageBenchmark of one trial.
func (b *bench) runBenchmark(ctx context.Context, i int) (timing, error) {
	sb := &v1alpha1.StorageBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fmt.Sprintf("ours-%d", i)},
		Spec: v1alpha1.StorageBenchmarkSpec{
			Targets:   []v1alpha1.Target{{Name: "t", StorageClass: &v1alpha1.StorageClassTarget{Name: class, Size: new(resource.MustParse("128Mi"))}}},
			Placement: v1alpha1.Placement{NodeSelector: map[string]string{corev1.LabelHostname: b.node}},
			Workloads: []v1alpha1.Workload{{Name: "w", Fio: &v1alpha1.FioWorkload{Parameters: map[string]string{
				"rw": "randwrite", "bs": "4k", "size": fioBytes, "runtime": fioTime + "s", "time_based": "1",
			}}}},
			Trials:  v1alpha1.Trials{Min: 1},
			Results: v1alpha1.Results{StoreRef: v1alpha1.ResultStoreReference{Name: "default"}},
		},
	}
	created := time.Now()
	if err := b.api.Create(ctx, sb); err != nil {
		return timing{}, err
	}
	var ended time.Time
	err := wait(ctx, func() (bool, error) {
		if err := b.api.Get(ctx, client.ObjectKeyFromObject(sb), sb); err != nil {
			return false, err
		}
		if sb.Status.Run != nil {
			b.image = b.workerImage(ctx, sb.Name)
		}
		if ended = time.Now(); meta.IsStatusConditionTrue(sb.Status.Conditions, v1alpha1.ConditionReady) {
			return true, nil
		}
		if sb.Status.Run != nil && sb.Status.Run.FinishedAt != nil {
			return false, fmt.Errorf("the benchmark failed: %+v", sb.Status.Conditions)
		}
		return false, nil
	})
	if err != nil {
		return timing{}, err
	}
	keys := trial.Keys{Namespace: sb.Namespace, Name: sb.Name, Run: sb.Status.Run.ID}
	raw, err := b.store.Get(ctx, keys.Raw(sb.Status.Run.Workers[0].Name, "w.r001"))
	if err != nil {
		return timing{}, err
	}
	reader, err := zstd.NewReader(nil)
	if err != nil {
		return timing{}, err
	}
	defer reader.Close()
	output, err := reader.DecodeAll(raw, nil)
	if err != nil {
		return timing{}, err
	}
	if err := b.api.Delete(ctx, sb); err != nil {
		return timing{}, err
	}
	return between(created, ended, output)
}

// workerImage remembers the image that workers run, for the bare Job.
func (b *bench) workerImage(ctx context.Context, benchmark string) string {
	if b.image != "" {
		return b.image
	}
	jobs := &batchv1.JobList{}
	err := b.api.List(ctx, jobs, client.InNamespace(b.namespace), client.MatchingLabels{jobspec.LabelBenchmark: benchmark})
	if err != nil || len(jobs.Items) == 0 {
		return ""
	}
	return jobs.Items[0].Spec.Template.Spec.Containers[0].Image
}

// runJob measures a Job that runs the same fio job on the same kind of volume.
func (b *bench) runJob(ctx context.Context, i int) (timing, error) {
	name := fmt.Sprintf("bare-%d", i)
	labels := map[string]string{"bare": name}
	mode := corev1.PersistentVolumeFilesystem
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name},
		Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				RestartPolicy:   corev1.RestartPolicyNever,
				NodeSelector:    map[string]string{corev1.LabelHostname: b.node},
				SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(65532)), FSGroup: new(int64(65532))},
				Containers: []corev1.Container{{
					Name: "fio", Image: b.image,
					Command: []string{
						"/usr/bin/fio", "--name=w", "--directory=/target", "--rw=randwrite", "--bs=4k", "--size=" + fioBytes, "--runtime=" + fioTime,
						"--time_based=1", "--ioengine=libaio", "--direct=1", "--thread=1", "--output-format=json+", "--eta=never",
					},
					VolumeMounts: []corev1.VolumeMount{{Name: "target", MountPath: "/target"}},
				}},
				Volumes: []corev1.Volume{{Name: "target", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}},
			},
		}},
	}
	claim := jobspec.Claim(job, class, resource.MustParse("128Mi"), corev1.ReadWriteOnce, mode)
	claim.OwnerReferences = nil
	created := time.Now()
	for _, o := range []client.Object{claim, job} {
		if err := b.api.Create(ctx, o); err != nil {
			return timing{}, err
		}
	}
	var ended time.Time
	err := wait(ctx, func() (bool, error) {
		if err := b.api.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return false, err
		}
		ended = time.Now()
		for _, c := range job.Status.Conditions {
			if c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue {
				return false, fmt.Errorf("the bare Job failed: %s", c.Message)
			}
			if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return timing{}, err
	}
	output, err := b.podLog(ctx, labels)
	if err != nil {
		return timing{}, err
	}
	if err := b.remove(ctx, job, claim); err != nil {
		return timing{}, err
	}
	return between(created, ended, output)
}

func (b *bench) podLog(ctx context.Context, labels map[string]string) ([]byte, error) {
	pods := &corev1.PodList{}
	if err := b.api.List(ctx, pods, client.InNamespace(b.namespace), client.MatchingLabels(labels)); err != nil || len(pods.Items) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%d Pods", len(pods.Items)))
	}
	return b.logs.CoreV1().Pods(b.namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
}

// remove deletes a run's objects and waits until its volume is gone, so that the
// next run does not share the machine with that.
func (b *bench) remove(ctx context.Context, job *batchv1.Job, claim *corev1.PersistentVolumeClaim) error {
	if err := b.api.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	if err := b.api.Delete(ctx, claim); err != nil {
		return err
	}
	return wait(ctx, func() (bool, error) {
		err := b.api.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// between reads fio's own times of its first and last I/O.
func between(created, ended time.Time, output []byte) (timing, error) {
	var fio struct {
		TimestampMS int64 `json:"timestamp_ms"`
		Jobs        []struct {
			Runtime int64 `json:"job_runtime"`
		} `json:"jobs"`
	}
	// fio may print warnings before its JSON.
	if start := bytes.IndexByte(output, '{'); start > 0 {
		output = output[start:]
	}
	if err := json.Unmarshal(output, &fio); err != nil || len(fio.Jobs) != 1 {
		return timing{}, fmt.Errorf("fio's output: %d jobs, %w", len(fio.Jobs), err)
	}
	last := time.UnixMilli(fio.TimestampMS)
	first := last.Add(-time.Duration(fio.Jobs[0].Runtime) * time.Millisecond)
	return timing{start: first.Sub(created), end: ended.Sub(last)}, nil
}
