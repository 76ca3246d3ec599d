package tunabletest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const cacheType = "device/scsi_disk/0:0:0:0/cache_type"

// later is when the kernel has looked anew at a disk whose cache was switched.
const later = 700 * time.Millisecond

// rescan is the kernel's own look at a disk, which libata asks for when the disk's cache was switched. Nobody waits
// for it.
type rescan struct {
	at   time.Duration
	disk *disk
}

// InstallHdparm installs hdparm.
func (k *Kernel) InstallHdparm() { k.hdparm = true }

// DriveCache reports whether the drive's own cache is on.
func (k *Kernel) DriveCache(name string) bool { return k.disks[name].drive }

// Advance lets time pass.
func (k *Kernel) Advance(d time.Duration) {
	k.now += d
	k.rescans = slices.DeleteFunc(k.rescans, func(r rescan) bool {
		due := r.at <= k.now
		if due && !r.disk.override {
			r.disk.setView(r.disk.cacheType())
		}
		return due
	})
}

func (k *Kernel) wait(ctx context.Context, d time.Duration) error {
	k.Advance(d)
	return ctx.Err()
}

func (k *Kernel) switchCache(d *disk, on bool) {
	d.drive = on
	k.rescans = append(k.rescans, rescan{k.now + later, d})
}

func (d *disk) cacheType() string {
	if d.drive {
		return "write back"
	}
	return "write through"
}

// cache is a write of a SCSI disk's cache_type, which looks at the disk itself, too.
func (k *Kernel) cache(d *disk, name, value string) error {
	view, only := strings.CutPrefix(value, "temporary ")
	if view != "write back" && view != "write through" && view != "none" {
		return invalid(name)
	}
	if d.override = only; !only {
		k.switchCache(d, view == "write back")
	}
	d.setView(view)
	return nil
}

// runHdparm simulates hdparm -W.
func (k *Kernel) runHdparm(option, device string) (string, error) {
	d := k.disks[strings.TrimPrefix(device, "/dev/")]
	if d == nil {
		return "", fmt.Errorf("%s: No such file or directory", device)
	}
	if k.Refuse != nil && option != "-W" {
		if err := k.Refuse(device); err != nil {
			return "", err
		}
	}
	switch option {
	case "-W":
	case "-W0", "-W1":
		k.switchCache(d, option == "-W1")
	default:
		return "", fmt.Errorf("the simulated hdparm does not support %s", option)
	}
	state := map[bool]string{true: "1 (on)", false: "0 (off)"}[d.drive]
	return fmt.Sprintf("\n%s:\n write-caching =  %s\n", device, state), nil
}
