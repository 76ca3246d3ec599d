package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func runLint(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	cmd := newCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"lint"}, arguments...))
	err := cmd.Execute()
	return out.String(), err
}

func TestLintSaysAllProblemsAndChangesWithTheirLines(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("common.inc", "# shared\niodpeth=4\n")
	file := write("a.fio", "[global]\nfilename=/dev/sdx\ninclude common.inc\nexec_prerun=id\n[a b]\nsize=${SIZE}\nbs=4q\n")
	out, err := runLint(t, "-o", "json", file)
	if code, ok := errors.AsType[outcome](err); !ok || code != exitInvalid {
		t.Errorf("the error is %v", err)
	}
	var d lintDocument
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	where := func(findings []lintFinding) (all []string) {
		for _, f := range findings {
			word, _, _ := strings.Cut(f.Message, " ")
			all = append(all, strings.TrimPrefix(f.File, dir+"/")+":"+string(rune('0'+f.Line))+" "+word)
		}
		return all
	}
	want := []string{"a.fio:4 the", "a.fio:6 size:", "a.fio:7 bs:", `common.inc:2 "iodpeth"`}
	if diff := cmp.Diff(want, where(d.Problems)); diff != "" {
		t.Error(diff)
	}
	want = []string{"a.fio:5 the", "a.fio:2 filename=/dev/sdx:", "a.fio:5 job"}
	if diff := cmp.Diff(want, where(d.Changes)); diff != "" {
		t.Error(diff)
	}
}

func TestLintExitsWith0IfNothingIsWrong(t *testing.T) {
	for _, arguments := range [][]string{
		{"--command", "fio --name=a --rw=read --size=1m --filename=/dev/sdx"},
		{"--command", "fio --name=a --rw=randtrim", "--mode", "Block"},
		{"--command", "fio --name=a --rw=read --size=${SIZE}", "--variable", "SIZE=1m"},
	} {
		if out, err := runLint(t, arguments...); err != nil || strings.Contains(out, "error") || strings.Count(out, "\n") != 1 {
			t.Errorf("%q: %v\n%s", arguments, err, out)
		}
	}
}

func TestLintOfABenchmark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.yaml")
	text := "apiVersion: storagebench.io/v1alpha1\nkind: StorageBenchmark\nmetadata: {name: b}\nspec:\n  targets: [{name: t, hostPath: {path: /x}}]\n" +
		"  workloads: [{name: w, fio: {jobFile: \"[a]\\nsiez=1m\\nbs=x\"}}, {name: v, fio: {commandLine: \"fio --name=a --rw=reed --size=1m\"}}]\n  trials: {min: 1}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runLint(t, file)
	if code, ok := errors.AsType[outcome](err); !ok || code != exitInvalid {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{" w:2: error: \"siez\"", " w:3: error: bs:", " v:1: error: rw:"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// lint finds nothing wrong exactly where plan makes a plan.
func TestLintOfABenchmarkChecksWhatPlanChecks(t *testing.T) {
	const fio = "fio: {jobFile: \"[a]\\nsize=1m\\nruntime=1\\nbs=${BS}\", variables: {BS: 4k}}"
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"a sweep":  {spec: "workloads: [{name: w, " + fio + ", sweep: {over: [{parameter: BS, values: [4k, 8k]}]}}]"},
		"a search": {spec: "workloads: [{name: w, " + fio + ", sweep: {slo: {metric: read.latency.p99, below: 2ms, rate: {from: 100, to: 5000}}}}]"},
		"a value that fio refuses": {
			spec: "workloads: [{name: w, " + fio + ", sweep: {over: [{parameter: BS, values: [4k, 8q]}]}}]",
			want: []string{"8q"},
		},
		"values that are there twice, and a mistake in another workload": {
			spec: "workloads: [{name: w, " + fio + ", sweep: {over: [{parameter: BS, values: [4k, 4k]}]}}, {name: v, fio: {jobFile: \"[a]\\nsiez=1m\"}}]",
			want: []string{"spec.workloads[w].sweep.over[BS].values", "siez"},
		},
		"a parameter that no engine has": {
			spec: "workloads: [{name: w, filesync: {size: 1Mi}, sweep: {over: [{parameter: deepness, values: [1, 2]}]}}]",
			want: []string{"spec.workloads[w].sweep.over[deepness]"},
		},
		"a search without a limit": {
			spec: "workloads: [{name: w, " + fio + ", sweep: {slo: {metric: read.latency.p90, below: 2ms, rate: {from: 100, to: 5000}}}}]",
			want: []string{"spec.workloads[w].sweep.slo.metric"},
		},
		"a gate of a search": {
			spec: "workloads: [{name: w, " + fio + ", sweep: {slo: {metric: read.latency.p99, below: 2ms, rate: {from: 100, to: 5000}}}}]\n  gates: [{workload: w, metric: read.latency.p99, max: 2ms}]",
			want: []string{"spec.gates[0].workload"},
		},
		"more trials than a worker has": {
			spec: "workloads: [{name: w, " + fio + ", sweep: {over: [{parameter: BS, values: [1k, 2k, 4k, 8k, 16k, 32k]}]}}]\n  trials: {min: 100}",
			want: []string{"spec.trials.min"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "b.yaml")
			text := "apiVersion: storagebench.io/v1alpha1\nkind: StorageBenchmark\nmetadata: {name: b}\nspec:\n  targets: [{name: t, hostPath: {path: /x}}]\n  " + c.spec + "\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := runLint(t, file)
			if got, want := exitCode(err) == exitInvalid, len(c.want) > 0; got != want {
				t.Errorf("something is wrong: %v, want %v", got, want)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
			plan := newCommand()
			plan.SetOut(&bytes.Buffer{})
			plan.SetArgs([]string{"plan", "-f", file})
			if planned := plan.Execute() == nil; planned == (len(c.want) > 0) {
				t.Errorf("plan makes a plan: %v", planned)
			}
		})
	}
}

func TestLintRefusesItsOwnArguments(t *testing.T) {
	for _, arguments := range [][]string{
		{}, {"x.fio", "--command", "fio"}, {"/does/not/exist.fio"}, {"--mode", "Bock", "--command", "fio"}, {"--variable", "X", "--command", "fio"}, {"-o", "yaml", "--command", "fio"}, {"--include", "/does/not/exist", "--command", "fio"},
	} {
		if _, err := runLint(t, arguments...); exitCode(err) != exitInvalid {
			t.Errorf("%q: %v", arguments, err)
		}
	}
}

func TestLintNamesTheFieldsOfASchedule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nightly.yaml")
	const text = `apiVersion: storagebench.io/v1alpha1
kind: StorageBenchmarkSchedule
metadata: {name: nightly}
spec:
  schedule: "30 2 * * *"
  template:
    spec:
      targets: [{name: fast, storageClass: {name: fast}}]
      workloads: [{name: w, fio: {parameters: {rw: randread, bs: 4k, iodpeth: 4}}}]
`
	for _, c := range []struct{ text, says string }{
		{text, "spec.template.spec.workloads[w].fio.parameters"},
		{strings.Replace(text, "30 2", "30 25", 1), "spec.schedule: error:"},
		{strings.Replace(text, ", iodpeth: 4", "", 1), "nothing is wrong"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, _ := output(t, "lint", file); !strings.Contains(stdout, c.says) {
			t.Errorf("got %q and %q, want %q", stdout, stderr, c.says)
		}
	}
}
