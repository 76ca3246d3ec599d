// Package suggest writes remedies for users: the name that a misspelt one resembles,
// the possible choices, and counts in singular and plural. It is pure.
package suggest

import (
	"fmt"
	"strings"
)

// maxListed is the largest number of choices that a remedy lists next to a
// suggestion.
const maxListed = 12

// Remedy says what to write instead of a value that is not one of the choices. Messages
// leave it to Remedy to list the choices, so that they appear once.
func Remedy(given string, choices []string) string {
	near := Nearest(given, choices)
	switch {
	case near == "" && len(choices) == 1:
		return "use " + choices[0]
	case near == "":
		return "use one of " + strings.Join(choices, ", ")
	case len(choices) <= maxListed && len(choices) > 1:
		return fmt.Sprintf("did you mean %s? Choices: %s", near, strings.Join(choices, ", "))
	default:
		return fmt.Sprintf("did you mean %s?", near)
	}
}

// Count returns a number with its noun: 1 trial, 2 trials, 0 directories.
func Count[N ~int | ~int32 | ~int64 | ~uint | ~uint32 | ~uint64](n N, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// plural returns the plural of a regular English noun.
func plural(noun string) string {
	stem, y := strings.CutSuffix(noun, "y")
	switch {
	case y && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])):
		return stem + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "sh"):
		return noun + "es"
	default:
		return noun + "s"
	}
}

// maxName bounds the work for a name that is too long to be a misspelling.
const maxName = 64

// Nearest returns the candidate with the smallest edit distance to name, or "" if
// that is too large for a misspelling. The first of several equals wins.
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

// distance returns the Levenshtein distance, with a swap of two neighbouring
// letters counted as one change.
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
