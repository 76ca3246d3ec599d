package apart

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// User is the user and group of engines where the runner is privileged. On a node, all
// processes with that number are one user, whatever their Pods, so it is in no range that
// distributions, container images or clusters use.
const User = 60853

// needed are the capabilities that the runner needs to confine an engine and to remove the
// engine's files afterwards.
var needed = []uint{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_KILL, unix.CAP_MKNOD,
	unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SYS_ADMIN,
}

// Privileged reports whether this process can give engines a user and mounts of their own. If
// not, they keep its user and mounts, without its capabilities.
func Privileged() bool {
	return os.Geteuid() == 0 && hasCapabilities() && !inUserNamespace()
}

// Owner returns the user who owns what engines write.
func Owner() int {
	if Privileged() {
		return User
	}
	return os.Geteuid()
}

func hasCapabilities() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	effective := uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
	for _, c := range needed {
		if effective>>c&1 == 0 {
			return false
		}
	}
	return true
}

// inUserNamespace reports whether this process's root is not the node's. Then it has no
// privileges that matter here, and other users may not exist.
func inUserNamespace() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(b)), " ") != "0 0 4294967295"
}
