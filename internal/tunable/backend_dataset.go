package tunable

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// property is a property of a ZFS dataset.
type property struct{ name string }

// Sources of a property, as zfs get prints them.
const (
	local     = "local"
	inherited = "inherited from "
	received  = "received"
	byDefault = "default"
)

func (p property) read(ctx context.Context, h Host, k Knob) (State, error) {
	if err := h.sameDataset(ctx, *k.Dataset); err != nil {
		return State{}, err
	}
	out, err := h.run(ctx, "zfs", "get", "-H", "-p", "-o", "value,source", p.name, k.Dataset.Name)
	if err != nil {
		if strings.Contains(err.Error(), "invalid property") || strings.Contains(err.Error(), "bad property list") {
			err = fmt.Errorf("%w: %w", ErrAbsent, err)
		}
		return State{}, err
	}
	value, source, ok := strings.Cut(strings.TrimSuffix(out, "\n"), "\t")
	if !ok || strings.Contains(source, "\n") {
		return State{}, fmt.Errorf("zfs get %s printed %q", p.name, out)
	}
	if value == "-" {
		return State{}, fmt.Errorf("%w: the dataset has no property %s", ErrAbsent, p.name)
	}
	return State{Value: value, Source: source}, nil
}

func (property) prepare(value string, present State) (old, wanted State) {
	if present.Value == value {
		return present, present // setting an inherited value locally changes its source, though not its effect
	}
	return present, State{Value: value, Source: local}
}

func (property) takesBack(present State) error {
	if present.Source == local || isInherited(present.Source) {
		return nil
	}
	return &KeepError{
		Why:    fmt.Sprintf("a mount option sets it (source %q), which zfs cannot restore", present.Source),
		Remedy: "mount the dataset without that option",
	}
}

// isInherited reports whether a value is inherited or the default, not the
// dataset's own.
func isInherited(source string) bool {
	return source == received || fromParent(source)
}

// same accepts an inherited value as put back when it is inherited again, whatever value
// and name the parent has by now.
func (property) same(a, b State) bool {
	return a == b || fromParent(a.Source) && fromParent(b.Source)
}

// fromParent reports whether a value is inherited, if only from ZFS's default.
func fromParent(source string) bool {
	return source == byDefault || strings.HasPrefix(source, inherited)
}

func (p property) write(ctx context.Context, h Host, k Knob, s State) error {
	if err := h.sameDataset(ctx, *k.Dataset); err != nil {
		return err
	}
	var err error
	switch {
	case s.Source == local:
		_, err = h.run(ctx, "zfs", "set", p.name+"="+s.Value, k.Dataset.Name)
	case s.Source == received:
		_, err = h.run(ctx, "zfs", "inherit", "-S", p.name, k.Dataset.Name)
	case isInherited(s.Source):
		_, err = h.run(ctx, "zfs", "inherit", p.name, k.Dataset.Name)
	default:
		err = fmt.Errorf("zfs cannot restore a value whose source is %q", s.Source)
	}
	return err
}

// DatasetID identifies a dataset through renames.
type DatasetID struct {
	Name string `json:"name"`
	GUID string `json:"guid"`
	// PoolGUID distinguishes a dataset that was destroyed from one whose pool is
	// not imported.
	PoolGUID string `json:"poolGUID"`
}

var datasetPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.: %-]*(/[A-Za-z0-9_.: %-]+)*$`)

func datasetName(name string) bool { return len(name) < 256 && datasetPattern.MatchString(name) }

var errOtherDataset = errors.New("another dataset now has its name")

// sameDataset fails if another dataset has this name now.
func (h Host) sameDataset(ctx context.Context, d DatasetID) error {
	guid, err := h.datasetGUID(ctx, d.Name)
	if err == nil && guid != d.GUID {
		err = fmt.Errorf("%s: %w", d.Name, errOtherDataset)
	}
	return err
}

func (h Host) datasetGUID(ctx context.Context, name string) (string, error) {
	out, err := h.run(ctx, "zfs", "get", "-H", "-p", "-o", "value", "guid", name)
	if err == nil && strings.TrimSpace(out) == "" {
		err = errors.New("zfs get guid printed nothing")
	}
	return strings.TrimSpace(out), err
}

// datasetID asks zfs for the GUIDs of a dataset and its pool.
func (h Host) datasetID(ctx context.Context, name string) (*DatasetID, error) {
	if !datasetName(name) {
		return nil, fmt.Errorf("%q is not the name of a ZFS dataset", name)
	}
	guid, err := h.datasetGUID(ctx, name)
	if err != nil {
		return nil, err
	}
	pool, _, _ := strings.Cut(name, "/")
	out, err := h.run(ctx, "zpool", "get", "-H", "-p", "-o", "value", "guid", pool)
	if err != nil {
		return nil, err
	}
	return &DatasetID{Name: name, GUID: guid, PoolGUID: strings.TrimSpace(out)}, nil
}

// locateDataset finds a dataset by its GUID.
func (h Host) locateDataset(ctx context.Context, k Knob) (Location, error) {
	if guid, err := h.datasetGUID(ctx, k.Dataset.Name); err == nil && guid == k.Dataset.GUID {
		return Location{Knob: k, Presence: Here}, nil
	}
	// The pool comes first: one that is imported in between, or cannot be opened, would seem to have
	// lost the dataset.
	pool, err := h.poolOf(ctx, *k.Dataset)
	if err != nil {
		return Location{}, err
	}
	if pool == "" {
		return Location{Presence: Away, Note: "the pool of " + k.Dataset.Name + " is not imported: the property is still on its disks"}, nil
	}
	out, err := h.run(ctx, "zfs", "get", "-r", "-H", "-p", "-o", "name,value", "-t", "filesystem,volume", "guid", pool)
	if err != nil {
		return Location{}, err
	}
	for line := range strings.Lines(out) {
		name, guid, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if guid == k.Dataset.GUID && datasetName(name) {
			renamed := *k.Dataset
			renamed.Name = name
			return Location{Knob: Knob{Tunable: k.Tunable, Dataset: &renamed}, Presence: Here, Note: k.Dataset.Name + " is now called " + name}, nil
		}
	}
	return Location{Presence: Gone, Note: "the dataset " + k.Dataset.Name + " was destroyed together with its properties"}, nil
}

// poolOf returns the name of the dataset's pool; empty: it is not imported.
func (h Host) poolOf(ctx context.Context, d DatasetID) (string, error) {
	out, err := h.run(ctx, "zpool", "get", "-H", "-p", "-o", "name,value", "guid")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if name, guid, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t"); guid == d.PoolGUID {
			return name, nil
		}
	}
	return "", nil
}
