// Command guest is the first process of a virtual machine with one NVMe disk (package test/truth): it runs the
// benchmark of the kernel's command line (truth.benchmark=, in base64) on the disk, prints its
// result to the second serial line, and powers off.
package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const disk = "/dev/nvme0n1"

func main() {
	if err := guest(); err != nil {
		fmt.Println("guest:", err)
	}
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("guest: cannot power off:", err)
	}
}

func guest() error {
	for _, m := range []struct{ kind, path string }{{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}} {
		if err := os.MkdirAll(m.path, 0o755); err != nil { //nolint:gosec // as on any machine
			return err
		}
		if err := unix.Mount(m.kind, m.path, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	// Where engines have a file system of their own is below these.
	for _, dir := range []string{"/mnt", "/tmp", "/var/tmp", "/run"} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as on any machine
			return err
		}
	}
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return err
	}
	_, word, _ := strings.Cut(string(line), "truth.benchmark=")
	word, _, _ = strings.Cut(strings.TrimSpace(word), " ")
	benchmark, err := base64.RawURLEncoding.DecodeString(word)
	if err != nil {
		return fmt.Errorf("truth.benchmark: %w", err)
	}
	if err := os.WriteFile("/benchmark.yaml", benchmark, 0o600); err != nil {
		return err
	}
	if err := appear(disk); err != nil {
		return err
	}
	out, err := os.OpenFile("/dev/ttyS1", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	cmd := exec.Command("/bin/storagebench", "run", "-f", "/benchmark.yaml", "--target", "t="+disk, "--out", "/tmp/results", "-o", "json") //nolint:noctx // it ends with the machine
	cmd.Env = []string{"PATH=/sbin", "HOME=/", "TMPDIR=/tmp"}
	cmd.Stdout, cmd.Stderr = out, os.Stdout
	return errors.Join(cmd.Run(), out.Close())
}

// appear waits for a device, which the kernel may still be looking for.
func appear(path string) error {
	const patience = 30 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("there is no %s", path)
}
