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

func TestLintRefusesItsOwnArguments(t *testing.T) {
	for _, arguments := range [][]string{
		{}, {"x.fio", "--command", "fio"}, {"/does/not/exist.fio"}, {"--mode", "Bock", "--command", "fio"}, {"--variable", "X", "--command", "fio"}, {"-o", "yaml", "--command", "fio"}, {"--include", "/does/not/exist", "--command", "fio"},
	} {
		if _, err := runLint(t, arguments...); exitCode(err) != exitInvalid {
			t.Errorf("%q: %v", arguments, err)
		}
	}
}
