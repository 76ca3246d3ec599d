//go:build system

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/store/s3/miniotest"
	"storagebench.io/storagebench/internal/trial"
)

// pod is what a worker's Pod has: a plan, a grant, a target, and an object store.
type pod struct {
	t      *testing.T
	server *miniotest.Server
	store  *s3.Store
	plan   *trial.Plan
	digest string // of the plan; what the Job says
	target string
	work   string // lost with the Pod
	env    []string
	stderr bytes.Buffer
}

// newPod plans the workloads, three repeats each, on a directory.
func newPod(t *testing.T, workloads ...trial.Workload) *pod {
	t.Helper()
	p := &pod{t: t, server: miniotest.Start(t), target: t.TempDir(), work: t.TempDir()}
	p.server.Bucket("results")
	var err error
	p.store, err = s3.New(s3.Config{Endpoint: p.server.Endpoint, Bucket: "results", AccessKey: miniotest.AccessKey, SecretKey: miniotest.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	p.plan = &trial.Plan{
		Schema:    trial.PlanSchema,
		Benchmark: trial.Benchmark{Namespace: "lab", Name: "bench", UID: "uid"},
		Run:       "run-1",
		Targets:   []trial.Target{{Name: "fast", Source: trial.StorageClass, Mode: trial.Filesystem, Generated: true}},
		Workloads: workloads,
		Workers:   []trial.Worker{{Name: "fast.node", Target: "fast", Node: "node"}},
	}
	for repeat := 1; repeat <= 3; repeat++ {
		for _, w := range workloads {
			p.plan.Trials = append(p.plan.Trials, trial.Trial{ID: fmt.Sprintf("%s.r%03d", w.Name, repeat), Workload: w.Name, Repeat: repeat})
		}
	}
	return p
}

func fio(t *testing.T, name string, parameters ...string) trial.Workload {
	t.Helper()
	values := map[string]string{}
	for _, pair := range parameters {
		k, v, _ := strings.Cut(pair, "=")
		values[k] = v
	}
	config, err := json.Marshal(map[string]any{"parameters": values})
	if err != nil {
		t.Fatal(err)
	}
	return trial.Workload{Name: name, Engine: "fio", Config: config}
}

// command is the worker's process, as the Job starts it.
func (p *pod) command() *exec.Cmd {
	p.t.Helper()
	document, digest, err := p.plan.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	if p.digest != "" {
		digest = p.digest
	}
	files := p.t.TempDir()
	grant, err := json.Marshal(p.grant())
	if err != nil {
		p.t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plan.json": document, "grant.json": grant} {
		if err := os.WriteFile(filepath.Join(files, name), content, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := program(p.t.Context(), "worker",
		"--plan", filepath.Join(files, "plan.json"), "--plan-digest", digest, "--worker", "fast.node",
		"--target-path", p.target, "--grant", filepath.Join(files, "grant.json"),
		"--spool", filepath.Join(p.work, "spool"), "--scratch", filepath.Join(p.work, "scratch"),
		"--receipt", p.receiptFile(), "--timeout", "5m")
	cmd.Env = append(cmd.Env, p.env...)
	p.stderr.Reset()
	cmd.Stderr = &p.stderr
	return cmd
}

func (p *pod) receiptFile() string { return filepath.Join(p.work, "termination-log") }

func (p *pod) grant() trial.Grant {
	p.t.Helper()
	keys := p.plan.Keys()
	g := trial.Grant{Put: map[string]string{}, Get: map[string]string{}}
	all := []string{keys.WorkerSummary("fast.node")}
	for _, t := range p.plan.Trials {
		all = append(all, keys.Trial("fast.node", t.ID), keys.Raw("fast.node", t.ID))
	}
	for _, key := range all {
		var err error
		if g.Put[key], err = p.store.SignPut(p.t.Context(), key, time.Hour); err != nil {
			p.t.Fatal(err)
		}
		if g.Get[key], err = p.store.SignGet(p.t.Context(), key, time.Hour); err != nil {
			p.t.Fatal(err)
		}
	}
	return g
}

// run runs the worker to its end.
func (p *pod) run() (trial.Receipt, int) {
	p.t.Helper()
	cmd := p.command()
	_ = cmd.Run() // the exit code says it
	return p.receipt(), cmd.ProcessState.ExitCode()
}

func (p *pod) receipt() trial.Receipt {
	p.t.Helper()
	message, err := os.ReadFile(p.receiptFile())
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.stderr.String())
	}
	r, err := trial.DecodeReceipt(string(message))
	if err != nil {
		p.t.Fatal(err)
	}
	return *r
}

func (p *pod) stored(id string) bool {
	_, err := p.store.Get(p.t.Context(), p.plan.Keys().Trial("fast.node", id))
	return err == nil
}

func (p *pod) document(id string) result.Trial {
	p.t.Helper()
	d := result.Trial{}
	body, err := p.store.Get(p.t.Context(), p.plan.Keys().Trial("fast.node", id))
	if err == nil {
		err = result.Decode(body, result.TrialSchema, &d)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

func (p *pod) summary() result.WorkerSummary {
	p.t.Helper()
	s := result.WorkerSummary{}
	body, err := p.store.Get(p.t.Context(), p.plan.Keys().WorkerSummary("fast.node"))
	if err == nil {
		err = result.Decode(body, result.WorkerSchema, &s)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// fios are the processes that work below the target.
func (p *pod) fios() []string {
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var pids []string
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, p.target+"/") {
			pids = append(pids, strings.Split(link, "/")[2])
		}
	}
	return pids
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *pod) targetIsEmpty() {
	p.t.Helper()
	entries, err := os.ReadDir(p.target)
	for _, e := range entries {
		if e.Name() != "lost+found" {
			p.t.Errorf("left on the target: %s", e.Name())
		}
	}
	if err != nil {
		p.t.Error(err)
	}
}

func TestWorkerMeasuresAndStores(t *testing.T) {
	p := newPod(t, fio(t, "mix", "rw=randrw", "size=16m", "iodepth=4", "runtime=3", "time_based=1"))
	receipt, code := p.run()
	if code != exitDone || receipt.Failure != nil || receipt.Stored != 3 || receipt.Planned != 3 {
		t.Fatalf("exit code %d, %+v, %+v\n%s", code, receipt, receipt.Failure, p.stderr.String())
	}
	p.targetIsEmpty()
	s := p.summary()
	if len(s.Trials) != 3 || s.Environment.Tools["fio"] == "" || s.Environment.Target.FilesystemType == "" || s.Environment.CPU.Count == 0 {
		t.Errorf("the summary is %+v", s)
	}
	for _, summary := range s.Trials {
		d := p.document(summary.ID)
		// The runner must not disturb what it measures.
		if cpu := d.Metrics["runner.cpu"].Value; cpu > 0.02 {
			t.Errorf("%s: the runner used %.1f %% of a core", summary.ID, cpu*100)
		}
		if d.Metrics["read.iops"].Value <= 0 || d.Metrics["write.latency.p99.9"].Value <= 0 || d.DirectIO == nil || d.Input == "" || d.Raw == nil {
			t.Errorf("%s: the document is %+v", summary.ID, d)
		}
	}
	a, b := p.document("mix.r001"), p.document("mix.r002")
	if a.Input == b.Input {
		t.Error("two repeats have the same seed")
	}
	for _, secret := range []string{"X-Amz-Signature", miniotest.SecretKey} {
		if strings.Contains(p.stderr.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

func TestAPlanThatWasChangedIsNotExecuted(t *testing.T) {
	p := newPod(t, fio(t, "w", "rw=write", "size=1m", "runtime=1"))
	p.digest = trial.Digest([]byte("the plan that the Job was made for"))
	receipt, code := p.run()
	if code != exitInvalid || receipt.Failure == nil || receipt.Failure.Class != trial.PlanTampered || receipt.Stored != 0 {
		t.Errorf("exit code %d, %+v", code, receipt)
	}
	p.targetIsEmpty()
	if p.stored("w.r001") {
		t.Error("a trial was run")
	}
}

func TestAKilledWorkerIsCarriedOnByTheNext(t *testing.T) {
	p := newPod(t, fio(t, "w", "rw=randrw", "size=16m", "runtime=2", "time_based=1"))
	cmd := p.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Killed in the middle of the second trial.
	waitFor(t, "the first trial to be stored", func() bool { return p.stored("w.r001") })
	waitFor(t, "fio to start again", func() bool { return len(p.fios()) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	waitFor(t, "fio to die with the worker", func() bool { return len(p.fios()) == 0 })
	first := p.document("w.r001")

	p.work = t.TempDir() // the next Pod has a spool of its own
	receipt, code := p.run()
	if code != exitDone || receipt.Failure != nil || receipt.Stored != 3 {
		t.Fatalf("exit code %d, %+v, %+v\n%s", code, receipt, receipt.Failure, p.stderr.String())
	}
	if again := p.document("w.r001"); again.StartedAt != first.StartedAt || again.Attempt != 1 {
		t.Error("a stored trial was run again")
	}
	for _, id := range []string{"w.r002", "w.r003"} {
		if d := p.document(id); d.Attempt != 2 || d.Outcome != result.Measured {
			t.Errorf("%s: %+v", id, d)
		}
	}
	s := p.summary()
	if len(s.Attempts) != 2 || s.Attempts[1].ResumedAfter != 1 || len(s.Trials) != 3 {
		t.Errorf("the summary is %+v", s)
	}
	p.targetIsEmpty()
}

func TestAStoppedWorkerExitsWith143(t *testing.T) {
	p := newPod(t, fio(t, "w", "rw=randwrite", "size=16m", "runtime=1h", "time_based=1"))
	cmd := p.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "fio to start", func() bool { return len(p.fios()) > 0 })
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d\n%s", code, p.stderr.String())
	}
	if took := time.Since(start); took > 25*time.Second {
		t.Errorf("it took %s, and Kubernetes kills after 30 s", took)
	}
	if receipt := p.receipt(); receipt.Failure == nil || receipt.Stored != 0 || p.stored("w.r001") || len(p.fios()) != 0 {
		t.Errorf("%+v, processes %v", receipt, p.fios())
	}
}

func TestTheStoreMayBeAwayInMidRun(t *testing.T) {
	p := newPod(t, fio(t, "w", "rw=randread", "size=16m", "runtime=2", "time_based=1"))
	cmd := p.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the first trial to be stored", func() bool { return p.stored("w.r001") })
	p.server.Stop()
	// All the trials are measured while it is away.
	waitFor(t, "the last trial to end", func() bool {
		spooled, _ := filepath.Glob(filepath.Join(p.work, "spool/objects/lab/bench/run-1/workers/fast.node/trials/w.r003.json"))
		return len(spooled) == 1
	})
	p.server.Run()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.stderr.String())
	}
	if receipt := p.receipt(); receipt.Failure != nil || receipt.Stored != 3 || len(p.summary().Trials) != 3 {
		t.Errorf("%+v", receipt)
	}
	for _, id := range []string{"w.r001", "w.r002", "w.r003"} {
		if d := p.document(id); d.Outcome != result.Measured || d.Attempt != 1 {
			t.Errorf("%s: %+v", id, d)
		}
	}
}

func TestAVolumeThatFillsUpKeepsWhatWasMeasured(t *testing.T) {
	p := newPod(t,
		fio(t, "small", "rw=randread", "size=4m", "runtime=1", "time_based=1"),
		fio(t, "large", "rw=write", "size=30m", "fallocate=none", "unlink=1", "runtime=10"))
	p.target, _ = devicetest.Filesystem(t, "ext4", 64<<20)
	cmd := p.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "a trial of each to be stored", func() bool { return p.stored("large.r001") })
	if err := os.WriteFile(filepath.Join(p.target, "other"), make([]byte, 36<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says it
	receipt := p.receipt()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || receipt.Failure == nil || receipt.Failure.Class != trial.NoSpace ||
		receipt.Failure.Field != "spec.targets[fast].storageClass.size" || receipt.Failure.Workload != "large" {
		t.Errorf("exit code %d, %+v, %+v\n%s", code, receipt, receipt.Failure, p.stderr.String())
	}
	for id, want := range map[string]result.Outcome{
		"small.r001": result.Measured, "large.r001": result.Measured,
		"small.r002": result.Measured, "large.r002": result.Failed, "small.r003": result.Measured,
	} {
		if d := p.document(id); d.Outcome != want {
			t.Errorf("%s is %s: %v", id, d.Outcome, d.Failure)
		}
	}
	if p.stored("large.r003") || receipt.Stored != 5 {
		t.Errorf("%d trials are stored", receipt.Stored)
	}
}

func TestAVolumeThatIsTooSmallIsNotWrittenTo(t *testing.T) {
	p := newPod(t, fio(t, "w", "rw=read", "size=1g"))
	p.target, _ = devicetest.Filesystem(t, "ext4", 64<<20)
	receipt, code := p.run()
	if f := receipt.Failure; code != exitFailed || f == nil || f.Class != trial.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" ||
		!strings.Contains(f.Message, "1 GiB") || !strings.Contains(f.Message, "MiB available") {
		t.Errorf("exit code %d, %+v", code, receipt.Failure)
	}
	if d := p.document("w.r001"); d.Outcome != result.Failed {
		t.Errorf("the document is %+v", d)
	}
	p.targetIsEmpty()
}

func TestIOURingThatTheRuntimeRefusesIsNamed(t *testing.T) {
	p := newPod(t, fio(t, "ring", "rw=write", "size=1m", "ioengine=io_uring", "runtime=1"), fio(t, "aio", "rw=write", "size=1m", "runtime=1"))
	p.env = []string{denyIOURing + "=1"}
	receipt, code := p.run()
	if f := receipt.Failure; code != exitFailed || f == nil || f.Class != trial.EngineRefused || f.Workload != "ring" ||
		f.Field != "spec.workloads[ring].fio.parameters.ioengine" || !strings.Contains(f.Remedy, "libaio") {
		t.Errorf("exit code %d, %+v", code, receipt.Failure)
	}
	if receipt.Stored != 4 || p.document("aio.r003").Outcome != result.Measured {
		t.Errorf("the other workload did not go on: %+v", receipt)
	}
}

func TestBlockDevicesOfTheNode(t *testing.T) {
	for name, c := range map[string]struct {
		format    bool
		generated bool
		want      trial.Class
	}{
		"empty":                 {},
		"with a file system":    {format: true, want: trial.TargetHoldsData},
		"an old one, generated": {format: true, generated: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, fio(t, "w", "rw=randrw", "size=8m", "runtime=1"))
			p.plan.Targets[0] = trial.Target{Name: "fast", Source: trial.BlockDevice, Mode: trial.Block, Generated: c.generated}
			p.target = devicetest.Loop(t, 32<<20)
			if c.format {
				devicetest.Run(t, "mkfs.ext4", "-q", p.target)
			}
			receipt, code := p.run()
			switch f := receipt.Failure; {
			case c.want == "" && (f != nil || code != exitDone || receipt.Stored != 3):
				t.Errorf("exit code %d, %+v, %+v", code, receipt, f)
			case c.want != "" && (f == nil || f.Class != c.want || code != exitFailed || f.Field != "spec.targets[fast].blockDevice.path" || !strings.Contains(f.Remedy, "wipefs")):
				t.Errorf("exit code %d, %+v", code, f)
			}
			if c.want != "" {
				devicetest.Run(t, "fsck.ext4", "-n", p.target)
				return
			}
			if d := p.document("w.r001"); d.DirectIO.Effective != result.Direct || len(p.summary().Environment.Target.Devices) != 1 {
				t.Errorf("%+v, %+v", d.DirectIO, p.summary().Environment.Target)
			}
		})
	}
}
