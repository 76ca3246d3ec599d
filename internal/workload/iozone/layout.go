package iozone

import "slices"

// sizes are the file and the record, which begin each row.
const sizes = 2

// firstColumns are those of iozone's tests, behind the sizes, in the order of its rows. Most
// have two columns. iozone prints all of a test, or blanks in its place.
var firstColumns = []int{0, 2, 4, 6, 7, 8, 9, 11, 13}

// layout is how wide iozone's numbers are, and the blanks in place of a test that was not done,
// which may be fewer than its numbers have.
type layout struct {
	numbers []int
	blanks  []int
}

// layouts of iozone's versions: up to 3.42, from then on in two steps, and since 3.50x. What a row does not
// fit into was not printed by iozone, or has been changed since.
var layouts = []layout{
	{[]int{8, 8, 9, 9, 8, 8, 8, 9, 9, 9, 9, 8, 9}, []int{16, 18, 16, 8, 8, 8, 18, 16}},
	{[]int{9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9}, []int{16, 18, 16, 8, 8, 8, 18, 16}},
	{[]int{9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9}, []int{18, 18, 18, 9, 10, 10, 18, 17}},
	{[]int{10, 10, 10, 10, 10, 10, 10, 11, 11, 10, 10, 10, 10}, []int{18, 18, 18, 9, 10, 10, 18, 17}},
}

// recordWidth is how far the record ends behind the file, and its heading behind that of the file.
const recordWidth = 8

// fitting has a bit for each of layouts.
type fitting uint8

// anyLayout is what a table may have before its first row.
const anyLayout fitting = 1<<4 - 1

// columnsOf returns the columns, behind the sizes, of the numbers of a row that stand where they do in it,
// and which of some layouts it has; nil: iozone prints no row so, or it is not clear which one. Of the last
// test, a number may be missing.
func (f fitting) columnsOf(found [][]int) ([]int, fitting) {
	const few = sizes + 1
	if len(found) < few || found[1][1]-found[0][1] != recordWidth {
		return nil, 0
	}
	for _, whole := range []bool{true, false} {
		var columns []int
		var fit fitting
		for k, l := range layouts {
			if f>>k&1 == 0 {
				continue
			}
			for _, other := range l.fits(found[1][1], found[sizes:], 0, 0, whole) {
				if columns != nil && !slices.Equal(columns, other) {
					return nil, 0
				}
				columns, fit = other, fit|1<<k
			}
		}
		if columns != nil && (whole || len(found) > few) { // a single number may be that of any layout
			return columns, fit
		}
	}
	return nil, 0
}

// fits returns each way in which numbers are those of the tests from the given one on. The number
// before them, or the blanks behind it, ends at end, and so many more blanks are in place of tests.
func (l layout) fits(end int, found [][]int, test, blank int, whole bool) [][]int {
	if test == len(l.blanks) || end+blank >= found[0][1] {
		return nil
	}
	out := l.fits(end, found, test+1, blank+l.blanks[test], whole)
	var columns []int
	for column := firstColumns[test]; column < firstColumns[test+1] && len(columns) < len(found); column++ {
		at := found[len(columns)]
		if at[1]-end-blank != max(l.numbers[column], at[1]-at[0]) {
			return out
		}
		columns, end, blank = append(columns, column), at[1], 0
	}
	if len(columns) == len(found) {
		if whole && len(columns) < firstColumns[test+1]-firstColumns[test] {
			return out
		}
		return append(out, columns)
	}
	for _, rest := range l.fits(end, found[len(columns):], test+1, 0, whole) {
		out = append(out, slices.Concat(columns, rest))
	}
	return out
}

// isCut reports whether a row would be one of iozone's if its last number had more digits.
func (f fitting) isCut(found [][]int) bool {
	const most = 9
	last := found[len(found)-1]
	longer := slices.Clone(found)
	for more := 1; more <= most; more++ {
		longer[len(longer)-1] = []int{last[0], last[1] + more}
		if columns, _ := f.columnsOf(longer); columns != nil {
			return true
		}
	}
	return false
}

// unclear is the first number of a row, behind the sizes, that stands where iozone prints none.
func (f fitting) unclear(found [][]int) int {
	k := sizes
	for ; k < len(found)-1; k++ {
		if columns, _ := f.columnsOf(found[:k+1]); columns == nil && k > sizes {
			break
		}
	}
	return k
}
