// Package suggest finds what a misspelt name was meant to be. It is pure.
package suggest

import "strings"

// maxName bounds the work for a name that nobody misspelt.
const maxName = 64

// Nearest returns the candidate with the smallest edit distance to name, if that
// is small enough for a misspelling, and "" otherwise. The first of several wins.
func Nearest(name string, candidates []string) string {
	if len(name) > maxName {
		return ""
	}
	best, bestDistance := "", max(1, len(name)/3)+1
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance in which two neighbours that changed places
// count once.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j-1]+cost, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
