//go:build system

package apart

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/fio"
)

// outside is what must stay as it is.
type outside struct {
	dir, file, secret, device string
}

func newOutside(t *testing.T) outside {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := outside{dir: dir, file: filepath.Join(dir, "other"), secret: filepath.Join(dir, "secret"), device: devicetest.Loop(t, 1<<20)}
	err = errors.Join(
		os.Mkdir(filepath.Join(dir, "victim"), 0o777), os.Chmod(filepath.Join(dir, "victim"), 0o777),
		// As large as what engines make: they remove one that is smaller.
		os.WriteFile(o.file, make([]byte, 1<<20), 0o600), os.Chmod(o.file, 0o666),
		os.WriteFile(o.secret, make([]byte, 1<<20), 0o600),
		os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755),
	)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// print is the state of all of it.
func (o outside) print(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, file := range []string{o.file, o.secret, o.device} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %x %v\n", filepath.Base(file), sha256.Sum256(content), info.Mode())
	}
	entries, err := os.ReadDir(filepath.Join(o.dir, "victim"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%d in victim", len(entries))
	return b.String()
}

// plants put something where an engine will make a file.
var plants = map[string]func(o outside, path string) error{
	"a relative link": func(o outside, path string) error {
		target, err := filepath.Rel(filepath.Dir(path), o.file)
		return errors.Join(err, os.Symlink(target, path))
	},
	"an absolute link":      func(o outside, path string) error { return os.Symlink(o.file, path) },
	"a link to a directory": func(o outside, path string) error { return os.Symlink(filepath.Join(o.dir, "victim"), path) },
	"a link to a device":    func(o outside, path string) error { return os.Symlink(o.device, path) },
	"a hard link":           func(o outside, path string) error { return os.Link(o.secret, path) },
	"a FIFO": func(_ outside, path string) error {
		return errors.Join(unix.Mkfifo(path, 0o666), os.Chmod(path, 0o666))
	},
	"a directory of links": func(o outside, path string) error {
		err := errors.Join(os.Mkdir(path, 0o777), os.Chmod(path, 0o777))
		for _, name := range []string{"cell", "0", "1", "t0", "f0"} {
			err = errors.Join(err, os.Symlink(o.file, filepath.Join(path, name)))
		}
		return err
	},
	"a node of a device": func(o outside, path string) error {
		var s unix.Stat_t
		if err := unix.Stat(o.device, &s); err != nil {
			return err
		}
		return errors.Join(unix.Mknod(path, unix.S_IFBLK|0o666, int(s.Rdev)), os.Chmod(path, 0o666))
	},
	"a program with set-user-ID": func(_ outside, path string) error {
		b, err := os.ReadFile("/bin/true")
		return errors.Join(err, os.WriteFile(path, b, 0o600), os.Chmod(path, 0o4755))
	},
}

// within is the environment of a trial of a real engine, whose directory is in o.
func within(t *testing.T, o outside, name string) workload.Env {
	t.Helper()
	env := newEnv(t, slog.New(slog.DiscardHandler))
	_ = env.Opened.Close()
	dir := filepath.Join(o.dir, "run")
	err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
	if err == nil {
		env.Opened, err = os.Open(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	env.Dir, env.Workload.Engine, env.Workload.Config = dir, name, json.RawMessage(engines[name].config)
	env.Trial = trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1}
	return env
}

// made returns the names that an engine makes in its directory, and the paths of what is left in
// directories of these.
func made(t *testing.T, env workload.Env, e workload.Engine) (names, inner []string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if _, err := unix.InotifyAddWatch(fd, env.Dir, unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), env); err != nil {
		t.Logf("the trial: %v", err) // some are too short to be measured
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buffer)
		if err != nil || n <= 0 {
			break
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			size := int(buffer[at+12]) | int(buffer[at+13])<<8
			name := strings.TrimRight(string(buffer[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+size]), "\x00")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			at += unix.SizeofInotifyEvent + size
		}
	}
	if len(names) == 0 {
		t.Fatal("it made nothing")
	}
	paths, err := filepath.Glob(filepath.Join(env.Dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		inner = append(inner, strings.TrimPrefix(path, env.Dir+"/"))
	}
	return names, inner
}

// plant puts something where the engine will make files of these names.
func (o outside) plant(t *testing.T, what, dir string, names []string) {
	t.Helper()
	for _, n := range names {
		path := filepath.Join(dir, n)
		if parent := filepath.Dir(path); parent != dir {
			if err := errors.Join(os.MkdirAll(parent, 0o777), os.Chmod(parent, 0o777)); err != nil {
				t.Fatal(err)
			}
		}
		if err := plants[what](o, path); err != nil {
			t.Fatal(err)
		}
	}
}

// perform prepares and runs a trial, whatever comes of it.
func perform(t *testing.T, e workload.Engine, env workload.Env, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := e.Prepare(ctx, env); err != nil {
		return err
	}
	_, err := e.Run(ctx, env)
	return err
}

// Whatever stands where an engine makes its files, nothing outside of its directory changes.
// root plants it, when the directory is the engine's already: nobody who has less can.
func TestNothingPlantedLeadsOutOfTheDirectory(t *testing.T) {
	for name := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t)
			e := Engine{engines[name].engine}
			names, inner := made(t, within(t, o, name), e)
			before := o.print(t)
			for what := range plants {
				limit := time.Minute
				if what == "a FIFO" {
					limit = 2 * time.Second // whoever opens it waits for the other end
				}
				for _, where := range [][]string{names, inner} {
					env := within(t, o, name)
					o.plant(t, what, env.Dir, where)
					err := perform(t, e, env, limit)
					if after := o.print(t); after != before {
						t.Errorf("%s at %v: it was\n%s\nand is\n%s\n(the trial: %v)", what, where, before, after, err)
					}
				}
			}
		})
	}
}

