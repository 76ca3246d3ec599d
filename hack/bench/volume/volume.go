package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Volume is an ext4 file system on a loop device.
type Volume struct {
	// Dir is where it is mounted.
	Dir string
	// Device is the loop device.
	Device string
	file   string
}

// New makes one of that many bytes, whose sparse file is in the directory backing.
func New(ctx context.Context, backing string, size int64) (v *Volume, err error) {
	v = &Volume{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("a loop device with ext4, which takes root: %w", err), v.Remove())
		}
	}()
	f, err := os.CreateTemp(backing, "storagebench-bench-")
	if err != nil {
		return v, err
	}
	v.file = f.Name()
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return v, err
	}
	device, err := Output(ctx, "losetup", "--find", "--show", v.file)
	if err != nil {
		return v, err
	}
	v.Device = strings.TrimSpace(device)
	if _, err := Output(ctx, "mkfs.ext4", "-q", v.Device); err != nil {
		return v, err
	}
	dir, err := os.MkdirTemp("", "storagebench-bench-")
	if err != nil {
		return v, err
	}
	if _, err := Output(ctx, "mount", v.Device, dir); err != nil {
		return v, errors.Join(err, os.Remove(dir))
	}
	v.Dir = dir
	return v, nil
}

// Remove undoes as much as was made, also after an interrupt.
func (v *Volume) Remove() error {
	ctx := context.Background()
	var errs []error
	if v.Dir != "" {
		_, err := Output(ctx, "umount", v.Dir)
		errs = append(errs, err, os.Remove(v.Dir))
	}
	if v.Device != "" {
		_, err := Output(ctx, "losetup", "--detach", v.Device)
		errs = append(errs, err)
	}
	if v.file != "" {
		errs = append(errs, os.Remove(v.file))
	}
	return errors.Join(errs...)
}

// Path of a file in the volume.
func (v *Volume) Path(name string) string { return filepath.Join(v.Dir, name) }

// Output runs a program and returns what it printed. What it said on its standard
// error is part of the error.
func Output(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
