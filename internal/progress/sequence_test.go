package progress

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestASequenceIsReadAsItWasWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, want := range [][]int{nil, {0}, {3}, {0, 1, 2, 3}, {0, 1, 7, 5, 6}, {2, 1, 0}, {10, 11, 9}, random.Perm(1000)} {
		text := ""
		for _, i := range want {
			text = Append(text, i)
		}
		if got := Positions(text); !slices.Equal(got, want) {
			t.Errorf("%v is written as %q and read as %v", want, text, got)
		}
		if len(text) > 8192 { // the status has no room for more
			t.Errorf("%d positions take %d bytes", len(want), len(text))
		}
	}
	if got := Append(Append(Append(Append("", 0), 1), 7), 8); got != "0-1,7-8" {
		t.Error(got)
	}
}

func TestASequenceOfSomebodyElseIsBounded(t *testing.T) {
	for _, text := range []string{"x", "-1", "5-", "0-99999999", "1-0"} {
		if got := Positions(text); len(got) != 0 {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if got := Positions("0-65535,0-65535,0-65535"); len(got) != maxPosition {
		t.Errorf("%d positions", len(got))
	}
}
