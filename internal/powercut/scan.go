package powercut

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
)

// Found is which records are there: bit number-1 is set for each.
type Found struct{ bits []uint64 }

// Damaged says whether a file system refuses to read what a cut has damaged: its own checksums or
// structures are wrong (EBADMSG, EUCLEAN). A mistyped path or an unplugged disk never says that.
func Damaged(err error) bool {
	return errors.Is(err, syscall.EBADMSG) || errors.Is(err, syscall.EUCLEAN)
}

// Unreadable is Damaged, or any failure to read (EIO): a file system with checksums of its data
// says so of a record that is not intact, and so does a disk that is unplugged.
func Unreadable(err error) bool { return Damaged(err) || errors.Is(err, syscall.EIO) }

// Scan looks for the records of a run up to a number. An error of reading that counts as a loss
// (Damaged or Unreadable) means that the record is not there; any other one ends it.
func Scan(r io.ReaderAt, run Run, upTo int, loss func(error) bool) (Found, error) {
	if err := run.check(); err != nil {
		return Found{}, err
	}
	found := Found{bits: make([]uint64, run.Records/64+1)}
	block := make([]byte, run.Block)
	for n := 1; n <= min(upTo, run.Records); n++ {
		_, err := r.ReadAt(block, run.offset(n))
		switch {
		case errors.Is(err, io.EOF):
			// The file ends before, or in, this record: a whole one at its very end is there.
			if !run.intact(block, n) {
				return found, nil
			}
		case err != nil && loss(err):
			continue
		case err != nil:
			return found, fmt.Errorf("record %d: %w", n, err)
		}
		if run.intact(block, n) {
			found.add(n)
		}
	}
	return found, nil
}

func (f Found) add(n int) { f.bits[(n-1)/64] |= 1 << ((n - 1) % 64) }
func (f Found) has(n int) bool {
	return n > 0 && (n-1)/64 < len(f.bits) && f.bits[(n-1)/64]>>((n-1)%64)&1 == 1
}

// ranges returns the numbers from first to last that are there, or are not, as pairs.
func (f Found) ranges(first, last int, there bool) [][2]int {
	var out [][2]int
	for n := first; n <= last; n++ {
		if f.has(n) != there {
			continue
		}
		if len(out) > 0 && out[len(out)-1][1] == n-1 {
			out[len(out)-1][1] = n
		} else {
			out = append(out, [2]int{n, n})
		}
	}
	return out
}

// String is like "1-512,514", or "none".
func (f Found) String() string { return printRanges(f.ranges(1, 64*len(f.bits), true), -1) }

// printRanges prints the first of them. A negative number prints all.
func printRanges(ranges [][2]int, most int) string {
	var parts []string
	for i, r := range ranges {
		if i == most {
			parts = append(parts, "…")
			break
		}
		if r[0] == r[1] {
			parts = append(parts, strconv.Itoa(r[0]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r[0], r[1]))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ",")
}

// ParseFound reads what String printed.
func ParseFound(s string, run Run) (Found, error) {
	if err := run.check(); err != nil {
		return Found{}, err
	}
	found := Found{bits: make([]uint64, run.Records/64+1)}
	if s == "none" {
		return found, nil
	}
	before := 0
	for part := range strings.SplitSeq(s, ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err := errors.Join(err1, err2); err != nil {
			return Found{}, err
		}
		if first <= before || last < first || last > run.Records {
			return Found{}, fmt.Errorf("the records %q are not in ascending order between 1 and %d", part, run.Records)
		}
		for n := first; n <= last; n++ {
			found.add(n)
		}
		before = last
	}
	return found, nil
}