// The same without this package: root follows.
func TestControlRootFollowsLinks(t *testing.T) {
	o := newOutside(t)
	_, files := made(t, within(t, o, "fio"), Engine{engines["fio"].engine})
	for _, what := range []string{"a relative link", "a link to a device", "a hard link", "a node of a device"} {
		before := o.print(t)
		env := within(t, o, "fio")
		o.plant(t, what, env.Dir, files)
		err := perform(t, engines["fio"].engine, env, time.Minute)
		if o.print(t) == before {
			t.Errorf("%s at %v: nothing has changed (the trial: %v)", what, files, err)
		}
	}
}

// Files that the next trial must not find are removed in the engine's directory only, whatever it
// has become. root itself follows.
func TestCleaningRemovesNothingOutsideOfTheDirectory(t *testing.T) {
	o := newOutside(t)
	fresh := json.RawMessage(`{"files":"Fresh","parameters":{"rw":"write","bs":"4k","size":"64k","ioengine":"psync","fsync":"1","loops":"1"}}`)
	env := within(t, o, "fio")
	env.Workload.Config = fresh
	_, inner := made(t, env, Engine{engines["fio"].engine})
	if len(inner) != 1 {
		t.Fatalf("it left %v", inner)
	}
	victim := filepath.Join(o.dir, "victim", filepath.Base(inner[0]))
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, clean := range map[string]func(context.Context, workload.Env) error{
		"after a trial": Engine{engines["fio"].engine}.Clean,
		"before a trial": func(_ context.Context, env workload.Env) error {
			return perform(t, Engine{engines["fio"].engine}, env, time.Minute)
		},
	} {
		env := within(t, o, "fio")
		env.Workload.Config = fresh
		o.plant(t, "a link to a directory", env.Dir, []string{filepath.Dir(inner[0])})
		err := clean(t.Context(), env)
		if _, gone := os.Stat(victim); gone != nil {
			t.Errorf("%s: %v (it says: %v)", what, gone, err)
		}
	}
	env = within(t, o, "fio")
	env.Workload.Config = fresh
	o.plant(t, "a link to a directory", env.Dir, []string{filepath.Dir(inner[0])})
	err := fio.Engine{}.Clean(t.Context(), env)
	if _, gone := os.Stat(victim); !errors.Is(gone, os.ErrNotExist) {
		t.Errorf("the control, as root, removed nothing: %v", err)
	}
}

// A device is the engine's to use, and no other.
func TestADeviceIsOpenedByItsOwnNode(t *testing.T) {
	mine, other := devicetest.Loop(t, 8<<20), devicetest.Loop(t, 1<<20)
	for _, name := range []string{"fio", "bandwidth"} {
		env := newEnv(t, slog.New(slog.DiscardHandler))
		_ = env.Opened.Close()
		env.Dir, env.Opened, env.Device, env.Target.Mode = "", nil, mine, trial.Block
		env.Workload.Engine, env.Workload.Config = name, json.RawMessage(engines[name].config)
		env.Trial = trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1}
		e := Engine{engines[name].engine}
		if err := e.Prepare(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		m, err := e.Run(t.Context(), env)
		if err != nil {
			t.Fatal(err)
		}
		if name == "fio" && !strings.Contains(m.Input, "filename="+mine+"\n") {
			t.Errorf("the job file names another device than %s:\n%s", mine, m.Input)
		}
		env.Device = other + "-which-is-not-there"
		if err := e.Prepare(t.Context(), env); err == nil {
			t.Error("a device that is not there was prepared")
		}
	}
}

