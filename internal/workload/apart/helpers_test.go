package apart

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/nofollow"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/bandwidth"
	"storagebench.io/storagebench/internal/workload/bonnie"
	"storagebench.io/storagebench/internal/workload/filesync"
	"storagebench.io/storagebench/internal/workload/fio"
	"storagebench.io/storagebench/internal/workload/iozone"
	"storagebench.io/storagebench/internal/workload/postmark"
	"storagebench.io/storagebench/internal/workload/tool"
)

// asRunner makes this program a runner that has the engine of its value run in the
// directory of the second.
const asRunner = "STORAGEBENCH_TEST_RUNNER"

// asOld makes this program one that makes its mounts read-only as an old kernel has it, and
// tries to write into a directory then.
const asOld = "STORAGEBENCH_TEST_READ_ONLY"

func TestMain(m *testing.M) {
	Become(actors{})
	if engine, dir, ok := strings.Cut(os.Getenv(asRunner), " "); ok {
		env := workload.Env{Dir: dir, Scratch: dir, Target: trial.Target{Mode: trial.Filesystem}}
		var err error
		if env.Opened, err = nofollow.Open(dir); err != nil {
			panic(err)
		}
		_, err = Engine{actor{engine, acts[engine]}}.Run(context.Background(), env)
		fmt.Println(err)
		return
	}
	if dir := os.Getenv(asOld); dir != "" {
		_, err := os.Open(filepath.Join(dir, "node"))
		fmt.Println(readOnlyEach(), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), err)
		_, err = os.Open(filepath.Join(dir, "node"))
		fmt.Println("then", err)
		return
	}
	os.Exit(m.Run())
}

// engines are the real ones, with a small workload each.
var engines = map[string]struct {
	engine workload.Engine
	config string
}{
	"fio":       {fio.Engine{}, `{"parameters":{"rw":"randrw","bs":"4k","size":"64k","ioengine":"psync","loops":"1"}}`},
	"postmark":  {postmark.Engine{}, `{"files":10,"transactions":20}`},
	"filesync":  {filesync.Engine{}, `{"files":10}`},
	"bandwidth": {bandwidth.Engine{}, `{"size":"128Ki","blockSize":"64Ki","operations":["Write","Read"]}`},
	"bonnie":    {bonnie.Engine{}, `{"size":"32Mi","files":1,"perCharacter":false}`},
	"iozone":    {iozone.Engine{}, `{"fileSizes":["128Ki"],"recordSizes":["64Ki"],"tool":"Fio"}`},
}

// act is what an engine of these tests does.
type act func(ctx context.Context, env workload.Env) (*result.Measurement, error)

var acts = map[string]act{
	"measure": measure,
	"look":    look,
	"peek":    peek,
	"fail": func(_ context.Context, env workload.Env) (*result.Measurement, error) {
		return &result.Measurement{Stderr: "said in " + env.Dir}, &trial.Failure{Class: reason.NoSpace, Message: env.Dir + " is full"}
	},
	"accuse": func(context.Context, workload.Env) (*result.Measurement, error) {
		return nil, &trial.Failure{Class: reason.TunablesNotRestored, Message: "the node is not as it was"}
	},
	"panic": func(context.Context, workload.Env) (*result.Measurement, error) { panic("a defect") },
	"wait": func(ctx context.Context, _ workload.Env) (*result.Measurement, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	},
	// mutter prints a line, and then waits.
	"mutter": func(ctx context.Context, env workload.Env) (*result.Measurement, error) {
		fmt.Fprintln(os.Stderr, "the disk is slow")
		if err := os.WriteFile(filepath.Join(env.Dir, "begun"), nil, 0o600); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	},
	// write writes until it is killed.
	"write": func(_ context.Context, env workload.Env) (*result.Measurement, error) {
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
			if err := os.WriteFile(filepath.Join(env.Dir, "begun"), make([]byte, 4096), 0o600); err != nil {
				return nil, err
			}
		}
		return nil, errors.New("it ended")
	},
	// deaf neither ends when it is asked to nor lets its child do so.
	"deaf": func(_ context.Context, env workload.Env) (*result.Measurement, error) {
		signal.Ignore(syscall.SIGTERM)
		tool.Run(context.Background(), tool.Command{Program: "sh", Args: []string{"-c", "trap '' TERM; while :; do sleep 1; done"}, Dir: env.Dir, Scratch: env.Scratch})
		return nil, errors.New("it ended")
	},
	// orphans leaves a process behind that has left its group.
	"orphans": func(_ context.Context, env workload.Env) (*result.Measurement, error) {
		r := tool.Run(context.Background(), tool.Command{Program: "sh", Args: []string{"-c", "setsid sleep 7654321 >/dev/null 2>&1 & sleep 0.1"}, Dir: env.Dir, Scratch: env.Scratch})
		return &result.Measurement{Stderr: r.Stderr}, r.Err
	},
	// boast measures more than is read.
	"boast": func(context.Context, workload.Env) (*result.Measurement, error) {
		m := &result.Measurement{}
		for range result.MaxEngineResult >> 14 {
			m.Notes = append(m.Notes, strings.Repeat("x", 32<<10))
		}
		return m, nil
	},
	"garbage": tamper(func(f *os.File) { _, _ = f.WriteString("not a length, and no JSON either, but long enough") }),
	"flood":   tamper(func(f *os.File) { _, _ = f.Write([]byte{255, 255, 255, 255, 255, 255, 255, 255}) }),
	"forge": tamper(func(f *os.File) {
		forged := []byte(`{"schema":"` + result.EngineSchema + `","elapsed":1,"measurement":{"operations":["\u001b[2J"]}}`)
		head := binary.BigEndian.AppendUint32(nil, uint32(len(forged)))
		_, _ = f.Write(append(append(head, 0, 0, 0, 0), forged...))
	}),
	"dawdle": tamper(func(f *os.File) {
		forged := []byte(`{"schema":"` + result.EngineSchema + `","elapsed":3600000000000,"measurement":{}}`)
		head := binary.BigEndian.AppendUint32(nil, uint32(len(forged)))
		_, _ = f.Write(append(append(head, 0, 0, 0, 0), forged...))
	}),
	"cut": tamper(func(f *os.File) {
		_, _ = f.Write([]byte{0, 0, 1, 0, 0, 0, 0, 0, '{'})
		os.Exit(0)
	}),
}

