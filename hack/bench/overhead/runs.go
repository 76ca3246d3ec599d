package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"storagebench.io/storagebench/api/v1alpha1"
	"storagebench.io/storagebench/hack/bench/lab"
	"storagebench.io/storagebench/hack/bench/volume"
	"storagebench.io/storagebench/internal/result"
)

// seed of both, as storagebench would choose another than fio does by itself, and
// another sequence of offsets is another job.
const seed = "4242"

// claim is the name of the volume's claim.
const claim = "volume"

// bench runs the job in both ways.
type bench struct {
	settings
	*lab.Lab
	// dir is where the volume is mounted on this machine, which is its node.
	dir     string
	workers int
	// cpu of the runner, of one core, trial by trial.
	cpu []float64
}

// prepare makes the volume. A first worker, whose trial does not count, has it bound;
// then it is mounted here too, and stays so: it is one file system, mounted twice.
func (b *bench) prepare(ctx context.Context) error {
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: claim},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: new(lab.Class),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("512Mi")}},
		},
	}
	if err := b.API.Create(ctx, pvc); err != nil {
		return err
	}
	first, err := b.work(ctx, 1)
	if err != nil {
		return err
	}
	version, err := volume.Output(ctx, "fio", "--version")
	if err != nil {
		return err
	}
	if here, there := strings.TrimPrefix(strings.TrimSpace(version), "fio-"), first.Environment.Tools["fio"]; here != there {
		return fmt.Errorf("fio %s is installed here and %s in the image: they would be compared with each other", here, there)
	}
	if err := b.API.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: claim}, pvc); err != nil {
		return err
	}
	pv := &corev1.PersistentVolume{}
	if err := b.API.Get(ctx, types.NamespacedName{Name: pvc.Spec.VolumeName}, pv); err != nil {
		return err
	}
	if pv.Spec.Local == nil {
		return fmt.Errorf("the volume %s is no device of this machine: this benchmark takes the local cluster", pv.Name)
	}
	dir, err := os.MkdirTemp("", "storagebench-bench-")
	if err != nil {
		return err
	}
	if _, err := volume.Output(ctx, "mount", pv.Spec.Local.Path, dir); err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	b.dir = dir
	return nil
}

// unmount undoes what prepare has mounted, also after an interrupt.
func (b *bench) unmount() error {
	if b.dir == "" {
		return nil
	}
	_, err := volume.Output(context.Background(), "umount", b.dir)
	return errors.Join(err, os.Remove(b.dir))
}

// bare writes the file and runs the job as somebody would at a shell, as often as a
// worker does.
func (b *bench) bare(ctx context.Context) (float64, error) {
	file := filepath.Join(b.dir, "bare")
	defer func() { _ = os.Remove(file) }() // with the volume, otherwise
	common := []string{"--name=job", "--filename=" + file, "--size=" + b.size, "--direct=1", "--ioengine=libaio", "--thread=1"}
	if _, err := volume.Output(ctx, "fio", append([]string{"--rw=write", "--bs=1M", "--iodepth=8", "--refill_buffers=1", "--end_fsync=1"}, common...)...); err != nil {
		return 0, err
	}
	sum := 0.0
	for range b.trials {
		out, err := volume.Output(ctx, "fio", append([]string{
			"--rw=" + b.rw, "--bs=" + b.bs, "--iodepth=" + b.depth, fmt.Sprintf("--runtime=%dus", b.runtime.Microseconds()),
			"--time_based=1", "--randseed=" + seed, "--output-format=json+",
		}, common...)...)
		if err != nil {
			return 0, err
		}
		var document struct {
			Jobs []struct {
				Read, Write struct {
					IOPS float64 `json:"iops"`
				}
			} `json:"jobs"`
		}
		if err := json.Unmarshal([]byte(out[max(strings.IndexByte(out, '{'), 0):]), &document); err != nil || len(document.Jobs) != 1 {
			return 0, fmt.Errorf("fio by hand: %d jobs, %w", len(document.Jobs), err)
		}
		sum += document.Jobs[0].Read.IOPS + document.Jobs[0].Write.IOPS
	}
	return sum / float64(b.trials), nil
}

// inWorker runs the same job as a StorageBenchmark.
func (b *bench) inWorker(ctx context.Context) (float64, error) {
	w, err := b.work(ctx, b.trials)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, t := range w.Trials {
		sum += t.Metrics["read.iops"].Value + t.Metrics["write.iops"].Value
		b.cpu = append(b.cpu, t.Metrics["runner.cpu"].Value)
	}
	if len(w.Trials) != b.trials {
		return 0, fmt.Errorf("%d of %d trials were measured", len(w.Trials), b.trials)
	}
	return sum / float64(b.trials), nil
}

// work runs one worker and returns its summary.
func (b *bench) work(ctx context.Context, trials int) (result.WorkerSummary, error) {
	b.workers++
	sb := b.Benchmark(fmt.Sprintf("turn-%d", b.workers),
		v1alpha1.Target{Name: "volume", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: claim}},
		v1alpha1.Workload{Name: "job", Fio: &v1alpha1.FioWorkload{Parameters: map[string]string{
			"rw": b.rw, "bs": b.bs, "size": b.size, "iodepth": b.depth, "runtime": fmt.Sprintf("%dus", b.runtime.Microseconds()),
			"time_based": "1", "randseed": seed,
		}}}, int32(trials))
	var w result.WorkerSummary
	if _, err := b.Run(ctx, sb, nil); err != nil {
		return w, err
	}
	document, err := b.Store.Get(ctx, lab.Keys(sb).WorkerSummary(sb.Status.Run.Workers[0].Name))
	if err != nil {
		return w, err
	}
	err = result.Decode(document, result.WorkerSchema, &w)
	return w, err
}
