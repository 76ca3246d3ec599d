//go:build system

package runner

import (
	"strings"
	"testing"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device/devicetest"
)

// On such a file system nobody can tell whose a directory is: the message says so, and what
// was made is removed.
func TestAFileSystemThatMapsOwnersOrModesIsNamed(t *testing.T) {
	for name, options := range map[string][]string{
		"owners":    {"--force-user=65534", "--chown-ignore"},
		"modes":     {"--perms=0755", "--chmod-ignore"},
		"all of it": {"--force-user=65534", "--chown-ignore", "--perms=0755", "--chmod-ignore"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			devicetest.Run(t, append(append([]string{"bindfs"}, options...), b.target, b.target)...)
			t.Cleanup(func() { devicetest.Unmount(t, b.target) })
			f := b.run(t.Context()).Failure
			if f == nil || f.Class != reason.TargetUnusable || !strings.Contains(f.Message, "sets owners and modes itself") || !strings.Contains(f.Remedy, "all_squash") {
				t.Errorf("the failure is %+v", f)
			}
			if left := b.left(); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
