package stores

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Passes is how many benchmarks are looked at side by side. A pass that waits for a store keeps one of them from all
// others, so only some may: however slow a store is, benchmarks of other stores have two passes left, and however
// many benchmarks of one namespace wait for their stores, other namespaces have six.
const (
	Passes = 8

	ofNamespace = 2
	ofStore     = 6
)

// ErrBusy reports that enough others of the namespace, or of the store, wait for a store already. It says
// nothing of the store, and is no failure: the pass is made again a little later.
var ErrBusy = errors.New("others wait for the store")

// A pass without a turn looks again after as long as those that have one have been at it, within these bounds.
const (
	soonest = 20 * time.Millisecond
	latest  = 5 * time.Second
)

// Turns are the passes that use ResultStores. The zero value is ready to use.
type Turns struct {
	mu      sync.Mutex
	holders map[*Turn]struct{}
}

// Turn is a pass that may use a ResultStore.
type Turn struct {
	turns     *Turns
	namespace string
	stores    []string
	since     time.Time
	again     time.Duration
}

type turnKey struct{}

// Pass returns a context with which Buckets.Open takes a turn the first time that it opens a ResultStore. The
// pass ends it with Leave.
func (t *Turns) Pass(ctx context.Context, namespace string) (context.Context, *Turn) {
	turn := &Turn{turns: t, namespace: namespace, again: soonest}
	return context.WithValue(ctx, turnKey{}, turn), turn
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
		if other == t {
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
	if namespace >= ofNamespace || same >= ofStore {
		t.again = min(max(longest, soonest), latest)
		return ErrBusy
	}
	if all.holders == nil {
		all.holders = map[*Turn]struct{}{}
	}
	if len(t.stores) == 0 {
		t.since = now
	}
	t.stores = append(t.stores, store)
	all.holders[t] = struct{}{}
	return nil
}

func (t *Turn) uses(store string) bool {
	return slices.Contains(t.stores, store)
}
