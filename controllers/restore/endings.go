package restore

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// endings remembers since when the workers of records have been ending. After a restart of
// the operator it counts from zero.
type endings struct {
	mu    sync.Mutex
	since map[types.UID]time.Time
}

// of returns for how long the record's worker has been ending; zero if it is not.
func (e *endings) of(record types.UID, w worker, now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w != workerEnding {
		delete(e.since, record)
		return 0
	}
	if e.since == nil {
		e.since = map[types.UID]time.Time{}
	}
	since, ok := e.since[record]
	if !ok {
		since = now
		e.since[record] = now
	}
	return now.Sub(since)
}
