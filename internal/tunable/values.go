package tunable

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"storagebench.io/storagebench/internal/suggest"
)

// values is a set of accepted values: its description in the reference, and a
// function that returns the canonical form of one. Its error says what to write
// instead.
type values struct {
	about string
	parse func(string) (string, error)
}

// oneOf accepts these words.
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

// renamed accepts what v does, and returns the system's own name for some words, under which they are read back.
func renamed(v values, names map[string]string) values {
	return values{
		about: v.about,
		parse: func(s string) (string, error) {
			out, err := v.parse(s)
			if name, ok := names[out]; ok {
				out = name
			}
			return out, err
		},
	}
}

// flag accepts 0 and 1, and also the booleans that people write and that YAML
// makes of on and off.
func flag() values { return oneOf("0", "1") }

// number accepts a whole number in a range.
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
			return strconv.FormatUint(n, 10), nil // 007 becomes 7, as the kernel prints it
		},
	}
}

// multiple accepts a multiple of step in a range.
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
				return "", fmt.Errorf("use a multiple of %d; the kernel would round any other value", step)
			}
			return out, nil
		},
	}
}

// size accepts a number of bytes, with or without a unit. K, KB and KiB are all
// powers of 1024, as in the kernel and zfs.
func size(low, high uint64) values {
	return values{
		about: fmt.Sprintf("%s to %s, in bytes or as 512K, 8M, 2G", humanSize(low), humanSize(high)),
		parse: func(s string) (string, error) {
			n, err := parseSize(s)
			if err != nil {
				return "", err
			}
			if n < low || n > high {
				return "", fmt.Errorf("use a size from %s to %s", humanSize(low), humanSize(high))
			}
			return strconv.FormatUint(n, 10), nil
		},
	}
}

// power accepts a size that is a power of two.
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
