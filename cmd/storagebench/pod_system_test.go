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
	"testing"
	"time"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/store"
	"storagebench.io/storagebench/internal/store/s3"
	"storagebench.io/storagebench/internal/store/s3/miniotest"
	"storagebench.io/storagebench/internal/trial"
)

type pod struct {
	t      *testing.T
	server *miniotest.Server
	store  *s3.Store
	plan   *trial.Plan
	digest string                    // of the plan; what the Job says
	forge  func(grant []byte) []byte // after it was signed; nil: not
	target string
	work   string // lost with the Pod
	env    []string
	stderr bytes.Buffer
}

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
	signed := p.grant()
	grant, grantDigest, err := signed.Encode()
	if err != nil {
		p.t.Fatal(err)
	}
	if p.forge != nil {
		grant = p.forge(grant)
	}
	for name, content := range map[string][]byte{"plan.json": document, "grant.json": grant} {
		if err := os.WriteFile(filepath.Join(files, name), content, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := program(p.t.Context(), "worker",
		"--plan", filepath.Join(files, "plan.json"), "--plan-digest", digest, "--worker", "fast.node",
		"--target-path", p.target, "--grant", filepath.Join(files, "grant.json"), "--grant-digest", grantDigest,
		"--spool", filepath.Join(p.work, "spool"), "--scratch", filepath.Join(p.work, "scratch"),
		"--receipt", p.receiptFile(), "--timeout", "5m")
	cmd.Env = append(cmd.Env, p.env...)
	p.stderr.Reset()
	cmd.Stderr = &p.stderr
	return cmd
}

func (p *pod) receiptFile() string { return filepath.Join(p.work, "termination-log") }

func (p *pod) grant() *trial.Grant {
	p.t.Helper()
	g, err := store.NewGrant(p.t.Context(), p.store, p.plan, "fast.node", time.Hour, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	return g
}

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

// fios are the processes that work in a directory of the target, by whatever name they know
// it: their mounts are not this process's.
func (p *pod) fios() []string {
	dirs, _ := filepath.Glob(filepath.Join(p.target, ".storagebench-*", "*"))
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var pids []string
	for _, dir := range dirs {
		want, err := os.Stat(dir)
		if err != nil {
			continue
		}
		for _, link := range links {
			if at, err := os.Stat(link); err == nil && os.SameFile(at, want) {
				pids = append(pids, strings.Split(link, "/")[2])
			}
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
