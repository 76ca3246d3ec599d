package result

import (
	"regexp"
	"strings"
)

// Direction is which way a metric gets better.
type Direction string

// Directions.
const (
	Higher Direction = "Higher"
	Lower  Direction = "Lower"
)

// times matches quantities that are times which somebody waits.
var times = regexp.MustCompile(`\.(latency|completion|submission)\.`)

// Better returns the direction in which a metric improves, from its name; false
// if the name does not tell, as with counts.
func Better(name string) (Direction, bool) {
	_, quantity, _ := strings.Cut(name, ".")
	last := quantity[strings.LastIndexByte(quantity, '.')+1:]
	switch {
	case last == "iops" || last == "rate" || last == "bandwidth":
		return Higher, true
	case times.MatchString("."+quantity) || last == "duration" || last == "await":
		return Lower, true
	default:
		return "", false
	}
}
