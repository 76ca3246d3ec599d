package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/trial"
)

// target is an opened target: a directory of the run's own, or a claimed device.
type target struct {
	dir    string
	device string
	closer io.Closer
	spec   trial.Target
}

// directoryPrefix begins the name of every directory that a run makes on a target.
const directoryPrefix = ".storagebench-"

// directoryName is unique to a benchmark and run: neither a namespace nor a run's
// ID holds a dot, and so the name of a benchmark, which can, is what is between.
func directoryName(b trial.Benchmark, run string) string {
	return benchmarkPrefix(b) + run
}

func benchmarkPrefix(b trial.Benchmark) string {
	return directoryPrefix + b.Namespace + "." + b.Name + "."
}

func openTarget(ctx context.Context, p *trial.Plan, spec trial.Target, path string, resumed bool) (*target, error) {
	// Engines see the real path, whose mount can be found and whose name has no surprises.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, unusable(spec, err.Error(), "see that the path exists on the node", err)
	}
	if spec.Mode == trial.Block {
		history := device.Foreign
		switch {
		case spec.Generated:
			history = device.New
		case resumed:
			history = device.Resumed
		}
		claim, err := device.Claim(ctx, real, history, targetField(spec))
		if err != nil {
			return nil, err
		}
		return &target{device: real, closer: claim, spec: spec}, nil
	}
	return openDirectory(p, spec, real)
}

// openDirectory makes the run's directory, or takes over the one that an earlier
// attempt left, and removes those of earlier runs of the same benchmark.
func openDirectory(p *trial.Plan, spec trial.Target, path string) (*target, error) {
	if err := removeStale(path, benchmarkPrefix(p.Benchmark), p.Run); errors.Is(err, os.ErrPermission) {
		return nil, notWritable(spec, path, err)
	} else if err != nil {
		return nil, unusable(spec, err.Error(), "remove the directory by hand", err)
	}
	dir := filepath.Join(path, directoryName(p.Benchmark, p.Run))
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrPermission) {
		return nil, notWritable(spec, path, err)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, unusable(spec, "no directory can be made on it: "+err.Error(), "see that it is mounted read-write and that the worker's user may write there", err)
	}
	if err := checkOwn(dir); err != nil {
		return nil, unusable(spec, err.Error(), "remove it by hand", err)
	}
	lock, err := lockDirectory(dir)
	if err != nil {
		return nil, unusable(spec, dir+" is in use by another worker of the same run", "wait until it has ended", err)
	}
	return &target{dir: dir, closer: lock, spec: spec}, nil
}

// notWritable says whose the directory is, and as whom the worker has tried.
func notWritable(spec trial.Target, path string, err error) error {
	message := fmt.Sprintf("user %d may not write to it: %v", os.Geteuid(), err)
	owner := 0
	if info, statErr := os.Stat(path); statErr == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			owner = int(stat.Uid)
			message = fmt.Sprintf("user %d may not write to its root directory, which belongs to user %d and group %d with mode %04o", os.Geteuid(), stat.Uid, stat.Gid, info.Mode().Perm())
		}
	}
	if spec.Source != trial.PersistentVolumeClaim {
		return unusable(spec, message, "let the worker's user write there", err)
	}
	remedy := "make a directory or volume that a user other than root can write to"
	if owner != 0 {
		remedy = fmt.Sprintf("set persistentVolumeClaim.runAsUser to %d", owner)
	}
	f := trial.AsFailure(unusable(spec, message, remedy+"; or set persistentVolumeClaim.fsGroup, which changes the group and mode of every file on the volume", err))
	f.Field = "spec.targets[" + spec.Name + "].persistentVolumeClaim.runAsUser"
	return f
}

// checkOwn refuses what somebody else has put in the place of our directory: a
// link would lead the workload out of the target.
func checkOwn(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%s is there already and was not made by storagebench", dir)
	}
	return nil
}

// lockDirectory keeps two workers out of one directory. A file system without
// locks has to do without.
func lockDirectory(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeStale removes what earlier runs of this benchmark left when they were
// killed, unless one of them is still there.
func removeStale(path, prefix, run string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, stale := strings.CutPrefix(entry.Name(), prefix)
		dir := filepath.Join(path, entry.Name())
		if !stale || name == run || strings.Contains(name, ".") || checkOwn(dir) != nil {
			continue
		}
		lock, err := lockDirectory(dir)
		if err != nil {
			continue
		}
		if err := errors.Join(os.RemoveAll(dir), lock.Close()); err != nil {
			return err
		}
	}
	return nil
}

// close releases the target and removes the directory unless its files are kept.
func (t *target) close(keep bool) error {
	var err error
	if t.dir != "" && !keep {
		err = os.RemoveAll(t.dir)
	}
	if err := errors.Join(err, t.closer.Close()); err != nil {
		return unusable(t.spec, "the run's files could not be removed: "+err.Error(), "remove "+t.dir+" by hand", err)
	}
	return nil
}

func unusable(spec trial.Target, message, remedy string, err error) error {
	return &trial.Failure{Class: reason.TargetUnusable, Field: targetField(spec), Message: message, Remedy: remedy, Err: err}
}

// targetField is the field of the spec that says where the target is.
func targetField(t trial.Target) string {
	leaf := map[trial.Source]string{
		trial.StorageClass:          "storageClass.name",
		trial.PersistentVolumeClaim: "persistentVolumeClaim.claimName",
		trial.HostPath:              "hostPath.path",
		trial.BlockDevice:           "blockDevice.path",
	}[t.Source]
	return "spec.targets[" + t.Name + "]." + leaf
}
