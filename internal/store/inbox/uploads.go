package inbox

import (
	"sync"
	"time"
)

// Bounds of the uploads that are read at a time.
const (
	// maxUploads of all namespaces. One that uploads beside no other has two of them.
	maxUploads = 12
	// sparedTime is how long an upload may take while a namespace without one finds no place. Most take less
	// than a second.
	sparedTime = 10 * time.Second
	// minRate is how many bytes of a file have to come in a second, once unknownTime is over.
	minRate = 128 << 10
)

// pace ends an upload whose bytes come too slowly, or whose place has gone to another one.
type pace struct {
	// set sets until when the request is read.
	set   func(time.Time) error
	begun time.Time

	mu   sync.Mutex
	read int
	over bool
}

// came allows the time for the next bytes.
func (p *pace) came(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.read += n
	allowed := unknownTime + time.Duration(p.read)*time.Second/minRate
	_ = p.set(p.begun.Add(min(allowed, knownTime))) // a test's recorder has no deadline
}

// end ends the upload, also a read that waits.
func (p *pace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	_ = p.set(p.begun)
}
