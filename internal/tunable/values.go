package tunable

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/suggest"
)

// values is a set of values: what it is called in the reference, and a function
// that brings one of them into its only form. Its error says what to write instead.
type values struct {
	about string
	parse func(string) (string, error)
}

// oneOf are words.
func oneOf(words ...string) values {
	return values{
		about: "`" + strings.Join(words, "`, `") + "`",
		parse: func(s string) (string, error) {
			if slices.Contains(words, s) {
				return s, nil
			}
			return "", errors.New(suggest.Remedy(s, words))
		},
	}
}

// flag is 0 or 1. YAML makes booleans of on and off, and people write them.
func flag() values { return oneOf("0", "1") }

// number is a whole number in a range.
func number(low, high uint64) values {
	return values{
		about: fmt.Sprintf("%d to %d", low, high),
		parse: func(s string) (string, error) {
			n, err := strconv.ParseUint(s, 10, 64)
			switch {
			case errors.Is(err, strconv.ErrSyntax):
				return "", fmt.Errorf("use a whole number from %d to %d", low, high)
			case err != nil || n < low || n > high:
				return "", fmt.Errorf("use a whole number from %d to %d", low, high)
			}
			return strconv.FormatUint(n, 10), nil // 007 is written as the kernel prints it
		},
	}
}

// multiple is a whole number in a range that is a multiple of step.
func multiple(step, low, high uint64) values {
	in := number(low, high)
	return values{
		about: fmt.Sprintf("%s, a multiple of %d", in.about, step),
		parse: func(s string) (string, error) {
			out, err := in.parse(s)
			if err != nil {
				return "", err
			}
			if n, _ := strconv.ParseUint(out, 10, 64); n%step != 0 {
				return "", fmt.Errorf("use a multiple of %d: the kernel would round the value", step)
			}
			return out, nil
		},
	}
}

// size is a number of bytes, with or without a unit. Units are powers of 1024
// however they are written, as the kernel and zfs have them.
func size(low, high uint64) values {
	return values{
		about: fmt.Sprintf("%s to %s, in bytes or as 512K, 8M, 2G", humanSize(low), humanSize(high)),
		parse: func(s string) (string, error) {
			n, err := parseSize(s)
			if err != nil {
				return "", err
			}
			if n < low || n > high {
				return "", fmt.Errorf("use %s to %s", humanSize(low), humanSize(high))
			}
			return strconv.FormatUint(n, 10), nil
		},
	}
}

// power is a size that is a power of two.
func power(low, high uint64) values {
	in := size(low, high)
	return values{
		about: in.about + ", a power of two",
		parse: func(s string) (string, error) {
			out, err := in.parse(s)
			if err != nil {
				return "", err
			}
			if n, _ := strconv.ParseUint(out, 10, 64); n&(n-1) != 0 {
				return "", errors.New("use a power of two")
			}
			return out, nil
		},
	}
}

const units = "KMGT"

func parseSize(s string) (uint64, error) {
	text := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I")
	shift := 0
	if text != "" {
		if at := strings.IndexByte(units, text[len(text)-1]); at >= 0 {
			shift, text = 10*(at+1), text[:len(text)-1]
		} else if len(text) != len(s) {
			return 0, errors.New("use a number of bytes, or a size such as 512K, 8M or 2G") // 12B, 12I
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n<<shift>>shift != n {
		return 0, errors.New("use a number of bytes, or a size such as 512K, 8M or 2G")
	}
	return n << shift, nil
}

func humanSize(n uint64) string {
	for i := len(units) - 1; i >= 0; i-- {
		if unit := uint64(1) << (10 * (i + 1)); n >= unit && n%unit == 0 {
			return fmt.Sprintf("%d%ciB", n/unit, units[i])
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
