package postmark

import "math"

// block is what file systems give out.
const block = 4096

// deviations of a random walk above its mean that are allowed for. One in 30,000 is
// further up at its end.
const deviations = 4

// mostFiles is how many files there are at once: those at the beginning, and what
// transactions add, which is a random walk. A table has two slots for each file.
func (c config) mostFiles() uint64 {
	if c.CreateBias < 0 {
		return uint64(c.Files)
	}
	p, n := float64(c.CreateBias)/10, float64(c.Transactions)
	// After t steps: the mean is drift·t, the standard deviation 2·√(p(1−p)t).
	drift, spread := 2*p-1, deviations*2*math.Sqrt(p*(1-p))
	at := n
	if drift < 0 {
		root := spread / (2 * -drift)
		at = min(n, root*root) // where drift·t + spread·√t is highest
	}
	growth := math.Ceil(drift*at + spread*math.Sqrt(at))
	return uint64(c.Files) + uint64(min(growth, n, float64(c.Files)))
}

// room is how many bytes the files take when every one of them is full.
func (c config) room() uint64 {
	size := (uint64(c.MaxSize) + block - 1) / block * block
	return c.mostFiles()*size + c.directories()*block
}

// directories that are made.
func (c config) directories() uint64 {
	n := uint64(1)
	if !c.compatible() {
		n += uint64(c.Threads)
	}
	if c.Subdirectories > 1 {
		n += uint64(c.Threads) * uint64(c.Subdirectories)
	}
	return n
}
