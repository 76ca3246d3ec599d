package fio

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
)

// Engine runs fio.
type Engine struct {
	// Program is the path or name of fio; empty: fio.
	Program string
}

var (
	_ workload.Engine = Engine{}
	_ workload.Timer  = Engine{}
)

// Name is fio, as the field of the API.
func (Engine) Name() string { return "fio" }

func (e Engine) program() string {
	if e.Program != "" {
		return e.Program
	}
	return "fio"
}

// parametersName stands for the workload's name where it is not known.
const parametersName = "job"

// Check refuses a configuration with an option, value or combination that is not allowed,
// and one that may allocate more memory than any worker has.
func (Engine) Check(raw json.RawMessage, mode trial.Mode) error {
	c, err := decode(raw)
	if err != nil {
		return err
	}
	jobs, err := resolve(c, mode, parametersName)
	if err != nil {
		return err
	}
	if err := checkMemory(c.field(), jobs, 0, maxAllocated); err != nil {
		return err
	}
	if mode == trial.Block {
		return nil // on a device, one job writes
	}
	return checkMemory("fio.prefill", fileWriters(jobs), 0, max(workload.MaxMemory, allocated(jobs, 0)))
}

// Memory is what the jobs may allocate.
func (Engine) Memory(raw json.RawMessage, mode trial.Mode) (bytes uint64, field string) {
	c, err := decode(raw)
	if err != nil {
		return 0, "fio"
	}
	jobs, err := resolve(c, mode, parametersName)
	if err != nil {
		return 0, c.field()
	}
	return allocated(jobs, 0), c.field()
}

// Estimate adds up the runtimes of jobs, as stonewall orders them, and the sizes
// of their files.
func (Engine) Estimate(raw json.RawMessage) (workload.Estimate, error) {
	jobs, err := anywhere(raw)
	if err != nil {
		return workload.Estimate{}, err
	}
	return estimate(jobs), nil
}

// Duration is that of Estimate, which lists files.
func (Engine) Duration(raw json.RawMessage) time.Duration {
	jobs, _ := anywhere(raw)
	return measuresFor(jobs)
}

// anywhere returns the jobs where it is not known for which targets. What one mode refuses, such as sizes in
// percent, the other may take.
func anywhere(raw json.RawMessage) ([]job, error) {
	c, err := decode(raw)
	if err != nil {
		return nil, err
	}
	jobs, err := resolve(c, trial.Filesystem, parametersName)
	if err != nil {
		jobs, err = resolve(c, trial.Block, parametersName)
	}
	return jobs, err
}

// Tools returns fio's version.
func (e Engine) Tools(ctx context.Context) map[string]string {
	out, err := exec.CommandContext(ctx, e.program(), "--version").Output()
	if err != nil {
		return nil
	}
	return map[string]string{"fio": strings.TrimPrefix(strings.TrimSpace(string(out)), "fio-")}
}

// Run executes fio once.
func (e Engine) Run(ctx context.Context, env workload.Env) (*result.Measurement, error) {
	jobs, changes, err := e.jobs(env)
	if err != nil {
		return nil, err
	}
	if err := makeDirectory(env); err != nil {
		return nil, err
	}
	if err := removeFresh(env, jobs); err != nil {
		return nil, err
	}
	direct, modes := probeDirect(env, jobs)
	if jobs[0].offer != nil {
		m, err := runOpen(ctx, env, jobs[0], direct)
		if m != nil {
			m.Changes = changes
		}
		return m, err
	}
	dropCached(env, jobs)
	interval := rateInterval(measuresFor(jobs))
	jobFile := render(withLogs(withSeed(jobs, fmt.Sprint(env.Seed())), env.Scratch), logged(interval))
	inv, err := execute(ctx, e.program(), env, directory(env), jobFile, clones(jobs))
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	d, messages, parseErr := parseOutput(inv.output)
	m := &result.Measurement{}
	if d != nil {
		*m = fold(d, jobs)
	}
	m.DirectIO, m.Files, m.Size = direct, fileChoices(jobs), sizeOf(jobs)
	m.Changes = changes
	rates, ran := readRates(env, interval, jobs)
	m.Rates = rates
	if m.Metrics != nil {
		shown, err := shownBy(env, jobs)
		if err != nil {
			return nil, err
		}
		setHot(jobs, env.Target.Mode, shown, m.Metrics)
		setInStep(jobs, all(jobs), env.Target.Mode, m.Metrics)
		describeParts(m.Parts, jobs, modes, ran, env.Target.Mode, shown)
		setPreRead(jobs, m.Metrics)
		m.Metrics.SetSchedule(inv.schedule.Ran, inv.schedule.Waited, inv.schedule.Slices)
	}
	if !slices.ContainsFunc(jobs, job.hasSeed) {
		m.Seed = env.Seed()
	}
	m.Command, m.Input, m.RawOutput = inv.argv, jobFile, inv.output
	m.Stderr = said(messages, inv.stderr)
	logs, note, err := takeLogs(env.Scratch, jobs)
	if err != nil {
		return nil, err
	}
	m.RawOutput = append(m.RawOutput, logs...)
	if note != "" {
		m.Notes = append(m.Notes, note)
	}
	m.Notes = append(m.Notes, fileNotes(jobs)...)
	m.Notes = append(m.Notes, cacheNotes(env, jobs, m.Stderr)...)
	if err := diagnose(env, jobs, endingOf(inv.err, d, m.Stderr)); err != nil {
		return m, err
	}
	if parseErr != nil {
		return m, &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("fio"), Message: parseErr.Error(), Workload: env.Workload.Name, Err: parseErr}
	}
	if err := complete(d, jobs); err != nil {
		return m, &trial.Failure{Class: reason.WorkloadFailed, Field: env.Field("fio"), Message: err.Error(), Workload: env.Workload.Name, Err: err}
	}
	return m, nil
}

// always are options of every job: threads, as /dev/shm of a Pod has 64 MB and
// processes of fio leave its process group; no state files of a verification; histograms
// of total latency and of its two parts (by default, fio has only that of completion).
func always() map[string]string {
	return map[string]string{
		"thread": "1", "verify_state_save": "0",
		"lat_percentiles": "1", "clat_percentiles": "1", "slat_percentiles": "1",
	}
}

// complete checks that every clone of every job is in the document.
func complete(d *document, jobs []job) error {
	seen := map[string]uint64{}
	for i := range d.Jobs {
		seen[d.Jobs[i].Name]++
	}
	for _, j := range jobs {
		if seen[j.name] != j.clones() {
			return fmt.Errorf("fio reports %d of the %d clones of job %s", seen[j.name], j.clones(), j.name)
		}
	}
	return nil
}

// jobs of the workload on its target: the size that Prepare chose is filled in,
// and the device named.
func (Engine) jobs(env workload.Env) ([]job, []string, error) {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return nil, nil, env.InSpec(err)
	}
	c.machine = env.Machine
	jobs, changes, err := resolveChanged(c, env.Target.Mode, env.Workload.FilesName())
	if err != nil {
		return nil, nil, env.InSpec(err)
	}
	if env.Target.Mode == trial.Block {
		jobs = onDevice(jobs, env.Device)
	}
	if which := unsized(c, jobs, env.Target.Mode); len(which) > 0 {
		n, err := loadSize(env)
		if err != nil {
			return nil, nil, err
		}
		setSize(jobs, which, n)
	}
	return jobs, changes, nil
}

func clones(jobs []job) uint64 {
	var n uint64
	for _, j := range jobs {
		n += j.clones()
	}
	return n
}
