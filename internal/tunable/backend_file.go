package tunable

import (
	"context"
	"fmt"
	"path"
	"strings"
)

const sysctls = "/proc/sys/vm/"

// file is a setting of the node that is one file.
type file struct {
	plain
	path func() string
}

func fixed(name string) func() string { return func() string { return name } }

func (f file) read(_ context.Context, h Host, _ Knob) (State, error) {
	v, err := h.read(f.path())
	return State{Value: v}, err
}

func (f file) write(_ context.Context, h Host, _ Knob, s State) error {
	return h.write(f.path(), s.Value)
}

// attribute is a setting of a disk that is one file of sysfs.
type attribute struct {
	plain
	name string
	// parse finds the value in the file's text; nil: it is the text.
	parse func(string) (string, error)
}

func (a attribute) path(k Knob) string { return "/sys/block/" + k.Device.Name + "/" + a.name }

func (a attribute) read(_ context.Context, h Host, k Knob) (State, error) {
	v, err := h.read(a.path(k))
	if err == nil && a.parse != nil {
		v, err = a.parse(v)
	}
	return State{Value: v}, err
}

func (a attribute) write(_ context.Context, h Host, k Knob, s State) error {
	return h.write(a.path(k), s.Value)
}

// bracketed finds the choice in "[none] mq-deadline kyber". Disks that have no
// choice show a bare "none".
func bracketed(text string) (string, error) {
	if _, rest, ok := strings.Cut(text, "["); ok {
		if choice, _, ok := strings.Cut(rest, "]"); ok {
			return choice, nil
		}
	}
	if text == "" || strings.ContainsAny(text, " []") {
		return "", fmt.Errorf("no choice is marked in %q", text)
	}
	return text, nil
}

// scsiCache is the cache_type of a SCSI disk. What is read does not say whether it
// was set for the disk or for the kernel only, and so the old state remembers how
// the new one was written.
type scsiCache struct{}

const temporary = "temporary"

func (scsiCache) path(h Host, k Knob) (string, error) {
	dir := "/sys/block/" + k.Device.Name + "/device/scsi_disk"
	names, err := h.files().ReadDir(dir)
	if err != nil {
		return "", absent(err)
	}
	if len(names) != 1 {
		return "", fmt.Errorf("%w: %d SCSI disks in %s", ErrAbsent, len(names), dir)
	}
	return path.Join(dir, names[0], "cache_type"), nil
}

func (c scsiCache) read(_ context.Context, h Host, k Knob) (State, error) {
	name, err := c.path(h, k)
	if err != nil {
		return State{}, err
	}
	v, err := h.read(name)
	return State{Value: v}, err
}

func (scsiCache) prepare(value string, present State) (old, wanted State) {
	if v, only := strings.CutPrefix(value, temporary+" "); only {
		return State{Value: present.Value, Source: temporary}, State{Value: v, Source: temporary}
	}
	return present, State{Value: value}
}

func (scsiCache) same(a, b State) bool { return a.Value == b.Value }

func (c scsiCache) write(_ context.Context, h Host, k Knob, s State) error {
	name, err := c.path(h, k)
	if err != nil {
		return err
	}
	if s.Source == temporary {
		return h.write(name, temporary+" "+s.Value)
	}
	return h.write(name, s.Value)
}

// pair is one of two sysctls of which writing one sets the other to 0. The other's
// value is the source of this one's.
type pair struct{ own, other string }

func (p pair) read(_ context.Context, h Host, _ Knob) (State, error) {
	own, err := h.read(sysctls + p.own)
	if err != nil {
		return State{}, err
	}
	other, err := h.read(sysctls + p.other)
	return State{Value: own, Source: p.source(other)}, err
}

func (p pair) source(other string) string { return p.other + "=" + other }

func (p pair) prepare(value string, present State) (old, wanted State) {
	return present, State{Value: value, Source: p.source("0")}
}

func (pair) same(a, b State) bool { return a == b }

func (p pair) write(_ context.Context, h Host, _ Knob, s State) error {
	other, ok := strings.CutPrefix(s.Source, p.other+"=")
	if !ok {
		return fmt.Errorf("%q does not say what %s was", s.Source, p.other)
	}
	if other != "0" {
		return h.write(sysctls+p.other, other) // which sets this one to 0
	}
	if s.Value != "0" {
		return h.write(sysctls+p.own, s.Value)
	}
	if strings.HasSuffix(p.own, "ratio") {
		return h.write(sysctls+p.own, "0")
	}
	// Both are to be 0, which cannot be written to the one that counts bytes, and which
	// switches that one off only if it changes the ratio.
	if err := h.write(sysctls+p.other, "1"); err != nil {
		return err
	}
	return h.write(sysctls+p.other, "0")
}
