package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/runner/journal"
	"storagebench.io/storagebench/internal/trial"
	"storagebench.io/storagebench/internal/tunable"
)

// nodeClaim is the record on a node that a worker has claimed one of its devices: the data on
// the device is then the worker's, although no marker says so before the worker ends.
type nodeClaim struct {
	Owner journal.Owner `json:"owner"`
	// Disk is the whole disk, and Part says which partition of it the device is.
	Disk   tunable.DeviceID `json:"disk"`
	Part   string           `json:"part,omitempty"`
	BootID string           `json:"bootID"`
}

// same reports whether both are of one worker and one device. A device that cannot be
// recognised after a reboot is another one then.
func (c nodeClaim) same(other nodeClaim) bool {
	if c.Owner != other.Owner || c.Part != other.Part {
		return false
	}
	a, b := c.Disk, other.Disk
	alike := a.WWID == b.WWID && a.Serial == b.Serial && a.Backing == b.Backing
	if c.BootID != other.BootID {
		return alike && (a.WWID != "" || a.Serial != "" || a.Backing != "")
	}
	return alike && a.Number == b.Number && a.DiskSeq == b.DiskSeq
}

// recordName is the name of a device's record. There is one for each device, of the last
// worker that has claimed it.
func recordName(number uint64) string {
	return fmt.Sprintf("claim-%d-%d", unix.Major(number), unix.Minor(number))
}

// onNode returns what this worker's claim of its device is, and the name of its record.
func (w *worker) onNode() (claim nodeClaim, name string, err error) {
	var stat syscall.Stat_t
	if err := syscall.Stat(w.TargetPath, &stat); err != nil {
		return claim, "", &os.PathError{Op: "stat", Path: w.TargetPath, Err: err}
	}
	object, err := filepath.EvalSymlinks(filepath.Join("/", w.System.Root, fmt.Sprintf("sys/dev/block/%d:%d", unix.Major(stat.Rdev), unix.Minor(stat.Rdev))))
	if err != nil {
		return claim, "", err
	}
	disk := filepath.Base(object)
	if partition, err := os.ReadFile(filepath.Join(object, "partition")); err == nil {
		start, startErr := os.ReadFile(filepath.Join(object, "start"))
		size, sizeErr := os.ReadFile(filepath.Join(object, "size"))
		if err := errors.Join(startErr, sizeErr); err != nil {
			return claim, "", err
		}
		claim.Part = strings.Join(strings.Fields(string(partition)+string(start)+string(size)), " ")
		disk = filepath.Base(filepath.Dir(object))
	}
	host := w.Host
	host.System = w.System
	if claim.Disk, err = host.DeviceID(disk); err == nil {
		claim.BootID, err = host.BootID()
	}
	claim.Owner = w.owner()
	return claim, recordName(stat.Rdev), err
}

// claimedBefore reports whether an earlier attempt of this worker has claimed its device. For
// a device of the node, whose data may be anybody's, only the node's record says so: whoever
// may create Pods in the namespace can write to the store in the worker's place. A volume of
// the namespace they could overwrite anyway, and there the store is believed.
func (w *worker) claimedBefore() bool {
	if w.target.Source != trial.BlockDevice {
		return len(w.summary.Trials) > 0 || slices.ContainsFunc(w.summary.Attempts, func(a result.Attempt) bool { return a.Claimed })
	}
	if w.Journal == "" {
		return false
	}
	claim, name, err := w.onNode()
	if err != nil {
		w.Log.Warn("cannot tell whether an earlier attempt has claimed the device", "error", err)
		return false
	}
	b, err := journal.ReadRecord(w.Journal, name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.Log.Warn("cannot read the record of who has claimed the device", "error", err)
		}
		return false
	}
	var earlier nodeClaim
	return json.Unmarshal(b, &earlier) == nil && claim.same(earlier)
}

// recordClaim puts on record that the device is this worker's, before it writes to it: its
// successor would find data that no marker explains.
func (w *worker) recordClaim(ctx context.Context, t *target) error {
	if t.device == "" || w.target.Generated {
		return nil
	}
	if w.target.Source == trial.BlockDevice {
		// Without the record a successor refuses the device, which is safe.
		if err := w.recordOnNode(); err != nil {
			w.Log.Warn("cannot record that the device is claimed: if this worker is killed, its successor refuses the device", "error", err)
		}
	}
	if attempt := &w.summary.Attempts[len(w.summary.Attempts)-1]; !attempt.Claimed {
		attempt.Claimed = true
		return w.storeSummary(ctx)
	}
	return nil
}

func (w *worker) recordOnNode() error {
	if w.Journal == "" {
		return errors.New("the worker was given no directory on the node")
	}
	claim, name, err := w.onNode()
	if err != nil {
		return err
	}
	b, err := json.Marshal(claim)
	if err != nil {
		return err
	}
	return journal.WriteRecord(w.Journal, name, b)
}

// forgetClaim removes the node's record, as the device has its marker again.
func (w *worker) forgetClaim(t *target) {
	if t.device == "" || w.target.Source != trial.BlockDevice || w.Journal == "" {
		return
	}
	_, name, err := w.onNode()
	if err == nil {
		err = journal.RemoveRecord(w.Journal, name)
	}
	if err != nil {
		w.Log.Warn("cannot remove the record that the device is claimed", "error", err)
	}
}
