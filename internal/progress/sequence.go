package progress

import (
	"strconv"
	"strings"
)

// Append adds position i to a text of positions in the order in which their workers ended, "0-3,7,5-6": as short
// as that of a Set if they end nearly in the order of the plan.
func Append(text string, i int) string {
	last := text[strings.LastIndex(text, ",")+1:]
	from, to, isRange := strings.Cut(last, "-")
	if !isRange {
		to = from
	}
	if end, err := strconv.Atoi(to); err == nil && end+1 == i {
		return strings.TrimSuffix(text, last) + from + "-" + strconv.Itoa(i)
	}
	if text != "" {
		text += ","
	}
	return text + strconv.Itoa(i)
}

// Positions reads what Append, or the String of a Set, has written. It ignores what is not a range.
func Positions(text string) []int {
	var all []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		low, err := strconv.Atoi(from)
		high := low
		if err == nil && isRange {
			high, err = strconv.Atoi(to)
		}
		if err != nil || low < 0 || high >= maxPosition {
			continue
		}
		for i := low; i <= high && len(all) < maxPosition; i++ {
			all = append(all, i)
		}
	}
	return all
}
