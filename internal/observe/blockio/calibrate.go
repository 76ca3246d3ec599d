package blockio

import "math"

// calibrate makes of what a sample stands for estimates of all requests. How many there were and
// their bytes is known exactly, and so the sample need only tell how they are distributed. Without a
// sample it changes nothing.
func (s *diskSnapshot) calibrate() {
	var all, moved, bytes uint64
	sample := false
	for op := range Operations {
		of := s.counters[op*perOperation:]
		all += of[opIssued]
		if op <= FUA {
			moved, bytes = moved+of[opIssued], bytes+of[opBytes]
		}
		if of[opSampled] >= of[opIssued] {
			continue
		}
		sample = true
		scale(of[opDone:opWait+1], of[opWeighed], of[opIssued])
		for _, h := range s.histograms[op] {
			if h != nil {
				scale(h[:], of[opWeighed], of[opIssued])
			}
		}
	}
	if !sample {
		return
	}
	var counted, carried uint64
	for origin := range origins {
		counted, carried = counted+s.counters[numOrigins+2*origin], carried+s.counters[numOrigins+2*origin+1]
	}
	for origin := range origins {
		scale(s.counters[numOrigins+2*origin:][:1], counted, all)
		scale(s.counters[numOrigins+2*origin+1:][:1], carried, bytes)
	}
	// The first ones of each window are not among the seeks.
	sought := s.counters[numSequential] + s.counters[numRandom]
	scale(s.counters[numSequential:numRandom+1], sought, moved)
	scale(s.counters[numDistances:], sought, moved)
}

// scale multiplies numbers with to/from.
func scale(values []uint64, from, to uint64) {
	if from == 0 {
		return
	}
	for i, v := range values {
		values[i] = uint64(math.Round(float64(v) * float64(to) / float64(from)))
	}
}
