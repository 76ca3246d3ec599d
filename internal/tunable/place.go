package tunable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"storagebench.io/storagebench/api/reason"
	"storagebench.io/storagebench/internal/device"
	"storagebench.io/storagebench/internal/result"
	"storagebench.io/storagebench/internal/trial"
)

// Place is what is below a target.
type Place struct {
	// Path of the target; empty: no target, only settings of the node.
	Path string
	// Devices are the leaf disks. DeviceNote says why there are none, or what else to
	// know about them.
	Devices    []DeviceID
	DeviceNote string
	// Leaves describe the same disks.
	Leaves []result.Device
	// Layers of the storage, with the disks of a ZFS pool.
	Layers []result.Layer
	// Dataset that the target is on; nil: it is not on ZFS.
	Dataset *DatasetID
	// DatasetNote says why Dataset is nil although the target is on ZFS.
	DatasetNote string
}

// Place finds what is below a directory or a block device.
func (h Host) Place(ctx context.Context, path string) (Place, error) {
	p := Place{Path: path}
	if path == "" {
		return p, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return p, fmt.Errorf("tunable: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(real, &stat); err != nil {
		return p, fmt.Errorf("tunable: %s: %w", path, err)
	}
	system := h.System
	system.Pool = func(pool string) (string, error) { return h.PoolStatus(ctx, pool) }
	var leaves []result.Device
	dataset := ""
	if stat.Mode&unix.S_IFMT == unix.S_IFBLK {
		major, minor := int(unix.Major(stat.Rdev)), int(unix.Minor(stat.Rdev))
		leaves, p.DeviceNote = h.System.UnderNumber(major, minor)
		p.Layers, _ = system.DeviceLayers(major, minor) // if it fails, DeviceNote says so
		if dataset, err = device.ZvolName(real); err != nil && slices.ContainsFunc(leaves, zvol) {
			p.DatasetNote = err.Error()
		}
	} else {
		fs, err := h.System.Filesystem(real)
		if err != nil {
			return p, err
		}
		if fs.Type == "zfs" {
			dataset = fs.Source
		}
		leaves, p.DeviceNote = h.System.UnderPath(real)
		p.Layers, _ = system.Layers(real) // if it fails, DeviceNote says so
	}
	h.fill(ctx, &p, leaves, dataset)
	return p, nil
}

func zvol(d result.Device) bool { return strings.HasPrefix(d.Name, "zd") }

// fill adds the identities of the disks and the dataset, and the disks of a
// pool.
func (h Host) fill(ctx context.Context, p *Place, leaves []result.Device, dataset string) {
	if dataset != "" {
		var err error
		if p.Dataset, err = h.datasetID(ctx, dataset); err != nil {
			p.DatasetNote = err.Error()
		}
		pool, _, _ := strings.Cut(dataset, "/")
		below, note := h.underPool(ctx, pool)
		if len(below) > 0 {
			leaves, p.DeviceNote = below, note
		} else if note != "" {
			p.DeviceNote = note
		}
	}
	for _, leaf := range leaves {
		d, err := h.DeviceID(leaf.Name)
		if err != nil {
			p.DeviceNote = err.Error()
			continue
		}
		p.Devices = append(p.Devices, d)
		p.Leaves = append(p.Leaves, leaf)
	}
}

// PoolStatus returns what zpool prints of a pool, with whole paths and the kernel's own names.
func (h Host) PoolStatus(ctx context.Context, pool string) (string, error) {
	return h.run(ctx, "zpool", "status", "-P", "-L", pool)
}

// underPool returns the leaf disks of a pool: those with data, logs and caches.
func (h Host) underPool(ctx context.Context, pool string) ([]result.Device, string) {
	// -P prints whole paths, -L follows links to the kernel's own names.
	out, err := h.run(ctx, "zpool", "list", "-v", "-H", "-P", "-L", pool)
	if err != nil {
		return nil, err.Error()
	}
	var leaves []result.Device
	var notes []string
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !filepath.IsAbs(fields[0]) {
			continue // a line for the pool, a mirror, RAIDZ or a heading
		}
		major, minor, err := h.number(filepath.Base(fields[0]))
		if err != nil {
			notes = append(notes, fields[0]+" of the pool is not a disk in sysfs")
			continue
		}
		below, note := h.System.UnderNumber(major, minor)
		leaves = append(leaves, below...)
		if note != "" {
			notes = append(notes, note)
		}
	}
	slices.SortFunc(leaves, func(a, b result.Device) int { return strings.Compare(a.Name, b.Name) })
	leaves = slices.CompactFunc(leaves, func(a, b result.Device) bool { return a.Name == b.Name })
	return leaves, strings.Join(notes, "; ")
}

