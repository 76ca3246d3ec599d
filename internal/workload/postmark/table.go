package postmark

import "math/bits"

// file is one file of a table. Its name is its number: 8 bytes a slot, 16 a file, as
// a table has two slots for each file that a trial begins with.
type file struct {
	size   uint32
	number uint32
}

// table holds the files that are there.
//
// In mode Modern they are its first ones: to pick one takes one draw, however few are
// left. In mode Compatible a file keeps its slot, which of the slots is taken next
// depends on what was deleted before, and picking tries slots until one is used.
type table struct {
	files []file
	// directories by slot; nil if all files are in one.
	directories []uint32
	used        int

	sparse *slots // of mode Compatible
	next   int    // the slot behind the one that was taken last, in mode Compatible
}

// pick returns the slot of any file. There must be one.
func (t *table) pick(r *random) int {
	if t.sparse == nil {
		return r.below(t.used)
	}
	for {
		if i := r.below(len(t.files)); !t.sparse.isFree(i) {
			return i
		}
	}
}

// take returns a slot for a new file, if one is left.
func (t *table) take() (slot int, ok bool) {
	if t.used == len(t.files) {
		return 0, false
	}
	slot = t.used
	if t.sparse != nil {
		slot = t.next
		if slot == len(t.files) || !t.sparse.isFree(slot) {
			slot = t.sparse.first()
		}
		t.sparse.take(slot)
		t.next = slot + 1
	}
	t.used++
	return slot, true
}

// release gives a slot back.
func (t *table) release(slot int) {
	t.used--
	if t.sparse != nil {
		t.sparse.release(slot)
		return
	}
	t.files[slot] = t.files[t.used]
	if t.directories != nil {
		t.directories[slot] = t.directories[t.used]
	}
}

// slots finds the first free slot without a look at each: a bit for each slot, and a
// bit for each word of those that has any. A set bit is free.
type slots struct {
	free  []uint64
	words []uint64
}

func newSlots(n int) *slots {
	s := &slots{free: make([]uint64, (n+63)/64)}
	s.words = make([]uint64, (len(s.free)+63)/64)
	for i := range n {
		s.release(i)
	}
	return s
}

func (s *slots) isFree(i int) bool { return s.free[i/64]>>(i%64)&1 == 1 }

func (s *slots) release(i int) {
	s.free[i/64] |= 1 << (i % 64)
	s.words[i/4096] |= 1 << (i / 64 % 64)
}

func (s *slots) take(i int) {
	s.free[i/64] &^= 1 << (i % 64)
	if s.free[i/64] == 0 {
		s.words[i/4096] &^= 1 << (i / 64 % 64)
	}
}

// first is the lowest free slot. There must be one.
func (s *slots) first() int {
	for i, words := range s.words {
		if words != 0 {
			word := i*64 + bits.TrailingZeros64(words)
			return word*64 + bits.TrailingZeros64(s.free[word])
		}
	}
	panic("postmark: a slot was asked for when none is free")
}
