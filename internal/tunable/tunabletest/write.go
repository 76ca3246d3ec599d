package tunabletest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WriteFile reacts to a write as the kernel does.
func (k *Kernel) WriteFile(name string, data []byte) error {
	if k.Refuse != nil {
		if err := k.Refuse(name); err != nil {
			return err
		}
	}
	value := strings.TrimSpace(string(data))
	if _, ok := k.node[name]; ok {
		return k.writeNode(name, value)
	}
	d, attribute := k.disk(name)
	if d == nil {
		return missing(name)
	}
	if _, ok := d.attributes[attribute]; !ok {
		return missing(name)
	}
	if attribute == cacheType {
		return k.cache(d, name, value)
	}
	return d.write(name, attribute, value)
}

func (k *Kernel) writeNode(name, value string) error {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return invalid(name)
	}
	switch leaf := name[strings.LastIndex(name, "/")+1:]; leaf {
	case "dirty_bytes", "dirty_background_bytes":
		if n < 8192 && leaf == "dirty_bytes" || n < 1 {
			return invalid(name)
		}
		k.switchOff(name, "bytes", "ratio", value)
	case "dirty_ratio", "dirty_background_ratio":
		if n > 100 {
			return invalid(name)
		}
		k.switchOff(name, "ratio", "bytes", value)
	case "zfs_arc_max":
		if n >= 64<<20 && n > number(k.arcMin) {
			k.arcMax = value
		}
	case "zfs_arc_min":
		if n >= 32<<20 && n <= number(k.arcMax) {
			k.arcMin = value
		}
	}
	k.node[name] = value
	return nil
}

// switchOff sets the other setting of an exclusive pair to 0 if this one
// changes.
func (k *Kernel) switchOff(name, own, other, value string) {
	if k.node[name] != value {
		k.node[strings.TrimSuffix(name, own)+other] = "0"
	}
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64) // the callers pass numbers only
	return n
}

func (d *disk) write(name, attribute, value string) error {
	n, err := strconv.Atoi(value)
	isNumber := err == nil && n >= 0
	switch attribute {
	case "queue/scheduler":
		return d.schedule(name, value)
	case "queue/write_cache":
		if value != "write back" && value != "write through" {
			return invalid(name)
		}
		d.attributes[attribute] = value
		d.limits()
		return nil
	}
	if !isNumber {
		return invalid(name)
	}
	switch attribute {
	case "queue/nr_requests":
		if d.attributes["queue/scheduler"] == "none" && n > 128 {
			return invalid(name)
		}
		n = max(n, 4)
		d.rescale(n)
	case "queue/max_sectors_kb":
		if n < 4 {
			return invalid(name)
		}
		n = min(n, 1280)
		defer d.limits()
	case "queue/read_ahead_kb":
		n = n / 4 * 4
	case queueAsyncDepth:
		if n < 1 || d.attributes["queue/scheduler"] == "none" {
			return invalid(name)
		}
		n = int(min(uint64(n), number(d.attributes["queue/nr_requests"])))
	case "device/queue_depth":
		if n < 1 || n > 64 {
			return invalid(name)
		}
	}
	d.attributes[attribute] = strconv.Itoa(n)
	return nil
}

func (d *disk) schedule(name, value string) error {
	if !slices.Contains([]string{"none", "mq-deadline", "kyber", "bfq"}, value) {
		return invalid(name)
	}
	if value == d.attributes["queue/scheduler"] {
		return nil
	}
	d.attributes["queue/scheduler"], d.attributes["queue/nr_requests"] = value, "256"
	if value == "none" {
		d.attributes["queue/nr_requests"] = "128"
	}
	for _, name := range d.ofScheduler() {
		delete(d.attributes, iosched+name)
	}
	_, moved := d.attributes[queueAsyncDepth]
	if moved {
		d.attributes[queueAsyncDepth] = d.attributes["queue/nr_requests"]
	}
	if value == "mq-deadline" {
		d.attributes[map[bool]string{true: queueAsyncDepth, false: asyncDepth}[moved]] = "192"
		d.attributes[iosched+"read_expire"] = "500"
	}
	return nil
}

// rescale changes what depends on the number of requests.
func (d *disk) rescale(requests int) {
	if _, ok := d.attributes[asyncDepth]; ok {
		d.attributes[asyncDepth] = strconv.Itoa(requests * 3 / 4)
	}
	if depth, ok := d.attributes[queueAsyncDepth]; ok {
		scaled := number(depth) * uint64(requests) / number(d.attributes["queue/nr_requests"]) //nolint:gosec // not negative
		d.attributes[queueAsyncDepth] = strconv.FormatUint(max(scaled, 1), 10)
	}
}

// MoveAsyncDepth gives a disk without a scheduler its async_depth where new kernels have it: with the queue.
func (k *Kernel) MoveAsyncDepth(name string) {
	d := k.disks[name]
	d.attributes[queueAsyncDepth] = d.attributes["queue/nr_requests"]
}

// What a scheduler has of its own: it begins with the scheduler and ends with it.
const (
	iosched         = "queue/iosched/"
	asyncDepth      = iosched + "async_depth"
	queueAsyncDepth = "queue/async_depth"
)

func (d *disk) ofScheduler() (names []string) {
	for _, attribute := range slices.Sorted(maps.Keys(d.attributes)) {
		if name, ok := strings.CutPrefix(attribute, iosched); ok {
			names = append(names, name)
		}
	}
	return names
}