// tamper is an engine that writes what is no result.
func tamper(write func(*os.File)) act {
	return func(context.Context, workload.Env) (*result.Measurement, error) {
		write(os.NewFile(resultFile, "result"))
		return &result.Measurement{Notes: []string{"the truth"}}, nil
	}
}

func measure(_ context.Context, env workload.Env) (*result.Measurement, error) {
	env.Log.Info("a message", "answer", 42)
	fmt.Fprintln(os.Stderr, "a line of no log")
	before := cpuTime()
	for begin := time.Now(); time.Since(begin) < 100*time.Millisecond; {
		continue
	}
	return &result.Measurement{
		Metrics: result.Metrics{"read.iops": {Unit: result.PerSecond, Value: 0.1}}, Command: []string{"tool", env.Scratch + "/in"},
		Notes: []string{env.Workload.Name}, RawOutput: []byte("raw\x00output"), EngineCPU: cpuTime() - before,
	}, os.WriteFile(filepath.Join(env.Dir, "data"), []byte("x"), 0o600)
}

// look returns what the process and a tool of it are, and what they can do.
func look(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	m := &result.Measurement{}
	own, err := os.ReadFile("/proc/self/status")
	r := tool.Run(ctx, tool.Command{Program: "cat", Args: []string{"/proc/self/status"}, Dir: env.Dir, Scratch: env.Scratch})
	var fs unix.Statfs_t
	err = errors.Join(err, r.Err, unix.Statfs(env.Dir, &fs))
	m.Notes = []string{string(own), string(r.Stdout), fmt.Sprint(fs.Flags), env.Dir}
	for _, path := range []string{"/work", "/tmp", "/dev/shm", "/", "/var/tmp", mountPoint, filepath.Dir(filepath.Clean(env.Dir))} {
		name := filepath.Join(path, fmt.Sprintf("planted-%d", os.Getpid()))
		if err := os.WriteFile(name, nil, 0o600); err == nil {
			m.Stderr += name + "\n"
			_ = os.Remove(name)
		}
	}
	return m, err
}

// peek returns which devices and processes it sees, and what comes of opening a device node.
func peek(_ context.Context, env workload.Env) (*result.Measurement, error) {
	m := &result.Measurement{}
	for _, pattern := range []string{"/dev/*", "/proc/[0-9]*"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		m.Notes = append(m.Notes, strings.Join(names, " "))
	}
	_, err := os.Open(env.Workload.Name)
	m.Stderr = fmt.Sprint(err)
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err == nil {
		_, err = null.WriteString("x")
	}
	return m, err
}

type actor struct {
	name string
	act  act
}

func (a actor) Name() string                              { return a.name }
func (actor) Check(json.RawMessage, trial.Mode) error     { return nil }
func (actor) Tools(context.Context) map[string]string     { return map[string]string{"actor": "1"} }
func (actor) Prepare(context.Context, workload.Env) error { return nil }
func (actor) Estimate(json.RawMessage) (workload.Estimate, error) {
	return workload.Estimate{}, nil
}

func (a actor) Run(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	return a.act(ctx, env)
}

type actors struct{}

func (actors) Tools(context.Context) map[string]string { return nil }

func (actors) Engine(name string) (workload.Engine, error) {
	if e, ok := engines[name]; ok {
		return e.engine, nil
	}
	if acts[name] == nil {
		return nil, fmt.Errorf("there is no engine %q", name)
	}
	return actor{name, acts[name]}, nil
}

// newEnv is that of a runner's trial.
func newEnv(t *testing.T, log *slog.Logger) workload.Env {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := workload.Env{
		Workload: trial.Workload{Name: "w", Engine: "actor"}, Target: trial.Target{Name: "fast", Source: trial.HostPath, Mode: trial.Filesystem},
		Dir: filepath.Join(dir, "run"), Scratch: filepath.Join(dir, "scratch"), State: filepath.Join(dir, "state"), Log: log,
	}
	for _, dir := range []string{env.Dir, env.Scratch, env.State} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if env.Opened, err = nofollow.Open(env.Dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Opened.Close() })
	return env
}

// runs has an engine of these tests run a trial.
func runs(ctx context.Context, t *testing.T, name string, env workload.Env) (*result.Measurement, error) {
	t.Helper()
	e, err := Engines{actors{}}.Engine(name)
	if err != nil {
		t.Fatal(err)
	}
	return e.Run(ctx, env)
}

// processes are those whose arguments hold a text.
func processes(text string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, file := range files {
		b, err := os.ReadFile(file)
		var pid int
		if _, scanErr := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && scanErr == nil && strings.Contains(strings.ReplaceAll(string(b), "\x00", " "), text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
