package fio

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"storagebench.io/storagebench/internal/workload"
)

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// A syntax checks a value and returns it in canonical form, so that fio is left
// nothing to interpret.
type syntax struct {
	// name of the syntax, for the reference.
	name  string
	check func(value string) (canonical string, err error)
	// bare is what the option means without a value; empty: it needs one.
	bare string
	// flag: see the function of that name.
	flag bool
	// numeric: the value is a number, which may be calculated.
	numeric bool
	// timed: the value is a time, with other units than sizes have.
	timed bool
}

// choiceError is a value that is not among those that an option takes.
type choiceError struct {
	given   string
	choices []string
}

func (e *choiceError) Error() string {
	return fmt.Sprintf("%q is not one of its values", clip(e.given))
}

// checkCharacters refuses what fio, or the shell it starts for arithmetic,
// expands: ${ENV}, $ncpus, `…`, quotes, parentheses, backslashes.
func checkCharacters(value string) error {
	for _, r := range value {
		if !strings.ContainsRune(letters+digits+"_.,:%+/-", r) {
			return fmt.Errorf("%q holds the character %q, which is not allowed in a value", clip(value), r)
		}
	}
	return nil
}

func boolean() syntax {
	return syntax{name: "0 or 1", bare: "1", check: func(v string) (string, error) {
		if v != "0" && v != "1" {
			return "", &choiceError{v, []string{"0", "1"}}
		}
		return v, nil
	}}
}

// flag is an option whose presence turns it on. fio does not look at its value,
// so that stonewall=0 turns it on too, as thread=8 does; here, 0 leaves it out.
func flag() syntax {
	s := boolean()
	s.flag = true
	check := s.check
	s.check = func(v string) (string, error) {
		if n, err := strconv.ParseUint(v, 10, 32); err == nil && n > 1 {
			v = "1"
		}
		return check(v)
	}
	return s
}

func oneOf(values ...string) syntax {
	return syntax{name: strings.Join(values, ", "), check: func(v string) (string, error) {
		if !slices.Contains(values, v) {
			return "", &choiceError{v, values}
		}
		return v, nil
	}}
}

func integer(low, high uint64) syntax {
	name := fmt.Sprintf("number, %d to %d", low, high)
	if high == math.MaxInt64 {
		name = fmt.Sprintf("number, at least %d", low)
	}
	return syntax{name: name, numeric: true, check: func(v string) (string, error) {
		n, err := parseSize(v) // fio takes iodepth=1k as well
		if err != nil {
			return "", err
		}
		if n < low || n > high {
			return "", fmt.Errorf("%s is not between %d and %d", clip(v), low, high)
		}
		return strconv.FormatUint(n, 10), nil
	}}
}

func float(high float64) syntax {
	return syntax{name: fmt.Sprintf("number, 0 to %g", high), check: func(v string) (string, error) {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(f) || f < 0 || f > high {
			return "", fmt.Errorf("%q is not a number between 0 and %g", clip(v), high)
		}
		return strconv.FormatFloat(f, 'f', -1, 64), nil
	}}
}

func size(low, high uint64) syntax {
	return syntax{name: "size", numeric: true, check: func(v string) (string, error) {
		n, err := parseSize(v)
		if err != nil {
			return "", err
		}
		if n < low || n > high {
			return "", fmt.Errorf("%s is not between %s and %s", clip(v), workload.Human(low), workload.Human(high))
		}
		return strconv.FormatUint(n, 10), nil
	}}
}

func sizeOrPercent() syntax {
	plain := size(1, maxSize)
	return syntax{name: "size or percentage", numeric: true, check: func(v string) (string, error) {
		if p, ok := strings.CutSuffix(v, "%"); ok {
			p = strings.TrimRight(p, "%") // of a template: fio takes 100%% too
			n, err := strconv.ParseUint(p, 10, 8)
			if err != nil || n < 1 || n > 100 {
				return "", fmt.Errorf("%q is not a percentage from 1%% to 100%%", clip(v))
			}
			return strconv.FormatUint(n, 10) + "%", nil
		}
		return plain.check(v)
	}}
}

// list applies a syntax to each part of a list for reads, writes and trims.
func list(of syntax) syntax {
	return syntax{name: of.name + "; up to three for read,write,trim", numeric: of.numeric, check: func(v string) (string, error) {
		parts := strings.Split(v, ",")
		if len(parts) > 3 {
			return "", fmt.Errorf("%q has more than three parts, for read,write,trim", clip(v))
		}
		for i, part := range parts {
			if part == "" && len(parts) > 1 {
				continue // bs=,8k leaves the reads at their default
			}
			canonical, err := of.check(part)
			if err != nil {
				return "", err
			}
			parts[i] = canonical
		}
		return strings.Join(parts, ","), nil
	}}
}

// sizeRange is 4k-64k. fio takes 4k:64k too, and 4k,64k where no list for reads and writes is meant.
func sizeRange(of syntax) syntax {
	return syntax{name: "range of sizes, as 4k-64k", check: func(v string) (string, error) {
		low, high, ok := strings.Cut(strings.NewReplacer(":", "-", ",", "-").Replace(v), "-")
		if !ok {
			return "", fmt.Errorf("%q is not a range like 4k-64k", clip(v))
		}
		a, err := of.check(low)
		if err != nil {
			return "", err
		}
		b, err := of.check(high)
		if err != nil {
			return "", err
		}
		if number(a) > number(b) {
			a, b = b, a // as fio does
		}
		return a + "-" + b, nil
	}}
}

