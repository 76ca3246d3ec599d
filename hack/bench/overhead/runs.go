package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	fios    fios
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

// layOut writes the file of the bare runs anew, as each worker writes its own.
func (b *bench) layOut(ctx context.Context) error {
	if err := os.Remove(b.file()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_, err := volume.Output(ctx, "fio", append(b.common(), "--rw=write", "--bs=1M", "--iodepth=8", "--refill_buffers=1", "--end_fsync=1")...)
	return err
}

func (b *bench) file() string { return filepath.Join(b.dir, "bare") }

func (b *bench) common() []string {
	return []string{"--name=job", "--filename=" + b.file(), "--size=" + b.size, "--direct=1", "--ioengine=libaio", "--thread=1"}
}

// bare runs the job once, as somebody would at a shell.
func (b *bench) bare(ctx context.Context) (float64, error) {
	out, err := volume.Output(ctx, "fio", append(b.common(),
		"--rw="+b.rw, "--bs="+b.bs, "--iodepth="+b.depth, fmt.Sprintf("--runtime=%dus", b.runtime.Microseconds()),
		"--time_based=1", "--randseed="+seed, "--output-format=json+")...)
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
	return document.Jobs[0].Read.IOPS + document.Jobs[0].Write.IOPS, nil
}

// turn runs a worker, and in the start delay of each of its trials the job bare. It
// returns the rates of neighbours, in pairs: each bare run with the trial behind it, or
// each trial with the bare run behind it. A rate of 0 does not count.
func (b *bench) turn(ctx context.Context, bareFirst bool) (worker, bare []float64, err error) {
	if err := b.layOut(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var summary result.WorkerSummary
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		summary, failed = b.work(ctx, b.trials+1)
	}()
	for range b.trials + 1 {
		err := b.fios.next(ctx, ended)
		begun := time.Now()
		var rate float64
		if err == nil {
			rate, err = b.bare(ctx)
		}
		if err != nil {
			cancel()
			<-ended
			return nil, nil, errors.Join(err, failed)
		}
		if time.Since(begun) > b.delay-poll {
			rate = 0 // it ran into the trial behind it: neither counts
		}
		bare = append(bare, rate)
		// Nothing is looked for while the trial measures.
		select {
		case <-ended:
		case <-time.After(time.Until(begun.Add(b.delay + b.runtime))):
		}
	}
	<-ended
	if failed != nil {
		return nil, nil, failed
	}
	if len(summary.Trials) != b.trials+1 {
		return nil, nil, fmt.Errorf("%d of %d trials were measured", len(summary.Trials), b.trials+1)
	}
	for i, t := range summary.Trials {
		rate := t.Metrics["read.iops"].Value + t.Metrics["write.iops"].Value
		if bare[i] == 0 {
			rate = 0
		}
		worker = append(worker, rate)
		// The runner has nothing to do in the start delay, which is a part of the trial.
		b.cpu = append(b.cpu, t.Metrics["runner.cpu"].Value*float64(b.delay+b.runtime)/float64(b.runtime))
	}
	if bareFirst {
		return worker[:b.trials], bare[:b.trials], nil
	}
	return worker[:b.trials], bare[1:], nil
}

// work runs one worker and returns its summary.
func (b *bench) work(ctx context.Context, trials int) (result.WorkerSummary, error) {
	b.workers++
	sb := b.Benchmark(fmt.Sprintf("turn-%d", b.workers),
		v1alpha1.Target{Name: "volume", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: claim}},
		v1alpha1.Workload{Name: "job", Fio: &v1alpha1.FioWorkload{Parameters: map[string]string{
			"rw": b.rw, "bs": b.bs, "size": b.size, "iodepth": b.depth, "runtime": fmt.Sprintf("%dus", b.runtime.Microseconds()),
			"time_based": "1", "randseed": seed, "startdelay": fmt.Sprintf("%dus", b.delay.Microseconds()),
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
