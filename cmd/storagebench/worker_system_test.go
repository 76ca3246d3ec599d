//go:build system

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/store/s3/miniotest"
	"storagebench.io/storagebench/internal/trial"
)

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
		// How much it may be is for make bench-overhead to say: beside other tests the figure is theirs.
		if _, ok := d.Metrics["runner.cpu"]; !ok {
			t.Errorf("%s: what the runner itself used is not in the document", summary.ID)
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
	if code != exitFailed || receipt.Failure == nil || receipt.Failure.Class != reason.PlanTampered || receipt.Stored != 0 {
		t.Errorf("exit code %d, %+v", code, receipt)
	}
	p.targetIsEmpty()
	if p.stored("w.r001") {
		t.Error("a trial was run")
	}
}

func TestAGrantThatWasReplacedOpensNoConnection(t *testing.T) {
	asked := make(chan string, 100)
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer inside.Close()
	p := newPod(t, fio(t, "w", "rw=write", "size=1m", "runtime=1"))
	p.forge = func(grant []byte) []byte {
		return bytes.ReplaceAll(grant, []byte(p.server.Endpoint), []byte(inside.URL))
	}
	receipt, code := p.run()
	if code != exitFailed || receipt.Failure == nil || receipt.Failure.Class != reason.GrantTampered {
		t.Errorf("exit code %d, %+v", code, receipt)
	}
	select {
	case path := <-asked:
		t.Errorf("the worker asked the attacker's server for %s", path)
	default:
	}
	p.targetIsEmpty()
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

// A container's first process that is stopped before it waits for signals is ended by Go, with Go's own exit code. A Job
// that took it for the worker's word would give up the run.
func TestAWorkerThatIsStoppedWhileItStartsIsReplaced(t *testing.T) {
	p := newPod(t, fio(t, "w", "rw=randwrite", "size=1m", "runtime=1h", "time_based=1"))
	byGo := 0
	for after, orderly := time.Duration(0), false; !orderly; after = after*5/4 + 2*time.Millisecond {
		if after > 10*time.Second {
			t.Fatal("within 10 s no worker waits for signals")
		}
		cmd := p.command()
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		// A signal that comes before Go itself waits for it is lost, and the kubelet kills later.
		kill := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // the exit code says it
		kill.Stop()
		switch code := cmd.ProcessState.ExitCode(); {
		case code == exitDone || code == int(trial.ExitFailed):
			t.Errorf("stopped after %s, it exits with %d, and its Job starts no other Pod\n%s", after, code, p.stderr.String())
		case code == 143:
			orderly = true
		case code == 2:
			byGo++
		}
	}
	if byGo == 0 {
		t.Error("no worker was stopped before it waited for signals")
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
		fio(t, "large", "rw=write", "size=30m", "fallocate=none", "unlink=1", "runtime=1"))
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
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || receipt.Failure == nil || receipt.Failure.Class != reason.NoSpace ||
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
	if f := receipt.Failure; code != exitFailed || f == nil || f.Class != reason.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" ||
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
	if f := receipt.Failure; code != exitFailed || f == nil || f.Class != reason.EngineRefused || f.Workload != "ring" ||
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
		"with a file system":    {format: true, want: reason.TargetHoldsData},
		"an old one, generated": {format: true, generated: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, fio(t, "w", "rw=randrw", "size=8m", "runtime=1"))
			p.plan.Targets[0] = trial.Target{Name: "fast", Source: trial.BlockDevice, Mode: trial.Block, Generated: c.generated}
			p.target = devicetest.Loop(t, 32<<20)
			devicetest.DirectIO(t, p.target)
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
			if d := p.document("w.r001"); d.DirectIO.Effective != result.Direct || len(p.summary().Environment.Target.Devices) != 1 || len(p.summary().Environment.Target.Layers) < 2 {
				t.Errorf("%+v, %+v", d.DirectIO, p.summary().Environment.Target)
			}
		})
	}
}

// A report from the bucket shows the trials as one from the run's directory does.
func TestReportReadsARunInABucket(t *testing.T) {
	server := miniotest.Start(t)
	server.Bucket("results")
	bucket, err := s3.New(s3.Config{Endpoint: server.Endpoint, Bucket: "results", Prefix: "team", AccessKey: miniotest.AccessKey, SecretKey: miniotest.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	run := storedRun(t)
	for _, key := range []string{"summary.json", "workers/fast.a/summary.json"} {
		content, err := os.ReadFile(filepath.Join(run, key))
		if err == nil {
			err = bucket.Put(t.Context(), "lab/b/one/"+key, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for address, want := range map[string]string{
		"s3://results/team/lab/b/one":              "oltp.r002,2,1,Measured,",
		"s3://results/team/lab/b/one/summary.json": "oltp.r002,2,1,Measured,",
		"s3://results/team/lab/b":                  "there is no summary.json of a run",
		"s3://nothing/team/lab/b/one":              "no such bucket",
	} {
		cmd := program(t.Context(), "report", "-o", "csv", "--of", "trials", address)
		cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID="+miniotest.AccessKey, "AWS_SECRET_ACCESS_KEY="+miniotest.SecretKey, "AWS_ENDPOINT_URL="+server.Endpoint, "AWS_ENDPOINT_URL_S3=")
		out, err := cmd.CombinedOutput()
		if (err == nil) != strings.HasPrefix(want, "oltp") || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, no %q in %s", address, err, want, out)
		}
	}
}
