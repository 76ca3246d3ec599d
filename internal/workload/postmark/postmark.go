package postmark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/workload"
	"storagebench.io/storagebench/internal/workload/native"
)

// Engine runs PostMark.
type Engine struct{}

var _ workload.Engine = Engine{}

// Name is postmark, as the field of the API.
func (Engine) Name() string { return "postmark" }

// Check refuses values out of bounds, those that do not go together, and a target that
// holds no files.
func (Engine) Check(raw json.RawMessage, mode trial.Mode) error {
	if mode != trial.Filesystem {
		return &trial.Failure{
			Class: reason.InvalidSpec, Field: "postmark", Message: "postmark needs a file system, but the target is a block device",
			Remedy: "use a target with a file system, or fio or bandwidth for the device",
		}
	}
	_, err := decode(raw)
	return err
}

// Estimate knows the room, and not how fast the target is.
func (Engine) Estimate(raw json.RawMessage) (workload.Estimate, error) {
	c, err := decode(raw)
	if err != nil {
		return workload.Estimate{}, err
	}
	return workload.Estimate{Bytes: c.room()}, nil
}

// Tools is empty: no program is run.
func (Engine) Tools(context.Context) map[string]string { return nil }

// Prepare removes what a trial left that was killed, and sees whether there is room.
func (Engine) Prepare(_ context.Context, env workload.Env) error {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return env.InSpec(err)
	}
	if err := clean(env); err != nil {
		return err
	}
	// That it can be written to is better known now than after the first workload.
	if err := errors.Join(os.Mkdir(workDir(env), 0o700), os.Remove(workDir(env))); err != nil {
		return env.Refused("postmark", "create a directory", err)
	}
	free, err := env.Room()
	if err != nil {
		return err
	}
	const remedy = "make it larger, or lower files or maxSize of the workload"
	if need := c.room(); need > free {
		return env.TooSmall(need, free, remedy)
	}
	return c.checkInodes(env, remedy)
}

// checkInodes sees whether the file system can hold so many files, where that is
// another question than room.
func (c config) checkInodes(env workload.Env, remedy string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(env.Dir, &fs); err != nil {
		return env.Unusable(fmt.Errorf("statfs %s: %w", env.Dir, err))
	}
	need := c.mostFiles() + c.directories()
	if fs.Files == 0 || need <= fs.Ffree {
		return nil
	}
	f := env.TooSmall(0, 0, remedy)
	f.Message = fmt.Sprintf("workload %s needs %d inodes, but the volume has only %d free", env.Workload.Name, need, fs.Ffree)
	return f
}

// clean removes the directory of a trial.
func clean(env workload.Env) error {
	if err := os.RemoveAll(workDir(env)); err != nil {
		return env.Refused("postmark", "remove the files of an earlier trial", err)
	}
	return nil
}

// Run executes one trial.
func (Engine) Run(ctx context.Context, env workload.Env) (m *result.Measurement, err error) {
	c, err := decode(env.Workload.Config)
	if err != nil {
		return nil, env.InSpec(err)
	}
	if err := clean(env); err != nil {
		return nil, err
	}
	// What others have left in memory must not become part of the trial.
	if _, err := native.Drain(env.Dir); err != nil {
		return nil, env.Refused("postmark", "before the trial", err)
	}
	r, err := newRun(ctx, c, env)
	defer func() {
		if closed := r.close(); closed != nil {
			if err == nil {
				err = env.Refused("postmark", "remove the trial's directories", closed)
				return
			}
			env.Log.Warn("files of a failed trial could not be removed", "workload", env.Workload.Name, "error", closed)
		}
	}()
	if err != nil {
		return nil, failure(ctx, env, c, err)
	}
	if err := r.phases(ctx); err != nil {
		return r.measurement(), failure(ctx, env, c, err)
	}
	drained, err := native.Drain(env.Dir)
	if err != nil {
		return r.measurement(), env.Refused("postmark", "after the trial", err)
	}
	m = r.measurement()
	m.Metrics.Set("drain.duration", result.Seconds, drained.Seconds())
	return m, nil
}

// failure says what ended a trial.
func failure(ctx context.Context, env workload.Env, c config, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o, ok := errors.AsType[*outOfFiles](err); ok {
		return &trial.Failure{
			Class: reason.WorkloadFailed, Field: env.Field("postmark.files"), Workload: env.Workload.Name, Err: err,
			Message: fmt.Sprintf("%s of %d: the original stops here, without a report", o.Error(), c.Transactions),
			Remedy:  "raise files or createBias, lower transactions, or use mode Modern",
		}
	}
	if f, ok := errors.AsType[*native.Failed](err); ok {
		return env.Refused("postmark", f.Call, f.Errno)
	}
	return env.Refused("postmark", "create directories", err)
}
