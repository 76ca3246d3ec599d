package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
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

// seed for both. By default storagebench and fio choose different seeds, and with
// another sequence of offsets the job is another one.
const seed = "4242"

// claim is the name of the volume's claim.
const claim = "volume"

// capacity of the volume: the job's file, and room.
const capacity = 512 << 20

// bench runs the job in both ways.
type bench struct {
	settings
	*lab.Lab
	// volume is mounted on this machine, which is the worker's node, and through the
	// claim in the worker's Pod: one file system, mounted twice.
	volume  *volume.Volume
	pv      *corev1.PersistentVolume
	workers int
	fios    fios
	// cpu of the runner, of one core, trial by trial.
	cpu []float64
}

// prepare makes the volume.
func (b *bench) prepare(ctx context.Context) error {
	if err := b.onThisMachine(ctx); err != nil {
		return err
	}
	v, err := volume.New(ctx, b.backing, capacity)
	if err != nil {
		return err
	}
	b.volume = v
	return b.offer(ctx)
}

// sameProgram fails if the worker's fio differs from this machine's.
func sameProgram(ctx context.Context, worker result.WorkerSummary) error {
	version, err := volume.Output(ctx, "fio", "--version")
	if err != nil {
		return err
	}
	if here, there := strings.TrimPrefix(strings.TrimSpace(version), "fio-"), worker.Environment.Tools["fio"]; here != there {
		return fmt.Errorf("this machine has fio %s, but the image has %s: install the same version", here, there)
	}
	return nil
}

// onThisMachine fails if the worker would run on another machine.
func (b *bench) onThisMachine(ctx context.Context) error {
	here, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	if err := b.API.Get(ctx, types.NamespacedName{Name: b.Node}, node); err != nil {
		return err
	}
	if node.Status.NodeInfo.BootID != strings.TrimSpace(string(here)) {
		return fmt.Errorf("node %s is not this machine: this benchmark needs the local cluster", b.Node)
	}
	return nil
}

// offer creates a PersistentVolume for the volume, and a claim that is bound to
// it.
func (b *bench) offer(ctx context.Context) error {
	size := *resource.NewQuantity(capacity, resource.BinarySI)
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: b.Namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			AccessModes:                   modes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: b.Namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: b.volume.Device, FSType: new("ext4")},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{b.Node}}},
			}}}},
		},
	}
	if err := b.API.Create(ctx, pv); err != nil {
		return err
	}
	b.pv = pv
	return b.API.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: claim},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      modes,
			StorageClassName: new(""),
			VolumeName:       pv.Name,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	})
}

// close removes everything that was created, also after an interrupt: the users of the
// volume first.
func (b *bench) close() error {
	err := b.Close()
	if b.pv != nil {
		err = errors.Join(err, b.API.Delete(context.Background(), b.pv))
	}
	if b.volume != nil {
		err = errors.Join(err, b.volume.Remove())
	}
	return err
}

// command of the bare runs, as somebody would type it at a shell.
func (b *bench) command(ctx context.Context, file string) *exec.Cmd {
	return exec.CommandContext(ctx, "fio", "--name=job", "--filename="+file, "--size="+b.size,
		"--direct=1", "--ioengine=libaio", "--thread=1", "--rw="+b.rw, "--bs="+b.bs, "--iodepth="+b.depth,
		"--runtime="+micros(b.runtime), "--time_based=1", "--startdelay="+micros(b.delay), "--randseed="+seed, "--output-format=json+")
}

func micros(d time.Duration) string { return fmt.Sprintf("%dus", d.Microseconds()) }

// rate returns fio's rate of the whole run, in operations per second.
func rate(out []byte) (float64, error) {
	var document struct {
		Jobs []struct {
			Read, Write struct {
				IOPS float64 `json:"iops"`
			}
		} `json:"jobs"`
	}
	// fio may print notes before the document.
	if err := json.Unmarshal(out[max(bytes.IndexByte(out, '{'), 0):], &document); err != nil || len(document.Jobs) != 1 {
		return 0, fmt.Errorf("fio by hand: %d jobs, %w", len(document.Jobs), err)
	}
	return document.Jobs[0].Read.IOPS + document.Jobs[0].Write.IOPS, nil
}

// file returns the file that the worker has laid out, the largest of the volume. The
// bare runs use the same one: two files of one file system differ in speed by some
// percent, even in memory, because of their location.
func (b *bench) file() (path string, err error) {
	var largest int64
	err = filepath.WalkDir(b.volume.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > largest {
			path, largest = p, info.Size()
		}
		return err
	})
	if err == nil && path == "" {
		err = errors.New("the worker's job has no file in the volume")
	}
	return path, err
}

// pairs runs a worker, and the bare job in turns with each of its trials. It returns
// the rates of both, trial by trial.
func (b *bench) pairs(ctx context.Context) (worker, bare []float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var summary result.WorkerSummary
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		summary, failed = b.work(ctx, b.trials)
	}()
	for i := range b.trials {
		rate, err := b.beside(ctx, ended, i%2 == 0)
		if err != nil {
			cancel()
			<-ended
			return nil, nil, errors.Join(err, failed)
		}
		bare = append(bare, rate)
	}
	<-ended
	if failed != nil {
		return nil, nil, failed
	}
	if err := sameProgram(ctx, summary); err != nil {
		return nil, nil, err
	}
	if len(summary.Trials) != b.trials {
		return nil, nil, fmt.Errorf("%d of %d trials were measured", len(summary.Trials), b.trials)
	}
	for _, t := range summary.Trials {
		worker = append(worker, t.Metrics["read.iops"].Value+t.Metrics["write.iops"].Value)
		// In a trial the runner runs only in its turns, which are half of the runtime. What
		// it does during the start delay counts too.
		b.cpu = append(b.cpu, t.Metrics["runner.cpu"].Value*float64(b.delay+b.runtime)/(float64(b.runtime)/2))
	}
	return worker, bare, nil
}

// work runs one worker and returns its summary.
func (b *bench) work(ctx context.Context, trials int) (result.WorkerSummary, error) {
	b.workers++
	sb := b.Benchmark(fmt.Sprintf("turn-%d", b.workers),
		v1alpha1.Target{Name: "volume", PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: claim}},
		v1alpha1.Workload{Name: "job", Fio: &v1alpha1.FioWorkload{Parameters: v1alpha1.Texts(map[string]string{
			"rw": b.rw, "bs": b.bs, "size": b.size, "iodepth": b.depth, "runtime": micros(b.runtime),
			"time_based": "1", "randseed": seed, "startdelay": micros(b.delay),
		})}}, int32(trials))
	var w result.WorkerSummary
	if _, err := b.Run(ctx, sb, nil); err != nil {
		return w, err
	}
	document, err := b.Store.Get(ctx, lab.Keys(sb).WorkerSummary(lab.FirstWorker(sb)))
	if err != nil {
		return w, err
	}
	err = result.Decode(document, result.WorkerSchema, &w)
	return w, err
}
