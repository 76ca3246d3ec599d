package postmark

// random is the Mersenne Twister MT19937 of Matsumoto and Nishimura (ACM TOMACS 8,
// 1998), seeded as they did until 2002: a multiplicative generator gives the upper
// and the lower half of each word. PostMark draws everything from it.
type random struct {
	state [stateWords]uint32
	next  int
}

const (
	stateWords  = 624
	middleWord  = 397
	twist       = 0x9908b0df
	multiplier  = 69069
	upperHalf   = 0xffff0000
	highestBit  = 0x80000000
	temperFirst = 0x9d2c5680
	temperLast  = 0xefc60000
)

func newRandom(seed uint32) *random {
	r := &random{next: stateWords}
	for i := range r.state {
		high := seed & upperHalf
		seed = seed*multiplier + 1
		r.state[i] = high | seed>>16
		seed = seed*multiplier + 1
	}
	return r
}

// below returns a number from 0 to n-1, and 0 without drawing if there is none. The
// remainder favours small numbers by at most n/2³²; the original has it so.
func (r *random) below(n int) int {
	if n <= 0 {
		return 0
	}
	return int(uint64(r.draw()) % uint64(n))
}

func (r *random) draw() uint32 {
	if r.next == stateWords {
		r.refill()
	}
	y := r.state[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & temperFirst
	y ^= y << 15 & temperLast
	return y ^ y>>18
}

func (r *random) refill() {
	for i := range r.state {
		y := r.state[i]&highestBit | r.state[(i+1)%stateWords]&^highestBit
		r.state[i] = r.state[(i+middleWord)%stateWords] ^ y>>1 ^ -(y&1)&twist
	}
	r.next = 0
}

// seedOf mixes a seed with the numbers of a repeat and a thread, so that neighbours
// have nothing in common (the finalizer of SplitMix64).
func seedOf(seed int64, repeat, thread int) uint32 {
	z := uint64(seed)<<32 ^ uint64(repeat)<<16 ^ uint64(thread)
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint32((z ^ z>>31) >> 32)
}