// sizeSplit is 4k/60:64k/40: sizes with the percentage of I/Os that have them.
func sizeSplit(of syntax) syntax {
	return syntax{name: "sizes with percentages, as 4k/60:64k/40", check: func(v string) (string, error) {
		entries := strings.Split(v, ":")
		if len(entries) > 64 {
			return "", fmt.Errorf("%q has more than 64 sizes", clip(v))
		}
		for i, entry := range entries {
			bytes, percent, _ := strings.Cut(entry, "/")
			if strings.Contains(bytes, "-") {
				return "", fmt.Errorf("%q is a range, of which fio would take only the first size; ranges are for bsrange", clip(bytes))
			}
			canonical, err := of.check(bytes)
			if err != nil {
				return "", err
			}
			if percent != "" {
				if n, err := strconv.ParseUint(percent, 10, 8); err != nil || n > 100 {
					return "", fmt.Errorf("%q is not a percentage", clip(percent))
				}
			}
			entries[i] = canonical + "/" + percent
		}
		return strings.Join(entries, ":"), nil
	}}
}

// duration reads a time in the given unit unless it says another; canonical in
// microseconds. fio silently takes an unknown unit for microseconds.
func duration(unit time.Duration, high time.Duration) syntax {
	name := "time in seconds, or with a unit: us, ms, s, m, h, d"
	if unit == time.Microsecond {
		name = "time in microseconds, or with a unit: us, ms, s, m, h, d"
	}
	return syntax{name: name, numeric: true, timed: true, check: func(v string) (string, error) {
		d, err := parseTime(v, unit)
		if err != nil {
			return "", err
		}
		if d > high {
			return "", fmt.Errorf("%s is longer than is allowed: lower it to %s, or less", clip(v), high)
		}
		return strconv.FormatInt(d.Microseconds(), 10) + "us", nil
	}}
}

// cpus is a list of CPU numbers and ranges, 0-3,8.
func cpus() syntax {
	return syntax{name: "CPU numbers, as 0-3,8", check: func(v string) (string, error) {
		if v == "" || strings.Trim(v, digits+",-") != "" {
			return "", fmt.Errorf("%q is not a list of CPU numbers like 0-3,8", clip(v))
		}
		return v, nil
	}}
}

const maxSize = 1 << 50

// parseSize reads a size with fio's suffixes, or a hexadecimal number. K, KB, Ki and KiB are
// all 1024 here. fio itself takes KiB for 1000 bytes, contrary to everybody else; we give it
// plain bytes instead.
func parseSize(v string) (uint64, error) {
	if hex, ok := strings.CutPrefix(strings.ToLower(v), "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 63)
		if err != nil {
			return 0, fmt.Errorf("%q is not a hexadecimal number", clip(v))
		}
		return n, nil
	}
	end := 0
	for end < len(v) && v[end] >= '0' && v[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(v[:end], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number, or a size like 4k or 1GiB", clip(v))
	}
	suffix := strings.ToLower(v[end:])
	if suffix == "" || suffix == "b" {
		return n, nil
	}
	power := strings.IndexByte("kmgtp", suffix[0]) + 1
	switch {
	case power == 0:
		return 0, fmt.Errorf("%q is not a number, or a size like 4k or 1GiB", clip(v))
	case suffix[1:] != "" && suffix[1:] != "b" && suffix[1:] != "i" && suffix[1:] != "ib":
		return 0, fmt.Errorf("%q has an unknown suffix", clip(v))
	case n > maxSize>>(10*power):
		return 0, fmt.Errorf("%q is more than %s", clip(v), workload.Human(maxSize))
	}
	return n << (10 * power), nil
}

func parseTime(v string, unit time.Duration) (time.Duration, error) {
	end := 0
	for end < len(v) && v[end] >= '0' && v[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(v[:end], 10, 40)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time like 30s or 2m", clip(v))
	}
	if v[end:] != "" {
		units := map[string]time.Duration{
			"us": time.Microsecond, "usec": time.Microsecond, "ms": time.Millisecond, "msec": time.Millisecond,
			"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
		}
		var known bool
		if unit, known = units[strings.ToLower(v[end:])]; !known {
			if strings.ContainsAny(v[end:], ".,+-*/") {
				return 0, fmt.Errorf("%q is not one whole number with a unit: fio would use only the digits before %q", clip(v), clip(v[end:]))
			}
			return 0, fmt.Errorf("%q has an unknown unit of time, which fio would take for microseconds", clip(v))
		}
	}
	if n > int64(math.MaxInt64/unit) {
		return 0, fmt.Errorf("%q is too long", clip(v))
	}
	return time.Duration(n) * unit, nil
}

// number reads a canonical number; it is 0 for anything else.
func number(canonical string) uint64 {
	n, _ := strconv.ParseUint(canonical, 10, 64)
	return n
}
