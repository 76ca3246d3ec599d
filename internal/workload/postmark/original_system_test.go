//go:build system

package postmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// runOriginal runs NetApp's program (Debian's package postmark) in a directory and
// returns what it prints.
func runOriginal(t *testing.T, dir string, c config) string {
	t.Helper()
	var commands bytes.Buffer
	fmt.Fprintf(&commands, "set location %s\nset number %d\nset transactions %d\nset size %d %d\n", dir, c.Files, c.Transactions, c.MinSize, c.MaxSize)
	if c.Subdirectories > 0 { // it knows no 0, which is its default
		fmt.Fprintf(&commands, "set subdirectories %d\n", c.Subdirectories)
	}
	fmt.Fprintf(&commands, "set read %d\nset write %d\nset bias read %d\nset bias create %d\n", c.ReadBlockSize, c.WriteBlockSize, c.ReadBias, c.CreateBias)
	fmt.Fprintf(&commands, "set seed %d\nset buffering %t\nrun\nquit\n", c.Seed, *c.Buffered)
	cmd := exec.CommandContext(t.Context(), "postmark")
	cmd.Dir, cmd.Stdin = dir, &commands
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("this test needs Debian's package postmark")
	}
	// It ends with whatever was in a register, as its main returns nothing.
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || cmd.ProcessState.ExitCode() < 0 || stderr.Len() > 0 {
		t.Fatalf("postmark: %v: %s", err, stderr.String())
	}
	return string(out)
}

var times = regexp.MustCompile(` \([^)]* per second\)`)

// withoutTimes is a report without what depends on time.
func withoutTimes(report string) string {
	_, report, _ = strings.Cut(report, "\nFiles:\n")
	report, _, _ = strings.Cut(report, "pm>")
	return times.ReplaceAllString(report, "")
}

// anySettings are small enough that hundreds of them are quick.
func anySettings(r *rand.Rand) config {
	buffered := r.IntN(2) == 0
	c := config{
		Mode: compatible, Files: 1 + r.Int64N(300), Transactions: 10 + r.Int64N(1500), Subdirectories: max(0, r.Int64N(30)-10),
		MinSize: workload.Bytes(1 + r.IntN(3000)), ReadBlockSize: workload.Bytes(1 + r.IntN(9000)), WriteBlockSize: workload.Bytes(1 + r.IntN(9000)),
		ReadBias: r.IntN(12) - 1, CreateBias: r.IntN(12) - 1, Threads: 1, Durability: none, Seed: 1 + r.Int64N(1<<31-1), Buffered: &buffered,
	}
	c.MaxSize = c.MinSize + workload.Bytes(r.IntN(8000)*r.IntN(2))
	if c.ReadBias == -1 && c.CreateBias == -1 {
		c.ReadBias = 5
	}
	return c
}

func TestAnySettingsGiveTheCountsOfTheOriginal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	root, compared, exhausted, refused := inMemory(t), 0, 0, 0
	for compared < 60 || exhausted < 3 || refused < 3 {
		switch compare(t, root, anySettings(r)) {
		case bothReported:
			compared++
		case bothRanOut:
			exhausted++
		case toldBeforehand:
			refused++
		}
	}
	t.Logf("%d were compared; in %d both ran out of files, and in %d more that is told beforehand", compared, exhausted, refused)
}

func TestSumsOfBytesAreRoundedAsByTheOriginal(t *testing.T) {
	root := inMemory(t)
	for _, buffered := range []bool{true, false} {
		c := config{
			Mode: compatible, Files: 3000, Transactions: 20000, Subdirectories: 10, MinSize: 500, MaxSize: 20000, ReadBlockSize: 4096, WriteBlockSize: 4096,
			ReadBias: 5, CreateBias: 5, Threads: 1, Durability: none, Seed: 4357, Buffered: &buffered,
		}
		if compare(t, root, c) != bothReported {
			t.Error("there is no report")
		}
	}
}

// agreement of the original and this engine.
type agreement int

const (
	bothReported agreement = iota
	bothRanOut
	toldBeforehand
)

// compare runs both with the same settings, one after the other in the same directory.
func compare(t *testing.T, dir string, c config) agreement {
	t.Helper()
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	original := runOriginal(t, dir, c)
	out := strings.Contains(original, "out of files!")
	if err := (Engine{}).Check(raw, trial.Filesystem); err != nil {
		if !out {
			t.Errorf("%s: %v\nthe original: %s", raw, err, original)
		}
		return toldBeforehand
	}
	env := newEnv(t, dir, nil)
	env.Workload.Config = raw
	m, err := Engine{}.Run(t.Context(), env)
	if o := (*outOfFiles)(nil); errors.As(err, &o) != out {
		t.Errorf("%s: %v\nthe original: %s", raw, err, original)
	}
	if out {
		return bothRanOut
	}
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if got, want := withoutTimes("\n"+string(m.RawOutput)), withoutTimes(original); got != want || want == "" {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", raw, got, want)
	}
	return bothReported
}

func TestTheReportHasTheShapeOfTheOriginal(t *testing.T) {
	root, buffered := inMemory(t), true
	c := config{
		Mode: compatible, Files: 500, Transactions: 500, MinSize: 500, MaxSize: 10000, ReadBlockSize: 512, WriteBlockSize: 512,
		ReadBias: 5, CreateBias: 5, Seed: 42, Buffered: &buffered,
	}
	_, want, _ := strings.Cut(runOriginal(t, root, c), "Deleting files...Done\n")
	want, _, _ = strings.Cut(want, "pm>")
	m := measureOnce(t, newEnv(t, root, map[string]any{"mode": compatible, "files": 500, "transactions": 500}))
	// Both take less than a second, of which the original makes one.
	if got := string(m.RawOutput); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// inMemory is a directory on tmpfs, so that hundreds of runs are quick.
func inMemory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	devicetest.Mount(t, dir, "tmpfs", "tmpfs")
	return dir
}
