//go:build powercut

package powercut

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/powercut"
	"storagebench.io/storagebench/test/powercut/nbd"
)

// machine is a virtual machine with one disk, and a line on which it says something.
type machine struct {
	t      *testing.T
	dir    string
	server *nbd.Server
	// said is where it connects to.
	said net.Listener
	qemu *exec.Cmd
}

// start boots a machine that does something ("record" or "scan") with a disk.
func start(t *testing.T, disk *nbd.Disk, do, on string, run powercut.Run) *machine {
	t.Helper()
	built := os.Getenv("STORAGEBENCH_POWERCUT_MACHINE")
	if built == "" {
		t.Fatal("STORAGEBENCH_POWERCUT_MACHINE must name the directory that test/powercut/kernel has filled")
	}
	// In the script's directory, so that nothing is left if the test is killed. The path of a
	// socket must be short.
	dir, err := os.MkdirTemp(built, "m") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: dir}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m.said = m.listen("said")
	m.server = nbd.NewServer(disk, m.listen("disk"))
	accelerator, processor := "tcg,thread=multi", "qemu64"
	if os.Getenv("STORAGEBENCH_POWERCUT_ACCEL") == "kvm" {
		accelerator, processor = "kvm", "host"
	}
	m.qemu = exec.Command("qemu-system-x86_64", "-accel", accelerator, "-cpu", processor,
		"-name", "storagebench-powercut", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-smp", "1", "-m", "256M",
		// writeback: the guest's flushes reach the disk, and QEMU adds none.
		"-drive", "file=nbd+unix:///?socket="+filepath.Join(dir, "disk")+",format=raw,if=none,id=disk,cache=writeback",
		"-device", "virtio-blk-pci,drive=disk",
		"-device", "virtio-serial-pci", "-chardev", "socket,id=said,path="+filepath.Join(dir, "said"), "-device", "virtserialport,chardev=said,nr=1",
		"-serial", "file:"+filepath.Join(dir, "console"),
		"-kernel", filepath.Join(built, "vmlinuz"), "-initrd", filepath.Join(built, "initrd"),
		"-append", fmt.Sprintf("console=ttyS0 panic=-1 mitigations=off nokaslr no_timer_check powercut.do=%s powercut.on=%s powercut.run=%s powercut.records=%d", do, on, run.ID, run.Records),
	)
	m.qemu.Stderr = os.Stderr
	// If the test is killed, so is the machine.
	m.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.qemu.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.kill)
	return m
}

func (m *machine) listen(name string) net.Listener {
	m.t.Helper()
	listener, err := net.Listen("unix", filepath.Join(m.dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { listener.Close() })
	return listener
}

// kill ends QEMU, at once, and then the disk's server. It may be called again.
func (m *machine) kill() {
	if m.qemu.ProcessState == nil {
		_ = m.qemu.Process.Kill() // it may have ended
		_ = m.qemu.Wait()         // it was killed
	}
	// A QEMU that is killed within a request hangs up in the middle of it.
	_ = m.server.Close()
	_ = m.said.Close()
}

// console is the end of what the kernel and the guest printed.
func (m *machine) console() string {
	data, err := os.ReadFile(filepath.Join(m.dir, "console"))
	lines := strings.Split(string(data), "\n")
	return fmt.Sprintf("%s\n(%v)", strings.Join(lines[max(0, len(lines)-15):], "\n"), err)
}

// errSilent: the machine did not start. Without virtualisation of the processor that happens.
var errSilent = errors.New("the machine said nothing")

// silence is far more than a start takes on a busy machine, or one record.
const silence = time.Minute

// witness keeps what the machine says while it records, until it is cut. The function is called
// after each line.
func (m *machine) witness(ctx context.Context, line func([]byte)) (powercut.Log, error) {
	// A machine that never connects is bounded here, and one that falls silent by Listen.
	ctx, cancel := context.WithTimeout(ctx, 3*silence)
	defer cancel()
	log, err := powercut.Listen(ctx, m.said, silence, writer(line))
	if err != nil && log.Run.ID == "" {
		err = errors.Join(errSilent, err)
	}
	return log, err
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