// An engine sees no process of the node, even if the runner does, and opens no device node
// that stands open to everybody.
func TestAnEngineSeesNeitherProcessesNorDevicesOfTheNode(t *testing.T) {
	o := newOutside(t)
	open := filepath.Join(o.dir, "node")
	if err := plants["a node of a device"](o, open); err != nil {
		t.Fatal(err)
	}
	env := newEnv(t, nil)
	env.Workload.Name = open
	m, err := runs(t.Context(), t, "peek", env)
	if err != nil {
		t.Fatal(err)
	}
	if want := "/dev/fd /dev/full /dev/null /dev/random /dev/stderr /dev/stdin /dev/stdout /dev/urandom /dev/zero"; m.Notes[0] != want {
		t.Errorf("its devices are %s", m.Notes[0])
	}
	if m.Notes[1] != "/proc/1" {
		t.Errorf("its processes are %s", m.Notes[1])
	}
	if !strings.Contains(m.Stderr, "permission denied") {
		t.Errorf("opening a node of a device gives %s", m.Stderr)
	}
}

// fio may not drop a device's page cache between groups of jobs, and the figures do not go out
// without a word.
func TestBufferedJobsOfADeviceSayThatTheCacheWasNotDropped(t *testing.T) {
	for direct, want := range map[string]bool{"0": true, "1": false} {
		env := newEnv(t, slog.New(slog.DiscardHandler))
		_ = env.Opened.Close()
		env.Dir, env.Opened, env.Device, env.Target.Mode = "", nil, devicetest.Loop(t, 8<<20), trial.Block
		jobs := "[global]\nioengine=psync\nbs=64k\nsize=4m\ndirect=" + direct + "\n[w]\nrw=write\n[r]\nstonewall\nrw=read\n"
		config, err := json.Marshal(map[string]string{"jobFile": jobs})
		if err != nil {
			t.Fatal(err)
		}
		env.Workload.Engine, env.Workload.Config = "fio", config
		env.Trial = trial.Trial{ID: "w.r001", Workload: "w", Repeat: 1}
		m, err := Engine{engines["fio"].engine}.Run(t.Context(), env)
		if err != nil {
			t.Fatal(err)
		}
		if said := slices.ContainsFunc(m.Notes, func(n string) bool { return strings.Contains(n, "page cache") }); said != want {
			t.Errorf("direct=%s: the notes are %q, and fio printed %q", direct, m.Notes, m.Stderr)
		}
	}
}

// On a file system that is frozen, whoever writes waits in the kernel and cannot be killed.
func TestAProcessThatCannotBeKilledIsSaidToBeStuck(t *testing.T) {
	t.Parallel()
	dir, _ := devicetest.Filesystem(t, "ext4", 64<<20)
	env := newEnv(t, nil)
	_ = env.Opened.Close()
	env.Dir = filepath.Join(dir, "run")
	err := os.Mkdir(env.Dir, 0o700)
	if err == nil {
		env.Opened, err = os.Open(env.Dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	freezer, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	const freeze, thaw = 0xC0045877, 0xC0045878 // FIFREEZE, FITHAW
	t.Cleanup(func() {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, freezer.Fd(), thaw, 0); errno != 0 {
			t.Errorf("thaw: %v", errno)
		}
		_ = env.Opened.Close()
		_ = freezer.Close()
		waitFor(t, "the process to be gone", func() bool { return len(processes(program+" "+Command+" write")) == 0 })
	})
	ctx, cancel := context.WithCancel(t.Context())
	begun(t, env, func() {
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, freezer.Fd(), freeze, 0) // thaw fails if this does
		cancel()
	})
	if _, err := runs(ctx, t, "write", env); !errors.Is(err, ErrStuck) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "did not end within") {
		t.Errorf("it ended with %v", err)
	}
}

// Seccomp profiles from before mount_setattr answer EPERM.
func TestWithoutMountSetattrMountsAreTakenOneAtATime(t *testing.T) {
	each := errors.New("each")
	for err, want := range map[error]error{unix.ENOSYS: each, unix.EPERM: each, unix.EINVAL: unix.EINVAL, nil: nil} {
		if got := readOnlyOr(err, func() error { return each }); !errors.Is(got, want) {
			t.Errorf("%v gives %v, want %v", err, got, want)
		}
	}
}

// Kernels before 5.12 make mounts read-only one at a time.
func TestMountsAreReadOnlyOneAtATime(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mknod(filepath.Join(dir, "node"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asOld, dir)
	out := devicetest.Run(t, "unshare", "--mount", "--propagation", "private", exe)
	if !strings.Contains(out, "read-only file system <nil>") || !strings.Contains(out, "then open "+filepath.Join(dir, "node")+": permission denied") {
		t.Errorf("it says %q", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "here"), nil, 0o600); err != nil {
		t.Errorf("outside: %v", err)
	}
}
