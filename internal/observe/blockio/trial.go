package blockio

import (
	"fmt"
	"math"

	"storagebench.io/storagebench/internal/histogram"
	"storagebench.io/storagebench/internal/result"
)

// Trial returns what the disks' requests did between two snapshots, disk by disk and as metrics
// of all disks together.
func (c *Collector) Trial(before, end Snapshot) ([]result.DeviceRequests, result.Metrics) {
	end.since(before)
	var devices []result.DeviceRequests
	for i, d := range c.disks {
		end.disks[i].calibrate()
		devices = append(devices, document(d.Name, &end.disks[i]))
	}
	m := metrics(end)
	return devices, m
}

// document describes the requests of one disk.
func document(name string, s *diskSnapshot) result.DeviceRequests {
	d := result.DeviceRequests{
		Name: name, Operations: map[string]result.Requests{}, Origins: map[string]result.RequestSum{},
		Sequential: s.counters[numSequential], Random: s.counters[numRandom], Dropped: s.counters[numDropped],
	}
	for op, word := range result.RequestOperations {
		if s.counters[op*perOperation+opIssued] == 0 {
			continue
		}
		r := result.Requests{
			RequestSum: result.RequestSum{Count: s.counters[op*perOperation+opIssued], Bytes: s.counters[op*perOperation+opBytes]},
			Wait:       s.times(op, kindWait), Latency: s.times(op, kindTime), Sizes: s.sizes(op),
		}
		if sampled := s.counters[op*perOperation+opSampled]; sampled < r.Count {
			r.Sampled = &sampled
		}
		d.Operations[word] = r
	}
	for origin, word := range []string{originOwn: "own", originForeign: "foreign", originUnknown: "unknown"} {
		if n := s.counters[numOrigins+2*origin]; n > 0 {
			d.Origins[word] = result.RequestSum{Count: n, Bytes: s.counters[numOrigins+2*origin+1]}
		}
	}
	for i, n := range s.counters[numDistances:] {
		if n > 0 {
			d.Distances = append(d.Distances, [2]uint64{distance(i), n})
		}
	}
	return d
}

// distance is the lowest one of a bucket in bytes: 0, 1 sector, 2, 4, …
func distance(bucket int) uint64 {
	if bucket == 0 {
		return 0
	}
	return 1 << (bucket - 1) << sectorBits
}

// times returns one of an operation's histograms of nanoseconds.
func (s *diskSnapshot) times(op, kind int) *histogram.Histogram {
	if s.histograms[op][kind] == nil {
		return &histogram.Histogram{}
	}
	return histogram.FromBuckets(s.histograms[op][kind][:])
}

// sizes returns an operation's request sizes in bytes.
func (s *diskSnapshot) sizes(op int) [][2]uint64 {
	var out [][2]uint64
	if h := s.histograms[op][kindSize]; h != nil {
		for i, n := range h {
			if n > 0 {
				out = append(out, [2]uint64{lowest(i) << sectorBits, n})
			}
		}
	}
	return out
}

// lowest is the lowest value of a bucket. Sizes are usually round, and in a bucket of many sizes
// the lowest one is.
func lowest(bucket int) uint64 {
	if bucket < 2<<bucketBits {
		return uint64(bucket) //nolint:gosec // an index
	}
	shift := bucket>>bucketBits - 1
	return uint64(1<<bucketBits+bucket&(1<<bucketBits-1)) << shift //nolint:gosec // an index
}

