package printed

import (
	"strings"
	"unicode"
)

// saysNothing are words of lines that announce a report, and do not say of what it is one.
var saysNothing = wordsOf(`a an the this that these those there here it its we i you they my our your
	is are was be get gets got see sees look looks give gives show shows shown print prints printed return returns returned
	above below following follows as such like so in of for from with by on to and or would will can
	output outputs result results report reports log logs file json text data console
	full complete whole entire raw sample example examples default typical possible expected final actual
	fio bonnie iozone postmark command program tool usage nb note eg ie`)

func wordsOf(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		words[word] = true
	}
	return words
}

// hollow reports whether all words of a line are such that say nothing about what was measured.
func hollow(line string) bool {
	n := 0
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if n++; !saysNothing[strings.ToLower(word)] {
			return false
		}
	}
	return n > 0
}
