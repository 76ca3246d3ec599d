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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/hack/bench/lab"
	"storagebench.io/storagebench/internal/jobspec"
)

const (
	fioTime  = "1"
	fioBytes = "32MiB"
)

// bench is a namespace, and the image that both kinds of runs use.
type bench struct {
	*lab.Lab
	image string
}

// runBenchmark measures one StorageBenchmark of one trial.
func (b *bench) runBenchmark(ctx context.Context, i int) (timing, error) {
	sb := b.Benchmark(fmt.Sprintf("ours-%d", i),
		v1alpha1.Target{Name: "t", StorageClass: &v1alpha1.StorageClassTarget{Name: lab.Class, Size: new(resource.MustParse("128Mi"))}},
		v1alpha1.Workload{Name: "w", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{
			"rw": "randwrite", "bs": "4k", "size": fioBytes, "runtime": fioTime + "s", "time_based": "1",
		})}}, 1)
	created := time.Now()
	ended, err := b.Run(ctx, sb, func() {
		if sb.Status.Run != nil {
			b.image = b.workerImage(ctx, sb.Name)
		}
	})
	if err != nil {
		return timing{}, err
	}
	raw, err := b.Store.Get(ctx, lab.Keys(sb).Raw(lab.FirstWorker(sb), "w.r001"))
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
	if err := b.API.Delete(ctx, sb); err != nil {
		return timing{}, err
	}
	return between(created, ended, output)
}

// workerImage records the image of workers, for the bare Job.
func (b *bench) workerImage(ctx context.Context, benchmark string) string {
	if b.image != "" {
		return b.image
	}
	jobs := &batchv1.JobList{}
	err := b.API.List(ctx, jobs, client.InNamespace(b.Namespace), client.MatchingLabels{jobspec.LabelBenchmark: benchmark})
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
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: name},
		Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				RestartPolicy:   corev1.RestartPolicyNever,
				NodeSelector:    map[string]string{corev1.LabelHostname: b.Node},
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
	claim := jobspec.Claim(job, lab.Class, resource.MustParse("128Mi"), corev1.ReadWriteOnce, mode)
	claim.OwnerReferences = nil
	created := time.Now()
	for _, o := range []client.Object{claim, job} {
		if err := b.API.Create(ctx, o); err != nil {
			return timing{}, err
		}
	}
	var ended time.Time
	err := b.Wait(ctx, func() (bool, error) {
		if err := b.API.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
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
	if err := b.API.List(ctx, pods, client.InNamespace(b.Namespace), client.MatchingLabels(labels)); err != nil || len(pods.Items) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%d Pods", len(pods.Items)))
	}
	return b.Logs.CoreV1().Pods(b.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).DoRaw(ctx)
}

// remove deletes a run's objects and waits until its volume is gone, so that the
// removal does not disturb the next run.
func (b *bench) remove(ctx context.Context, job *batchv1.Job, claim *corev1.PersistentVolumeClaim) error {
	if err := b.API.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	if err := b.API.Delete(ctx, claim); err != nil {
		return err
	}
	return b.Wait(ctx, func() (bool, error) {
		err := b.API.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// between returns fio's own times of its first and last I/O.
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