// metrics of all disks together.
func metrics(s Snapshot) result.Metrics {
	var sum diskSnapshot
	for i := range s.disks {
		sum.merge(&s.disks[i])
	}
	m := result.Metrics{}
	queue, waited, missed := &histogram.Histogram{}, 0.0, s.missed+sum.counters[numDropped]
	var issued, sampled uint64
	for op, word := range result.RequestOperations {
		c := sum.counters[op*perOperation:]
		if c[opIssued] > 0 && (op == FUA || op == Discard) {
			m.Set("device."+word+".count", result.Count, float64(c[opIssued]))
			m.Set("device."+word+".bytes", result.Bytes, float64(c[opBytes]))
		}
		issued, sampled = issued+c[opIssued], sampled+c[opSampled]
		missed += c[opSampled] - min(c[opSampled], c[opSeen])
		if c[opDone] == 0 {
			continue
		}
		n := float64(c[opDone])
		wait, latency := sum.times(op, kindWait), sum.times(op, kindTime)
		setTimes(m, "device."+word+".latency", float64(c[opTime])/n, latency, 50, 99, 99.9, 100)
		setTimes(m, "device."+word+".wait", float64(c[opWait])/n, wait, 99)
		queue.Merge(wait)
		waited += float64(c[opWait])
	}
	if n := queue.Count(); n > 0 {
		setTimes(m, "device.queue.wait", waited/float64(n), queue, 50, 99, 99.9, 100)
	}
	sum.setSizes(m)
	sum.setSeeks(m)
	sum.setOrigins(m)
	m.Set("device.requests.missed", result.Count, float64(missed))
	if issued > 0 {
		m.Set("device.sampled.share", result.Ratio, min(1, float64(sampled)/float64(issued)))
	}
	return m
}

// setTimes sets the mean of times and some of their percentiles; that of 100 is the longest. A
// summary has room for a few.
func setTimes(m result.Metrics, name string, mean float64, h *histogram.Histogram, percentiles ...float64) {
	m.Set(name+".mean", result.Seconds, mean/1e9)
	for _, p := range percentiles {
		word := fmt.Sprintf("p%g", p)
		if p == 100 {
			word = "max"
		}
		m.Set(name+"."+word, result.Seconds, float64(h.Percentile(p))/1e9)
	}
}

// merge adds another disk's numbers.
func (s *diskSnapshot) merge(other *diskSnapshot) {
	add(s.counters[:], other.counters[:])
	for op := range Operations {
		for kind, h := range other.histograms[op] {
			if h == nil {
				continue
			}
			if s.histograms[op][kind] == nil {
				s.histograms[op][kind] = &histogramCounts{}
			}
			add(s.histograms[op][kind][:], h[:])
		}
	}
}

// setSizes sets the sizes of reads and writes.
func (s *diskSnapshot) setSizes(m result.Metrics) {
	var all histogramCounts
	var count, bytes uint64
	for _, op := range []int{Read, Write, FUA} {
		if h := s.histograms[op][kindSize]; h != nil {
			add(all[:], h[:])
		}
		count += s.counters[op*perOperation+opIssued]
		bytes += s.counters[op*perOperation+opBytes]
	}
	if count == 0 || bytes == 0 {
		return
	}
	m.Set("device.request.size.mean", result.Bytes, float64(bytes)/float64(count))
	m.Set("device.request.size.p50", result.Bytes, float64(lowest(percentile(all[:], 50))<<sectorBits))
	m.Set("device.request.size.p99", result.Bytes, float64(lowest(percentile(all[:], 99))<<sectorBits))
}

// setSeeks sets how the disks' heads would have moved.
func (s *diskSnapshot) setSeeks(m result.Metrics) {
	if all := s.counters[numSequential] + s.counters[numRandom]; all > 0 {
		m.Set("device.seek.random", result.Ratio, float64(s.counters[numRandom])/float64(all))
		m.Set("device.seek.distance.p50", result.Bytes, float64(distance(percentile(s.counters[numDistances:], 50))))
	}
}

// setOrigins sets the shares of bytes that are not the workload's, or not known to be. Without
// any that is known, there is no share.
func (s *diskSnapshot) setOrigins(m result.Metrics) {
	bytes := func(origin int) float64 { return float64(s.counters[numOrigins+2*origin+1]) }
	all := bytes(originOwn) + bytes(originForeign) + bytes(originUnknown)
	if all == 0 {
		return
	}
	m.Set("device.unknown.share", result.Ratio, bytes(originUnknown)/all)
	if bytes(originOwn)+bytes(originForeign) > 0 {
		m.Set("device.foreign.share", result.Ratio, bytes(originForeign)/all)
	}
}

// percentile returns the bucket of the nearest rank.
func percentile(counts []uint64, p float64) int {
	var all, seen uint64
	for _, n := range counts {
		all += n
	}
	rank := max(1, uint64(math.Ceil(p*float64(all)/100)))
	for i, n := range counts {
		if seen += n; n > 0 && seen >= rank {
			return i
		}
	}
	return 0
}
