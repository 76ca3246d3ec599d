package stores

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"storagebench.io/storagebench/api/v1alpha1"
)

// hung are passes of a namespace that wait for a store, as many as may.
func hung(turns *Turns, namespace, store string, n int) (in []*Turn) {
	for range n {
		ctx, turn := turns.Pass(context.Background(), namespace)
		if takeTurn(ctx, store) == nil {
			in = append(in, turn)
		}
	}
	return in
}

func TestTheBenchmarksOfOneNamespaceDoNotHoldTheOperator(t *testing.T) {
	var turns Turns
	in := hung(&turns, "greedy", "slow", 100)
	if len(in) != atStores {
		t.Fatalf("%d passes of one namespace wait for a store", len(in))
	}
	other := hung(&turns, "modest", "slow", 1)
	if len(other) != 1 {
		t.Error("another namespace has no turn")
	}
	in[0].Leave()
	in[0].Leave() // without effect
	if n := len(hung(&turns, "greedy", "slow", 100)); n != 1 {
		t.Errorf("%d turns after one was left", n)
	}
}

func TestASlowStoreDoesNotHoldTheOperator(t *testing.T) {
	var turns Turns
	n := 0
	for i := range 100 {
		n += len(hung(&turns, fmt.Sprint("n", i), "slow", 1))
	}
	if n != ofStore || n >= Passes {
		t.Errorf("%d of %d passes wait for one store", n, Passes)
	}
	if len(hung(&turns, "n", "fast", 1)) != 1 {
		t.Error("there is no turn at another store")
	}
}

func TestAPassKeepsItsTurnAndWaitsForOneAsLongAsOthersHaveTaken(t *testing.T) {
	var turns Turns
	start := time.Unix(1000, 0)
	_, first := turns.Pass(t.Context(), "n")
	_, second := turns.Pass(t.Context(), "n")
	_, third := turns.Pass(t.Context(), "n")
	for _, turn := range []*Turn{first, second, first} {
		if err := turn.take("s", start); err != nil {
			t.Fatal(err)
		}
	}
	for after, want := range map[time.Duration]time.Duration{0: soonest, time.Second: time.Second, time.Minute: latest} {
		if err := third.take("s", start.Add(after)); !errors.Is(err, ErrBusy) || third.Again() != want {
			t.Errorf("after %s: %v, again in %s", after, err, third.Again())
		}
	}
	third.Leave() // it has none
	first.Leave()
	if err := third.take("s", start); err != nil {
		t.Error(err)
	}
}

// A pass without a turn learns so before anything is read or sent.
func TestOpenTakesTheTurn(t *testing.T) {
	var turns Turns
	hung(&turns, "n", "s", atStores)
	ctx, _ := turns.Pass(t.Context(), "n")
	b := &Buckets{}
	rs := &v1alpha1.ResultStore{}
	rs.Name = "s"
	if _, err := b.Open(ctx, rs); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	if _, err := b.Open(ctx, Internal()); errors.Is(err, ErrBusy) {
		t.Error("the operator's own store needs a turn")
	}
}

// A pass of the operator's own store opens no ResultStore, and may take as long: it builds plans and folds results.
func TestPassesOfOneNamespaceLeaveOthersTheirTurn(t *testing.T) {
	var turns Turns
	enter := func(namespace string) *Turn {
		_, turn := turns.Pass(t.Context(), namespace)
		if turn.Enter() != nil {
			return nil
		}
		return turn
	}
	var in []*Turn
	for range 2 * Passes {
		if turn := enter("greedy"); turn != nil {
			in = append(in, turn)
		}
	}
	if len(in) != ofNamespace || len(in) > Passes/2 {
		t.Fatalf("%d of %d passes are of one namespace", len(in), Passes)
	}
	if enter("modest") == nil {
		t.Error("another namespace has no turn")
	}
	in[0].Leave()
	if enter("greedy") == nil {
		t.Error("there is no turn after one was left")
	}
}

// However long others of the namespace wait for a slow store, those that need none go on, and wait for each other
// no longer than they take.
func TestAPassWithoutAStoreDoesNotWaitForThoseThatHaveOne(t *testing.T) {
	var turns Turns
	start := time.Unix(1000, 0)
	for range atStores {
		_, turn := turns.Pass(t.Context(), "n")
		if err := errors.Join(turn.enter(start), turn.take("slow", start)); err != nil {
			t.Fatal(err)
		}
	}
	now := start.Add(time.Minute)
	_, inside := turns.Pass(t.Context(), "n")
	if err := inside.enter(now); err != nil {
		t.Fatalf("it has no turn: %v", err)
	}
	if err := inside.take("slow", now); !errors.Is(err, ErrBusy) {
		t.Errorf("a third one waits for the store: %v", err)
	}
	_, next := turns.Pass(t.Context(), "n")
	if err := next.enter(now); !errors.Is(err, ErrBusy) || next.Again() != soonest {
		t.Errorf("%v, again in %s", err, next.Again())
	}
	inside.Leave()
	if err := next.enter(now); err != nil {
		t.Error(err)
	}
}
