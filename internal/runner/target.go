package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/nofollow"
	"storagebench.io/storagebench/internal/trial"
)

// target is an opened target: a directory of the attempt's own, or a claimed device.
type target struct {
	// directory is nil for a device.
	directory *directory
	device    string
	closer    io.Closer
	spec      trial.Target
}

// dir returns the path of the directory, or "" for a device.
func (t *target) dir() string {
	if t.directory == nil {
		return ""
	}
	return t.directory.Name()
}

// opened returns the open directory, which may no longer be the one at its path, or nil for a
// device.
func (t *target) opened() *os.File {
	if t.directory == nil {
		return nil
	}
	return t.directory.File
}

func openTarget(ctx context.Context, p *trial.Plan, spec trial.Target, path string, resumed bool) (*target, error) {
	if spec.Mode != trial.Block {
		return openDirectory(p, spec, path)
	}
	// Engines get the path without symbolic links.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, unusable(spec, err.Error(), "make sure that the path exists on the node", err)
	}
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

// openDirectory makes the attempt's directory, and removes those that earlier attempts of
// the same benchmark left. It never uses an existing directory: anybody who may write to the
// target could have made it.
func openDirectory(p *trial.Plan, spec trial.Target, path string) (*target, error) {
	root, err := nofollow.Open(path)
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, notWritable(spec, path, err)
	case errors.Is(err, nofollow.ErrLink):
		return nil, unusable(spec, err.Error(), "use the directory that the link points to", err)
	case err != nil:
		return nil, unusable(spec, err.Error(), "make sure that the path exists on the node", err)
	}
	if err := removeStale(root, p); errors.Is(err, errInUse) {
		return nil, unusable(spec, err.Error(), "wait until it has ended", errors.Join(err, root.Close()))
	} else if err != nil {
		return nil, unusable(spec, err.Error(), "remove the directory by hand", errors.Join(err, root.Close()))
	}
	d, err := makeDirectory(root, benchmarkPrefix(p.Benchmark)+p.Run+"-"+newSuffix())
	if err == nil {
		return &target{directory: d, closer: d, spec: spec}, nil
	}
	err = errors.Join(err, root.Close())
	if errors.Is(err, errMapped) {
		return nil, unusable(spec, err.Error(), fmt.Sprintf("mount it with uid=%d and mode 0700 for directories (dir_mode= for SMB, dmask=0077 for vfat), export NFS without all_squash, or use a file system that keeps owners and modes", os.Geteuid()), err)
	}
	if errors.Is(err, os.ErrPermission) {
		return nil, notWritable(spec, path, err)
	}
	return nil, unusable(spec, "cannot make a directory on it: "+err.Error(), "make sure that it is mounted read-write and that the worker's user may write there", err)
}

// notWritable returns a failure that names the directory's owner and the worker's user.
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

// close releases the target and removes the directory unless its files are kept.
func (t *target) close(keep bool) error {
	var err error
	if t.directory != nil && !keep {
		err = t.directory.remove()
	}
	if err := errors.Join(err, t.closer.Close()); err != nil {
		return unusable(t.spec, "cannot remove the run's files: "+err.Error(), "remove "+t.dir()+" by hand", err)
	}
	return nil
}

func unusable(spec trial.Target, message, remedy string, err error) error {
	return &trial.Failure{Class: reason.TargetUnusable, Field: targetField(spec), Message: message, Remedy: remedy, Err: err}
}

// targetField returns the field of the spec that names the target.
func targetField(t trial.Target) string {
	leaf := map[trial.Source]string{
		trial.StorageClass:          "storageClass.name",
		trial.PersistentVolumeClaim: "persistentVolumeClaim.claimName",
		trial.HostPath:              "hostPath.path",
		trial.BlockDevice:           "blockDevice.path",
	}[t.Source]
	return "spec.targets[" + t.Name + "]." + leaf
}
