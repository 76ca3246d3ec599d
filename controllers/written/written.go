// Package written remembers the resource versions of the operator's own last writes. The cache
// gets a write a moment later; a pass that reads an older version would do the same work again.
// And the event of an own write need not wake a controller. Objects does the same for what the
// cache may not even have yet.
package written

import (
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Versions are resource versions by the UID of the object. The zero value is ready to use.
type Versions struct {
	mu  sync.Mutex
	all map[types.UID]string
}

// Set records the version that an own write has given an object.
func (v *Versions) Set(uid types.UID, version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[types.UID]string{}
	}
	v.all[uid] = version
}

// Is reports whether the version is that of the last own write.
func (v *Versions) Is(uid types.UID, version string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.all[uid] == version
}

// After reports whether the last own write is newer than this version. Resource versions of
// one kind are numbers that grow.
func (v *Versions) After(uid types.UID, version string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	wrote, err := strconv.ParseUint(v.all[uid], 10, 64)
	if err != nil {
		return false
	}
	has, err := strconv.ParseUint(version, 10, 64)
	return err == nil && has < wrote
}

// Forget drops what is known of an object that is gone.
func (v *Versions) Forget(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, uid)
}
