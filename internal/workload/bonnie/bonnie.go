package bonnie

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/tool"
)

// Engine runs bonnie++.
type Engine struct {
	// Program is the path or name of bonnie++; empty: bonnie++.
	Program string
	// Memory of the node in bytes; 0: what the kernel says.
	Memory uint64
}

var _ workload.Engine = Engine{}

// Name is bonnie, as the field of the API.
func (Engine) Name() string { return "bonnie" }

// program is bonnie++, also where the path of a user has no place for it.
func (e Engine) program() string {
	const debian = "/usr/sbin/bonnie++"
	if e.Program != "" {
		return e.Program
	}
	if _, err := exec.LookPath(plusPlus); err != nil {
		if _, err := os.Stat(debian); err == nil {
			return debian
		}
	}
	return plusPlus
}

// Check refuses what bonnie++ would refuse or count wrongly.
func (Engine) Check(raw json.RawMessage, mode trial.Mode) error {
	if _, err := decode(raw); err != nil {
		return err
	}
	if mode == trial.Block {
		return &trial.Failure{Class: reason.InvalidSpec, Field: "bonnie", Message: "bonnie needs a file system, but the target is a block device", Remedy: "use a target with volumeMode Filesystem, or the workloads fio and bandwidth, which can use a device"}
	}
	return nil
}

// Estimate knows the size of the file, if it is given, and no time: that is what
// bonnie++ measures.
func (Engine) Estimate(raw json.RawMessage) (workload.Estimate, error) {
	c, err := decode(raw)
	if err != nil || c.Size == nil {
		return workload.Estimate{}, err
	}
	return workload.Estimate{Bytes: c.need(uint64(*c.Size))}, nil
}

// version is in what bonnie++ says to an option that it has not.
var version = regexp.MustCompile(`Version: *(\S+)`)

// Tools returns bonnie++'s version.
func (e Engine) Tools(ctx context.Context) map[string]string {
	out, _ := exec.CommandContext(ctx, e.program(), "-h").CombinedOutput() // it exits with 1
	m := version.FindSubmatch(out)
	if m == nil {
		return nil
	}
	return map[string]string{plusPlus: string(m[1])}
}

// Run executes bonnie++ once.
func (e Engine) Run(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return nil, env.InSpec(err)
	}
	size, err := c.size(env)
	if err != nil {
		return nil, err
	}
	dir, err := makeDirectory(env)
	if err != nil {
		return nil, err
	}
	r := tool.Run(ctx, tool.Command{Program: e.program(), Args: c.arguments(env, size), Dir: dir, Scratch: env.Scratch})
	// bonnie++ removes its files, unless it was stopped or found an error.
	if err := os.RemoveAll(dir); err != nil {
		return nil, env.Refused("bonnie", "remove bonnie++'s files", err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	m := &result.Measurement{}
	tables, parseErr := Parse(r.Stdout)
	if len(tables) > 0 {
		*m = tables[0].Measurement
		bounds(m, tables[0].TooFast, size, c.Files*filesUnit)
	}
	m.Seed, m.Command, m.RawOutput, m.Stderr = env.Seed(), r.Argv, r.Stdout, r.Stderr
	moved(m, size)
	m.DirectIO = &result.DirectIO{Effective: result.Buffered, Evidence: "bonnie++ reads and writes through the page cache, and ends each of its tests with fsync"}
	m.Notes = append(m.Notes, e.cached(env, size)...)
	m.Size = c.choice(env)
	if err := diagnose(env, r, c.Files*filesUnit); err != nil {
		return m, err
	}
	if parseErr != nil || len(tables) != 1 {
		return m, &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("bonnie"), Message: fmt.Sprintf("cannot read the result of bonnie++: %v", parseErr), Remedy: "see the output stored with the trial", Workload: env.Workload.Name, Err: parseErr}
	}
	if len(m.Operations) == 0 {
		return m, &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("bonnie.size"), Message: "every test took less than 0.5 s, for which bonnie++ gives no rate", Remedy: "raise size, and files", Workload: env.Workload.Name}
	}
	return m, nil
}

// moved adds what the tests of a file of so many bytes read and wrote together, as far as
// bonnie++ measured them. It shows whether the disks took part in it.
func moved(m *result.Measurement, size uint64) {
	var read, written uint64
	for _, operation := range m.Operations {
		switch operation {
		case "read", "read.char":
			read += size
		case "write", "write.char":
			written += size
		case "rewrite":
			read, written = read+size, written+size
		}
	}
	if read > 0 {
		m.Metrics.Set("tests.read.bytes", result.Bytes, float64(read))
	}
	if written > 0 {
		m.Metrics.Set("tests.write.bytes", result.Bytes, float64(written))
	}
}

// arguments of bonnie++, which runs in the directory that it shall write to.
func (c config) arguments(env workload.Env, size uint64) []string {
	args := []string{
		"-q", "-x", "1", // no table for people, and nothing about progress
		"-m", env.Workload.Name,
		// Ourselves: root must say so.
		"-u", fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()),
		"-z", strconv.FormatUint(uint64(env.Seed()), 10),
		// With 0 it does not refuse a file that fits into memory, of which there is
		// a note, nor files whose names need more than half of it.
		"-r", "0",
		"-s", fmt.Sprintf("%d:%d", mebibytes(size), c.ChunkSize),
		"-n", strconv.FormatInt(c.Files, 10),
	}
	if !c.PerCharacter {
		args = append(args, "-f")
	}
	return args
}

func directory(env workload.Env) string {
	return filepath.Join(env.Dir, "bonnie-"+env.Workload.Name)
}

// makeDirectory makes an empty directory for bonnie++'s files.
func makeDirectory(env workload.Env) (string, error) {
	dir := directory(env)
	if err := os.RemoveAll(dir); err != nil {
		return "", env.Refused("bonnie", "remove the files of an earlier attempt", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", env.Refused("bonnie", "make a directory", err)
	}
	return dir, nil
}
