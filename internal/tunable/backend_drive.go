package tunable

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ataCache is the write cache of an ATA disk, set by hdparm.
type ataCache struct{ plain }

var hdparmCaching = regexp.MustCompile(`write-caching\s*=\s*([01])\b`)

func (ataCache) read(ctx context.Context, h Host, k Knob) (State, error) {
	if h.readOptional("/sys/block/"+k.Device.Name+"/device/vendor") != "ATA" {
		return State{}, fmt.Errorf("%w: the disk is not an ATA disk", ErrAbsent)
	}
	out, err := h.run(ctx, "hdparm", "-W", "/dev/"+k.Device.Name)
	if err != nil {
		return State{}, err
	}
	found := hdparmCaching.FindStringSubmatch(out)
	if found == nil {
		return State{}, fmt.Errorf("%w: hdparm printed %q", ErrAbsent, strings.Join(strings.Fields(out), " "))
	}
	return State{Value: onOff(found[1] == "1")}, nil
}

func (ataCache) write(ctx context.Context, h Host, k Knob, s State) error {
	bit, err := bit(s.Value)
	if err == nil {
		_, err = h.run(ctx, "hdparm", "-W"+bit, "/dev/"+k.Device.Name)
	}
	return err
}

// nvmeCache is feature 6 of an NVMe controller, set by nvme-cli. We pass long
// options because the short one for the value is -v in old versions and -V in
// newer ones.
type nvmeCache struct{ plain }

var nvmeValue = regexp.MustCompile(`(?i)current value:\s*(?:0x)?([0-9a-f]+)`)

func (nvmeCache) read(ctx context.Context, h Host, k Knob) (State, error) {
	if !strings.HasPrefix(k.Device.Name, "nvme") {
		return State{}, fmt.Errorf("%w: the disk is not an NVMe disk", ErrAbsent)
	}
	out, err := h.run(ctx, "nvme", "get-feature", "/dev/"+k.Device.Name, "--feature-id=6")
	if err != nil {
		if strings.Contains(err.Error(), "INVALID_FIELD") {
			err = fmt.Errorf("%w: the controller has no volatile write cache: %w", ErrAbsent, err)
		}
		return State{}, err
	}
	found := nvmeValue.FindStringSubmatch(out)
	if found == nil {
		return State{}, fmt.Errorf("nvme get-feature printed %q", strings.Join(strings.Fields(out), " "))
	}
	n, err := strconv.ParseUint(found[1], 16, 32)
	return State{Value: onOff(n&1 == 1)}, err
}

func (nvmeCache) write(ctx context.Context, h Host, k Knob, s State) error {
	bit, err := bit(s.Value)
	if err == nil {
		_, err = h.run(ctx, "nvme", "set-feature", "/dev/"+k.Device.Name, "--feature-id=6", "--value="+bit)
	}
	return err
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func bit(value string) (string, error) {
	switch value {
	case "on":
		return "1", nil
	case "off":
		return "0", nil
	default:
		return "", fmt.Errorf("%q is neither on nor off", value)
	}
}
