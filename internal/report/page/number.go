package page

import (
	"fmt"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/report"
)

// Number is a number of the summary as the page shows it.
type Number struct {
	// Value is the number itself.
	Value string
	// At is the JSON pointer of the number in summary.json; empty: the page computed it.
	At string
	// Text is for people.
	Text string
}

// number shows a value in its unit.
func number(unit string, v float64, at string) *Number {
	return &Number{Value: strconv.FormatFloat(v, 'f', -1, 64), At: at, Text: report.InUnit(unit, v)}
}

// optional shows a value that may be absent.
func optional(unit string, v *float64, at string) *Number {
	if v == nil {
		return nil
	}
	return number(unit, *v, at)
}

// whole shows a count in full.
func whole(v int, at string) *Number {
	text := strconv.Itoa(v)
	return &Number{Value: text, At: at, Text: text}
}

// ratio shows a ratio with three decimals.
func ratio(v float64, at string) *Number {
	return &Number{Value: strconv.FormatFloat(v, 'f', -1, 64), At: at, Text: fmt.Sprintf("%.3f", v)}
}

// pointer is a JSON pointer (RFC 6901).
func pointer(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(p)))
	}
	return b.String()
}
