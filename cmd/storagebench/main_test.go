package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/workload/apart"
	"storagebench.io/storagebench/internal/workload/engines"
	"storagebench.io/storagebench/internal/workload/fio/seccomptest"
)

// Environment variables that make the test binary behave as storagebench, so that
// tests can run it, kill it and look at what it leaves.
const (
	asProgram   = "STORAGEBENCH_TEST_AS_PROGRAM"
	denyIOURing = "STORAGEBENCH_TEST_DENY_IO_URING"
)

func TestMain(m *testing.M) {
	apart.Become(engines.All())
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	if os.Getenv(denyIOURing) != "" {
		if err := seccomptest.DenyIOURing(); err != nil {
			panic(err)
		}
	}
	os.Exit(run())
}

// program is storagebench with arguments, not started yet.
func program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// output runs storagebench to its end.
func output(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := program(t.Context(), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// benchmark writes a file for run -f.
func benchmark(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const header = "apiVersion: storagebench.io/v1alpha1\nkind: StorageBenchmark\nmetadata: {name: b}\n"

func TestBadInputIsNamedAndExitsWith2(t *testing.T) {
	dir := t.TempDir()
	target := "  targets: [{name: fast, hostPath: {path: " + dir + "}}]\n"
	fio := "  workloads: [{name: w, fio: {parameters: {rw: read, size: 1m}}}]\n"
	for name, c := range map[string]struct {
		file string
		args []string
		want []string // in the message
	}{
		"no arguments at all":     {args: []string{"run"}, want: []string{"--file is missing", "--help"}},
		"an unknown command":      {args: []string{"measure"}, want: []string{`no command "measure"`, "use one of cancel, compare, "}},
		"a command misspelt":      {args: []string{"compaer"}, want: []string{`no command "compaer"`, "did you mean compare?"}},
		"a flag misspelt":         {args: []string{"run", "--outptu", "json"}, want: []string{"--outptu", "did you mean --output?"}},
		"a file too many":         {args: []string{"compare", "a", "b", "c"}, want: []string{"expected 2 arguments (FIRST and SECOND), got 3"}},
		"a file too few":          {args: []string{"report"}, want: []string{"expected 1 argument (RUN), got 0"}},
		"a format misspelt":       {args: []string{"report", "-o", "cvs", "x"}, want: []string{`-o: there is no format "cvs"`, "did you mean csv? Choices: table, html,"}},
		"a tool misspelt":         {args: []string{"import", "--tool", "boonie", "x"}, want: []string{`--tool: there is no importer for "boonie"`, "did you mean bonnie?"}},
		"a word too many":         {args: []string{"qualify", "x"}, want: []string{"expected 0 arguments (only flags), got 1"}},
		"a file without -f":       {args: []string{"plan", "x.yaml"}, want: []string{"x.yaml: plan takes its file with -f", "storagebench plan -f x.yaml"}},
		"a run without namespace": {args: []string{"report", "nightly"}, want: []string{"nightly: there is no such file", "NAMESPACE/NAME"}},
		"two names to get":        {args: []string{"get", "a", "b"}, want: []string{"expected one NAME or none, got 2", "--help"}},
		"a file that is missing":  {args: []string{"run", "-f", "/nonexistent.yaml"}, want: []string{"/nonexistent.yaml", "no such file"}},
		"an unknown flag":         {file: header + "spec:\n" + target + fio, args: []string{"--fast"}, want: []string{"--fast", "--help"}},
		"an unknown output":       {file: header + "spec:\n" + target + fio, args: []string{"-o", "xml"}, want: []string{"xml", "table"}},
		"no YAML":                 {file: "a: [", want: []string{"YAML", "yaml"}},
		"another kind":            {file: "apiVersion: v1\nkind: Pod\n", want: []string{"kind", "Pod"}},
		"two benchmarks":          {file: header + "---\n" + header, want: []string{"more than one StorageBenchmark"}},
		"another version":         {file: strings.Replace(header, "v1alpha1", "v2", 1), want: []string{"apiVersion", "storagebench.io/v1alpha1"}},
		"no name":                 {file: strings.Replace(header, "name: b", "labels: {}", 1) + "spec:\n" + target + fio, want: []string{"metadata.name"}},
		"an unknown field":        {file: header + "spec:\n" + target + fio + "  trails: {min: 3}\n", want: []string{"spec.trails", "did you mean trials?"}},
		"an unknown nested field": {
			file: header + "spec:\n  targets: [{name: fast, hostpath: {path: /x}}]\n" + fio,
			want: []string{"spec.targets[0].hostpath", "did you mean hostPath?"},
		},
		"a key twice":       {file: header + "spec:\n" + target + fio + fio, want: []string{"workloads"}},
		"an unknown engine": {file: header + "spec:\n" + target + "  workloads: [{name: w, sysbench: {}}]\n", want: []string{"spec.workloads[0].sysbench"}},
		"no engine":         {file: header + "spec:\n" + target + "  workloads: [{name: w}]\n", want: []string{"spec.workloads[0]", "exactly one engine"}},
		"no trials":         {file: header + "spec:\n" + target + fio + "  trials: {min: 0}\n", want: []string{"spec.trials.min"}},
		"too many trials":   {file: header + "spec:\n" + target + fio + "  trials: {min: 101}\n", want: []string{"spec.trials.min"}},
		"no targets":        {file: header + "spec:\n  targets: []\n" + fio, want: []string{"spec.targets"}},
		"a target of two kinds": {
			file: header + "spec:\n  targets: [{name: fast, hostPath: {path: /x}, storageClass: {name: gold}}]\n" + fio,
			want: []string{"spec.targets[0]", "exactly one of"},
		},
		"two targets of one name": {
			file: header + "spec:\n  targets: [{name: fast, hostPath: {path: /x}}, {name: fast, hostPath: {path: /y}}]\n" + fio,
			want: []string{"spec.targets[1]", "Duplicate"},
		},
		"a device without consent": {
			file: header + "spec:\n  targets: [{name: fast, blockDevice: {path: /dev/loop0, allowDataDestruction: false}}]\n" + fio,
			want: []string{"allowDataDestruction: true"},
		},
		"a class without a path": {
			file: header + "spec:\n  targets: [{name: fast, storageClass: {name: gold}}]\n" + fio,
			want: []string{"spec.targets[fast]", "--target fast=/"},
		},
		"a job file with an option that is not allowed": {
			file: header + "spec:\n" + target + "  workloads: [{name: w, fio: {jobFile: \"[a]\\nexec_prerun=id\"}}]\n",
			want: []string{"spec.workloads[w].fio.jobFile", "line 2", "exec_prerun"},
		},
		"a size with another unit": {
			file: header + "spec:\n" + target + "  workloads: [{name: w, fio: {parameters: {rw: read, size: 10GX}}}]\n",
			want: []string{"spec.workloads[w].fio.parameters.size", "10GX"},
		},
		"a parameter that is a boolean": {
			file: header + "spec:\n" + target + "  workloads: [{name: w, fio: {parameters: {rw: read, direct: true}}}]\n",
			want: []string{"spec.workloads[0].fio.parameters.direct", "in quotes"},
		},
		"a parameter's value misspelt": {
			file: header + "spec:\n" + target + "  workloads: [{name: w, fio: {parameters: {rw: randraed}}}]\n",
			want: []string{"spec.workloads[w].fio.parameters.rw", `"randraed"`, "did you mean randread? Choices: read,"},
		},
		"a value of the schema misspelt": {
			file: header + "spec:\n" + target + "  workloads: [{name: w, filesync: {sync: Fsnc}}]\n",
			want: []string{"spec.workloads[0].filesync.sync", "did you mean Fsync?"},
		},
		"a tunable misspelt": {
			file: header + "spec:\n" + target + fio + "  variants: [{name: v, tunables: [{name: vm.dirty_ration, value: 5}]}]\n",
			want: []string{"spec.variants[v].tunables[0].name", "did you mean vm.dirty_ratio?"},
		},
		"a tunable's value misspelt": {
			file: header + "spec:\n" + target + fio + "  variants: [{name: v, tunables: [{name: block.queue.scheduler, value: kiber}]}]\n",
			want: []string{"spec.variants[v].tunables[0].value", "did you mean kyber? Choices: none, mq-deadline, kyber, bfq"},
		},
		"a replacement for nothing": {
			file: header + "spec:\n" + target + fio, args: []string{"--target", "slow=/tmp"},
			want: []string{"--target", `no target "slow"`, "use fast"},
		},
		"a replacement without a path": {file: header + "spec:\n" + target + fio, args: []string{"--target", "fast"}, want: []string{"NAME=PATH"}},
		"a replacement that is no storage": {
			file: header + "spec:\n" + target + fio, args: []string{"--target", "fast=/dev/null"},
			want: []string{"neither a directory nor a block device"},
		},
		"a run ID that is a path": {file: header + "spec:\n" + target + fio, args: []string{"--run-id", "../x"}, want: []string{"--run-id"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if c.file != "" {
				args = append([]string{"run", "-f", benchmark(t, c.file), "--out", t.TempDir()}, c.args...)
			}
			stdout, stderr, code := output(t, args...)
			if code != exitInvalid || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr does not name %q: %s", want, stderr)
				}
			}
			if strings.Count(stderr, "\n") != 1 {
				t.Errorf("stderr is not one line: %s", stderr)
			}
		})
	}
}

// A worker's Job knows 1 alone as its word: see trial.ExitFailed.
func TestBadInputOfAWorkerIsNamedAndExitsWith1(t *testing.T) {
	for want, args := range map[string][]string{"--plan is missing": {"worker"}, "--fast": {"worker", "--fast"}} {
		stdout, stderr, code := output(t, args...)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}

func TestHelpHasExamplesAndHidesTheWorker(t *testing.T) {
	stdout, _, code := output(t, "--help")
	if code != 0 || !strings.Contains(stdout, "storagebench run -f benchmark.yaml") || strings.Contains(stdout, "\n  worker") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	stdout, _, code = output(t, "run", "--help")
	if code != 0 || !strings.Contains(stdout, "Examples:") || !strings.Contains(stdout, "Exit codes") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if stdout, _, code = output(t, "version"); code != 0 || strings.TrimSpace(stdout) == "" {
		t.Errorf("exit code %d, version %q", code, stdout)
	}
}
