package scripts

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outer runs one stage as .ci/run does, and ends as it does.
const outer = `set -uo pipefail
. ../../hack/stages.sh
finish() { trap - EXIT; trap '' INT TERM; end_stages; echo ended; }
trap finish EXIT
stage one 0 - bash -c "$STAGE"
echo running
run_stages "$LIMIT"
`

// inner has stages of its own, as hack/test does.
const inner = `set -uo pipefail; . ../../hack/stages.sh; finish() { trap - EXIT; trap "" INT TERM; end_stages; }; trap finish EXIT
stage deep 0 - bash -c "$DEEP"; run_stages 1000`

// remember makes a process write its ID into the directory of the test, and wait.
const remember = `echo $$ >"$PIDS/$BASHPID"; exec sleep 600`

func TestNothingOfAStageGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		stage, deep string
		processes   int
		limit       int // seconds until the stage is cut off; 0: the script gets TERM
	}{
		"a command":                               {stage: remember, processes: 1},
		"a child in the background":               {stage: "bash -c '" + remember + "' & " + remember, processes: 2},
		"a stage of a stage":                      {stage: inner, deep: remember, processes: 1},
		"a stage of a stage with children":        {stage: inner, deep: "bash -c '" + remember + "' & " + remember, processes: 2},
		"a group of its own":                      {stage: "timeout 600 bash -c '" + remember + "' & wait", processes: 1},
		"one that ignores TERM":                   {stage: "trap '' TERM; " + remember, processes: 1},
		"one that ignores TERM in a stage":        {stage: inner, deep: "trap '' TERM; " + remember, processes: 1},
		"one with an environment of its own":      {stage: `timeout 600 env -i PIDS="$PIDS" bash -c '` + remember + "' & wait", processes: 1},
		"a parent that has ended":                 {stage: "(timeout 600 bash -c '" + remember + "' &) ; sleep 600", processes: 1},
		"a group of its own, when time is over":   {stage: "(timeout 600 bash -c '" + remember + "' &) ; sleep 600", processes: 1, limit: 3},
		"one that ignores TERM, when it is over":  {stage: "trap '' TERM; " + remember + " & wait", processes: 1, limit: 3},
		"a stage of a stage, when the time is up": {stage: inner, deep: remember, processes: 1, limit: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := endStages(t, c.stage, c.deep, c.processes, c.limit)
			for _, pid := range pids {
				if runs(pid) {
					t.Errorf("process %d goes on", pid)
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
	}
}

// A cluster's daemons are for "cluster down", which knows how.
func TestADaemonOfAStageGoesOn(t *testing.T) {
	pids := endStages(t, "setsid bash -c '"+remember+"' & sleep 600", "", 1, 0)
	if !runs(pids[0]) {
		t.Error("the daemon was ended")
	}
	_ = syscall.Kill(pids[0], syscall.SIGKILL)
}

// endStages runs a stage until so many processes have remembered themselves, and then ends it. It returns the processes when
// the script has ended.
func endStages(t *testing.T, stage, deep string, processes, limit int) []int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := os.ReadFile("../../hack/stages.sh"); err != nil { // so that go test runs again when it changes
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := exec.CommandContext(ctx, "bash", "-c", outer)
	cut := limit
	if cut == 0 {
		cut = 1000
	}
	script.Env = append(os.Environ(), "STAGE="+stage, "DEEP="+deep, "PIDS="+dir, fmt.Sprintf("LIMIT=%d", cut), "STAGE_ASK=1", "STAGE_GRACE=3")
	script.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := script.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for ; len(pids) < processes && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		pids = remembered(t, dir)
	}
	if limit == 0 {
		_ = script.Process.Signal(syscall.SIGTERM)
	}
	var lines []string
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	_ = script.Wait() // a stage that was ended is one that failed
	if len(pids) != processes || len(lines) == 0 || lines[len(lines)-1] != "ended" {
		t.Fatalf("%d processes, want %d; %v\n%s", len(pids), processes, ctx.Err(), strings.Join(lines, "\n"))
	}
	return pids
}

// remembered returns the processes that have written their ID.
func remembered(t *testing.T, dir string) (pids []int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// runs reports whether a process exists and is no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := strings.Cut(string(stat), ") ")
	return err == nil && found && !strings.HasPrefix(state, "Z")
}
