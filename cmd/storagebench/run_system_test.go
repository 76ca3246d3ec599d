//go:build system

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/result"
)

const twoTargets = header + `spec:
  targets:
  - {name: fast, storageClass: {name: gold}}
  - {name: here, hostPath: {path: HERE}}
  workloads:
  - name: mix
    fio: {parameters: {rw: randrw, size: 4m, runtime: "1", time_based: "1"}}
  - name: log
    fio:
      jobFile: |
        [append]
        rw=write
        size=1m
        fdatasync=1
  trials: {min: 2}
`

func TestRunMeasuresHereWhatTheClusterWould(t *testing.T) {
	here, fast, out := t.TempDir(), t.TempDir(), t.TempDir()
	file := benchmark(t, strings.Replace(twoTargets, "HERE", here, 1))
	stdout, stderr, code := output(t, "run", "-f", file, "--target", "fast="+fast, "--out", out, "--run-id", "one")
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	// Whoever else uses the disk makes for an answer before the table, and for verdicts after it.
	_, table, _ := strings.Cut("\n"+stdout, "\nTARGET")
	table, _, _ = strings.Cut("TARGET"+table, "\n\n")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if !strings.HasPrefix(lines[0], "TARGET ") || len(lines) != 1+2*4 {
		t.Errorf("the table is\n%s", stdout)
	}
	for _, want := range []string{"1/4 fast mix.r001: preparing", "1/4 fast mix.r001: running, about 1s", "4/4 here log.r002: measured"} {
		if !strings.Contains(stderr, want+"\n") {
			t.Errorf("stderr does not say %q:\n%s", want, stderr)
		}
	}
	if strings.Contains(stderr, "\r") || strings.Contains(stderr, "\x1b") {
		t.Errorf("a bar was drawn into a file: %q", stderr)
	}
	for _, dir := range []string{here, fast} {
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("left on the target: %v", entries)
		}
	}
	run := filepath.Join(out, "default/b/one")
	for _, name := range []string{"plan.json", "summary.json", "report.html"} {
		if _, err := os.Stat(filepath.Join(run, name)); err != nil {
			t.Error(err)
		}
	}
	if documents, _ := filepath.Glob(filepath.Join(run, "workers/*/trials/*.json")); len(documents) != 8 {
		t.Errorf("documents: %v", documents)
	}

	// The same run again has nothing to do, and prints the same for a program.
	stdout, stderr, code = output(t, "run", "-f", file, "--target", "fast="+fast, "--out", out, "--run-id", "one", "-o", "json")
	var s result.Summary
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != exitDone {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if s.Stored != 8 || s.Planned != 8 || len(s.Rows) != 4 || strings.Contains(stderr, "running") || strings.Count(stderr, "stored before") != 8 {
		t.Errorf("the summary is %+v\n%s", s, stderr)
	}
}

func TestARunThatIsStoppedIsCarriedOn(t *testing.T) {
	here, out := t.TempDir(), t.TempDir()
	file := benchmark(t, strings.Replace(header+`spec:
  targets: [{name: here, hostPath: {path: HERE}}]
  workloads: [{name: w, fio: {parameters: {rw: randread, size: 4m, runtime: "2", time_based: "1"}}}]
  trials: {min: 3}
`, "HERE", here, 1))
	cmd := program(t.Context(), "run", "-f", file, "--out", out, "--run-id", "one")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stored := func() int {
		documents, _ := filepath.Glob(filepath.Join(out, "default/b/one/workers/*/trials/*.json"))
		return len(documents)
	}
	waitFor(t, "a trial to be stored", func() bool { return stored() == 1 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(stderr.String(), "--run-id one") {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	if entries, _ := os.ReadDir(here); len(entries) != 0 {
		t.Errorf("left on the target: %v", entries)
	}
	before := stored()
	_, text, code := output(t, "run", "-f", file, "--out", out, "--run-id", "one")
	if code != exitDone || strings.Count(text, "stored before") != before || stored() != 3 {
		t.Errorf("exit code %d, %d stored\n%s", code, stored(), text)
	}
}

func TestRunOnABlockDevice(t *testing.T) {
	disk, out := devicetest.Loop(t, 32<<20), t.TempDir()
	const workloads = "  workloads: [{name: w, fio: {parameters: {rw: randread, runtime: \"1\"}}}]\n  trials: {min: 1}\n"
	consented := benchmark(t, header+"spec:\n  targets: [{name: disk, blockDevice: {path: "+disk+", allowDataDestruction: true}}]\n"+workloads)
	if _, stderr, code := output(t, "run", "-f", consented, "--out", out); code != exitDone {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if _, stderr, code := output(t, "run", "-f", consented, "--target", "disk="+disk, "--out", out); code != exitDone {
		t.Errorf("named on the command line: exit code %d\n%s", code, stderr)
	}
	devicetest.Run(t, "mkfs.ext4", "-q", "-F", disk)
	if _, stderr, code := output(t, "run", "-f", consented, "--out", out); code != exitFailed || !strings.Contains(stderr, "ext4") || !strings.Contains(stderr, "wipefs") {
		t.Errorf("with a file system: exit code %d\n%s", code, stderr)
	}
	devicetest.Run(t, "fsck.ext4", "-n", disk)

	class := benchmark(t, header+"spec:\n  targets: [{name: disk, storageClass: {name: gold, volumeMode: Block}}]\n"+workloads)
	if _, stderr, code := output(t, "run", "-f", class, "--target", "disk="+disk, "--out", out); code != exitInvalid || !strings.Contains(stderr, "allowDataDestruction") {
		t.Errorf("without consent: exit code %d\n%s", code, stderr)
	}
}

func TestAFailureIsSaidOnceAndTheRestIsShown(t *testing.T) {
	here, out := t.TempDir(), t.TempDir()
	file := benchmark(t, strings.Replace(header+`spec:
  targets: [{name: here, hostPath: {path: HERE}}]
  workloads:
  - {name: bad, fio: {parameters: {rw: write, size: 1m, bs: "1000", runtime: "1"}}}
  - {name: good, fio: {parameters: {rw: write, size: 1m, runtime: "1"}}}
  trials: {min: 2}
`, "HERE", here, 1))
	stdout, stderr, code := output(t, "run", "-f", file, "--out", out)
	if code != exitFailed || !strings.Contains(stdout, "good") || strings.Contains(stdout, "bad") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "error: spec.workloads[bad].fio.parameters.direct: ") || !strings.Contains(last, "multiples of the device's block size") {
		t.Errorf("the last line is %q", last)
	}
	if !slices.Contains(lines, "3/4 here bad.r002: skipped") {
		t.Errorf("stderr is\n%s", stderr)
	}
}
