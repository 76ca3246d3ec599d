package postmark

import "math"

const (
	block     = 4096 // that a file system gives out
	deviation = 4    // standard deviations: once in 30,000 trials there are more files
)

// mostFiles is how many files there are at once: those at the beginning, and what
// transactions add. That is a random walk, and a table has two slots for each file.
func (c config) mostFiles() uint64 {
	if c.CreateBias < 0 {
		return uint64(c.Files)
	}
	p, n := float64(c.CreateBias)/10, float64(c.Transactions)
	growth := max(0, n*(2*p-1)+deviation*2*math.Sqrt(n*p*(1-p)))
	return uint64(c.Files) + uint64(min(growth, float64(c.Files)))
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
