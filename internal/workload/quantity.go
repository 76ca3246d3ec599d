package workload

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// Bytes is a size as the API writes it: a resource.Quantity ("10Gi", "1.5M", "1e6"),
// which engines cannot import, or a number of bytes.
type Bytes uint64

// suffixes of a Quantity, as powers of 2 and of 10.
var suffixes = []struct {
	name     string
	base     int64
	exponent int64
}{
	{"Ki", 2, 10}, {"Mi", 2, 20}, {"Gi", 2, 30}, {"Ti", 2, 40}, {"Pi", 2, 50}, {"Ei", 2, 60},
	{"k", 10, 3}, {"M", 10, 6}, {"G", 10, 9}, {"T", 10, 12}, {"P", 10, 15}, {"E", 10, 18}, {"m", 10, -3},
}

// UnmarshalJSON reads a Quantity and rounds it up to a whole byte, as Kubernetes does.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	s := string(text)
	if strings.HasPrefix(s, `"`) {
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
	}
	number, scale := s, big.NewRat(1, 1)
	for _, suffix := range suffixes {
		if n, ok := strings.CutSuffix(s, suffix.name); ok {
			number, scale = n, power(suffix.base, suffix.exponent)
			break
		}
	}
	v, ok := parse(number)
	if !ok {
		return fmt.Errorf("%q is not a size: write it as 512, 4Ki or 1Gi", s)
	}
	v.Mul(v, scale)
	whole, rest := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if v.Sign() < 0 || !whole.IsUint64() {
		return fmt.Errorf("%q is not between 0 and 16Ei", s)
	}
	*b = Bytes(whole.Uint64())
	return nil
}

// parse reads a decimal number, with an exponent of at most three digits.
func parse(s string) (*big.Rat, bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if strings.Trim(mantissa, "+-.0123456789") != "" || strings.Trim(exponent, "+-0123456789") != "" || len(s) > 64 || len(exponent) > 3 {
		return nil, false // big.Rat also reads fractions and other bases
	}
	return new(big.Rat).SetString(s)
}

func power(base, exponent int64) *big.Rat {
	n := new(big.Int).Exp(big.NewInt(base), big.NewInt(max(exponent, -exponent)), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
}
