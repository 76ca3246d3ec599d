package postmark

import "testing"

// naive is the table of the original: what is free is looked for slot by slot.
type naive struct {
	used []bool
	next int
}

func (n *naive) take() (int, bool) {
	if n.next < len(n.used) && !n.used[n.next] {
		n.used[n.next] = true
		n.next++
		return n.next - 1, true
	}
	for i, used := range n.used {
		if !used {
			n.used[i] = true
			n.next = i + 1
			return i, true
		}
	}
	return 0, false
}

func TestSlotsAreTakenInTheOrderOfTheOriginal(t *testing.T) {
	for _, size := range []int{1, 2, 63, 64, 65, 4096, 10000} {
		got, want := table{files: make([]file, size), sparse: newSlots(size)}, naive{used: make([]bool, size)}
		r := newRandom(uint32(size))
		for step := range 20 * size {
			if step < 2*size || r.below(2) == 0 { // full at first
				slot, ok := got.take()
				if wantSlot, wantOK := want.take(); ok != wantOK || ok && slot != wantSlot {
					t.Fatalf("size %d, step %d: slot %d, %v; want %d, %v", size, step, slot, ok, wantSlot, wantOK)
				}
			} else if got.used > 0 {
				slot := got.pick(r)
				if !want.used[slot] {
					t.Fatalf("size %d, step %d: slot %d was picked, which is free", size, step, slot)
				}
				got.release(slot)
				want.used[slot] = false
			}
		}
	}
}

func TestAModernTableHasItsFilesInFront(t *testing.T) {
	table := table{files: make([]file, 100), directories: make([]uint32, 100)}
	r, there, number := newRandom(1), map[uint32]bool{}, uint32(0)
	for range 5000 {
		if r.below(2) == 0 {
			slot, ok := table.take()
			if !ok {
				continue
			}
			number++
			table.files[slot], table.directories[slot] = file{number: number}, number
			there[number] = true
		} else if table.used > 0 {
			slot := table.pick(r)
			if n := table.files[slot].number; !there[n] || table.directories[slot] != n {
				t.Fatalf("file %d in directory %d was picked", n, table.directories[slot])
			}
			delete(there, table.files[slot].number)
			table.release(slot)
		}
		if len(there) != table.used {
			t.Fatalf("%d files, want %d", table.used, len(there))
		}
	}
}
