package histogram

// Recorder counts values where every nanosecond matters: in one thread, without
// allocation, in about two nanoseconds each. It uses 30 KB. The zero value is ready
// to use.
type Recorder struct {
	counts [maxIndex]uint64
	n      uint64
	sum    uint64
	max    uint64
}

// Record counts one value of v nanoseconds.
func (r *Recorder) Record(v uint64) {
	r.counts[index(v)]++
	r.n++
	r.sum += v
	r.max = max(r.max, v)
}

// Merge adds the counts of other.
func (r *Recorder) Merge(other *Recorder) {
	for i, n := range &other.counts {
		r.counts[i] += n
	}
	r.n += other.n
	r.sum += other.sum
	r.max = max(r.max, other.max)
}

// Count returns the number of values.
func (r *Recorder) Count() uint64 { return r.n }

// Mean returns the mean in nanoseconds, or 0 if there is no value.
func (r *Recorder) Mean() float64 {
	if r.n == 0 {
		return 0
	}
	return float64(r.sum) / float64(r.n)
}

// Max returns the exact largest value in nanoseconds, not rounded to a bucket.
func (r *Recorder) Max() uint64 { return r.max }

// Histogram returns the counts, for documents.
func (r *Recorder) Histogram() *Histogram {
	h := &Histogram{counts: map[int]uint64{}, total: r.n}
	for i, n := range &r.counts {
		if n > 0 {
			h.counts[i] = n
		}
	}
	return h
}
