// Command guest is the first process of a virtual machine whose power is cut: it is all that
// there is beside the kernel.
//
// It loads the modules of its initramfs, and does what the kernel's command line says
// (powercut.do=). "record" writes records to the disk, or to a file on its ext4
// (powercut.on=), until the power is cut. "scan" mounts the ext4, which replays its journal,
// and says which records are there. What it says goes through a virtual serial port to
// whoever cuts the power.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/powercut"
)

const (
	disk = "/dev/vda"
	file = "/disk/records"
	// ports is a pattern: the number is that of the device among all virtio devices.
	ports = "/dev/vport*p1"
)

func main() {
	err := guest()
	// Without its first process the kernel panics, and QEMU ends.
	fmt.Println("guest:", err)
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("guest: cannot power off:", err)
	}
}

func guest() error {
	port, err := system()
	if err != nil {
		return err
	}
	options, err := commandLine()
	if err != nil {
		return err
	}
	say, err := os.OpenFile(port, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	// Whatever went wrong is said where somebody listens.
	err = do(options, say)
	if err != nil {
		fmt.Fprintf(say, "failed %q\n", err)
	}
	return errors.Join(err, say.Close())
}

// system makes what every process finds elsewhere. It returns the port's path.
func system() (port string, err error) {
	for _, m := range []struct{ kind, path string }{{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}} {
		if err := os.MkdirAll(m.path, 0o755); err != nil {
			return "", err
		}
		if err := unix.Mount(m.kind, m.path, m.kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
			return "", fmt.Errorf("%s: %w", m.path, err)
		}
	}
	order, err := os.ReadFile("/modules/order")
	if err != nil {
		return "", err
	}
	for name := range strings.FieldsSeq(string(order)) {
		if err := load(filepath.Join("/modules", name)); err != nil {
			return "", fmt.Errorf("module %s: %w", name, err)
		}
	}
	if _, err := appear(disk); err != nil {
		return "", err
	}
	return appear(ports)
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.FinitModule(int(f.Fd()), "", 0), f.Close())
}

// appear waits for a device, which the kernel may still be looking for.
func appear(pattern string) (string, error) {
	const patience = 10 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the pattern is good
			return found[0], nil
		}
	}
	return "", fmt.Errorf("there is no %s", pattern)
}

// commandLine returns the kernel's options that are for the guest.
func commandLine() (map[string]string, error) {
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, err
	}
	options := map[string]string{}
	for word := range strings.FieldsSeq(string(line)) {
		if key, value, ok := strings.Cut(word, "="); ok {
			if key, ok := strings.CutPrefix(key, "powercut."); ok {
				options[key] = value
			}
		}
	}
	return options, nil
}

func do(options map[string]string, say *os.File) error {
	path := disk
	if options["on"] == "ext4" {
		path = file
		if err := mount(); err != nil {
			if options["do"] == "scan" {
				// A file system that a cut has destroyed has no records.
				_, err = fmt.Fprintf(say, "found none\nbecause %q\n", err)
			}
			return err
		}
	}
	records, err := strconv.Atoi(options["records"])
	if err != nil {
		return fmt.Errorf("powercut.records: %w", err)
	}
	// The ID comes from outside: a machine that has just started has no randomness yet.
	run := powercut.Run{ID: options["run"], Block: 4096, Records: records}
	switch options["do"] {
	case "record":
		return powercut.Record(context.Background(), path, powercut.Options{Run: run, Overwrite: true}, say)
	case "scan":
		return scan(path, run, say)
	}
	return fmt.Errorf("powercut.do is %q; it must be record or scan", options["do"])
}

func mount() error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := unix.Mount(disk, filepath.Dir(file), "ext4", 0, ""); err != nil {
		return fmt.Errorf("ext4 of %s: %w", disk, err)
	}
	return nil
}

func scan(path string, run powercut.Run, say *os.File) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) || powercut.Unreadable(err) {
		_, err = fmt.Fprintf(say, "found none\nbecause %q\n", err)
		return err
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	found, err := powercut.Scan(f, run, run.Records, powercut.Unreadable)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(say, "found %s\n", found)
	return err
}
