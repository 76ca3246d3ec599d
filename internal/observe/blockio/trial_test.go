package blockio

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
)

// request counts a request as the programs do.
func (s *diskSnapshot) request(op, origin int, wait, time, bytes uint64) {
	c := s.counters[op*perOperation:]
	c[opIssued]++
	c[opSampled]++
	c[opWeighed]++
	c[opSeen]++
	c[opDone]++
	c[opBytes] += bytes
	c[opTime] += time
	c[opWait] += wait
	s.counters[numOrigins+2*origin]++
	s.counters[numOrigins+2*origin+1] += bytes
	for kind, value := range []uint64{kindWait: wait, kindTime: time, kindSize: bytes >> sectorBits} {
		if s.histograms[op][kind] == nil {
			s.histograms[op][kind] = &histogramCounts{}
		}
		if kind != kindSize || bytes > 0 {
			s.histograms[op][kind][bucketOf(value)]++
		}
	}
}

// bucketOf finds a value's bucket from the values of the buckets.
func bucketOf(v uint64) int {
	for i := 1; i < buckets; i++ {
		if lowest(i) > v {
			return i - 1
		}
	}
	return buckets - 1
}

func TestBucketsAreThoseOfTheHistogram(t *testing.T) {
	for _, v := range []uint64{0, 1, 127, 128, 129, 130, 4095, 4096, 1 << 20, 1<<20 - 1, 123_456_789, 1<<36 + 5, maxValue} {
		want := &histogram.Histogram{}
		want.Add(v, 3)
		counts := make([]uint64, buckets)
		counts[bucketOf(v)] = 3
		if got := histogram.FromBuckets(counts); got.Count() != 3 || got.Percentile(50) != want.Percentile(50) {
			t.Errorf("%d is counted as %d, want %d", v, got.Percentile(50), want.Percentile(50))
		}
	}
	if last := lowest(buckets - 1); last > maxValue || bucketOf(maxValue) != buckets-1 {
		t.Errorf("the last bucket begins at %d", last)
	}
}

// twoDisks is a collector of two disks that have done something before the trial, too.
func twoDisks() (c *Collector, before, end Snapshot) {
	c = &Collector{disks: []Disk{{Name: "sda"}, {Name: "sdb"}}}
	count := func(trial bool) Snapshot {
		s := Snapshot{disks: make([]diskSnapshot, 2), missed: 4}
		s.disks[0].request(Read, originUnknown, 7, 7, 512)
		if !trial {
			return s
		}
		s.missed++
		for range 99 {
			s.disks[0].request(Write, originOwn, 1000, 5000, 4096)
		}
		s.disks[0].request(FUA, originForeign, 0, 100_000, 8192)
		s.disks[0].request(Flush, originUnknown, 0, 50_000, 0)
		s.disks[0].counters[numDropped] = 2
		s.disks[0].counters[FUA*perOperation+opIssued]++ // its completion was not seen
		s.disks[0].counters[FUA*perOperation+opSampled]++
		s.disks[0].counters[numSequential], s.disks[0].counters[numRandom] = 25, 75
		s.disks[0].counters[numDistances], s.disks[0].counters[numDistances+11] = 25, 75
		s.disks[1].request(Discard, originUnknown, 0, 1000, 1<<20)
		return s
	}
	return c, count(false), count(true)
}

func TestADocumentHoldsOnlyWhatHappenedInTheTrial(t *testing.T) {
	c, before, end := twoDisks()
	devices, _ := c.Trial(before, end)
	if len(devices) != 2 || devices[0].Name != "sda" || devices[1].Name != "sdb" {
		t.Fatalf("the devices are %+v", devices)
	}
	first := devices[0]
	sums := map[string]result.RequestSum{}
	for op, r := range first.Operations {
		sums[op] = r.RequestSum
		if seen := min(r.Count, 99); op != "fua" && (r.Latency.Count() != seen || r.Wait.Count() != seen) {
			t.Errorf("%s: %d requests, but %d times and %d waits", op, r.Count, r.Latency.Count(), r.Wait.Count())
		}
	}
	if diff := cmp.Diff(map[string]result.RequestSum{"write": {Count: 99, Bytes: 99 * 4096}, "fua": {Count: 2, Bytes: 8192}, "flush": {Count: 1}}, sums); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][2]uint64{{4096, 99}}, first.Operations["write"].Sizes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][2]uint64{{0, 25}, {512 << 10, 75}}, first.Distances); diff != "" {
		t.Error(diff)
	}
	want := map[string]result.RequestSum{"own": {Count: 99, Bytes: 99 * 4096}, "foreign": {Count: 1, Bytes: 8192}, "unknown": {Count: 1}}
	if diff := cmp.Diff(want, first.Origins); diff != "" {
		t.Error(diff)
	}
	if first.Dropped != 2 || first.Sequential != 25 || first.Random != 75 {
		t.Errorf("dropped %d, sequential %d, random %d", first.Dropped, first.Sequential, first.Random)
	}
}

