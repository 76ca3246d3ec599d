package benchmark

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"storagebench.io/storagebench/controllers/written"
	"storagebench.io/storagebench/internal/trial"
)

// memory holds what only saves work. After a restart it is empty, and the operator does some
// things a little sooner, or once more.
type memory struct {
	mu sync.Mutex
	// waits counts how often in a row a benchmark met the same obstacle.
	waits map[types.NamespacedName]waiting
	// refusals has the plans that could not be built, and their inputs.
	refusals map[types.NamespacedName]refusal
	// writes has the resource versions of the operator's own last writes.
	writes written.Versions
	// clearings has the time since when a benchmark's objects are being removed.
	clearings map[types.UID]time.Time
	// empty has the benchmarks of which the API server had nothing, since when nothing was
	// started.
	empty map[types.UID]bool
	// storesGone has the time since when the ResultStore of a run has been missing.
	storesGone map[types.NamespacedName]time.Time
}

type waiting struct {
	reason string
	times  int
}

type refusal struct {
	input   string
	failure *trial.Failure
}

// Between two looks at an obstacle that no event tells of: 15 s, 30 s … 5 min.
const (
	firstWait = 15 * time.Second
	lastWait  = 5 * time.Minute
)

// wait says when to look again at an obstacle.
func (m *memory) wait(key types.NamespacedName, reason string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waits == nil {
		m.waits = map[types.NamespacedName]waiting{}
	}
	w := m.waits[key]
	if w.reason != reason {
		w = waiting{reason: reason}
	}
	m.waits[key] = waiting{reason: reason, times: w.times + 1}
	return min(firstWait<<min(w.times, 10), lastWait)
}

// waited forgets an obstacle that is gone.
func (m *memory) waited(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waits, key)
}

// refused returns why a plan could not be built from this input, if that was tried.
func (m *memory) refused(key types.NamespacedName, input string) *trial.Failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.refusals[key]; ok && r.input == input {
		return r.failure
	}
	return nil
}

func (m *memory) refuse(key types.NamespacedName, input string, f *trial.Failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refusals == nil {
		m.refusals = map[types.NamespacedName]refusal{}
	}
	m.refusals[key] = refusal{input: input, failure: f}
}

// clearing returns how long ago the removal of a benchmark's objects began. A change of the
// spec does not restart it.
func (m *memory) clearing(uid types.UID, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clearings == nil {
		m.clearings = map[types.UID]time.Time{}
	}
	since, ok := m.clearings[uid]
	if !ok {
		since = now
		m.clearings[uid] = now
	}
	return now.Sub(since)
}

// cleared forgets a removal that is over. A worker that runs shows that it is.
func (m *memory) cleared(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clearings, uid)
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.waits, key)
	delete(m.refusals, key)
	delete(m.storesGone, key)
}

// storeGone returns for how long the ResultStore of a run has been missing.
func (m *memory) storeGone(key types.NamespacedName, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.storesGone == nil {
		m.storesGone = map[types.NamespacedName]time.Time{}
	}
	since, ok := m.storesGone[key]
	if !ok {
		since = now
		m.storesGone[key] = now
	}
	return now.Sub(since)
}

// storeFound forgets that a store was missing.
func (m *memory) storeFound(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.storesGone, key)
}

// isEmpty reports whether the API server had nothing of a benchmark's workers, and none was
// started since.
func (m *memory) isEmpty(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.empty[uid]
}

// setEmpty records whether there is nothing of a benchmark's workers.
func (m *memory) setEmpty(uid types.UID, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !is {
		delete(m.empty, uid)
		return
	}
	if m.empty == nil {
		m.empty = map[types.UID]bool{}
	}
	m.empty[uid] = true
}