// number returns the device number of a disk or partition.
func (h Host) number(name string) (major, minor int, err error) {
	text, err := h.read("/sys/class/block/" + name + "/dev")
	if err != nil {
		return 0, 0, err
	}
	first, second, _ := strings.Cut(text, ":")
	major, err = strconv.Atoi(first)
	if err == nil {
		minor, err = strconv.Atoi(second)
	}
	return major, minor, err
}

// Plan turns settings into assignments, in their order: one for each device for a setting
// of devices, and one for any other. It refuses what Check refuses and settings that the
// target does not have. Its error is a *trial.Failure whose Field is relative to the list's
// owner.
func (h Host) Plan(ctx context.Context, settings []Setting, p Place) ([]Assignment, error) {
	if err := Check(settings); err != nil {
		return nil, err
	}
	var out []Assignment
	for i, s := range settings {
		t, err := Find(s.Name)
		if err != nil {
			return nil, err
		}
		value, err := t.Parse(s.Value)
		if err != nil {
			return nil, err
		}
		field := fmt.Sprintf("tunables[%d]", i)
		knobs, err := t.knobs(p)
		if err != nil {
			return nil, refused(field, err)
		}
		for _, k := range knobs {
			if _, _, err := h.Prepare(ctx, k, value); err != nil {
				return nil, refused(field, err)
			}
			out = append(out, Assignment{Field: field, Knob: k, Value: value})
		}
	}
	return out, nil
}

// Knobs returns the knobs of the tunable at a place, one for each device of a
// Device tunable.
func (t Tunable) Knobs(p Place) []Knob {
	knobs, _ := t.knobs(p) // a place may have none
	return knobs
}

func (t Tunable) knobs(p Place) ([]Knob, error) {
	switch t.Scope {
	case Node:
		return []Knob{{Tunable: t.Name}}, nil
	case Dataset:
		if p.Dataset == nil {
			return nil, fmt.Errorf("%s is a setting of a ZFS dataset, but %s: %w", t.Name, orElse(p.DatasetNote, "the target is not on ZFS"), ErrAbsent)
		}
		return []Knob{{Tunable: t.Name, Dataset: p.Dataset}}, nil
	default:
		if len(p.Devices) == 0 {
			return nil, fmt.Errorf("%s is a setting of disks, but no disk was found under the target: %s: %w", t.Name, orElse(p.DeviceNote, "the target is unknown"), ErrAbsent)
		}
		var out []Knob
		for _, d := range p.Devices {
			if t.Survives != Never && !d.lasting() {
				return nil, fmt.Errorf("disk %s has no serial number or WWID, so it could not be recognised after a reboot, which %s may outlast", d.Name, t.Name)
			}
			out = append(out, Knob{Tunable: t.Name, Device: &d})
		}
		return out, nil
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// refused is the failure for a setting that the target does not have, or that
// cannot be read.
func refused(field string, err error) *trial.Failure {
	f := &trial.Failure{Class: reason.InvalidSpec, Field: field, Message: err.Error(), Err: err}
	kept, keep := errors.AsType[*KeepError](err)
	switch _, missing := errors.AsType[*MissingError](err); {
	case keep:
		f.Remedy = kept.Remedy
	case missing:
		f.Remedy = "install it on the node, or leave the tunable out"
	case errors.Is(err, os.ErrPermission):
		f.Class, f.Remedy = reason.TargetUnusable, "run as root"
	default:
		f.Remedy = "run storagebench tunables --target PATH to see what the target has"
	}
	return f
}
