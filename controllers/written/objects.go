package written

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Objects remembers what the operator made or changed last of what belongs to an owner, until
// the cache shows it. The zero value is ready to use.
type Objects struct {
	mu  sync.Mutex
	all map[types.UID]map[types.NamespacedName]Write
}

// Write is an own write of an object.
type Write struct {
	UID     types.UID
	Version string
	// At is when it was written.
	At time.Time
}

// Set records a write.
func (o *Objects) Set(owner types.UID, key types.NamespacedName, w Write) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[types.UID]map[types.NamespacedName]Write{}
	}
	if o.all[owner] == nil {
		o.all[owner] = map[types.NamespacedName]Write{}
	}
	o.all[owner][key] = w
}

// Of returns the writes that the cache has not shown yet.
func (o *Objects) Of(owner types.UID) map[types.NamespacedName]Write {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.all[owner])
}

// Shown forgets a write that the cache shows, or that nothing is left of.
func (o *Objects) Shown(owner types.UID, key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all[owner], key)
	if len(o.all[owner]) == 0 {
		delete(o.all, owner)
	}
}

// Forget drops what is known of an owner that is gone.
func (o *Objects) Forget(owner types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, owner)
}

// Older reports whether version comes before that of the write. Resource versions of one kind
// are numbers that grow.
func (w Write) Older(version string) bool {
	wrote, err1 := strconv.ParseUint(w.Version, 10, 64)
	has, err2 := strconv.ParseUint(version, 10, 64)
	return err1 == nil && err2 == nil && has < wrote
}
