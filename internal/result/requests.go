package result

import (
	"fmt"
	"slices"

	"storagebench.io/storagebench/internal/histogram"
)

// DeviceRequests is what the requests of one leaf disk did during a trial, as the kernel's
// tracepoints saw them.
//
// Of a disk with very many requests, a sample is observed (Requests.Sampled). The numbers and bytes of
// its operations are exact all the same. Everything else is then an estimate of what all did: each
// request in the sample counts for as many as it stands for.
type DeviceRequests struct {
	// Name of the disk in /sys/block.
	Name string `json:"name"`
	// Operations by name: read, write, fua (a write past the disk's cache), flush, discard, other.
	// Those that did not occur are absent.
	Operations map[string]Requests `json:"operations"`
	// Sequential and Random are the reads and writes that began where one of the last eight
	// streams ended, and those that did not.
	Sequential uint64 `json:"sequential"`
	Random     uint64 `json:"random"`
	// Distances of reads and writes from the end of the one before: [lowest distance in bytes,
	// count], ascending, in powers of two.
	Distances [][2]uint64 `json:"distances,omitempty"`
	// Origins of the requests: own (the workload's processes), foreign (other processes),
	// unknown (the kernel's threads).
	Origins map[string]RequestSum `json:"origins,omitempty"`
	// Dropped requests are missing in all of the above, for lack of room.
	Dropped uint64 `json:"dropped,omitempty"`
}

// Requests of one operation.
type Requests struct {
	RequestSum
	// Sampled is how many of Count the histograms and sizes are of, when the disk had more requests
	// than can be observed at little cost: their counts are then estimates of all. Absent: all of them.
	Sampled *uint64 `json:"sampled,omitempty"`
	// Wait is from the queue to the driver, Latency from the driver to the end.
	Wait    *histogram.Histogram `json:"wait"`
	Latency *histogram.Histogram `json:"latency"`
	// Sizes of requests: [bytes, count], ascending; above 64 KiB to 1/64.
	Sizes [][2]uint64 `json:"sizes,omitempty"`
}

// RequestSum is how many requests there were, of how many bytes.
type RequestSum struct {
	Count uint64 `json:"count"`
	Bytes uint64 `json:"bytes"`
}

// Observer is an instrument that needs a privilege or a kernel that not every worker has.
type Observer struct {
	// Name of the instrument: requests (tracepoints of the block layer, with eBPF).
	Name string `json:"name"`
	// Seen are the disks that it observed.
	Seen []string `json:"seen,omitempty"`
	// Unseen says what it did not observe, and why.
	Unseen []string `json:"unseen,omitempty"`
}

// SampleNote says in words that figures of the disks' requests are estimates; empty: all requests
// were observed.
func SampleNote(devices []DeviceRequests) string {
	var all, sampled uint64
	for _, d := range devices {
		for _, r := range d.Operations {
			all += r.Count
			if r.Sampled != nil {
				sampled += *r.Sampled
			} else {
				sampled += r.Count
			}
		}
	}
	if sampled >= all {
		return ""
	}
	return fmt.Sprintf("%.2g %% of the disks' requests were observed one by one: there were more than can be observed at little cost. "+
		"How many there were of each operation, their bytes, and all of flushes, FUA writes and discards are exact; "+
		"waits, latencies, sizes, seeks and origins of reads and writes are estimates", 100*float64(sampled)/float64(all))
}

// RequestOperations are the names of the operations of requests.
var RequestOperations = []string{"read", "write", "fua", "flush", "discard", "other"}

// RequestsObserver is the name of the observer of requests.
const RequestsObserver = "requests"

// deviceHistograms returns the histograms of the disks' requests, of all disks together, under
// the names that the metrics have.
func deviceHistograms(devices []DeviceRequests) Histograms {
	out := Histograms{}
	add := func(name string, h *histogram.Histogram) {
		if h != nil && h.Count() > 0 {
			out.Merge(Histograms{name: h})
		}
	}
	for _, d := range devices {
		for _, op := range RequestOperations {
			r := d.Operations[op]
			add("device."+op, r.Latency)
			add("device."+op+".wait", r.Wait)
			add("device.queue.wait", r.Wait)
		}
	}
	return out
}

// DeviceHistograms returns the histograms of the disks' requests, by the names that the metrics
// have: device.read is that of device.read.latency.p99, device.read.wait of device.read.wait.p99. How
// many values they have is an estimate, and more than were seen, where device.sampled.share is below 1.
func (m *Measurement) DeviceHistograms() Histograms { return deviceHistograms(m.Devices) }

const (
	maxDevices    = 64
	maxDeviceBins = 4096
)

// checkDevices bounds what a tenant can upload.
func checkDevices(devices []DeviceRequests) error {
	if len(devices) > maxDevices {
		return fmt.Errorf("it has the requests of %d disks, the limit is %d", len(devices), maxDevices)
	}
	for _, d := range devices {
		switch {
		case !operationPattern.MatchString(d.Name):
			return fmt.Errorf("a disk has the invalid name %.64q", d.Name)
		case len(d.Origins) > maxOperations:
			return fmt.Errorf("disk %.64q has %d origins, the limit is %d", d.Name, len(d.Origins), maxOperations)
		case len(d.Distances) > maxDeviceBins:
			return fmt.Errorf("disk %.64q has %d distances, the limit is %d", d.Name, len(d.Distances), maxDeviceBins)
		}
		for op, r := range d.Operations {
			if !slices.Contains(RequestOperations, op) {
				return fmt.Errorf("disk %.64q has the operation %.64q, expected one of %v", d.Name, op, RequestOperations)
			}
			if len(r.Sizes) > maxDeviceBins {
				return fmt.Errorf("operation %s of disk %.64q has %d sizes, the limit is %d", op, d.Name, len(r.Sizes), maxDeviceBins)
			}
		}
	}
	return nil
}
