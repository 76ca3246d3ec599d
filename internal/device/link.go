package device

import (
	"path/filepath"
	"strconv"
	"strings"
)

// link returns how many bytes per second the link of a disk carries at most in one direction,
// or 0 if sysfs does not show it. A PCI link may be slower at times to save power, so it is
// what both of its ends can do, not the current speed.
func link(dir string) float64 {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	if err != nil {
		return 0
	}
	usb := strings.Contains(real, "/usb")
	for at := real; len(at) > 1; at = filepath.Dir(at) {
		name := filepath.Base(at)
		switch {
		case usb && exists(filepath.Join(at, "speed")):
			return usbLink(at)
		case usb:
			continue
		case strings.HasPrefix(name, "port-"):
			return sasLink(at)
		case strings.HasPrefix(name, "rport-"):
			return fibreLink(filepath.Dir(at))
		case strings.HasPrefix(name, "end_device-"), strings.HasPrefix(name, "session"):
			continue
		case strings.HasPrefix(name, "ata"):
			return sataLink(at)
		case exists(filepath.Join(at, "max_link_speed")):
			// Behind an adapter of another kind, the disk's own link is elsewhere.
			if !strings.Contains(strings.TrimPrefix(real, at), "/nvme") {
				return 0
			}
			return pciLink(at)
		case strings.HasPrefix(name, "virtio"), strings.HasPrefix(name, "host") && !strings.Contains(real, "/ata"):
			return 0
		}
	}
	return 0
}

// usbLink returns the speed of a USB device. Up to 5 Gbit/s, USB 3 codes 8 bits as 10; faster, 128 as 132.
func usbLink(device string) float64 {
	megabits, err := strconv.ParseFloat(attribute(device, "speed"), 64)
	switch {
	case err != nil || megabits <= 0:
		return 0
	case megabits < 5000:
		return megabits * 1e6 / 8
	case megabits < 10000:
		return megabits * 1e6 / 10
	default:
		return megabits * 1e6 / 8 * 128 / 132
	}
}

// sasLink returns the speed of all links of a disk's SAS port, which code 8 bits as 10 up to 12 Gbit/s.
// Faster ones, of 22.5 Gbit/s, carry 2.4 GB/s.
func sasLink(port string) float64 {
	files, _ := filepath.Glob(filepath.Join(port, "phy-*/sas_phy/phy-*/negotiated_linkrate"))
	total := 0.0
	for _, file := range files {
		gigabits := gigabits(attribute(file, ""))
		if gigabits == 0 {
			return 0
		}
		total += gigabits * 1e9 / 10
		if gigabits > 12 {
			total += 0.15e9
		}
	}
	return total
}

// fibreLink returns the speed of a Fibre Channel adapter. 16 Gbit/s is a name for 1600 MB/s.
func fibreLink(host string) float64 {
	return gigabits(attribute(filepath.Join(host, "fc_host", filepath.Base(host)), "speed")) * 1e8
}

// gigabits reads a speed such as "12.0 Gbit"; 0: it is none.
func gigabits(text string) float64 {
	number, isGigabits := strings.CutSuffix(text, " Gbit")
	n, err := strconv.ParseFloat(number, 64)
	if !isGigabits || err != nil || n <= 0 || n > 10_000 {
		return 0
	}
	return n
}

// sataLink returns the speed of a port of SATA, which codes 8 bits as 10.
func sataLink(port string) float64 {
	files, _ := filepath.Glob(filepath.Join(port, "link*/ata_link/link*/sata_spd"))
	if len(files) != 1 {
		return 0
	}
	gigabits, err := strconv.ParseFloat(strings.TrimSuffix(attribute(files[0], ""), " Gbps"), 64)
	if err != nil {
		return 0
	}
	return gigabits * 1e9 / 10
}

// pciLink returns what a PCI device and the port above it can both carry.
func pciLink(dir string) float64 {
	speed, width := pciEnd(dir)
	if above, lanes := pciEnd(filepath.Dir(dir)); above > 0 && lanes > 0 {
		speed, width = min(speed, above), min(width, lanes)
	}
	return speed * width
}

// pciEnd returns the bytes per second of a lane, and the lanes, of one end of a link.
func pciEnd(dir string) (speed, lanes float64) {
	word, _, _ := strings.Cut(attribute(dir, "max_link_speed"), " ")
	transfers, err := strconv.ParseFloat(word, 64) // GT/s
	if err != nil {
		return 0, 0
	}
	lanes, err = strconv.ParseFloat(attribute(dir, "max_link_width"), 64)
	if err != nil {
		return 0, 0
	}
	code := 128.0 / 130
	if transfers <= 5 {
		code = 8.0 / 10
	}
	return transfers * 1e9 / 8 * code, lanes
}
