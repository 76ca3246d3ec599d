package tunable

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

const sysctls = "/proc/sys/vm/"

// file is a setting of the node that is one file of sysfs or procfs.
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
	// parse extracts the value from the file's text; nil: the whole text is the
	// value.
	parse func(string) (string, error)
	// least is the number to which the kernel raises any lower one that is written, although the setting may have
	// one from the start.
	least uint64
}

func (a attribute) takesBack(present State) error {
	if n, err := strconv.ParseUint(present.Value, 10, 64); err == nil && n < a.least {
		return &KeepError{
			Why:    fmt.Sprintf("it is %s, which could not be restored: the kernel raises anything below %d to that", present.Value, a.least),
			Remedy: fmt.Sprintf("leave it out for this disk, or set it to at least %d before the benchmark", a.least),
		}
	}
	return nil
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

// scheduled is an attribute that the kernel shows always, but takes only while the disk has a scheduler.
type scheduled struct{ attribute }

func (a scheduled) read(ctx context.Context, h Host, k Knob) (State, error) {
	text, err := h.read("/sys/block/" + k.Device.Name + "/queue/scheduler")
	if err != nil {
		return State{}, err
	}
	if choice, err := parseBracketed(text); err != nil || choice == "none" {
		return State{}, fmt.Errorf("%w: the disk has no scheduler", ErrAbsent)
	}
	return a.attribute.read(ctx, h, k)
}

// depth is how many commands a SCSI disk gets at a time. The kernel lowers it whenever the disk says that its
// queue is full, and raises it step by step up to what was written.
type depth struct{ attribute }

func (depth) drifted(present, wanted State) bool {
	n, err := strconv.ParseUint(present.Value, 10, 32)
	most, wrong := strconv.ParseUint(wanted.Value, 10, 32)
	return err == nil && wrong == nil && 1 <= n && n <= most
}

// parseBracketed returns the current choice in "[none] mq-deadline kyber".
// Disks without a choice show a bare "none".
func parseBracketed(text string) (string, error) {
	if _, rest, ok := strings.Cut(text, "["); ok {
		if choice, _, ok := strings.Cut(rest, "]"); ok {
			return choice, nil
		}
	}
	if text == "" || strings.ContainsAny(text, " []") {
		return "", fmt.Errorf("%q does not mark the current choice with brackets", text)
	}
	return text, nil
}

// scsiCache is the cache_type of a SCSI disk. Reading it does not tell whether the
// disk or only the kernel's view was changed, so the old state remembers how the
// new value was written.
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

// pair is one of two sysctls that exclude each other: the kernel sets one to 0
// when the other is written. The other's value is the Source of this one's State.
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
		return fmt.Errorf("the recorded source %q is not a value of %s", s.Source, p.other)
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
	// Both must become 0. The sysctl that counts bytes does not accept 0, and writing 0
	// to the ratio switches the other off only if that changes the ratio.
	if err := h.write(sysctls+p.other, "1"); err != nil {
		return err
	}
	return h.write(sysctls+p.other, "0")
}
