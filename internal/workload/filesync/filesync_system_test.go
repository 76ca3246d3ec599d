//go:build system

package filesync

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"storagebench.io/storagebench/api/reason"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan struct{})
	full := make(chan error, 1)
	go func() { // somebody else writes meanwhile
		waitForOne(ended, own)
		full <- fillUntil(ended, filepath.Join(dir, "other"))
	}()
	m, err := Engine{}.Run(ctx, env)
	close(ended)
	f, ok := errors.AsType[*trial.Failure](err)
	if !ok || f.Class != reason.NoSpace || f.Field != "spec.targets[fast].storageClass.size" || f.Remedy == "" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %+v", err)
	}
	if m == nil || m.Metrics["filesync.count"].Value < 1 {
		t.Error("what was measured is not kept")
	}
	checkEmpty(t, own)
	// The trial may have been the first to find no room.
	if err := <-full; err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

// waitForOne returns when a file of the directory has come and gone, or done is closed.
func waitForOne(done <-chan struct{}, dir string) {
	for seen := map[string]bool{}; ; {
		select {
		case <-done:
			return
		default:
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		present := map[string]bool{}
		for _, e := range entries {
			present[e.Name()] = true
		}
		for name := range seen {
			if !present[name] {
				return
			}
		}
		maps.Copy(seen, present)
	}
}

// fillUntil writes to a file until done is closed, and returns the last error. It takes
// again what was full: a trial gives back the room of each file that it removes, and has
// enough for the next unless somebody has taken that meanwhile.
func fillUntil(done <-chan struct{}, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for {
		select {
		case <-done:
			return err
		default:
		}
		if _, failed := f.Write(block); failed != nil {
			err = failed
		}
	}
}

func TestATargetWithoutRoomIsRefusedBefore(t *testing.T) {
	dir, _ := devicetest.Filesystem(t, "ext4", 16<<20)
	err := Engine{}.Prepare(t.Context(), newEnv(t, dir, `{"size":"32Mi"}`))
	if f := trial.AsFailure(err); f.Class != reason.TargetTooSmall || f.Field != "spec.targets[fast].storageClass.size" {
		t.Errorf("got %+v", err)
	}
}

func TestATargetThatIsReadOnlyIsSaidToBe(t *testing.T) {
	dir, loop := devicetest.Filesystem(t, "ext4", 16<<20)
	devicetest.Run(t, "mount", "-o", "remount,ro", loop, dir)
	_, err := Engine{}.Run(t.Context(), newEnv(t, dir, `{}`))
	f := trial.AsFailure(err)
	if f.Class != reason.TargetUnusable || !strings.Contains(f.Message, "read-only") || !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %+v", err)
	}
}
