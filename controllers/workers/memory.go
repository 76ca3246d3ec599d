package workers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"storagebench.io/storagebench/internal/progress"
)

// retries remembers which workers could not be started, and when they are tried again. It
// is lost with the process, which then tries at once.
type retries struct {
	mu  sync.Mutex
	all map[types.UID]map[string]retry
}

type retry struct {
	failures int
	// since is when the first of them was.
	since   time.Time
	until   time.Time
	trouble *progress.Trouble
}

// Between two tries: 5 s, 10 s … 5 min.
const (
	firstRetry = 5 * time.Second
	lastRetry  = 5 * time.Minute
)

func (r *retries) get(benchmark types.UID, worker string) retry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[benchmark][worker]
}

// failed puts a worker aside.
func (r *retries) failed(benchmark types.UID, worker string, now time.Time, t *progress.Trouble) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[types.UID]map[string]retry{}
	}
	if r.all[benchmark] == nil {
		r.all[benchmark] = map[string]retry{}
	}
	was := r.all[benchmark][worker]
	if was.failures == 0 {
		was.since = now
	}
	r.all[benchmark][worker] = retry{failures: was.failures + 1, since: was.since, until: now.Add(min(firstRetry<<min(was.failures, 10), lastRetry)), trouble: t}
}

func (r *retries) forget(benchmark types.UID, worker string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if worker == "" {
		delete(r.all, benchmark)
		return
	}
	delete(r.all[benchmark], worker)
}

// leftovers remembers since when Pods or claims of a worker have been left after its end, or
// without a Job that the operator finds, as when somebody removed its labels. The objects'
// own times do not tell: a forged Pod may never be deleted, and a deleted Pod may have a grace
// period of ten years.
type leftovers struct {
	mu  sync.Mutex
	all map[types.UID]map[string]time.Time
}

// of returns for how long something has been left of the worker.
func (l *leftovers) of(benchmark types.UID, worker string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[types.UID]map[string]time.Time{}
	}
	if l.all[benchmark] == nil {
		l.all[benchmark] = map[string]time.Time{}
	}
	since, ok := l.all[benchmark][worker]
	if !ok {
		since = now
		l.all[benchmark][worker] = now
	}
	return now.Sub(since)
}

// gone forgets a worker of which nothing is left.
func (l *leftovers) gone(benchmark types.UID, worker string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all[benchmark], worker)
}

func (l *leftovers) forget(benchmark types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, benchmark)
}

// undeletable remembers the Jobs whose deletion the API server refuses: somebody has filled one to
// the limit of etcd, and given it a finalizer, so that not even the time of its deletion fits in.
// Such a Job counts as one that is being deleted since the first refusal, and is asked for again
// now and then.
type undeletable struct {
	mu  sync.Mutex
	all map[types.UID]map[types.UID]refusals
}

type refusals struct{ first, last time.Time }

// askAgain is after how long the deletion of such a Job is tried again.
const askAgain = time.Minute

func (u *undeletable) refused(benchmark, job types.UID, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[types.UID]map[types.UID]refusals{}
	}
	if u.all[benchmark] == nil {
		u.all[benchmark] = map[types.UID]refusals{}
	}
	was := u.all[benchmark][job]
	if was.first.IsZero() {
		was.first = now
	}
	was.last = now
	u.all[benchmark][job] = was
}

// of returns for how long a Job's deletion has been refused, if it is too early to ask again.
func (u *undeletable) of(benchmark, job types.UID, now time.Time) (since time.Duration, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	r, ok := u.all[benchmark][job]
	return now.Sub(r.first), ok && now.Sub(r.last) < askAgain
}

func (u *undeletable) forget(benchmark types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, benchmark)
}

// recentEvents keeps what the events of an object said, so that the API server is not asked
// again at every look.
type recentEvents struct {
	mu  sync.Mutex
	all map[string]recent
}

type recent struct {
	at      time.Time
	trouble *progress.Trouble
}

const (
	// eventsFor is how long what was read is taken for true.
	eventsFor = 10 * time.Second
	// maxRecent bounds the memory; what is older goes first, as all of it is read again.
	maxRecent = 1000
)

func (e *recentEvents) of(uid string, now time.Time, read func() (*progress.Trouble, error)) (*progress.Trouble, error) {
	e.mu.Lock()
	known, ok := e.all[uid]
	e.mu.Unlock()
	if ok && now.Sub(known.at) < eventsFor {
		return known.trouble, nil
	}
	trouble, err := read()
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil || len(e.all) >= maxRecent {
		e.all = map[string]recent{}
	}
	e.all[uid] = recent{at: now, trouble: trouble}
	return trouble, nil
}
