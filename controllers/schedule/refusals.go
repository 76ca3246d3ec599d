package schedule

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// refusals remember which schedules make runs that the API server refuses: each try costs it, and the operator, a read
// of the whole schedule and a benchmark. After a restart every schedule is tried once more. The zero value is ready to use.
type refusals struct {
	mu sync.Mutex
	of map[types.NamespacedName]refusal
}

type refusal struct {
	uid        types.UID
	generation int64 // another one may make runs that are not refused
	obstacle   obstacle
	times      int
	again      time.Time
}

func (f refusal) isOf(p *pass) bool { return f.uid == p.UID && f.generation == p.Generation }

// add notes that a run was refused, and returns when it is tried again.
func (f *refusals) add(p *pass) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := client.ObjectKeyFromObject(p.StorageBenchmarkSchedule)
	next := refusal{uid: p.UID, generation: p.Generation, obstacle: *p.obstacle}
	if last := f.of[key]; last.isOf(p) {
		next.times = last.times + 1
	}
	next.again = p.now.Add(min(firstRetry<<min(next.times, 10), lastRetry))
	if f.of == nil {
		f.of = map[types.NamespacedName]refusal{}
	}
	f.of[key] = next
	return next.again
}

// wait reports whether it is too soon to try again. The pass then says what it said before.
func (f *refusals) wait(p *pass) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, ok := f.of[client.ObjectKeyFromObject(p.StorageBenchmarkSchedule)]
	if !ok || !last.isOf(p) || !p.now.Before(last.again) || last.again.Sub(p.now) > lastRetry { // the clock has gone back
		return false
	}
	p.obstacle = &last.obstacle
	p.lookAgain(last.again)
	return true
}

func (f *refusals) forget(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, key)
}
