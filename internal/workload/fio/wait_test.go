package fio

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/trial"
)

// wait_for is a stonewall only where no other job would run at another time than in fio.
func TestWaitForIsStonewallOrRefused(t *testing.T) {
	const head = "[global]\nsize=1m\nrw=write\n"
	for name, c := range map[string]struct {
		text  string
		walls string // jobs with a stonewall
		want  string // message and remedy
	}{
		"the only job above":        {"[a]\n[b]\nwait_for=a", "b", ""},
		"one after the other":       {"[a]\n[b]\nwait_for=a\n[c]\nwait_for=b", "b c", ""},
		"two wait for one":          {"[a]\n[b]\nwait_for=a\n[c]\nwait_for=a", "b", ""},
		"two of one name":           {"[a]\n[a]\n[b]\nwait_for=a", "b", ""},
		"by the name that it gives": {"[a]\nname=x\n[b]\nwait_for=x", "b", ""},
		"with stonewall":            {"[a]\n[x]\n[b]\nwait_for=a\nstonewall", "b", ""},
		"a job before a stonewall":  {"[a]\n[b]\nstonewall\n[c]\nwait_for=a", "b", ""},
		"a job that creates files":  {"[a]\ncreate_only=1\n[b]\nwait_for=a", "", ""},
		"one of two":                {"[a]\n[x]\n[b]\nwait_for=a", "", `line 7: wait_for: "a" does not run alone, and only waiting for all jobs above is supported: use stonewall, or make a workload of the jobs that run together`},
		"and one that does not":     {"[a]\n[b]\nwait_for=a\n[c]", "", `line 7: job c does not wait for "a", as the job above it does: fio would run both together: put it above the jobs that wait, or give it stonewall or the same wait_for`},
		"a job below":               {"[a]\nwait_for=b\n[b]", "", `line 5: wait_for: no job above is called "b": name a job above it`},
		"a misspelling":             {"[writers]\n[b]\nwait_for=writer", "", `line 6: wait_for: no job above is called "writer": did you mean writers?`},
	} {
		all := resolveAll(config{JobFile: head + c.text, Prefill: prefillAuto}, trial.Filesystem, "w")
		var walls []string
		for _, j := range all.jobs {
			if j.on("stonewall") {
				walls = append(walls, j.name)
			}
		}
		switch {
		case c.want == "" && len(all.problems) > 0:
			t.Errorf("%s: %v", name, all.problems[0])
		case c.want == "" && strings.Join(walls, " ") != c.walls:
			t.Errorf("%s: stonewall in %v, not in %s", name, walls, c.walls)
		case c.want != "" && len(all.problems) != 1:
			t.Errorf("%s: %d problems", name, len(all.problems))
		case c.want != "" && all.problems[0].Error()+": "+all.problems[0].remedy != c.want:
			t.Errorf("%s: %s: %s", name, all.problems[0], all.problems[0].remedy)
		}
	}
}

// --readonly keeps its promise: a job that writes is refused.
func TestReadonlyOfACommandLine(t *testing.T) {
	line := config{CommandLine: "fio --readonly --name=a --size=1m --rw=randread", Prefill: prefillAuto}
	_, changes, err := resolveChanged(line, trial.Filesystem, "w")
	if err != nil || len(changes) != 1 || !strings.Contains(changes[0], "--readonly is left out: no job writes") {
		t.Errorf("%v, %v", changes, err)
	}
	line.CommandLine = "fio --readonly --name=a --size=1m --rw=randrw"
	if _, _, err := resolveChanged(line, trial.Filesystem, "w"); err == nil || !strings.Contains(err.Error(), "--readonly, but job a has rw=randrw") {
		t.Errorf("%v", err)
	}
}

// A device has an end of its own, so that filling it is what its size means. A file system
// would be full for everybody.
func TestFillDeviceIsForDevices(t *testing.T) {
	c := config{JobFile: "[a]\nrw=write\nsize=100%%\nfill_device=1", Prefill: prefillAuto}
	jobs, changes, err := resolveChanged(c, trial.Block, "w")
	if err != nil || jobs[0].options["size"] != "100%" || len(changes) == 0 || !strings.Contains(changes[0], "fill_device=1 is left out") {
		t.Errorf("%v, %v, %v", jobs, changes, err)
	}
	if _, _, err := resolveChanged(c, trial.Filesystem, "w"); err == nil || !strings.Contains(err.Error(), "fill_device is not allowed") {
		t.Errorf("%v", err)
	}
}
