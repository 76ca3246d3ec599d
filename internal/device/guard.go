package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/trial"
)

// History is what is known about a device before it is examined.
type History int

// Histories of a device.
const (
	Foreign History = iota // nothing: the data on it may be somebody's
	New                    // it was created for this run
	Resumed                // an earlier attempt of this worker claimed it and was killed
)

// CheckBlock returns a *trial.Failure unless path is a block device.
func CheckBlock(path, field string) error {
	info, err := os.Stat(path)
	if err != nil {
		return unusable(field, err.Error(), "give the path of a block device", err)
	}
	if info.Mode()&os.ModeDevice == 0 || info.Mode()&os.ModeCharDevice != 0 {
		err := fmt.Errorf("%s is not a block device", path)
		return unusable(field, err.Error(), "give the path of a block device", err)
	}
	return nil
}

// Claim opens a block device for a benchmark that overwrites it and keeps it from being
// mounted until the result is closed. It fails with a *trial.Failure if the path is not
// a block device, if the kernel or another program holds it, or, depending on the
// history, if it holds a signature or other data. field is the field of the spec that
// names the device. Closing the result leaves a marker on a device that is not New, so
// that the next benchmark accepts the device.
func Claim(ctx context.Context, path string, history History, field string) (io.Closer, error) {
	if err := CheckBlock(path, field); err != nil {
		return nil, err
	}
	// O_EXCL on a block device fails if it, or a partition of it, is mounted or
	// part of device mapper, md or the like.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_EXCL|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EBUSY):
		return nil, unusable(field, path+" is mounted or in use by the system", "unmount it, or remove it from its volume group, RAID or pool first", err)
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS):
		return nil, unusable(field, path+" cannot be opened for writing: "+err.Error(), "check the device's permissions, and that it is not read-only", err)
	case err != nil:
		return nil, unusable(field, path+": "+err.Error(), "look for I/O errors in the kernel's log on the node (dmesg)", err)
	}
	file := os.NewFile(uintptr(fd), path)
	if history == New {
		return file, nil
	}
	err = refuseSignature(ctx, path, field)
	if err == nil && history == Foreign {
		err = refuseContent(file, path, field)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &claim{File: file}, nil
}

// claim is a claimed device that was not created for the run.
type claim struct{ *os.File }

// Close leaves a marker on the device.
func (c *claim) Close() error {
	return errors.Join(leaveMarker(c.File), c.File.Close())
}

func unusable(field, message, remedy string, err error) error {
	return &trial.Failure{Class: reason.TargetUnusable, Field: field, Message: message, Remedy: remedy, Err: err}
}

// Exit statuses of blkid -p.
const (
	blkidNothing    = 2
	blkidAmbivalent = 8
)

// refuseSignature fails if blkid finds a signature, or fails itself: the device
// may hold somebody's data.
func refuseSignature(ctx context.Context, path, field string) error {
	cmd := exec.CommandContext(ctx, "blkid", "--probe", "--output", "export", "--", path)
	out, err := cmd.Output()
	exit, exited := errors.AsType[*exec.ExitError](err)
	var found string
	switch {
	case err == nil:
		found = signature(string(out))
	case exited && exit.ExitCode() == blkidNothing:
		return nil
	case exited && exit.ExitCode() == blkidAmbivalent:
		found = "several conflicting signatures"
	default:
		return unusable(field, fmt.Sprintf("cannot tell whether %s holds data: blkid: %v", path, err), "install util-linux, or use the runner's image, which has it", err)
	}
	return &trial.Failure{
		Class:   reason.TargetHoldsData,
		Field:   field,
		Message: fmt.Sprintf("%s holds %s, and the benchmark would overwrite it", path, found),
		Remedy:  fmt.Sprintf("if you do not need it, erase it with: wipefs -a %s", path),
	}
}

func signature(export string) string {
	values := map[string]string{}
	for line := range strings.Lines(export) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = value
		}
	}
	switch {
	case values["TYPE"] != "" && values["LABEL"] != "":
		return fmt.Sprintf("%s with the label %s", values["TYPE"], values["LABEL"])
	case values["TYPE"] != "":
		return values["TYPE"]
	case values["PTTYPE"] != "":
		return "a partition table (" + values["PTTYPE"] + ")"
	default:
		return "a signature that blkid recognises"
	}
}
