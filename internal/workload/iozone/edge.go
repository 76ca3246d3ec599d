package iozone

import (
	"errors"
	"slices"
	"strings"
	"unicode"
)

var errEdge = errors.New("the lines of the text seem to be cut at their right edge, and with them numbers: provide them whole")

// edge is where the longest lines of a text end, and how many of those are no rows of numbers.
type edge struct{ at, texts int }

// edgeOf finds the edge at which a terminal or a pager may have cut the lines of a text. Rows have
// one length anyway, but it is rare that other lines have the same.
func edgeOf(lines []string) edge {
	var e edge
	var texts []string // a command that is there twice counts once
	for _, line := range lines {
		n := len(line)
		if n > e.at {
			e.at, texts = n, nil
		}
		if n == e.at && strings.ContainsFunc(line, unicode.IsLetter) && !aboveRows(line) && !slices.Contains(texts, line) {
			const enough = 2
			texts = append(texts[:min(len(texts), enough)], line)
		}
	}
	e.texts = len(texts)
	return e
}

// aboveRows reports whether a line is of the header of a table.
func aboveRows(line string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(line)) {
		if !slices.Contains(labels, word) && word != "random" && word != "bkwd" && word != "record" && word != "stride" {
			return false
		}
	}
	return true
}

// cuts reports whether the edge has cut a row of a table that lacks columns: iozone prints all. If a row
// stands as iozone prints it, its numbers are whole, and it lacks some only if its header ends at the edge, or
// there were blanks between.
func (e edge) cuts(h header, r *row, line string) bool {
	const several = 2
	if !lacks(h.columns) || r.layouts != 0 && (e.at < h.end || e.at > h.end+widest[h.columns]-len(labels[h.columns])) {
		return false
	}
	return e.texts >= several || e.texts > 0 && len(line) == e.at
}

// widest is how far each heading ends behind the one before it, at most.
var widest = []int{16, 8, 9, 11, 10, 10, 10, 10, 10, 11, 11, 10, 10, 10, 10}

// lacks reports whether a table has fewer columns than iozone prints: all, or with -B and -M those
// before fwrite. 0: there is no table.
func lacks(columns int) bool {
	const withoutStreams = 11
	return columns > 0 && columns < len(labels) && columns != withoutStreams
}
