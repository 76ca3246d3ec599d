//go:build system

package filesync

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/internal/device/devicetest"
	"storagebench.io/storagebench/internal/trial"
)

func TestASyncReachesTheDeviceAndNoneDoesNot(t *testing.T) {
	dir, loop := devicetest.Filesystem(t, "ext4", 64<<20)
	for sync, atLeast := range map[string]int{"Dsync": 200, "Sync": 200, "Fsync": 200, "Fdatasync": 200, "None": 0} {
		before := writes(t, loop)
		measureOnce(t, newEnv(t, dir, `{"files":200,"sync":"`+sync+`"}`))
		// Without a sync there is what the drains write.
		if n := writes(t, loop) - before; n < atLeast || atLeast == 0 && n > 50 {
			t.Errorf("%s: %d writes to the device of 200 files", sync, n)
		}
	}
}

// writes that a device has completed.
func writes(t *testing.T, device string) int {
	t.Helper()
	stat, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(stat))[4])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestATargetThatFillsUpIsNoSpaceAndWhatWasMeasuredIsKept(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 16<<20)
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	env := newEnv(t, own, `{"files":1000000000,"size":"256Ki","sync":"None","threads":2}`)
	if err := (Engine{}).Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	other := make(chan error, 1)
	go func() { // somebody else writes meanwhile
		time.Sleep(100 * time.Millisecond)
		other <- os.WriteFile(filepath.Join(dir, "other"), make([]byte, 32<<20), 0o600)
	}()
	m, err := Engine{}.Run(t.Context(), env)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != trial.NoSpace || f.Field != "spec.targets[fast].storageClass.size" || f.Remedy == "" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %+v", err)
	}
	if m == nil || m.Metrics["filesync.count"].Value < 1 {
		t.Error("what was measured is not kept")
	}
	checkEmpty(t, own)
	if err := <-other; !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the volume did not fill up: %v", err)
	}
}

func TestATargetWithoutRoomIsRefusedBefore(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 16<<20)
	err := Engine{}.Prepare(t.Context(), newEnv(t, dir, `{"size":"32Mi"}`))
	if f := trial.AsFailure(err); f.Class != trial.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" {
		t.Errorf("got %+v", err)
	}
}

func TestATargetThatIsReadOnlyIsSaidToBe(t *testing.T) {
	dir, loop := devicetest.Filesystem(t, "ext4", 16<<20)
	devicetest.Run(t, "mount", "-o", "remount,ro", loop, dir)
	_, err := Engine{}.Run(t.Context(), newEnv(t, dir, `{}`))
	f := trial.AsFailure(err)
	if f.Class != trial.TargetUnusable || !strings.Contains(f.Message, "read-only") || !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %+v", err)
	}
}
