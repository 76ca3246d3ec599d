package iozone

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Engine runs iozone, or fio in its place.
type Engine struct {
	// Iozone and Fio are paths or names of the programs; empty: iozone and fio.
	Iozone, Fio string
	// Memory of the node in bytes; 0: what the kernel says.
	Memory uint64
}

var _ workload.Engine = Engine{}

// Name is iozone, as the field of the API.
func (Engine) Name() string { return "iozone" }

func (e Engine) iozone() string {
	if e.Iozone != "" {
		return e.Iozone
	}
	return "iozone"
}

func (e Engine) fio() string {
	if e.Fio != "" {
		return e.Fio
	}
	return "fio"
}

// Check refuses sizes that one of the programs cannot measure, and tests that are not
// there.
func (Engine) Check(raw json.RawMessage, mode trial.Mode) error {
	if _, err := decode(raw); err != nil {
		return err
	}
	if mode == trial.Block {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "iozone", Message: "iozone needs a file system, but the target is a block device", Remedy: "use a target with volumeMode Filesystem, or the workloads fio and bandwidth, which can use a device"}
	}
	return nil
}

// Estimate knows the largest file, and no time: that is what is measured.
func (Engine) Estimate(raw json.RawMessage) (workload.Estimate, error) {
	c, err := decode(raw)
	if err != nil {
		return workload.Estimate{}, err
	}
	return workload.Estimate{Bytes: c.largest()}, nil
}

var iozoneVersion = regexp.MustCompile(`Revision: *([0-9.]{1,20})`)

// Tools returns the versions of iozone and fio, of those that are installed.
func (e Engine) Tools(ctx context.Context) map[string]string {
	tools := map[string]string{}
	out, _ := exec.CommandContext(ctx, e.iozone(), "-v").CombinedOutput() // whatever its status is
	if m := iozoneVersion.FindSubmatch(out); m != nil {
		tools["iozone"] = string(m[1])
	}
	if out, err := exec.CommandContext(ctx, e.fio(), "--version").Output(); err == nil {
		tools["fio"] = strings.TrimPrefix(strings.TrimSpace(string(out)), "fio-")
	}
	return tools
}

// Prepare removes what a killed attempt left and checks that there is room for the
// largest file, and for iozone itself.
func (e Engine) Prepare(_ context.Context, env workload.Env) error {
	if err := e.Check(env.Workload.Config, env.Target.Mode); err != nil {
		return env.InSpec(err)
	}
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	if _, err := e.bench(c, env); err != nil {
		return err
	}
	if err := os.RemoveAll(directory(env)); err != nil {
		return env.Refused("iozone", "remove the files of an earlier attempt", err)
	}
	room, err := env.Room()
	if err != nil {
		return err
	}
	if need := c.largest(); need > room {
		return env.TooSmall(need, room, "make it larger, or remove the largest of fileSizes")
	}
	return nil
}

// bench measures a cell after the other. Each program has its own.
type bench interface {
	// measure does the tests of one cell in dir, and puts what was asked for.
	measure(ctx context.Context, env workload.Env, dir string, at pair, m matrix) error
	// record completes the measurement with what the program was told and has said.
	record(m *result.Measurement)
}

// bench of the program that was asked for, or that is installed.
func (e Engine) bench(c config, env workload.Env) (bench, error) {
	_, missing := exec.LookPath(e.iozone())
	switch {
	case c.Tool == toolFio:
		return newFioBench(e.fio(), c, false), nil
	case missing == nil:
		return &iozoneBench{program: e.iozone(), config: c}, nil
	case c.Tool == toolIozone:
		return nil, &trial.Failure{
			Class: reason.EngineRefused, Field: env.Field("iozone.tool"), Workload: env.Workload.Name, Err: missing,
			Message: "cannot start iozone: " + missing.Error(),
			Remedy:  "set tool to Fio, which measures the same matrix, or use your own image with iozone, which is not free software",
		}
	default:
		return newFioBench(e.fio(), c, true), nil
	}
}

// Run measures the whole matrix once.
func (e Engine) Run(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return nil, env.InSpec(err)
	}
	b, err := e.bench(c, env)
	if err != nil {
		return nil, err
	}
	direct, err := c.probeDirect(env)
	if err != nil {
		return nil, err
	}
	dir := directory(env)
	if err := os.RemoveAll(dir); err != nil {
		return nil, env.Refused("iozone", "remove the files of an earlier attempt", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, env.Refused("iozone", "make a directory", err)
	}
	cells := matrix{}
	failure := c.cells(ctx, b, env, dir, cells)
	if err := os.RemoveAll(dir); err != nil && failure == nil {
		failure = env.Refused("iozone", "remove the file", err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	m := cells.measurement()
	cells.tests(m.Metrics)
	m.DirectIO = direct
	b.record(&m)
	m.Notes = append(m.Notes, c.cached(e.memory())...)
	if failure == nil && len(m.Operations) == 0 {
		failure = &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("iozone.fileSizes"), Message: "every cell was too short to measure", Remedy: "use larger files", Workload: env.Workload.Name}
	}
	return &m, failure
}

func (c config) cells(ctx context.Context, b bench, env workload.Env, dir string, m matrix) error {
	for _, at := range c.pairs() {
		if err := b.measure(ctx, env, dir, at, m); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The next cell writes a new file.
		if err := os.RemoveAll(filepath.Join(dir, fileName)); err != nil {
			return env.Refused("iozone", "remove the file", err)
		}
	}
	return nil
}

// fileName of the file that is measured.
const fileName = "cell"

func directory(env workload.Env) string { return filepath.Join(env.Dir, "iozone-"+env.Workload.Name) }

// probeDirect reports whether direct I/O was asked for and what the target makes of it.
func (c config) probeDirect(env workload.Env) (*result.DirectIO, error) {
	if !c.Direct {
		return &result.DirectIO{Effective: result.Buffered, Evidence: "direct is false"}, nil
	}
	d := &result.DirectIO{Requested: true}
	d.Effective, d.Evidence = device.ProbeDirect(env.Dir)
	if d.Effective == result.DirectRefused {
		return nil, &trial.Failure{
			Class: reason.EngineRefused, Field: env.Field("iozone.direct"), Workload: env.Workload.Name,
			Message: "the target refuses direct I/O: " + d.Evidence, Remedy: "set direct to false and measure the page cache as well",
		}
	}
	return d, nil
}

func (e Engine) memory() uint64 {
	if e.Memory > 0 {
		return e.Memory
	}
	return workload.Memory()
}

// cached says what files mean that fit into memory.
func (c config) cached(memory uint64) []string {
	var out []string
	if !c.IncludeFlush && !c.Direct {
		out = append(out, noFlush)
	}
	if !c.Direct && c.largest() < 2*memory {
		out = append(out, fmt.Sprintf("the largest file, of %s, is less than twice the node's memory of %s: reads may be served from memory",
			sizeName(c.largest()), workload.Human(memory)))
	}
	return out
}
