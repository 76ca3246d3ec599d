package stores

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Passes is how many benchmarks are looked at side by side. A pass keeps one of them from all others for as long as it
// takes, which is long where it waits for a store or builds a large plan, so only some may: however slow a store is,
// benchmarks of other stores have two passes left, and whatever the benchmarks of one namespace do, other namespaces
// have five. Of a namespace's own passes, one is left for benchmarks that wait for no store.
const (
	Passes = 8

	ofNamespace = 3
	atStores    = 2 // of a namespace, at any ResultStore
	ofStore     = 6
)

// ErrBusy reports that there are enough passes of the namespace already, or that enough others wait for the store. It
// says nothing of the store, and is no failure: the pass is made again a little later.
var ErrBusy = errors.New("others have their turn")

// A pass without a turn looks again after as long as those that have one have been at it, within these bounds.
const (
	soonest = 20 * time.Millisecond
	latest  = 5 * time.Second
)

// Turns are the passes that go on. The zero value is ready to use.
type Turns struct {
	mu      sync.Mutex
	holders map[*Turn]struct{}
}

// Turn is a pass, with the ResultStores that it may use.
type Turn struct {
	turns     *Turns
	namespace string
	stores    []string
	since     time.Time
	again     time.Duration
}

type turnKey struct{}

// Pass returns a context with which Buckets.Open takes a turn the first time that it opens a ResultStore. The
// pass begins with Enter, before it does anything for its namespace, and ends with Leave.
func (t *Turns) Pass(ctx context.Context, namespace string) (context.Context, *Turn) {
	turn := &Turn{turns: t, namespace: namespace, again: soonest}
	return context.WithValue(ctx, turnKey{}, turn), turn
}

// Enter takes a turn of the namespace, whatever store there is or none, or returns ErrBusy.
func (t *Turn) Enter() error { return t.enter(time.Now()) }

func (t *Turn) enter(now time.Time) error {
	all := t.turns
	all.mu.Lock()
	defer all.mu.Unlock()
	others, shortest := 0, latest
	for other := range all.holders {
		if other != t && other.namespace == t.namespace {
			others++
			shortest = min(shortest, now.Sub(other.since)) // the others may wait for a store, and this one for nothing
		}
	}
	if others >= ofNamespace {
		t.again = max(shortest, soonest)
		return ErrBusy
	}
	t.since = now
	all.hold(t)
	return nil
}

// hold adds a pass to those that go on.
func (t *Turns) hold(turn *Turn) {
	if t.holders == nil {
		t.holders = map[*Turn]struct{}{}
	}
	t.holders[turn] = struct{}{}
}

// Leave ends the turn, if there was one.
func (t *Turn) Leave() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	delete(t.turns.holders, t)
}

// Again is how soon a pass that had no turn is made again.
func (t *Turn) Again() time.Duration { return t.again }

// takeTurn takes the turn of the pass that ctx belongs to, or returns ErrBusy. Whoever belongs to no pass, as the
// check of a store, needs none.
func takeTurn(ctx context.Context, store string) error {
	turn, ok := ctx.Value(turnKey{}).(*Turn)
	if !ok {
		return nil
	}
	return turn.take(store, time.Now())
}

func (t *Turn) take(store string, now time.Time) error {
	all := t.turns
	all.mu.Lock()
	defer all.mu.Unlock()
	if t.uses(store) {
		return nil
	}
	namespace, same, longest := 0, 0, time.Duration(0)
	for other := range all.holders {
		if other == t || len(other.stores) == 0 {
			continue
		}
		if other.namespace == t.namespace {
			namespace++
		}
		if other.uses(store) {
			same++
		}
		if other.namespace == t.namespace || other.uses(store) {
			longest = max(longest, now.Sub(other.since))
		}
	}
	if namespace >= atStores || same >= ofStore {
		t.again = min(max(longest, soonest), latest)
		return ErrBusy
	}
	if len(t.stores) == 0 {
		t.since = now
	}
	t.stores = append(t.stores, store)
	all.hold(t)
	return nil
}

func (t *Turn) uses(store string) bool {
	return slices.Contains(t.stores, store)
}
