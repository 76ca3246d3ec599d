// Package fair gives out a bounded number of places, so that nobody who takes many keeps others out.
//
// In: who asks. Out: a place, or none. A holder's share is a part of what is still free, so it shrinks while others
// come. When all places are taken, a newcomer gets the oldest place of whoever has the most.
//
// A Listener gives places to connections, by address. It always accepts, and closes what has no place: a connection
// that waits in the kernel's queue cannot be told from others, and honest ones wait behind the flood.
package fair

import (
	"slices"
	"sync"
	"time"
)

// part of the free places that a holder may have.
const part = 4

// Places are a number of places.
type Places struct {
	// Max is how many there are.
	Max int
	// Spared is how long a place is safe from newcomers.
	Spared time.Duration
	// Replace lets a holder whose share is used up have another place for its oldest one. Without it, the
	// holder has to wait until one of its own is free.
	Replace bool

	mu sync.Mutex
	// taken, the oldest first.
	taken []*Place
}

// Place is one that is taken.
type Place struct {
	of    *Places
	who   string
	since time.Time
	end   func()
	kept  bool
}

// Take returns a place, or nil. It calls end when the place goes to somebody else.
func (p *Places) Take(who string, end func()) *Place {
	taken, given := p.take(who, end)
	if given != nil {
		given.end()
	}
	return taken
}

// take also returns the place that was given to the newcomer.
func (p *Places) take(who string, end func()) (taken, given *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := p.held()
	free := p.Max - len(p.taken)
	mayHaveMore := held[who] < max(1, free/part)
	if !mayHaveMore || free == 0 {
		switch {
		case mayHaveMore:
			given = p.ofHeaviest(held)
		case p.Replace:
			given = p.oldest(func(at *Place) bool { return at.who == who })
		}
		if given == nil {
			return nil, nil
		}
	}
	p.remove(given)
	taken = &Place{of: p, who: who, since: time.Now(), end: end}
	p.taken = append(p.taken, taken)
	return taken, given
}

func (p *Places) held() map[string]int {
	held := map[string]int{}
	for _, at := range p.taken {
		held[at.who]++
	}
	return held
}

// ofHeaviest returns the oldest place that may be given away, of whoever has the most.
func (p *Places) ofHeaviest(held map[string]int) *Place {
	most := 0
	for _, at := range p.taken {
		if p.givable(at) {
			most = max(most, held[at.who])
		}
	}
	return p.oldest(func(at *Place) bool { return held[at.who] == most })
}

// oldest returns the oldest place that may be given away, of some.
func (p *Places) oldest(of func(*Place) bool) *Place {
	for _, at := range p.taken {
		if of(at) && p.givable(at) {
			return at
		}
	}
	return nil
}

func (p *Places) givable(at *Place) bool {
	return !at.kept && time.Since(at.since) >= p.Spared
}

func (p *Places) remove(at *Place) {
	if i := slices.Index(p.taken, at); i >= 0 {
		p.taken = slices.Delete(p.taken, i, i+1)
	}
}

// Leave frees the place, unless somebody else has it already.
func (at *Place) Leave() {
	at.of.mu.Lock()
	defer at.of.mu.Unlock()
	at.of.remove(at)
}

// keep says whether the place is safe from newcomers.
func (at *Place) keep(kept bool) {
	at.of.mu.Lock()
	defer at.of.mu.Unlock()
	at.kept = kept
}
