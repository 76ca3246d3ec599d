package fio

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/workload"
)

// kbBase is the option that says what a k is.
const kbBase = "kb_base"

// inOrder puts kb_base first, as fio reads it before the other options of a section. On a command line it
// counts from where it stands.
func (s section) inOrder() []option {
	if s.words {
		return s.options
	}
	options := slices.Clone(s.options)
	slices.SortStableFunc(options, func(a, b option) int {
		switch {
		case a.name == kbBase && b.name != kbBase:
			return -1
		case a.name != kbBase && b.name == kbBase:
			return 1
		}
		return 0
	})
	return options
}

// setBase reads kb_base.
func (r *reader) setBase(j *job, o option) {
	if o.value != "1000" && o.value != "1024" {
		r.problem(&lineError{place: o.place, message: fmt.Sprintf("kb_base: %q is neither 1000 nor 1024", clip(o.value)), remedy: "use: 1000 or 1024"})
		return
	}
	j.decimal = o.value == "1000"
}

// withUnit is a size in a value.
var withUnit = regexp.MustCompile(`(?i)(^|[-,:/])(\d{1,18})([kmgtp])(i?b?)($|[-,:/])`)

// decimal writes the sizes in a value as bytes, as fio reads them with kb_base=1000: k, kB and Ki
// are 1000 bytes, and KiB are 1024.
func decimal(value string) string {
	for range 2 { // two sizes may share the mark between them
		value = withUnit.ReplaceAllStringFunc(value, func(text string) string {
			m := withUnit.FindStringSubmatch(text)
			n, base := number(m[2]), uint64(1000)
			if strings.EqualFold(m[4], "ib") {
				base = 1024
			}
			for range strings.Index("kmgtp", strings.ToLower(m[3])) + 1 {
				n = workload.Product(n, base)
			}
			return m[1] + strconv.FormatUint(n, 10) + m[5]
		})
	}
	return value
}

// notCalculated is the problem of a value with an expression that fio does not calculate, or nil.
func (a allowed) notCalculated(o option) *lineError {
	i := strings.IndexAny(o.value, "*+/")
	if !a.syntax.numeric || i < 1 {
		return nil
	}
	n, err := calculate(o.value)
	if err != nil {
		return nil //nolint:nilerr // what it is instead of an expression is said elsewhere
	}
	first := clip(strings.TrimSpace(o.value[:i]))
	return &lineError{
		place:   o.place,
		message: fmt.Sprintf("%s: fio calculates only in parentheses, and takes %s for %s", o.name, clip(o.value), first),
		remedy:  fmt.Sprintf("write %s=%d, or %s=%s for what fio does", o.name, n, o.name, first),
	}
}
