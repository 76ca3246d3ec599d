package apart

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// User is the user and group that engines become where the runner is privileged. It is
// in no range that distributions, container images or cluster's users take theirs from:
// on a node all users of that number are one, whatever their Pods.
const User = 60853

// needed are the capabilities by which the runner can set an engine apart and remove
// afterwards what it wrote.
var needed = []uint{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_KILL, unix.CAP_MKNOD,
	unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SYS_ADMIN,
}

// Privileged reports whether this process can give engines a user and mounts of their
// own. Where it cannot, they stay what it is, without its capabilities.
func Privileged() bool {
	return os.Geteuid() == 0 && hasCapabilities() && !inUserNamespace()
}

// Owner is the user to whom belongs what engines write.
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

// inUserNamespace reports whether root is not the node's: it has then no privileges that
// matter, and other users may not exist.
func inUserNamespace() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(b)), " ") != "0 0 4294967295"
}
