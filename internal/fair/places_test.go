package fair

import (
	"fmt"
	"testing"
	"time"
)

func nothing() {}

func TestAShareShrinksWhileOthersCome(t *testing.T) {
	p := &Places{Max: 32}
	var got []int
	for who := range 5 {
		n := 0
		for p.Take(fmt.Sprint(who), nothing) != nil {
			n++
		}
		got = append(got, n)
	}
	if want := []int{6, 5, 4, 3, 3}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the holders have %d places, want %d", got, want)
	}
}

func TestANewcomerGetsAPlaceOfWhoeverHasMost(t *testing.T) {
	p := &Places{Max: 12}
	ended := ""
	for i := range p.Max {
		// Two have two places, and the first of them are the oldest.
		who := []string{"few", "many", "many", "kept", "kept"}[min(i, 4)]
		if i > 4 {
			who = fmt.Sprint("one", i)
		}
		at := &Place{of: p, who: who, since: time.Now(), end: func() { ended += who }}
		at.keep(who == "kept")
		p.taken = append(p.taken, at)
	}
	if p.Take("new", nothing) == nil || ended != "many" {
		t.Errorf("the place of %q was given away", ended)
	}
	if p.Take("new", nothing) != nil {
		t.Error("a newcomer takes more than one place of others")
	}
}

func TestAPlaceIsSparedForAWhile(t *testing.T) {
	p := &Places{Max: 1, Spared: time.Hour}
	first := p.Take("a", nothing)
	if p.Take("b", nothing) != nil {
		t.Error("a place is given away at once")
	}
	first.since = time.Now().Add(-2 * time.Hour)
	if p.Take("b", nothing) == nil {
		t.Error("a place is never given away")
	}
	first.Leave()
	if len(p.taken) != 1 {
		t.Error("whoever lost a place frees that of its successor")
	}
}

func TestAHolderReplacesItsOldest(t *testing.T) {
	p := &Places{Max: 4, Replace: true}
	ended := false
	p.Take("a", func() { ended = true })
	if p.Take("a", nothing) == nil || !ended || len(p.taken) != 1 {
		t.Errorf("ended: %t, %d places are taken", ended, len(p.taken))
	}
}
