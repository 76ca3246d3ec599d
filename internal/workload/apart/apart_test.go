package apart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

func TestWhatAnEngineMeasuresArrives(t *testing.T) {
	var log bytes.Buffer
	env := newEnv(t, slog.New(slog.NewTextHandler(&log, nil)))
	m, err := runs(t.Context(), t, "measure", env)
	if err != nil {
		t.Fatal(err)
	}
	if m.Metrics["read.iops"].Value != 0.1 || string(m.RawOutput) != "raw\x00output" || m.Notes[0] != "w" {
		t.Errorf("%+v", m)
	}
	// Readers know the runner's paths.
	if m.Command[1] != env.Scratch+"/in" {
		t.Errorf("the command is %q", m.Command)
	}
	if m.Elapsed < 100*time.Millisecond || m.EngineCPU <= 0 || m.RunnerCPU < 0 || m.RunnerCPU > m.Elapsed/2 {
		t.Errorf("it took %v, the engine %v, the rest %v", m.Elapsed, m.EngineCPU, m.RunnerCPU)
	}
	for _, want := range []string{`level=INFO msg="a message" engine.answer=42`, `level=WARN msg="the engine's process printed a line" line="a line of no log"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
	if _, err := os.Stat(filepath.Join(env.Dir, "data")); err != nil {
		t.Error(err)
	}
}

// status returns the fields of a /proc/PID/status.
func status(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.Join(strings.Fields(value), " ")
	}
	return fields
}

func TestAnEngineHasNoPrivileges(t *testing.T) {
	env := newEnv(t, nil)
	m, err := runs(t.Context(), t, "look", env)
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(Owner())
	for i, who := range []string{"the process", "its tool"} {
		s := status(m.Notes[i])
		if want := strings.Join([]string{id, id, id, id}, " "); s["Uid"] != want {
			t.Errorf("%s: Uid is %s, want %s", who, s["Uid"], want)
		}
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
			if s[set] != "0000000000000000" {
				t.Errorf("%s: %s is %s", who, set, s[set])
			}
		}
		if s["NoNewPrivs"] != "1" {
			t.Errorf("%s: NoNewPrivs is %s", who, s["NoNewPrivs"])
		}
		if Privileged() && (s["Groups"] != "" || s["Gid"] != s["Uid"] || s["CapBnd"] != "0000000000000000") {
			t.Errorf("%s: Gid %s, Groups %q, CapBnd %s", who, s["Gid"], s["Groups"], s["CapBnd"])
		}
	}
	if !Privileged() {
		if m.Notes[3] != env.Dir {
			t.Errorf("its directory is %s", m.Notes[3])
		}
		return
	}
	if m.Stderr != "" {
		t.Errorf("it could write\n%s", m.Stderr)
	}
	var flags int64
	if _, err := fmt.Sscan(m.Notes[2], &flags); err != nil {
		t.Fatal(err)
	}
	const want = unix.ST_NODEV | unix.ST_NOSUID | unix.ST_NOEXEC | 0x2000 // ST_NOSYMFOLLOW
	if flags&want != want || flags&unix.ST_RDONLY != 0 {
		t.Errorf("its directory is mounted with %#x", flags)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), env.Dir) {
		t.Errorf("a mount is left: %v", err)
	}
}

// The tests of this file hold for a Pod of the restricted level too, and for a user on a machine.
func TestWithoutPrivileges(t *testing.T) {
	if !Privileged() {
		return // they were without in the first place
	}
	place := t.TempDir()
	for _, dir := range []string{filepath.Dir(place), place} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(place, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^Test(WhatAnEngine|AnEngineHas|AProcessThatTampers|AnEngineThatBreaks|WhenTheRunnerIsKilled)", "-test.timeout", "2m")
	cmd.Dir, cmd.Env = place, append(os.Environ(), "TMPDIR="+place)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAFailureArrivesWithWhatWasMeasured(t *testing.T) {
	env := newEnv(t, nil)
	m, err := runs(t.Context(), t, "fail", env)
	f := trial.AsFailure(err)
	if f.Class != reason.NoSpace || f.Message != env.Dir+" is full" {
		t.Errorf("%+v", f)
	}
	if m == nil || m.Stderr != "said in "+env.Dir {
		t.Errorf("%+v", m)
	}
}

func TestAProcessThatTampersIsNotBelieved(t *testing.T) {
	for name, want := range map[string]string{
		"garbage": "more than is read", "flood": "more than is read", "forge": "has the invalid name", "cut": "ended without a result",
		"dawdle": "claims to have run for 1h",
		"accuse": "no failure of an engine",
	} {
		t.Run(name, func(t *testing.T) {
			m, err := runs(t.Context(), t, name, newEnv(t, nil))
			f := trial.AsFailure(err)
			if f.Class != reason.WorkloadFailed || !strings.Contains(f.Message, want) || m != nil {
				t.Errorf("%+v, measured %+v", f, m)
			}
		})
	}
}

func TestAResultThatIsTooLargeIsALimitExceeded(t *testing.T) {
	m, err := runs(t.Context(), t, "boast", newEnv(t, nil))
	if f := trial.AsFailure(err); f.Class != reason.LimitExceeded || f.Remedy == "" || m != nil {
		t.Errorf("%+v, measured %+v", f, m)
	}
}

func TestAnEngineThatBreaksIsAFailure(t *testing.T) {
	t.Run("panic", func(t *testing.T) {
		_, err := runs(t.Context(), t, "panic", newEnv(t, nil))
		if f := trial.AsFailure(err); f.Class != reason.WorkloadFailed || !strings.Contains(f.Message, "exit status 2") || !strings.HasSuffix(f.Message, ": panic: a defect") || f.Field != "spec.workloads[w].panic" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("killed, as for want of memory", func(t *testing.T) {
		go func() {
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				if pids := processes(program + " " + Command + " wait"); len(pids) == 1 && asked(pids[0]) {
					_ = syscall.Kill(pids[0], syscall.SIGKILL)
					return
				}
			}
		}()
		_, err := runs(t.Context(), t, "wait", newEnv(t, nil))
		if f := trial.AsFailure(err); f.Class != reason.WorkloadFailed || !errors.Is(err, errKilled) || !strings.Contains(f.Remedy, "memory") {
			t.Errorf("%+v", f)
		}
	})
}

// begun waits until an engine has made its file, and then calls then.
func begun(t *testing.T, env workload.Env, then func()) {
	t.Helper()
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(env.Dir, "begun")); err == nil {
				break
			}
		}
		then()
	}()
}

func TestTheLastWordsOfAnEngineThatIsStoppedAreKept(t *testing.T) {
	env := newEnv(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	begun(t, env, cancel)
	_, err := runs(ctx, t, "mutter", env)
	i, ok := errors.AsType[*Interrupted](err)
	if !ok || !errors.Is(err, context.Canceled) || errors.Is(err, ErrStuck) || i.Detail() != "; it printed: the disk is slow" {
		t.Errorf("%v", err)
	}
}

// asked reports that a process has confined itself: then its arguments are no more than two.
func asked(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Count(b, []byte{0}) == 3
}

func TestWhatHangsIsKilled(t *testing.T) {
	t.Parallel()
	env := newEnv(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && len(inDirectory(env.Dir)) == 0; {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	begin := time.Now()
	if _, err := runs(ctx, t, "deaf", env); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(begin); took > 2*stopWait+killWait {
		t.Errorf("it took %v", took)
	}
	waitFor(t, "the tool to be gone", func() bool { return len(inDirectory(env.Dir)) == 0 })
}

// inDirectory are the processes that work in a directory, by whatever name they know it.
func inDirectory(dir string) []string {
	want, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var pids []string
	for _, link := range links {
		if at, err := os.Stat(link); err == nil && os.SameFile(at, want) {
			pids = append(pids, strings.Split(link, "/")[2])
		}
	}
	return pids
}

func TestNothingOutlivesAnEngine(t *testing.T) {
	if !Privileged() {
		return // a process that leaves its group is found only in a namespace of its own
	}
	if _, err := runs(t.Context(), t, "orphans", newEnv(t, nil)); err != nil {
		t.Error(err)
	}
	if left := processes("sleep 7654321"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWhenTheRunnerIsKilledEverythingEnds(t *testing.T) {
	env := newEnv(t, nil)
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), asRunner+"=deaf "+env.Dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the tool to begin", func() bool { return len(inDirectory(env.Dir)) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	waitFor(t, "the tool to be gone", func() bool { return len(inDirectory(env.Dir)) == 0 })
	waitFor(t, "the process to be gone", func() bool { return len(processes(program+" "+Command+" deaf")) == 0 })
}

func TestADirectoryThatWasReplacedIsNotUsed(t *testing.T) {
	if !Privileged() {
		return // the engine may then write to what the runner may, and to nothing else
	}
	for what, replace := range map[string]func(dir string) error{
		"a directory": func(dir string) error { return os.Mkdir(dir, 0o700) },
		"a link":      func(dir string) error { return os.Symlink(dir+".old", dir) },
		"nothing":     func(string) error { return nil },
	} {
		env := newEnv(t, nil)
		if err := errors.Join(os.Rename(env.Dir, env.Dir+".old"), replace(env.Dir)); err != nil {
			t.Fatal(err)
		}
		if _, err := runs(t.Context(), t, "measure", env); err == nil {
			t.Errorf("%s was used", what)
		}
	}
}

func TestALogIsBounded(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	l := newLogReader(t.Context(), r, slog.New(slog.NewTextHandler(&log, nil)))
	for range 100 {
		if _, err := w.WriteString(strings.Repeat("x", 10*maxLine) + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.WriteString("{\"level\":\"nonsense\",\"msg\":7}\n"); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	l.close()
	if log.Len() > 2*maxLog {
		t.Errorf("%d bytes were logged", log.Len())
	}
	if n := len(l.words()); n == 0 || n > maxWords {
		t.Errorf("%d bytes of words", n)
	}
}

func TestTheProcessIsKnownBeforeTheEngineBegins(t *testing.T) {
	env, began := newEnv(t, nil), false
	m, err := runs(OnStart(t.Context(), func(pid int) {
		_, err := os.Stat(filepath.Join(env.Dir, "data")) // which the engine writes
		_, alive := os.Stat(fmt.Sprintf("/proc/%d/ns/mnt", pid))
		began = errors.Is(err, os.ErrNotExist) && alive == nil
	}), t, "measure", env)
	if err != nil || m == nil || !began {
		t.Errorf("%v, %v", began, err)
	}
}
