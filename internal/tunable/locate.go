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

// DeviceID identifies a disk, whatever it is called later.
type DeviceID struct {
	Name string `json:"name"`
	// Number is major:minor.
	Number string `json:"number"`
	// DiskSeq counts up with every disk and medium that the kernel sees, and is used
	// once between two boots. 0: the kernel does not count (before 5.15).
	DiskSeq uint64 `json:"diskSeq,omitempty"`
	// Object is the kernel's own object, until the next boot: the number of its
	// directory in sysfs. It stays when a medium is changed or a loop device's file is
	// detached, and with it stay the settings of the queue. 0: not recorded.
	Object uint64 `json:"object,omitempty"`
	WWID   string `json:"wwid,omitempty"`
	Serial string `json:"serial,omitempty"`
	// Backing is the file of a loop device, and where in it the device begins.
	Backing string `json:"backing,omitempty"`
}

// lasting reports whether the disk can be known again after a reboot.
func (d DeviceID) lasting() bool { return d.WWID != "" || d.Serial != "" || d.Backing != "" }

// alike reports whether two identities are of one disk, as far as what outlasts a
// reboot tells.
func (d DeviceID) alike(other DeviceID) bool {
	return d.WWID == other.WWID && d.Serial == other.Serial && d.Backing == other.Backing
}

var devicePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9!_-]*$`)

func deviceName(name string) bool { return devicePattern.MatchString(name) }

// DeviceID reads what identifies the disk of a name in /sys/block.
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
	d.DiskSeq, _ = strconv.ParseUint(h.optional(dir+"diskseq"), 10, 64) // 0 if there is none
	for _, file := range []string{"wwid", "device/wwid"} {
		if d.WWID == "" {
			d.WWID = h.optional(dir + file)
		}
	}
	for _, file := range []string{"serial", "device/serial"} {
		if d.Serial == "" {
			d.Serial = h.optional(dir + file)
		}
	}
	if d.Backing = h.optional(dir + "loop/backing_file"); d.Backing != "" {
		if offset := h.optional(dir + "loop/offset"); offset != "" && offset != "0" {
			d.Backing += "+" + offset
		}
	}
	return d, nil
}

// Presence says what has become of the thing that a knob is of.
type Presence int

// Presences.
const (
	Here  Presence = iota // it is the same, and has never been away
	Fresh                 // it is the same, but was attached anew: what does not last may be lost
	Gone                  // it is no more, and its settings went with it
	Away                  // it is not here, and what it keeps may come back with it
)

// Location of a knob, under its present name.
type Location struct {
	Knob     Knob
	Presence Presence
	// Note says what has changed, for people.
	Note string
}

// Locate finds a knob that was recorded earlier. sameBoot says whether the node has
// been up since then. A disk is never taken for another one of the same name.
func (h Host) Locate(ctx context.Context, k Knob, sameBoot bool) (Location, error) {
	t, ok := catalogue().byName[k.Tunable]
	if !ok {
		return Location{}, fmt.Errorf("this version of storagebench knows no tunable %q", k.Tunable)
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
				return Location{Presence: Gone, Note: "the zfs module is not loaded, so its parameters are gone"}, nil
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
			l.Note = was.Name + " is called " + d.Name + " now"
		case p == Here && was.Backing != "" && d.Backing != was.Backing:
			l.Note = "the loop device " + d.Name + " keeps its settings although its file was detached"
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
// boot. The queue's settings belong to that object and not to what is attached to it: all
// of them outlive the detach of a loop device's file, and wait for the next one. What a
// journal of an earlier version recorded has no Object: there diskseq decides, on a kernel
// that does not count disks name and number, and for a loop device its file.
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

// absentDevice says what has become of a disk that was not found.
func absentDevice(k Knob, disks []DeviceID, alike int) Location {
	note := "the disk " + k.Device.Name + " is gone"
	for _, d := range disks {
		if d.Name == k.Device.Name {
			note = "the disk that was " + k.Device.Name + " is gone, and another one has its name"
		}
	}
	if alike > 1 {
		note = fmt.Sprintf("%d disks look like %s, but none has its name", alike, k.Device.Name)
	}
	if k.Survives() != Never {
		return Location{Presence: Away, Note: note + "; it may have kept the setting"}
	}
	return Location{Presence: Gone, Note: note + "; its settings are gone too"}
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
			continue // it went away between two looks, or is nothing that was ever recorded
		}
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}
