package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// volume is an ext4 file system on a loop device.
type volume struct {
	file, device, dir string
}

// newVolume makes one of 512 MiB, for which it must be root.
func newVolume(ctx context.Context, backing string) (v *volume, err error) {
	v = &volume{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("a loop device with ext4, which takes root: %w", err), v.remove())
		}
	}()
	f, err := os.CreateTemp(backing, "storagebench-overhead-")
	if err != nil {
		return v, err
	}
	v.file = f.Name()
	if err := errors.Join(f.Truncate(512<<20), f.Close()); err != nil {
		return v, err
	}
	device, err := output(ctx, "losetup", "--find", "--show", v.file)
	if err != nil {
		return v, err
	}
	v.device = strings.TrimSpace(device)
	if _, err := output(ctx, "mkfs.ext4", "-q", v.device); err != nil {
		return v, err
	}
	dir, err := os.MkdirTemp("", "storagebench-overhead-")
	if err != nil {
		return v, err
	}
	if _, err := output(ctx, "mount", v.device, dir); err != nil {
		return v, errors.Join(err, os.Remove(dir))
	}
	v.dir = dir
	return v, nil
}

// remove undoes as much as was made, also after an interrupt.
func (v *volume) remove() error {
	ctx := context.Background()
	var errs []error
	if v.dir != "" {
		_, err := output(ctx, "umount", v.dir)
		errs = append(errs, err, os.Remove(v.dir))
	}
	if v.device != "" {
		_, err := output(ctx, "losetup", "--detach", v.device)
		errs = append(errs, err)
	}
	if v.file != "" {
		errs = append(errs, os.Remove(v.file))
	}
	return errors.Join(errs...)
}

func (v *volume) path(name string) string { return filepath.Join(v.dir, name) }

func output(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
