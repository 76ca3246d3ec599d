package fio

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/fio/wild"
)

// Job files and command lines of others are taken as they are, for directories and for devices.
// What each becomes in a directory, and what is said of that, is in testdata/wild.golden.
func TestWildJobFilesAreTaken(t *testing.T) {
	cases, err := wild.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("there are only %d cases", len(cases))
	}
	var b strings.Builder
	for _, c := range cases {
		own := config{Variables: c.Variables, Include: map[string]string{}, Prefill: prefillAuto, machine: workload.Machine{CPUs: 2}}
		for name, text := range c.Include {
			own.Include[path.Base(name)] = text
		}
		if own.JobFile = c.Text; c.IsCommand {
			own.JobFile, own.CommandLine = "", c.Text
		}
		_, _, err := resolveChanged(own, trial.Block, "w")
		if mapped := strings.Contains(c.Text, "ioengine=mmap"); err != nil && (!mapped || !strings.Contains(err.Error(), "has ioengine=mmap")) || err == nil && mapped {
			t.Errorf("%s on a device: %v", c.Name, err)
		}
		jobs, changes, err := resolveChanged(own, trial.Filesystem, "w")
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		fmt.Fprintf(&b, "=== %s\n%s", c.Name, render(jobs, nil))
		for _, change := range changes {
			fmt.Fprintf(&b, "! %s\n", change)
		}
	}
	const golden = "testdata/wild.golden"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("set UPDATE_GOLDEN=1 and read the difference: %s", diff)
	}
}
