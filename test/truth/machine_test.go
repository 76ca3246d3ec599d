//go:build truth

package truth

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"storagebench.io/storagebench/internal/device/devicetest"
)

// machineVariable names the directory with the kernel and the initrd (test/powercut/kernel).
const machineVariable = "STORAGEBENCH_TRUTH_MACHINE"

// linked are lies of a disk whose link sysfs shows: an NVMe disk of a virtual machine, on one lane of 2.5 GT/s.
// The emulation does not slow it down to that.
var linked = []kind{{
	name: "faster than the link", verdict: "ImpossibleUncached", operation: "write", invalid: true,
	lie:  behindLink(0),
	twin: behindLink(100 << 20),
}}

// behindLink is a world in a virtual machine, whose disk moves at most so many bytes a second; 0: any number.
func behindLink(limit int) func(t *testing.T) world {
	return func(t *testing.T) world {
		t.Helper()
		return world{
			target: "/dev/nvme0n1", workload: `bandwidth: {size: 256Mi, operations: [Write]}`,
			machine: func(spec string) []string { return machine(t, limit, spec) },
			// Where each instruction is translated, our own program is slow too.
			deserved: []string{"RunnerDisturbs", "CPUBound"},
		}
	}
}

// machine returns a program that runs a benchmark in a virtual machine and prints its result.
func machine(t *testing.T, limit int, spec string) []string {
	t.Helper()
	built := os.Getenv(machineVariable)
	if built == "" {
		t.Fatal(machineVariable, "must name the directory that test/powercut/kernel has filled")
	}
	dir := scratch(t)
	image := filepath.Join(dir, "disk.img")
	devicetest.Run(t, "truncate", "--size=512M", image)
	// The shell passes on only QEMU's status; what the guest prints is shown if it fails.
	script := `console=$1 out=$2; shift 2; "$@" -serial "file:$console" -serial "file:$out" </dev/null || exit; cat "$out"; [ -s "$out" ] || { cat "$console" >&2; exit 1; }`
	return []string{
		"sh", "-c", script, "sh", filepath.Join(dir, "console"), filepath.Join(dir, "out"),
		// One that hangs ends before the benchmark's deadline.
		"timeout", "--kill-after=5s", "150s",
		"qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "qemu64", "-name", "storagebench-truth",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-smp", "1", "-m", "768M",
		"-drive", fmt.Sprintf("if=none,id=disk,format=raw,file=%s,cache=writeback,throttling.bps-total=%d", image, limit),
		"-device", "pcie-root-port,id=link,x-speed=2_5,x-width=1", "-device", "nvme,drive=disk,serial=truth,bus=link",
		"-kernel", filepath.Join(built, "vmlinuz"), "-initrd", filepath.Join(built, "initrd"),
		"-append", "console=ttyS0 panic=-1 mitigations=off nokaslr no_timer_check quiet truth.benchmark=" + base64.RawURLEncoding.EncodeToString([]byte(spec)),
	}
}
