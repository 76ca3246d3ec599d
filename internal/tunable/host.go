package tunable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/device"
)

// Host is the machine whose settings are read and written. The zero value is the
// machine that this program runs on.
type Host struct {
	// Files of sysfs and procfs; nil: those of the machine.
	Files Files
	// System finds a target's file system and leaf disks.
	System device.System
	// Prefix precedes the argv of zfs, zpool, hdparm and nvme. In a container it is
	// InHostMounts: zfs must match the kernel's module, so it must be the host's own.
	Prefix []string
	// Run runs a program; nil starts a process.
	Run func(ctx context.Context, argv []string) (stdout string, err error)
	// Wait lets time pass; nil: a timer. Its error is that of ctx.
	Wait func(ctx context.Context, d time.Duration) error
}

// InHostMounts returns the Prefix that runs a program of the host from a container
// that shares its process IDs.
func InHostMounts() []string { return []string{"nsenter", "-t", "1", "-m", "--"} }

func (h Host) files() Files {
	if h.Files == nil {
		return Tree("")
	}
	return h.Files
}

// BootID returns the kernel's ID of the current boot.
func (h Host) BootID() (string, error) {
	id, err := h.read("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("tunable: boot ID: %w", err)
	}
	if id == "" {
		return "", errors.New("tunable: the kernel's boot ID is empty")
	}
	return id, nil
}

// programTime limits how long a program may run: zfs waits forever for a
// suspended pool.
const programTime = time.Minute

// killWait is how long a program may take to end after that. It is killed at once, but one
// that waits for a disk in the kernel does not end before the disk answers.
const killWait = 3 * time.Second

// directories are searched for programs instead of PATH: what runs as root must
// not depend on who started it.
var directories = [...]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin", "/run/current-system/sw/bin"}

// run runs a program and returns what it wrote to stdout.
func (h Host) run(ctx context.Context, program string, args ...string) (string, error) {
	argv := append(append([]string(nil), h.Prefix...), append([]string{program}, args...)...)
	run := h.Run
	if run == nil {
		run = runProcess
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	return run(ctx, argv)
}

// MissingError reports that a program is not installed.
type MissingError struct {
	Program string
	Err     error
}

// Error names the program and where it was searched.
func (e *MissingError) Error() string {
	return fmt.Sprintf("program %s is not installed on the node (not in %s)", e.Program, strings.Join(directories[:], ", "))
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

func runProcess(ctx context.Context, argv []string) (string, error) {
	path, err := lookUp(argv[0])
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...) //nolint:gosec // names and values are those of the catalogue
	// With a Prefix, its program looks up the tool in the PATH that we pass.
	cmd.Env = []string{"PATH=" + strings.Join(directories[:], ":"), "LANG=C", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	select {
	case err = <-ended:
	case <-after(ctx, killWait):
		// It waits in the kernel, where nobody can kill it. What it has printed is its own.
		return "", fmt.Errorf("%s: timed out and could not be killed: %w; see whether its disks or pool still answer", strings.Join(argv, " "), ctx.Err())
	}
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 127 {
			return "", &MissingError{Program: program(argv), Err: fmt.Errorf("%s: %w", said, err)}
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("timed out: %w", ctx.Err())
		}
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, said)
	}
	return stdout.String(), nil
}

// after returns a channel that is closed that long after ctx has ended.
func after(ctx context.Context, d time.Duration) <-chan struct{} {
	passed := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(passed) }) })
	return passed
}

// program returns the program that follows the prefix.
func program(argv []string) string {
	for i, arg := range argv {
		if arg == "--" && i+1 < len(argv) {
			return argv[i+1]
		}
	}
	return argv[0]
}

func lookUp(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	for _, dir := range directories {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", &MissingError{Program: name, Err: exec.ErrNotFound}
}
