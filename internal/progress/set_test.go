package progress

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// statusLimit is the length that the API's schema allows the text of a Set.
const statusLimit = 8192

func TestASetIsReadAsItWasWritten(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		size := 1 + r.IntN(200)
		want, members := Set{}, map[int]bool{}
		for range r.IntN(2 * size) {
			i := r.IntN(size)
			want, members[i] = want.With(i), true
		}
		got := ParseSet(want.String())
		if got.Len() != len(members) || got.String() != want.String() {
			t.Fatalf("seed %d: %q has %d members, want %d of %q", seed, got, got.Len(), len(members), want)
		}
		for i := range size {
			if got.Has(i) != members[i] {
				t.Fatalf("seed %d: position %d: %v, want %v", seed, i, got.Has(i), members[i])
			}
		}
	}
}

func TestTheTextOfASet(t *testing.T) {
	for text, want := range map[string]string{
		"":              "",
		"7":             "7",
		"0-3,7":         "0-3,7",
		"3,1,2,2,1-3":   "1-3",
		"5-2":           "",
		"a,-1,1-,-,,4":  "4",
		"1-99999999999": "",
		"65536":         "",
		"x 3":           "",
	} {
		if got := ParseSet(text).String(); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

// Whatever order a thousand workers end in, the text fits the status, and it is a few
// bytes if they end in order.
func TestTheTextOfASetIsShort(t *testing.T) {
	inOrder, everyOther := Set{}, Set{}
	for i := range 1000 {
		inOrder = inOrder.With(i)
		if i%2 == 0 {
			everyOther = everyOther.With(i)
		}
	}
	if got := inOrder.String(); got != "0-999" {
		t.Errorf("1000 workers in order are %q", got)
	}
	if n := len(everyOther.String()); n > statusLimit {
		t.Errorf("every other one of 1000 takes %d bytes, and the status allows %d", n, statusLimit)
	}
}

func TestATextOfSomebodyElseCannotTakeAllMemory(t *testing.T) {
	text := strings.Repeat("0-65535,", statusLimit/8)
	if n := ParseSet(text).Len(); n > maxPosition {
		t.Errorf("%d positions", n)
	}
}
