package tunable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// DeviceID identifies a disk, even if its name changes.
type DeviceID struct {
	Name string `json:"name"`
	// Number is major:minor.
	Number string `json:"number"`
	// DiskSeq is the number that the kernel gives to every disk and medium it sees,
	// once per boot. 0: the kernel does not count (before 5.15).
	DiskSeq uint64 `json:"diskSeq,omitempty"`
	// Object identifies the kernel's object until the next boot: the inode number of
	// its directory in sysfs. The object, with the settings of its queue, stays when a
	// medium is changed or a loop device's file is detached. 0: not recorded.
	Object uint64 `json:"object,omitempty"`
	WWID   string `json:"wwid,omitempty"`
	Serial string `json:"serial,omitempty"`
	// Backing is the file of a loop device, with the offset at which the device
	// begins.
	Backing string `json:"backing,omitempty"`
}

// lasting reports whether the disk can be recognised after a reboot.
func (d DeviceID) lasting() bool { return d.WWID != "" || d.Serial != "" || d.Backing != "" }

// alike reports whether two identities belong to the same disk, as far as the
// parts that outlast a reboot tell.
func (d DeviceID) alike(other DeviceID) bool {
	return d.WWID == other.WWID && d.Serial == other.Serial && d.Backing == other.Backing
}

var devicePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9!_-]*$`)

func deviceName(name string) bool { return devicePattern.MatchString(name) }

// DeviceID reads the identity of the disk with this name in /sys/block.
func (h Host) DeviceID(name string) (DeviceID, error) {
	if !deviceName(name) {
		return DeviceID{}, fmt.Errorf("tunable: %q is not the name of a block device", name)
	}
	dir := "/sys/block/" + name + "/"
	number, err := h.read(dir + "dev")
	if err != nil {
		return DeviceID{}, fmt.Errorf("tunable: the disk %s: %w", name, err)
	}
	d := DeviceID{Name: name, Number: number}
	if d.Object, err = h.files().Identity("/sys/block/" + name); err != nil {
		return DeviceID{}, fmt.Errorf("tunable: the disk %s: %w", name, absent(err))
	}
	d.DiskSeq, _ = strconv.ParseUint(h.readOptional(dir+"diskseq"), 10, 64) // 0 if there is none
	for _, file := range []string{"wwid", "device/wwid"} {
		if d.WWID == "" {
			d.WWID = h.readOptional(dir + file)
		}
	}
	for _, file := range []string{"serial", "device/serial"} {
		if d.Serial == "" {
			d.Serial = h.readOptional(dir + file)
		}
	}
	if d.WWID == "" && d.Serial == "" {
		d.Serial = unitSerial(h.readOptional(dir + "device/vpd_pg80"))
	}
	if d.Backing = h.readOptional(dir + "loop/backing_file"); d.Backing != "" {
		if offset := h.readOptional(dir + "loop/offset"); offset != "" && offset != "0" {
			d.Backing += "+" + offset
		}
	}
	return d, nil
}

// unitSerial is the serial number in page 80h of a SCSI disk's vital product data: a header of four bytes, of
// which the last two are the length of the text. Not every disk has the page from which the kernel
// makes a WWID.
func unitSerial(page string) string {
	const header = 4
	if len(page) < header || page[1] != 0x80 {
		return ""
	}
	text := page[header:]
	text = strings.Trim(text[:min(len(text), int(page[2])<<8|int(page[3]))], " \x00")
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "" // which is nothing to recognise a disk by
	}
	return text
}

// Presence is what became of the device or dataset that a knob belongs to.
type Presence int

// Presences.
const (
	Here  Presence = iota // the same, and present all the time
	Fresh                 // the same, but attached again: settings that do not last may be lost
	Gone                  // it no longer exists, and neither do its settings
	Away                  // it is missing, and may come back with its settings
)

// Location is where a knob is now, under its current name.
type Location struct {
	Knob     Knob
	Presence Presence
	// Note says what changed, for display.
	Note string
}

// Locate finds a knob that was recorded earlier. sameBoot tells that the node has
// not rebooted since. Locate never mistakes another disk of the same name for the
// recorded one.
func (h Host) Locate(ctx context.Context, k Knob, sameBoot bool) (Location, error) {
	t, ok := recorded(k.Tunable)
	if !ok {
		return Location{}, fmt.Errorf("this version of storagebench does not know tunable %q", k.Tunable)
	}
	if err := k.check(t); err != nil {
		return Location{}, err
	}
	switch t.Scope {
	case Device:
		return h.locateDevice(k, sameBoot)
	case Dataset:
		return h.locateDataset(ctx, k)
	default:
		if strings.HasPrefix(t.Name, "zfs.module.") {
			if _, err := h.files().ReadDir(parameters); errors.Is(err, os.ErrNotExist) {
				return Location{Presence: Gone, Note: "the zfs module is no longer loaded, so its parameters are gone"}, nil
			}
		}
		return Location{Knob: k, Presence: Here}, nil
	}
}

func (h Host) locateDevice(k Knob, sameBoot bool) (Location, error) {
	disks, err := h.disks()
	if err != nil {
		return Location{}, err
	}
	was := *k.Device
	at := func(d DeviceID, p Presence) Location {
		l := Location{Knob: Knob{Tunable: k.Tunable, Device: &d}, Presence: p}
		switch {
		case d.Name != was.Name:
			l.Note = was.Name + " is now called " + d.Name
		case p == Here && was.Backing != "" && d.Backing != was.Backing:
			l.Note = "the file of loop device " + d.Name + " was detached, but the device keeps its settings"
		}
		return l
	}
	var alike []DeviceID
	for _, d := range disks {
		switch {
		case sameBoot && was.sameObject(d):
			return at(d, Here), nil
		case was.lasting() && d.alike(was):
			alike = append(alike, d)
		}
	}
	for _, d := range alike {
		// Several paths to one disk have one WWID: then the name decides.
		if len(alike) == 1 || d.Name == was.Name && d.Number == was.Number {
			return at(d, Fresh), nil
		}
	}
	return absentDevice(k, disks, len(alike)), nil
}

// sameObject reports whether now is the kernel's object that was recorded as d, within one
// boot. The queue's settings belong to that object and not to what is attached to it: a
// loop device keeps all of them when its file is detached, also for the next file. A
// journal of an earlier version recorded no Object. Then diskseq decides; on a kernel that
// does not count disks, name and number; and for a loop device, its file.
func (d DeviceID) sameObject(now DeviceID) bool {
	slot := now.Name == d.Name && now.Number == d.Number
	switch {
	case d.Object != 0 && now.Object != 0:
		return now.Object == d.Object
	case d.DiskSeq != 0 && now.DiskSeq == d.DiskSeq:
		return true
	case !slot:
		return false
	default:
		return d.DiskSeq == 0 && now.alike(d) || d.Backing != "" && (now.Backing == d.Backing || !now.lasting())
	}
}

var errOtherDevice = errors.New("since the benchmark looked for its disks, it was attached again, or another disk took its name; run the benchmark again")

// sameDevice fails if the kernel's object that the knob's device was has gone, although its name may be
// there: settings of another would be changed, and nobody would find them to put them back.
func (h Host) sameDevice(k Knob) error {
	if k.Device == nil {
		return nil
	}
	now, err := h.DeviceID(k.Device.Name)
	if err == nil && !k.Device.sameObject(now) {
		err = fmt.Errorf("the disk %s: %w", k.Device.Name, errOtherDevice)
	}
	return err
}

// absentDevice returns the location of a disk that was not found.
func absentDevice(k Knob, disks []DeviceID, alike int) Location {
	note := "disk " + k.Device.Name + " is gone"
	for _, d := range disks {
		if d.Name == k.Device.Name {
			note = "disk " + k.Device.Name + " is gone, and another disk now has its name"
		}
	}
	if alike > 1 {
		note = fmt.Sprintf("%d disks have the identity of %s, but none has its name", alike, k.Device.Name)
	}
	if k.Survives() != Never {
		return Location{Presence: Away, Note: note + "; it may have kept the setting"}
	}
	return Location{Presence: Gone, Note: note + "; its settings are gone with it"}
}

func (h Host) disks() ([]DeviceID, error) {
	names, err := h.files().ReadDir("/sys/block")
	if err != nil {
		return nil, fmt.Errorf("tunable: %w", err)
	}
	var out []DeviceID
	for _, name := range names {
		d, err := h.DeviceID(name)
		if errors.Is(err, ErrAbsent) || err != nil && !deviceName(name) {
			continue // removed since ReadDir, or never recorded
		}
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