func TestMetricsAreOfAllDisks(t *testing.T) {
	c, before, end := twoDisks()
	_, m := c.Trial(before, end)
	const bytes = 99*4096 + 8192 + 1<<20
	for name, want := range map[string]float64{
		"device.write.latency.mean": 5e-6, "device.write.wait.mean": 1e-6, "device.fua.count": 2, "device.fua.bytes": 8192,
		"device.discard.count": 1, "device.discard.bytes": 1 << 20, "device.request.size.p50": 4096, "device.request.size.p99": 4096,
		"device.request.size.mean": (99*4096 + 8192) / 101.0, "device.seek.random": 0.75, "device.seek.distance.p50": 512 << 10,
		"device.foreign.share": 8192.0 / bytes, "device.unknown.share": (1 << 20) / float64(bytes), "device.requests.missed": 4,
	} {
		if got, ok := m[name]; !ok || got.Value < want*0.999999 || got.Value > want*1.000001 {
			t.Errorf("%s is %+v, want %v", name, got, want)
		}
	}
	for name, about := range map[string]float64{
		"device.write.latency.p50": 5e-6, "device.write.wait.p99": 1e-6, "device.flush.latency.max": 50e-6, "device.queue.wait.p50": 1e-6,
	} {
		if got := m[name].Value; got < about*(1-1.0/128) || got > about*(1+1.0/128) {
			t.Errorf("%s is %v, want about %v", name, got, about)
		}
	}
	if _, ok := m["device.read.latency.p50"]; ok {
		t.Error("a read that was before the trial counts")
	}
}

func TestWithoutAKnownOriginThereIsNoShareOfOthers(t *testing.T) {
	c := &Collector{disks: []Disk{{Name: "sda"}}}
	s := Snapshot{disks: make([]diskSnapshot, 1)}
	s.disks[0].request(Write, originUnknown, 0, 10, 512)
	_, m := c.Trial(Snapshot{disks: make([]diskSnapshot, 1)}, s)
	if _, ok := m["device.foreign.share"]; ok || m["device.unknown.share"].Value != 1 {
		t.Errorf("the metrics are %v", m)
	}
	if _, idle := c.Trial(s, s); len(idle) != 1 {
		t.Errorf("of an idle disk: %v", idle)
	}
}

// Of the reads one of eight is in the sample, and each counts for eight; all flushes are.
func TestASampleIsSaidToBeOne(t *testing.T) {
	c := &Collector{disks: []Disk{{Name: "sda"}}}
	s := Snapshot{disks: make([]diskSnapshot, 1)}
	d := &s.disks[0]
	for range 8 {
		d.request(Read, originOwn, 0, 5000, 4096)
		d.request(Flush, originUnknown, 0, 1000, 0)
	}
	d.counters[Read*perOperation+opSampled], d.counters[Read*perOperation+opSeen] = 1, 1
	d.counters[Read*perOperation+opIssued], d.counters[Read*perOperation+opBytes] = 16, 16*4096 // the sample is short by half
	// Most were the first ones of their window.
	d.counters[numSequential], d.counters[numRandom] = 1, 3
	d.counters[numDistances], d.counters[numDistances+11] = 1, 3
	devices, m := c.Trial(Snapshot{disks: make([]diskSnapshot, 1)}, s)
	got := devices[0]
	if r := got.Operations["read"]; r.Sampled == nil || *r.Sampled != 1 || r.Count != 16 || r.Latency.Count() != 16 || r.Sizes[0] != [2]uint64{4096, 16} {
		t.Errorf("the reads are %+v", r)
	}
	if r := got.Operations["flush"]; r.Sampled != nil {
		t.Errorf("of the flushes, %d are said to be in the sample", *r.Sampled)
	}
	// The shares of origins are those of the sample, of which operation they are is not known.
	if diff := cmp.Diff(map[string]result.RequestSum{"own": {Count: 12, Bytes: 16 * 4096}, "unknown": {Count: 12}}, got.Origins); diff != "" {
		t.Error(diff)
	}
	if got.Sequential != 4 || got.Random != 12 {
		t.Errorf("sequential %d, random %d", got.Sequential, got.Random)
	}
	if diff := cmp.Diff([][2]uint64{{0, 4}, {512 << 10, 12}}, got.Distances); diff != "" {
		t.Error(diff)
	}
	if got := m["device.sampled.share"].Value; got != 9.0/24 {
		t.Errorf("%v of the requests are in the sample", got)
	}
	if got := m["device.requests.missed"].Value; got != 0 {
		t.Errorf("%v are missing", got)
	}
}
